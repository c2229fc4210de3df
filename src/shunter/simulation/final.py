"""What must be true when the trouble is over: everything has ended as it should, and nothing is left behind.

Called by `simulation.world` at the end of a seed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shunter.model.jobs import LOST_MAX
from shunter.model.lifecycles import JOB, TaskState
from shunter.planning.explain import explain
from shunter.ports.store import Retention
from shunter.simulation.audit import audit_empty
from shunter.simulation.ledger import LedgerJob, LedgerTask, require
from shunter.simulation.scenario import can_fail

if TYPE_CHECKING:
    from shunter.simulation.users import Users
    from shunter.simulation.world import World


def is_quiet(world: World) -> bool:
    """Every job has ended, and every machine is empty and has been told that its results are safe."""
    if world.leader is None or world.checkers.ledger.unfinished:
        return False
    return all(worker.is_off or worker.node.machine.is_idle() for worker in world.workers.values())


async def check_end(world: World, users: Users) -> None:
    leader = world.leader
    require(leader is not None, "no manager leads although nothing keeps one from it")
    assert leader is not None
    await leader.engine.committed()
    world.checkers.on_audit(leader.engine.state)
    await world.checkers.check_replay(world.store)
    _check_all_ended(world)
    audit_empty(leader.engine.state)
    _check_machines(world)
    for job_id, job in world.checkers.ledger.jobs.items():
        _check_job(job_id, job, users.stopped.get(job_id, set()))
        finished = await world.store.finished_job(job_id)
        if finished is None:
            require(world.scenario.settings.retention != Retention(), f"history lacks job {job_id}")


def _check_all_ended(world: World) -> None:
    """Progress: with no faults any more, whatever can end has ended. Says what the rest waits for."""
    ledger, leader = world.checkers.ledger, world.leader
    for (_, name), job_id in ledger.unfinished.items():
        job = ledger.jobs[job_id]
        states = [task.state.word for task in job.tasks() if task.state not in (TaskState.SUCCEEDED, TaskState.FAILED)]
        assert leader is not None
        nodes = leader.engine.state.nodes.view
        waiting = [group for group in leader.engine.state.jobs[job_id].groups if group.ready]
        reasons = [reason.text for group in waiting for reason in explain(group.task_class.task_class, nodes)]
        require(False, f"job {job_id} ({name}) has not ended: {states[:5]}; {reasons}")


def _check_machines(world: World) -> None:
    for name, worker in world.workers.items():
        if worker.is_off:
            continue
        machine = worker.node.machine
        require(not machine.outbox.unacknowledged, f"{name} has results that nobody acknowledged")
        require(machine.is_idle(), f"{name} has tasks of jobs that have ended")


def _check_job(job_id: int, job: LedgerJob, stopped: set[int | None]) -> None:
    """A task ends badly only if its command does, a user stopped it, or it was lost too often."""
    require(job.state in JOB.ends, f"job {job_id} is {job.state.word}")
    index = -1
    for spec, group in zip(job.specs, job.groups, strict=True):
        for task in group:
            index += 1
            where = f"task {job_id}/{index}"
            if task.state is TaskState.CANCELLED:
                require(bool({None, index} & stopped), f"{where} was cancelled, and nobody asked for it")
            elif task.state is TaskState.FAILED:
                may_fail = can_fail(spec) or task.lost >= LOST_MAX - 1
                require(may_fail, f"{where} failed, and its command cannot: {task}")
            else:
                _check_success(where, task, spec.task.env.get("SHUNTER_SIM_EXIT"))


def _check_success(where: str, task: LedgerTask, exit_code: str | None) -> None:
    require(task.state is TaskState.SUCCEEDED and task.successes == 1, f"{where} is {task}")
    require(exit_code is None, f"{where} succeeded, and its command exits with {exit_code}")
