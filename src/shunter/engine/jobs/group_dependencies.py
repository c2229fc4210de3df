"""Dependencies between the groups of a job. They need no state of their own: task counts tell whether a group has
ended. Called by `engine.jobs.finish` whenever tasks of such a job end."""

from __future__ import annotations

from shunter.engine.jobs.dependencies import describe_unmet, is_blocked, is_met, transition_waiting
from shunter.engine.round import Round
from shunter.engine.state.records import Job, TaskSet
from shunter.model.job.spec import GroupSpec
from shunter.model.lifecycles import JobState, TaskEvent, TaskState

_WAITING, _CANCELLED = int(TaskState.WAITING), int(TaskState.CANCELLED)


def settle_groups(round: Round, job: Job) -> None:
    """Queue the groups whose dependencies are met, and cancel those whose dependencies can no longer be met."""
    if is_blocked(round.state, job, round.now_ms) or job.state is JobState.STOPPING:
        return
    has_changed = True
    while has_changed:  # a cancelled group may settle the edges of others
        has_changed = False
        for task_set in job.task_sets:
            if not task_set.counts[_WAITING] or not task_set.spec.after:
                continue
            unmet_reason = _unmet_reason(job, task_set.spec)
            if unmet_reason is None:
                continue
            event = TaskEvent.CANCELLED if unmet_reason else TaskEvent.UNBLOCKED
            transition_waiting(round, task_set, event, unmet_reason)
            has_changed = True


def is_skipped(job: Job, task_set: TaskSet) -> bool:
    """Whether a group never ran because of its dependencies. That alone does not cancel its job."""
    return task_set.counts[_CANCELLED] == task_set.count and has_unmet_dependency(job, task_set.spec)


def has_unmet_dependency(job: Job, spec: GroupSpec) -> bool:
    """Whether a dependency of the group has ended in another state than it needs."""
    return bool(spec.after) and bool(_unmet_reason(job, spec))


def _unmet_reason(job: Job, spec: GroupSpec) -> str | None:
    """Empty: the group may start. A text: why it never can. None: a dependency has not ended yet."""
    unmet_reason = ""
    for edge in spec.after:
        task_sets = [task_set for task_set in job.task_sets if task_set.spec.name == edge.group]
        if not all(task_set.is_finished for task_set in task_sets):
            return None
        outcome = _outcome(task_sets)
        if not unmet_reason and not is_met(edge, outcome) and edge.otherwise == "cancel":
            unmet_reason = describe_unmet(edge, f"group {edge.group}", outcome)
    return unmet_reason


def _outcome(task_sets: list[TaskSet]) -> str:
    if any(task_set.counts[TaskState.FAILED] for task_set in task_sets):
        return "failed"
    return "cancelled" if any(task_set.counts[_CANCELLED] for task_set in task_sets) else "succeeded"
