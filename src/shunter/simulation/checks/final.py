"""Checks the end of a simulation, after all faults: everything has ended as it should, and nothing is left behind.

Called by `simulation.world` at the end of a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shunter.model.job.spec import LONG_RUNNING, LOST_MAX, GroupSpec
from shunter.model.lifecycles import JOB, TaskState
from shunter.planning.explain.wait_reasons import explain
from shunter.ports.store import Retention
from shunter.simulation.checks.audit import audit_empty
from shunter.simulation.checks.object_rules import check_nothing_left
from shunter.simulation.checks.reference_records import ModelJob, ModelTask, require
from shunter.simulation.checks.start_rules import was_skipped
from shunter.simulation.scenario import can_fail

if TYPE_CHECKING:
    from shunter.simulation.workload.users import Users
    from shunter.simulation.world import World


def is_quiescent(world: World) -> bool:
    """Every job has ended, and every machine is empty with all its results acknowledged."""
    if world.leader is None or world.checkers.model.unfinished:
        return False
    return all(worker.is_off or worker.node.machine.is_idle() for worker in world.workers.values())


async def check_end(world: World, users: Users) -> None:
    leader = world.leader
    require(leader is not None, "no manager leads although nothing keeps one from it")
    assert leader is not None
    await leader.engine.wait_committed()
    world.checkers.on_audit(leader.engine.state)
    await world.checkers.check_replay(world.store)
    _check_all_ended(world)
    audit_empty(leader.engine.state)
    check_nothing_left(leader.engine.state)
    _check_machines(world)
    for job_id, job in world.checkers.model.jobs.items():
        _check_job(job, users)
        finished = await world.store.finished_job(job_id)
        if finished is None:
            require(world.scenario.settings.retention != Retention(), f"history lacks job {job_id}")


def _check_all_ended(world: World) -> None:
    """Progress: with no faults any more, whatever can end has ended. Says what the rest waits for."""
    model, leader = world.checkers.model, world.leader
    for job_id, job in model.unfinished.items():
        states = [
            task.state.wire_name for task in job.tasks() if task.state not in (TaskState.SUCCEEDED, TaskState.FAILED)
        ]
        assert leader is not None
        nodes = leader.engine.state.nodes.view
        waiting = [task_set for task_set in leader.engine.state.jobs[job_id].task_sets if task_set.ready]
        reasons = [reason.text for task_set in waiting for reason in explain(task_set.task_class.task_class, nodes)]
        require(False, f"job {job_id} ({job.name}) has not ended: {states[:5]}; {reasons}")


def _check_machines(world: World) -> None:
    for name, worker in world.workers.items():
        if worker.is_off:
            continue
        machine = worker.node.machine
        require(not machine.outbox.unacknowledged, f"{name} has results that nobody acknowledged")
        require(machine.is_idle(), f"{name} has tasks of jobs that have ended")


def _check_job(job: ModelJob, users: Users) -> None:
    """A task fails only if its command does, a user or a rule stopped it, or it was lost too often."""
    require(job.state in JOB.terminal_states, f"job {job.id} is {job.state.wire_name}")
    stopped = users.stopped.get(job.id, set())
    if job.stop_cause == "user":
        require(None in stopped, f"job {job.id} was stopped, and nobody asked for it")
    for task_set in job.groups.values():
        is_purged = job.options.queue in users.purged
        is_replaced = job.type in LONG_RUNNING  # whether it was to be is looked at when it is told to end
        is_executor = bool(job.options.application)  # stopped when its driver has ended
        cancel_allowed = job.stop_was_asked or is_purged or was_skipped(job, task_set) or is_replaced or is_executor
        for index, task in enumerate(task_set.tasks):
            where = f"task {job.id}/{task_set.spec.name}/{index}"
            if task.state is TaskState.CANCELLED:
                is_stopped = (task_set.spec.name, index) in stopped
                require(cancel_allowed or is_stopped, f"{where} was cancelled, and nobody asked for it")
            elif task.state is TaskState.FAILED:
                may_fail = can_fail(task_set.spec) or task.lost >= LOST_MAX - 1 or task.lost_with_keeper > 0
                require(may_fail, f"{where} failed, and its command cannot: {task}")
            else:
                _check_success(where, task, task_set.spec)


def _check_success(where: str, task: ModelTask, spec: GroupSpec) -> None:
    require(task.state is TaskState.SUCCEEDED and task.successes == 1, f"{where} is {task}")
    exit_code = spec.task.env.get("SHUNTER_SIM_EXIT")
    exit_is_success = any(rule.action == "succeed" and 3 in rule.codes for rule in spec.restart.on_exit)
    require(exit_code is None or exit_is_success, f"{where} succeeded, and its command exits with {exit_code}")
