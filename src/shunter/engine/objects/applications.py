"""Starts, observes and stops applications: the engine's jobs that run BatchJobs. Called by `engine.objects.controller`.

The policy places the driver like any other task. The executors are task sets pinned to the nodes of their slots. They
need no resources of the node, because they use the slot's reservation."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from shunter.engine import changes as c
from shunter.engine.identity.quota_checks import quota_problems
from shunter.engine.jobs.job_timers import fail_job
from shunter.engine.jobs.stop import on_stop, stop_range
from shunter.engine.jobs.submit import start_run
from shunter.engine.objects.run_times import start_ms
from shunter.engine.round import Round
from shunter.engine.state.records import Job, TaskSet
from shunter.engine.state.registries.flags import LOST
from shunter.engine.state.state import State
from shunter.model.errors import Unavailable
from shunter.model.job.spec import JobSpec, SecretRef
from shunter.model.lifecycles import JobState, TaskEvent, TaskState
from shunter.model.objects.batch_jobs import BatchJob, BatchJobState
from shunter.model.objects.testbeds import SlotHolder, SlotPlace, Testbed
from shunter.model.secrets import SealedValue, application_secret, associated_data
from shunter.testbeds.application_parts import DRIVER, EXECUTOR
from shunter.testbeds.applications import application_job, executor_group, start_problems
from shunter.testbeds.view import Application, ApplicationState, SlotUse, StartApplication

_QUEUED, _ASSIGNED, _RUNNING = int(TaskState.QUEUED), int(TaskState.ASSIGNED), int(TaskState.RUNNING)
_STOPPING, _SUCCEEDED = int(TaskState.STOPPING), int(TaskState.SUCCEEDED)
_FINAL_STATES = {  # what a BatchJob remembers of an application that has left memory
    BatchJobState.COMPLETED: ApplicationState.COMPLETED,
    BatchJobState.FAILED_SUBMISSION: ApplicationState.FAILED,
}
LOOPBACK = "127.0.0.1"
SECRET_BITS = 256
SECRET_FILE = "application"  # which the launchers read


class CannotStart(Exception):
    """The application cannot run in such slots, however much is free."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def start_application(round: Round, job: BatchJob, start: StartApplication) -> int:
    """Submit its job; without a driver the executors start at once. Raises CannotStart before anything is recorded."""
    problems = start_problems(job, start)
    if problems:
        raise CannotStart(problems)
    hosts = [_node_address(round.state, place.node) for place in start.places]
    secret = f"{round.random.getrandbits(SECRET_BITS):x}" if job.spec.spark is not None else ""
    name, sealed = _seal(round, job, secret)
    spec = _within_quotas(round.state, application_job(job, start, hosts, "" if sealed else secret))
    spec = _with_task_sets(spec, job)
    if sealed is not None:
        round.record(c.SecretSet(spec.namespace, name, 1, sealed, job.meta.user, round.now_ms))
        spec = _with_secret(spec, name)
    submitted = start_run(round, spec, job.meta.user)
    core_job = round.state.jobs[submitted.job_id]
    if not any(group.name == DRIVER for group in spec.groups):
        _add_executors(round, core_job, start.places)
    return core_job.id


def _within_quotas(state: State, spec: JobSpec) -> JobSpec:
    """All its tasks run at once. Raises CannotStart if a quota of its tenant could never admit them."""
    tenant = state.tenants.limited.get(state.tenants.owner_of(spec.namespace))
    problems = [] if tenant is None else [*quota_problems(tenant, spec, start_together=True)]
    if problems:
        raise CannotStart(problems)
    return spec


def _seal(round: Round, job: BatchJob, secret: str) -> tuple[str, SealedValue | None]:
    """The name of the application's secret, and its encrypted value. None: it has none; or nothing can be encrypted, in
    a dry run, or before every manager is upgraded. Raises CannotStart where the leader lacks the key."""
    name = application_secret(round.state.next_job)
    if not secret or round.seal is None or not round.state.format.allows(c.SecretSet):
        return name, None
    try:
        return name, round.seal(secret.encode(), associated_data(job.meta.namespace, name))
    except Unavailable as error:
        raise CannotStart([f"the secret of the application cannot be encrypted: {error.detail}"]) from error


def _with_secret(spec: JobSpec, name: str) -> JobSpec:
    refs = (SecretRef(name, file=SECRET_FILE),)
    return replace(spec, groups=tuple(replace(each, task=replace(each.task, secrets=refs)) for each in spec.groups))


def stop_application(round: Round, job: BatchJob, failure: str = "") -> None:
    """It ends as failed for this reason; without one, it was released."""
    core_job = round.state.jobs.get(job.status.application)
    if core_job is None:
        return
    if failure and core_job.state is not JobState.STOPPING:
        fail_job(round, core_job, LOST, failure)
    else:
        on_stop(round, core_job.id, None, now=False, reason="released by its Scheduling")


def advance_application(round: Round, job: BatchJob) -> None:
    """Start executors when the driver runs, and stop them when it has ended. The first failed task stops all others.
    Without a driver, the first stopped task does too, because nothing replaces it."""
    core_job = round.state.jobs.get(job.status.application)
    if core_job is None or core_job.state is JobState.STOPPING:
        return
    driver = next((task_set for task_set in core_job.task_sets if task_set.spec.name == DRIVER), None)
    if any(task_set.counts[TaskState.FAILED] for task_set in core_job.task_sets):
        on_stop(round, core_job.id, None, now=False, reason="one of its tasks failed")
    elif driver is not None:
        _follow_driver(round, job, core_job, driver)
    elif any(task_set.counts[TaskState.CANCELLED] for task_set in core_job.task_sets):
        on_stop(round, core_job.id, None, now=False, reason="one of its executors was stopped")


def _follow_driver(round: Round, job: BatchJob, core_job: Job, driver: TaskSet) -> None:
    state = int(round.state.table.state[driver.base])
    if state == _RUNNING and not any(_executor_task_sets(core_job)):
        ports, node = (driver.ports or {}).get(0, {}), int(round.state.table.node[driver.base])
        host = _node_address(round.state, round.state.nodes.view.names[node])
        spec = JobSpec(core_job.namespace, core_job.name, core_job.spec_version.groups)
        groups = (*core_job.spec_version.groups[:-1], executor_group(job, spec, host, ports))
        round.record(c.JobGroupsRefined(core_job.id, msgspec.Raw(round.state.encode_groups(groups)), core_job.ref))
        _add_executors(round, core_job, job.status.places)
    elif state == _SUCCEEDED:
        for task_set in _executor_task_sets(core_job):
            if sum(task_set.counts[:_STOPPING]):  # the others were already told to stop
                stop_range(round, task_set, 0, task_set.count - 1, now=False, reason="the driver has ended")
        round.dirty.maybe_finished[core_job.id] = None


def observe_application(round: Round, job: BatchJob) -> Application | None:
    """What the reconcile function sees. After the application left memory: what the BatchJob or this round knows."""
    status = job.status
    if not status.application:
        return None
    core_job = round.state.jobs.get(status.application)
    if core_job is None:
        return _finished_application(round, job)
    if core_job.state is not JobState.STOPPING and (loss := _loss(round.state, core_job)):
        return Application(core_job.id, ApplicationState.LOST, True, start_ms(round, core_job), round.now_ms, loss)
    states = executor_states(round.state, core_job).values()
    if len(states) < status.replication or min(states) < _ASSIGNED:
        state = ApplicationState.SUBMITTED
    elif min(states) < _RUNNING or core_job.state is JobState.STOPPING:  # some may never have started
        state = ApplicationState.SCHEDULED
    else:
        state = ApplicationState.RUNNING
    has_begun = state is ApplicationState.RUNNING and status.state < BatchJobState.RUNNING
    return Application(core_job.id, state, has_processes=True, started_ms=start_ms(round, core_job) if has_begun else 0)


def _loss(state: State, core_job: Job) -> str:
    """Which of its tasks was lost or is to leave its node, and why. Such a task would run again alone; that is only
    right for a driver that has no executors yet."""
    column, task_sets = state.table.state, core_job.task_sets
    if len(task_sets) == 1 and task_sets[0].spec.name == DRIVER:
        return ""
    for task_set in task_sets:
        for index in sorted(task_set.requeue_when_stopped or ()):
            return f"{_name_task(task_set, index)} was stopped: {(task_set.reasons or {}).get(index, '')}"
        for index, _, node, *_, reason in reversed(task_set.history or ()):
            if column[task_set.base + index] == _QUEUED:
                reason, name = reason or (task_set.reasons or {}).get(index, ""), state.nodes.view.names[node]
                where = "" if f"node {name}" in reason else f" on node {name}"
                return f"{_name_task(task_set, index)}{where} was lost: {reason}"
    return ""


def _name_task(task_set: TaskSet, index: int) -> str:
    return DRIVER if task_set.spec.name == DRIVER else f"{EXECUTOR} {task_set.visible_index_of(index)}"


def slot_uses(state: State, testbed: Testbed) -> dict[SlotPlace, SlotUse]:
    """Which of its slots are held: from the commit that requests them until their executors have ended."""
    uses: dict[SlotPlace, SlotUse] = {}
    registry, holders = state.objects, {slot.place: slot.holder for slot in testbed.status.slots}
    for name in registry.jobs_by_testbed.get(testbed.meta.object_name, ()):
        job = registry.batch_jobs[name]
        core_job = state.jobs.get(job.status.application)
        if core_job is None:
            continue
        states = executor_states(state, core_job)
        unstarted_state = _SUCCEEDED if core_job.state is JobState.STOPPING else _QUEUED
        for number, place in enumerate(job.status.places):
            task, before = states.get(number, unstarted_state), holders.get(place)
            scheduling = job.status.active_scheduling or (before.scheduling if before is not None else None)
            if task < _SUCCEEDED and scheduling is not None:
                uses[place] = SlotUse(SlotHolder(name, number, scheduling), task in (_RUNNING, _STOPPING))
    return uses


def executor_states(state: State, core_job: Job) -> dict[int, int]:
    """The states of existing executors, by their number in the application."""
    column = state.table.state
    return {
        task_set.instance_index_of(index): column.item(task_set.base + index)
        for task_set in _executor_task_sets(core_job)
        for index in range(task_set.count)
    }


def _with_task_sets(spec: JobSpec, job: BatchJob) -> JobSpec:
    """Add executors as task sets, each with its own lane."""
    *drivers, executors = spec.groups
    count = executors.count
    executors = replace(executors, count=0, total=count, parallel_max=count)
    options = replace(spec.options, application=job.spec.engine)
    return replace(spec, groups=(*drivers, executors), options=options)


def _executor_task_sets(core_job: Job) -> Iterator[TaskSet]:
    return (task_set for task_set in core_job.task_sets if task_set.spec.name == EXECUTOR)


def _add_executors(round: Round, core_job: Job, places: tuple[SlotPlace, ...]) -> None:
    group_index = next(
        group_index for group_index, spec in enumerate(core_job.spec_version.groups) if spec.name == EXECUTOR
    )
    for number, place in enumerate(places):
        node = round.state.nodes.by_name[place.node].id
        task_set = core_job.next_task_set
        round.record(c.TaskSetAdded(core_job.id, task_set, group_index, [number], node, core_job.ref, round.now_ms))
        group = round.state.require_task_set(core_job.id, task_set)
        unblock = c.TasksTransitioned(core_job.id, task_set, 0, 0, TaskEvent.UNBLOCKED, round.now_ms, "", group.ref)
        round.record(unblock)


def _finished_application(round: Round, job: BatchJob) -> Application | None:
    summary = round.summaries.get(job.status.application)
    if summary is not None:
        has_succeeded = summary.view.state == JobState.SUCCEEDED.wire_name
        state = ApplicationState.COMPLETED if has_succeeded else ApplicationState.FAILED
        reason = "" if has_succeeded else summary.view.reason or f"the application was {summary.view.state}"
        return Application(
            job.status.application, state, False, *round.application_times[job.status.application], reason
        )
    final_state = _FINAL_STATES.get(job.status.state)
    if final_state is None:
        return None
    return Application(job.status.application, final_state, False, reason="; ".join(job.status.problems))


def _node_address(state: State, node: str) -> str:
    """The address of a node for other tasks."""
    record = state.nodes.by_name[node]
    return record.address or LOOPBACK
