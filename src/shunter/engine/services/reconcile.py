"""Reconciles long-running jobs (services and per-node jobs): what is missing is started, what is surplus is stopped,
and what is out of date is replaced step by step. Called in each round; looks only at jobs of which something changed.

How one group is reconciled is in `engine.services.rollout`. Everything is worked out from the task sets and the
registry of long-running jobs, so a manager that takes over goes on where the last one was."""

from __future__ import annotations

from shunter.engine import changes as c
from shunter.engine.jobs.dependencies import earliest_start_ms, is_blocked
from shunter.engine.nodes.drain import advance_drains
from shunter.engine.placement.colocation import mark_dirty_by_colocation
from shunter.engine.round import Round
from shunter.engine.services.instances import Instance, InstanceKey, collect_instances, is_same_workload
from shunter.engine.services.per_node import desired_indexes, mark_per_node_jobs_dirty, task_sets_on
from shunter.engine.services.rollout import DesiredIndexes, Rollout, stop_member
from shunter.engine.services.update import RolloutProgress, conclude_update
from shunter.engine.state.records import Job
from shunter.engine.state.registries.services import IN_PROGRESS, STALLED, STARTING, STEADY, ServiceState
from shunter.engine.timers import TimerKind
from shunter.model.job.spec import BATCH, PER_NODE, SERVICE
from shunter.model.lifecycles import JobState, TaskState

RETRY_MS = 100
PASSES_MAX = 16  # what a look changes is looked at again; it comes to rest after two or three


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
    for job_id, _ in round.dirty.jobs:  # it should have come to rest: go on in a later round, with others in between
        round.timers.add_job(round.now_ms + RETRY_MS, TimerKind.SERVICE, job_id)


def on_service_timer(round: Round, job_id: int) -> None:
    """A time has come at which a job may be healthier, or late."""
    if job_id in round.state.services.jobs:
        round.state.services.next_check_ms.pop(job_id, None)
        round.dirty.jobs[job_id, 0] = None


def _reconcile_job(round: Round, job_id: int, node: int) -> None:
    """With a node, only what a job that runs everywhere has there."""
    state, job = round.state, round.state.jobs.get(job_id)
    if job is None or job.type == BATCH or job.state is JobState.STOPPING:
        return
    if job.type in PER_NODE and is_blocked(state, job, round.now_ms):
        _arm_service_timer(round, job, earliest_start_ms(job) or None)
        return
    service_state = state.services.jobs[job_id]
    if service_state.status in IN_PROGRESS:
        node = 0
    if job.type == SERVICE and _is_converged(round, job, service_state):
        return
    instances = collect_instances(state, job, task_sets_on(state, job, node) if node else None)
    progress = RolloutProgress()
    desired_keys: set[InstanceKey] = set()
    for group_index, spec in enumerate(job.spec_version.groups):
        desired = desired_indexes(round, job, spec, node) if job.type in PER_NODE else DesiredIndexes(range(spec.count))
        desired_keys.update((spec.name, index) for index in desired.indexes)
        Rollout(round, job, service_state, group_index, desired, progress).reconcile(instances)
    _stop_undesired(round, service_state, instances, desired_keys)
    _drop_finished_task_sets(round, job, instances, desired_keys)
    conclude_update(round, job, progress)
    _arm_service_timer(round, job, progress.next_ms)
    round.dirty.maybe_finished[job.id] = None


def _is_converged(round: Round, job: Job, service_state: ServiceState) -> bool:
    """Whether all of a service is as it shall be, seen from its counts: most looks end here."""
    if service_state.status not in (STEADY, STARTING, STALLED) or service_state.down or service_state.restart_floors:
        return False
    if round.state.nodes.draining:
        return False
    missing = {spec.name: spec.count for spec in job.spec_version.groups}
    specs = {spec.name: spec for spec in job.spec_version.groups}
    running = 0
    for task_set in job.task_sets:
        name, counts = task_set.spec.name, task_set.counts
        if task_set.node or name not in specs or counts[TaskState.SUCCEEDED] or counts[TaskState.CANCELLED]:
            return False
        if task_set.spec_version is not job.spec_version and not is_same_workload(task_set.spec, specs[name]):
            return False
        missing[name] -= task_set.count
        running += counts[TaskState.RUNNING]
    if any(missing.values()):
        return False
    return service_state.status != STARTING or running < sum(spec.count for spec in specs.values())


def _stop_undesired(
    round: Round, service_state: ServiceState, instances: dict[InstanceKey, Instance], desired_keys: set[InstanceKey]
) -> None:
    """What nobody asks for any more, and instances that were taken down."""
    for key, instance in instances.items():
        is_down = service_state.is_down(*key)
        if key in desired_keys and not is_down:
            continue
        for member in instance.members:
            if member.is_active:
                stop_member(round, member, "taken down" if is_down else "not wanted any more")


def _drop_finished_task_sets(
    round: Round, job: Job, instances: dict[InstanceKey, Instance], desired_keys: set[InstanceKey]
) -> None:
    """A task set leaves when all of it has ended and none of its tasks is what people see of an instance."""
    current_tasks = {
        (instances[key].current.task_set.number, instances[key].current.index)
        for key in instances.keys() & desired_keys
    }
    task_sets = {
        member.task_set.number: member.task_set for instance in instances.values() for member in instance.members
    }
    for number, task_set in sorted(task_sets.items()):
        if task_set.is_finished and not any((number, index) in current_tasks for index in range(task_set.count)):
            round.record(c.TaskSetDropped(job.id, number, task_set.job.ref))


def _arm_service_timer(round: Round, job: Job, at_ms: int | None) -> None:
    next_check_ms = round.state.services.next_check_ms
    if at_ms is not None and (job.id not in next_check_ms or at_ms < next_check_ms[job.id]):
        next_check_ms[job.id] = at_ms
        round.timers.add_job(at_ms, TimerKind.SERVICE, job.id)
