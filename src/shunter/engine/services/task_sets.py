"""The pieces of which a lasting job's groups are made: which keep the version that they have, and how one is added.
Called by `engine.services.rollout` and `engine.placement.move`."""

from __future__ import annotations

from shunter.engine import changes as c
from shunter.engine.jobs.dependencies import is_blocked
from shunter.engine.jobs.stop import watch_queueing
from shunter.engine.round import Round
from shunter.engine.state.records import Job, TaskSet
from shunter.engine.state.registries.services import STALLED, ServiceState
from shunter.model.job.spec import GroupSpec
from shunter.model.lifecycles import TaskEvent, TaskState


def is_left(service_state: ServiceState, group: TaskSet, index: int, node: int) -> bool:
    """Whether a task keeps the version that it has: the update has stalled, or is of another node only. Not if its
    instance is restarted by itself."""
    if group.number < service_state.restart_floor(group.spec.name, group.visible_index_of(index)):
        return False
    return service_state.status == STALLED or service_state.node not in (0, node)


def add_piece(
    round: Round,
    job: Job,
    group_index: int,
    visible_indexes: list[int],
    node: int,
    reason: str,
    like: TaskSet | None = None,
) -> None:
    """A further piece of a job, by its present spec or like another one; ready to be placed unless all of its group
    waits."""
    groups, number = job.spec_version.groups, job.next_task_set
    ref = job.ref + (f"#{groups[group_index].name}" if len(groups) > 1 else "")
    model, group_index = (-1, group_index) if like is None else (like.number, like.group_index)
    round.record(c.TaskSetAdded(job.id, number, group_index, visible_indexes, node, ref, round.now_ms, reason, model))
    piece = job.task_sets[-1]
    watch_queueing(round, piece)
    if is_blocked(round.state, job, round.now_ms) or _waits_for_groups(job, piece.spec):
        return  # it is queued with the others of its group
    last, ref = len(visible_indexes) - 1, f"{ref}+{visible_indexes[0]}"
    round.record(c.TasksTransitioned(job.id, number, 0, last, TaskEvent.UNBLOCKED, round.now_ms, "", ref))


def _waits_for_groups(job: Job, spec: GroupSpec) -> bool:
    others = [piece for piece in job.task_sets[:-1] if piece.spec.name == spec.name]
    return bool(spec.after) and all(piece.counts[TaskState.WAITING] for piece in others)
