"""Why a job is where it is: one sentence and the reasons of the nodes. Called by the gateway."""

from __future__ import annotations

from shunter.engine.records import Job
from shunter.engine.state import State
from shunter.engine.views import counts_view
from shunter.model.lifecycles import TaskState
from shunter.model.views import ReasonView, WhyView
from shunter.planning.explain import explain


def why(state: State, job: Job) -> WhyView:
    counts = job.counts()
    reasons: list[ReasonView] = []
    if counts[TaskState.QUEUED]:
        for group in job.groups:
            if group.ready:
                reasons += [
                    ReasonView(text=reason.text, nodes=reason.nodes, examples=list(reason.examples))
                    for reason in explain(group.task_class.task_class, state.nodes.view)
                ]
    return WhyView(
        name=job.name,
        state=job.state.word,
        sentence=_sentence(job, counts, reasons),
        counts=counts_view(counts),
        reasons=reasons,
    )


def _sentence(job: Job, counts: list[int], reasons: list[ReasonView]) -> str:
    total = sum(counts)
    queued = counts[TaskState.QUEUED]
    live = counts[TaskState.ASSIGNED] + counts[TaskState.RUNNING]
    if counts[TaskState.STOPPING]:
        return f"{job.name} is stopping: {counts[TaskState.STOPPING]} of {total} tasks have not ended yet."
    if not queued:
        return f"{job.name} is running: {live} of {total} tasks are on nodes, none waits."
    delayed = sum(len(group.delayed or ()) for group in job.groups)
    if delayed == queued:
        return f"{job.name} waits out the back-off of {delayed} of {total} tasks before their next attempt."
    ahead = [group.task_class.groups[0].job for group in job.groups if group.task_class.groups]
    if ahead and ahead[0].id != job.id:
        return f"{queued} of {total} tasks wait: job {ahead[0].name} asks for the same and came first."
    if reasons:
        first = reasons[0]
        nodes = f" ({first.nodes} node{'s' if first.nodes != 1 else ''})" if first.nodes else ""
        return f"{queued} of {total} tasks wait: {first.text}{nodes}."
    return f"{queued} of {total} tasks wait for their turn in the next round."
