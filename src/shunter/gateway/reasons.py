"""Why a job is where it is: one sentence, the reasons of the nodes, what would start it, and when it may start.

Called by the gateway, and by plans for what would wait.
"""

from __future__ import annotations

from shunter.engine.records import Job
from shunter.engine.state import State
from shunter.engine.views import counts_view
from shunter.model.lifecycles import TaskState
from shunter.model.resources import format_duration
from shunter.model.views import ReasonView, TaskView, WhyView
from shunter.planning.explain import explain


def why(state: State, job: Job, now_ms: int) -> WhyView:
    counts = job.counts()
    return WhyView(
        name=job.name,
        state=job.state.word,
        sentence=wait_sentence(state, job, now_ms),
        counts=counts_view(counts),
        reasons=reasons_of(state, job),
    )


def why_task(task: TaskView) -> WhyView:
    """Of a task that waits for nothing."""
    where = f" on {task.node}" if task.node else ""
    told = f": {task.reason}" if task.reason else ""
    words = {
        "assigned": f"{task.name} has been sent to {task.node} and starts there.",
        "running": f"{task.name} is running{where}, attempt {task.attempt}, since {task.started_at}.",
        "stopping": f"{task.name} is stopping{where}{told}.",
        "succeeded": f"{task.name} has succeeded{where} in attempt {task.attempt}.",
        "cancelled": f"{task.name} was cancelled{told}.",
    }
    code = f" with exit code {task.exit_code}" if task.exit_code is not None else ""
    failed = f"{task.name} has failed{where}{code} in attempt {task.attempt}{told}."
    return WhyView(name=task.name, state=task.state, sentence=words.get(task.state, failed), counts={task.state: 1})


def reasons_of(state: State, job: Job) -> list[ReasonView]:
    """Of the groups that could be placed and are not: what each node has against them, counted."""
    return [
        ReasonView(text=reason.text, nodes=reason.nodes, examples=list(reason.examples))
        for group in job.groups
        if group.ready
        for reason in explain(group.task_class.task_class, state.nodes.view)
    ]


def wait_sentence(state: State, job: Job, now_ms: int) -> str:
    """The state of a job that has not ended, in one sentence."""
    counts = job.counts()
    total = sum(counts)
    queued = counts[TaskState.QUEUED]
    live = counts[TaskState.ASSIGNED] + counts[TaskState.RUNNING]
    if counts[TaskState.STOPPING]:
        return f"{job.name} is stopping: {counts[TaskState.STOPPING]} of {total} tasks have not ended yet."
    if not queued:
        return f"{job.name} is running: {live} of {total} tasks are on nodes, none waits."
    delayed = [at_ms for group in job.groups for at_ms in (group.delayed or {}).values()]
    if len(delayed) == queued:
        wait = format_duration(max(min(delayed) - now_ms, 0) / 1000)
        return f"{job.name} waits out the back-off of {queued} of {total} tasks; the next one is tried in {wait}."
    ahead = _ahead(job)
    if ahead is not None:
        return f"{queued} of {total} tasks wait: job {ahead.name} asks for the same and came first."
    reasons = reasons_of(state, job)
    if reasons:
        first = reasons[0]
        nodes = f" ({first.nodes} node{'s' if first.nodes != 1 else ''})" if first.nodes else ""
        return f"{queued} of {total} tasks wait: {first.text}{nodes}."
    return f"{queued} of {total} tasks wait for their turn in the next round."


def _ahead(job: Job) -> Job | None:
    """The job that comes first among those that ask for the same, if it is another one."""
    for group in job.groups:
        first = next((other for other in group.task_class.groups if other.ready), None)
        if group.ready and first is not None and first.job.id != job.id:
            return first.job
    return None
