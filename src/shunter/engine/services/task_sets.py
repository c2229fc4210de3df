"""Adds task sets to the groups of a long-running job, and says which ones keep their spec version. Called by
`engine.services` and `engine.placement.move`."""

from __future__ import annotations

from shunter.engine import changes as c
from shunter.engine.jobs.dependencies import is_blocked
from shunter.engine.jobs.stop import arm_queue_timeout
from shunter.engine.round import Round
from shunter.engine.state.records import Job, TaskSet
from shunter.engine.state.registries.services import ServiceState
from shunter.model.job.spec import GroupSpec
from shunter.model.lifecycles import RolloutStatus, TaskEvent, TaskState


def retains_version(service_state: ServiceState, task_set: TaskSet, index: int, node: int) -> bool:
    """Whether a task keeps its version: the update has stalled, or is limited to another node. Not if its instance was
    restarted individually."""
    if task_set.number < service_state.restart_floor(task_set.spec.name, task_set.visible_index_of(index)):
        return False
    return service_state.status is RolloutStatus.STALLED or service_state.node not in (0, node)


def add_task_set(
    round: Round,
    job: Job,
    group_index: int,
    visible_indexes: list[int],
    node: int,
    reason: str,
    copy_of: TaskSet | None = None,
) -> None:
    """Add a task set to a job, by its current spec or like another task set. It is ready to be placed, unless its whole
    group waits."""
    groups, number = job.spec_version.groups, job.next_task_set
    ref = job.ref + (f"#{groups[group_index].name}" if len(groups) > 1 else "")
    source_number, group_index = (-1, group_index) if copy_of is None else (copy_of.number, copy_of.group_index)
    round.record(
        c.TaskSetAdded(job.id, number, group_index, visible_indexes, node, ref, round.now_ms, reason, source_number)
    )
    task_set = job.task_sets[-1]
    arm_queue_timeout(round, task_set)
    if is_blocked(round.state, job, round.now_ms) or _waits_for_groups(job, task_set.spec):
        return  # it is queued with the others of its group
    last, ref = len(visible_indexes) - 1, f"{ref}+{visible_indexes[0]}"
    round.record(c.TasksTransitioned(job.id, number, 0, last, TaskEvent.UNBLOCKED, round.now_ms, "", ref))


def _waits_for_groups(job: Job, spec: GroupSpec) -> bool:
    siblings = [task_set for task_set in job.task_sets[:-1] if task_set.spec.name == spec.name]
    return bool(spec.after) and all(task_set.counts[TaskState.WAITING] for task_set in siblings)
