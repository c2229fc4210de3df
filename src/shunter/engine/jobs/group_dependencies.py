"""Groups that wait for other groups of their job. Nothing is kept: what a group waits for has ended or has not, which
the counts of its tasks tell. Called by `engine.jobs.finish` whenever something of such a job has ended."""

from __future__ import annotations

from shunter.engine.jobs.dependencies import is_blocked, is_met, move_waiting, unmet
from shunter.engine.round import Round
from shunter.engine.state.records import Job, TaskSet
from shunter.model.job.spec import GroupSpec
from shunter.model.lifecycles import JobState, TaskEvent, TaskState

_WAITING, _CANCELLED = int(TaskState.WAITING), int(TaskState.CANCELLED)


def settle_groups(round: Round, job: Job) -> None:
    """Queue the groups that have what they waited for, and cancel those that cannot have it any more."""
    if is_blocked(round.state, job, round.now_ms) or job.state is JobState.STOPPING:
        return
    has_moved = True
    while has_moved:  # a cancelled group may settle the edges of others
        has_moved = False
        for group in job.task_sets:
            if not group.counts[_WAITING] or not group.spec.after:
                continue
            verdict = _verdict(job, group.spec)
            if verdict is None:
                continue
            event = TaskEvent.CANCELLED if verdict else TaskEvent.UNBLOCKED
            move_waiting(round, group, event, verdict)
            has_moved = True


def is_left_out(job: Job, group: TaskSet) -> bool:
    """Whether a group never ran because of what it waited for: that alone does not make its job a cancelled one."""
    return group.counts[_CANCELLED] == group.count and is_shut_out(job, group.spec)


def is_shut_out(job: Job, spec: GroupSpec) -> bool:
    """Whether what a group waited for has ended otherwise than it was to."""
    return bool(spec.after) and bool(_verdict(job, spec))


def _verdict(job: Job, spec: GroupSpec) -> str | None:
    """Empty: it may go. Otherwise why it cannot any more. None: something that it waits for has not ended."""
    verdict = ""
    for edge in spec.after:
        pieces = [piece for piece in job.task_sets if piece.spec.name == edge.group]
        if not all(piece.is_finished for piece in pieces):
            return None
        outcome = _outcome(pieces)
        if not verdict and not is_met(edge, outcome) and edge.otherwise == "cancel":
            verdict = unmet(edge, f"group {edge.group}", outcome)
    return verdict


def _outcome(pieces: list[TaskSet]) -> str:
    if any(piece.counts[TaskState.FAILED] for piece in pieces):
        return "failed"
    return "cancelled" if any(piece.counts[_CANCELLED] for piece in pieces) else "succeeded"
