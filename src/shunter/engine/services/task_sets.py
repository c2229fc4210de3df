"""The pieces of which a lasting job's groups are made: which keep the version that they have, and how one is added.
Called by `engine.services.rollout` and `engine.placement.move`."""

from __future__ import annotations

from shunter.engine import changes as c
from shunter.engine.jobs.dependencies import is_blocked
from shunter.engine.jobs.stop import watch_queueing
from shunter.engine.round import Round
from shunter.engine.state.records import Group, Job
from shunter.engine.state.registries.services import STALLED, Lasting
from shunter.model.job.spec import GroupSpec
from shunter.model.lifecycles import TaskEvent, TaskState


def is_left(lasting: Lasting, group: Group, index: int, node: int) -> bool:
    """Whether a task keeps the version that it has: the update has stalled, or is of another node only. Not if its
    instance is restarted by itself."""
    if group.number < lasting.floor(group.spec.name, group.shows(index)):
        return False
    return lasting.status == STALLED or lasting.node not in (0, node)


def add_piece(
    round: Round, job: Job, part: int, shown: list[int], node: int, reason: str, like: Group | None = None
) -> None:
    """A further piece of a job, by its present spec or like another one; ready to be placed unless all of its group
    waits."""
    groups, number = job.blueprint.groups, job.next_group
    ref = job.ref + (f"#{groups[part].name}" if len(groups) > 1 else "")
    model, part = (-1, part) if like is None else (like.number, like.part)
    round.record(c.GroupAdded(job.id, number, part, shown, node, ref, round.now_ms, reason, model))
    piece = job.groups[-1]
    watch_queueing(round, piece)
    if is_blocked(round.state, job, round.now_ms) or _waits_for_groups(job, piece.spec):
        return  # it is queued with the others of its group
    last, ref = len(shown) - 1, f"{ref}+{shown[0]}"
    round.record(c.TasksMoved(job.id, number, 0, last, TaskEvent.UNBLOCKED, round.now_ms, "", ref))


def _waits_for_groups(job: Job, spec: GroupSpec) -> bool:
    others = [piece for piece in job.groups[:-1] if piece.spec.name == spec.name]
    return bool(spec.after) and all(piece.counts[TaskState.WAITING] for piece in others)
