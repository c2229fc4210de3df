"""Reconciles long-running jobs (services and per-node jobs): starts missing instances, stops surplus ones, and replaces
outdated ones step by step. Called in each round; looks only at jobs that changed.

`engine.services.rollout` decides the next step for one group. Everything is derived from the task sets and the registry
of long-running jobs, so a manager that takes over continues where the last one stopped."""

from __future__ import annotations

from shunter.engine import changes as c
from shunter.engine.jobs.dependencies import earliest_start_ms, is_blocked
from shunter.engine.jobs.stop import stop_range
from shunter.engine.nodes.drain import advance_drains
from shunter.engine.placement.colocation import mark_dirty_by_colocation
from shunter.engine.round import Round
from shunter.engine.services.instances import (
    Instance,
    InstanceKey,
    collect_instances,
    health_detail,
    is_same_workload,
)
from shunter.engine.services.per_node import desired_indexes, mark_per_node_jobs_dirty, task_sets_on
from shunter.engine.services.rollout import (
    FailureCause,
    RolloutFailure,
    RolloutPlan,
    StopTask,
    UnpinTaskSet,
    decide_rollout,
)
from shunter.engine.services.rollout_view import DesiredIndexes, build_rollout_view
from shunter.engine.services.task_sets import add_task_set
from shunter.engine.services.update import RolloutProgress, conclude_rollout
from shunter.engine.state.records import Job, TaskSet
from shunter.engine.state.registries.services import ServiceState
from shunter.engine.timers import TimerKind
from shunter.model.job.spec import BATCH, PER_NODE, SERVICE, GroupSpec
from shunter.model.lifecycles import ROLLOUT_IN_PROGRESS, JobState, RolloutStatus, TaskState

RETRY_MS = 100
PASSES_MAX = 16  # the changes of a pass are reconciled again; this converges after two or three passes


def reconcile_services(round: Round) -> None:
    mark_dirty_by_colocation(round)
    for _ in range(PASSES_MAX):
        mark_per_node_jobs_dirty(round)
        advance_drains(round)
        if not round.dirty.jobs and not round.dirty.nodes:
            return
        dirty_jobs, round.dirty.jobs = round.dirty.jobs, {}
        for job_id, node in dirty_jobs:
            if not node or (job_id, 0) not in dirty_jobs:
                _reconcile_job(round, job_id, node)
    for (
        job_id,
        _,
    ) in round.dirty.jobs:  # it should have converged: go on in a later round, so that others get their turn
        round.timers.add_for(round.now_ms + RETRY_MS, TimerKind.SERVICE, job_id)


def on_service_timer(round: Round, job_id: int) -> None:
    """Reconcile a job again: a task may have become healthy, or be overdue."""
    if job_id in round.state.services.jobs:
        round.state.services.next_check_ms.pop(job_id, None)
        round.dirty.jobs[job_id, 0] = None


def _reconcile_job(round: Round, job_id: int, node: int) -> None:
    """With a node, reconcile only the job's part on that node."""
    state, job = round.state, round.state.jobs.get(job_id)
    if job is None or job.type == BATCH or job.state is JobState.STOPPING:
        return
    if job.type in PER_NODE and is_blocked(state, job, round.now_ms):
        _arm_service_timer(round, job, earliest_start_ms(job) or None)
        return
    service_state = state.services.jobs[job_id]
    if service_state.status in ROLLOUT_IN_PROGRESS:
        node = 0
    if job.type == SERVICE and _is_converged(round, job, service_state):
        return
    instances = collect_instances(state, job, task_sets_on(state, job, node) if node else None)
    progress = RolloutProgress()
    desired_keys: set[InstanceKey] = set()
    for group_index, spec in enumerate(job.spec_version.groups):
        desired = desired_indexes(round, job, spec, node) if job.type in PER_NODE else DesiredIndexes(range(spec.count))
        desired_keys.update((spec.name, index) for index in desired.indexes)
        # after the plan of the previous group, because this one may wait for it
        plan = decide_rollout(build_rollout_view(state, job, spec, desired, instances, round.now_ms))
        _carry_out(round, job, group_index, plan)
        _add_to_progress(progress, job, spec, plan)
    _stop_undesired(round, service_state, instances, desired_keys)
    _drop_finished_task_sets(round, job, instances, desired_keys)
    conclude_rollout(round, job, progress)
    _arm_service_timer(round, job, progress.wake_at_ms)
    round.dirty.maybe_finished[job.id] = None


def _is_converged(round: Round, job: Job, service_state: ServiceState) -> bool:
    """Whether a service is as it should be, judged by its counts alone: most reconciles end here."""
    if service_state.status in ROLLOUT_IN_PROGRESS or service_state.down or service_state.restart_floors:
        return False
    if round.state.nodes.draining:
        return False
    specs = {spec.name: spec for spec in job.spec_version.groups}
    missing = {name: spec.count for name, spec in specs.items()}
    for task_set in job.task_sets:
        if not _is_as_desired(task_set, job, specs):
            return False
        missing[task_set.spec.name] -= task_set.count
    if any(missing.values()):
        return False
    if service_state.status is not RolloutStatus.STARTING:
        return True
    running = sum(task_set.counts[TaskState.RUNNING] for task_set in job.task_sets)
    return running < sum(spec.count for spec in specs.values())  # no conclusion before all of them run


def _is_as_desired(task_set: TaskSet, job: Job, specs: dict[str, GroupSpec]) -> bool:
    """Whether all tasks of a task set should stay."""
    spec, counts = specs.get(task_set.spec.name), task_set.counts
    if spec is None or task_set.node or counts[TaskState.SUCCEEDED] or counts[TaskState.CANCELLED]:
        return False
    return task_set.spec_version is job.spec_version or is_same_workload(task_set.spec, spec)


def _carry_out(round: Round, job: Job, group_index: int, plan: RolloutPlan) -> None:
    for command in plan.commands:
        if isinstance(command, StopTask):
            task_set = round.state.require_task_set(job.id, command.task_set)
            stop_range(round, task_set, command.index, command.index, now=False, reason=command.reason)
        elif isinstance(command, UnpinTaskSet):
            round.record(c.TaskSetUnpinned(job.id, command.task_set, job.ref))
        else:
            copy_of = job.task_set(command.copy_of) if command.copy_of >= 0 else None
            add_task_set(round, job, group_index, list(command.instances), command.node, command.reason, copy_of)


def _add_to_progress(progress: RolloutProgress, job: Job, spec: GroupSpec, plan: RolloutPlan) -> None:
    progress.is_pending |= plan.is_pending
    if plan.failure is not None and not progress.failure:
        progress.failure, progress.may_roll_back = _describe_failure(job, spec, plan.failure), spec.update.rollback
    if plan.wake_at_ms is not None and (progress.wake_at_ms is None or plan.wake_at_ms < progress.wake_at_ms):
        progress.wake_at_ms = plan.wake_at_ms


def _describe_failure(job: Job, spec: GroupSpec, failure: RolloutFailure) -> str:
    task, task_set = failure.task, job.task_set(failure.task.task_set)
    assert task_set is not None
    name = f"{job.name}/{'' if len(job.spec_version.groups) == 1 else f'{spec.name}/'}{task.instance}"
    if failure.cause is FailureCause.TASK_FAILED:
        return f"task {name} failed: {(task_set.reasons or {}).get(task.index, 'it failed')}"
    if failure.cause is FailureCause.NOT_HEALTHY_IN_TIME:
        limit_s, word = spec.update.deadline_s, TaskState(task.state).wire_name
        message = f"task {name} did not become healthy within {limit_s:g} s; it is {word}"
        return message + health_detail(task_set, task.index)
    state = "has failed" if task.state == TaskState.FAILED else "is not healthy"
    reason = f"task {name} {state}, and at most {spec.update.unavailable_max} may be unavailable"
    return f"{reason}; retry with: shunter restart {job.name}"


def _stop_undesired(
    round: Round, service_state: ServiceState, instances: dict[InstanceKey, Instance], desired_keys: set[InstanceKey]
) -> None:
    """Stop instances that are surplus or were stopped by hand."""
    for key, instance in instances.items():
        is_down = service_state.is_down(*key)
        if key in desired_keys and not is_down:
            continue
        for member in instance.members:
            if member.is_active:
                reason = "stopped by a user" if is_down else "scaled down"
                stop_range(round, member.task_set, member.index, member.index, now=False, reason=reason)


def _drop_finished_task_sets(
    round: Round, job: Job, instances: dict[InstanceKey, Instance], desired_keys: set[InstanceKey]
) -> None:
    """Drop task sets whose tasks have all ended, unless one is the visible task of an instance."""
    task_sets = {
        member.task_set.number: member.task_set for instance in instances.values() for member in instance.members
    }
    finished = [number for number, task_set in task_sets.items() if task_set.is_finished]
    if not finished:
        return
    visible = [instances[key].current for key in instances.keys() & desired_keys]
    in_use = {member.task_set.number for member in visible}
    for number in sorted(finished):
        if number not in in_use:
            round.record(c.TaskSetDropped(job.id, number, job.ref))


def _arm_service_timer(round: Round, job: Job, at_ms: int | None) -> None:
    next_check_ms = round.state.services.next_check_ms
    if at_ms is not None and (job.id not in next_check_ms or at_ms < next_check_ms[job.id]):
        next_check_ms[job.id] = at_ms
        round.timers.add_for(at_ms, TimerKind.SERVICE, job.id)
