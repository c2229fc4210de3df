"""Why a job is where it is: its state in one sentence, what nodes have against it, and when it may start.

Called by the gateway, and by plans for what would wait.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from shunter.engine.jobs.dependencies import waits_for
from shunter.engine.placement.cluster_view import build_view
from shunter.engine.placement.gang_restart import is_gathering
from shunter.engine.policy.active_policy import ActivePolicy
from shunter.engine.policy.sessions import Session
from shunter.engine.read.views import counts_view
from shunter.engine.services.per_node import class_of
from shunter.engine.state.records import Job, TaskSet
from shunter.engine.state.state import State
from shunter.gateway.explain.estimates import estimate_start
from shunter.gateway.explain.rollout import describe_update
from shunter.model.job.spec import PER_NODE
from shunter.model.lifecycles import TaskState
from shunter.model.resources import format_duration
from shunter.model.rest.views import JobView, ReasonView, TaskView, WhyView, describe_end_state
from shunter.planning.explain.wait_reasons import explain
from shunter.planning.filter.filters import FILTERS, Filter
from shunter.planning.planner import Planner

PROBE_BUDGET = 100_000  # tasks that the planner places when it is only asked
POLICY_REASON_SIZE_MAX = 200  # of what a policy of another make says about a class
NO_REASONS: Mapping[int, str] = MappingProxyType({})


def why(
    state: State, job: Job, now_ms: int, filters: Sequence[Filter] = FILTERS, reserved: Mapping[int, str] = NO_REASONS
) -> WhyView:
    """All but the suggestions, which take copies of the cluster."""
    sentences = (describe_state(state, job, now_ms, filters, reserved), describe_update(state, job, now_ms))
    return WhyView(
        name=job.name,
        state=job.state.wire_name,
        sentence=" ".join(sentences).strip(),
        counts=counts_view(job.counts()),
        reasons=reasons_of(state, job, filters, reserved),
        start=estimate_start(state, job, now_ms, filters),
    )


def why_ended(run: JobView) -> WhyView:
    sentence = f"{run.name} {describe_end_state(run.state)}"
    sentence = f"{sentence}: {run.reason}" if run.reason else f"{sentence}."
    return WhyView(name=run.name, state=run.state, sentence=sentence, counts=run.counts)


def why_task(task: TaskView) -> WhyView:
    """Of a task that waits for nothing."""
    where = f" on {task.node}" if task.node else ""
    details = f": {task.reason}" if task.reason else ""
    sentences = {
        "assigned": f"{task.name} has been sent to {task.node} and starts there.",
        "running": f"{task.name} is running{where}, attempt {task.attempt}, since {task.started_at}.",
        "stopping": f"{task.name} is stopping{where}{details}.",
        "succeeded": f"{task.name} has succeeded{where} in attempt {task.attempt}.",
        "cancelled": f"{task.name} was cancelled{details}.",
    }
    code = f" with exit code {task.exit_code}" if task.exit_code is not None else ""
    failed = f"{task.name} has failed{where}{code} in attempt {task.attempt}{details}."
    return WhyView(name=task.name, state=task.state, sentence=sentences.get(task.state, failed), counts={task.state: 1})


def reservation_reasons(
    state: State, active_policy: ActivePolicy, leader: Session | None, now_ms: int
) -> Mapping[int, str]:
    """By class: for whose sake room is kept from it, or that room is being made or kept for it.

    The built-in planner is asked what it would decide now: a decision remembers nothing about it. Others have said it
    with their last decision, or not at all.
    """
    if leader is not None:
        return _attributed(leader.name, leader.reasons)
    policy = active_policy.round_policy
    if not isinstance(policy, Planner):
        return _attributed(active_policy.name, active_policy.last_decision.reasons)
    return policy.fork().decide(build_view(state), now_ms / 1000, PROBE_BUDGET).reasons


def _attributed(name: str, reasons: Mapping[int, str]) -> Mapping[int, str]:
    return {class_id: f"{name} says: {str(text)[:POLICY_REASON_SIZE_MAX]}" for class_id, text in reasons.items()}


def reasons_of(
    state: State, job: Job, filters: Sequence[Filter] = FILTERS, reserved: Mapping[int, str] = NO_REASONS
) -> list[ReasonView]:
    """Of the groups that could be placed and are not: for whom room is kept, and what each node has against them."""
    waiting_classes = [
        (task_set.spec, task_set.task_class.task_class, task_set.node) for task_set in job.task_sets if task_set.ready
    ]
    for number, node in state.moves.of_job(job.id):
        task_set = state.require_task_set(job.id, number)
        waiting_classes.append((task_set.spec, task_set.task_class.task_class, node))
    if job.type in PER_NODE and not job.task_sets:
        waiting_classes = [(spec, class_of(job, spec), 0) for spec in job.spec_version.groups]
    if not waiting_classes:
        return []
    view = build_view(state)
    details = [reserved[task_class.id] for _, task_class, _ in waiting_classes if task_class.id in reserved]
    by_text: dict[str, ReasonView] = {}  # task sets of one group, and groups with the same reason, are told once
    for spec, task_class, pinned_node in waiting_classes:
        for reason in explain(task_class, state.nodes.view, filters, view, pinned_node):
            is_shared = not reason.nodes or len(job.spec_version.groups) == 1
            at = f"must run on {reason.examples[0]}: " if pinned_node and reason.nodes else ""
            text = at + reason.text if is_shared else f"group {spec.name}: {at}{reason.text}"
            by_text.setdefault(text, ReasonView(text=text, nodes=reason.nodes, examples=list(reason.examples)))
    return [ReasonView(text=text, nodes=0) for text in dict.fromkeys(details) if text not in by_text] + list(
        by_text.values()
    )


def describe_state(
    state: State, job: Job, now_ms: int, filters: Sequence[Filter] = FILTERS, reserved: Mapping[int, str] = NO_REASONS
) -> str:
    """The state of a job that has not ended, in one sentence."""
    counts = job.counts()
    total = sum(counts)
    if job.type in PER_NODE and not job.task_sets and not waits_for(state, job, now_ms):
        details = "; ".join(reason.text for reason in reasons_of(state, job, filters)[:1])
        return f"{job.name} runs on every node that matches, and there is none" + (f": {details}." if details else ".")
    waiting, queued = counts[TaskState.WAITING], counts[TaskState.QUEUED]
    waits = waits_for(state, job, now_ms) if waiting or (queued and job.is_held) else []
    if waits:
        return f"{waiting + queued:,} of {total:,} tasks wait for {', and for '.join(waits)}."
    if queued:
        return _describe_queued(state, job, now_ms, filters, reserved)
    if waiting:
        return f"{waiting:,} of {total:,} tasks wait for others of the job to end first."
    if counts[TaskState.STOPPING]:
        return f"{job.name} is stopping: {counts[TaskState.STOPPING]:,} of {total:,} tasks have not ended yet."
    live = counts[TaskState.ASSIGNED] + counts[TaskState.RUNNING]
    service_state = state.services.jobs.get(job.id)
    if service_state is not None and (service_state.down or counts[TaskState.FAILED]):
        unavailable = ((len(service_state.down), "taken down"), (counts[TaskState.FAILED], "given up"))
        details = ", ".join(f"{count} {how}" for count, how in unavailable if count)
        fix = f"`shunter restart {job.name}/INDEX` starts them again"
        return f"{job.name} is running: {live:,} of {total:,} tasks are on nodes, {details}; {fix}."
    if live and not counts[TaskState.RUNNING]:
        is_containerized = any(group.task.container is not None for group in job.spec_version.groups)
        where = f"; `shunter logs {job.name}` tells how far the image is" if is_containerized else ""
        sent = f"{live:,} of {total:,} tasks were sent to nodes"
        return f"{job.name} is starting: {sent}, none has started there yet{where}."
    return f"{job.name} is running: {live:,} of {total:,} tasks are on nodes, none waits."


def _describe_queued(
    state: State, job: Job, now_ms: int, filters: Sequence[Filter], reserved: Mapping[int, str]
) -> str:
    counts = job.counts()
    summary = f"{counts[TaskState.QUEUED]:,} of {sum(counts):,} tasks wait"
    delayed = [at_ms for task_set in job.task_sets for at_ms in task_set.back_off_ends_ms]
    if len(delayed) == counts[TaskState.QUEUED]:
        wait = format_duration(max(min(delayed) - now_ms, 0) / 1000)
        return f"{summary}: {job.name} waits out its back-off, and the next attempt comes in {wait}."
    if gathering := _describe_gang_restart(job, now_ms):
        return f"{summary}: {gathering}."
    limited = next((task_set for task_set in job.task_sets if _is_at_parallel_max(task_set)), None)
    if limited is not None:
        return f"{summary}: {limited.spec.parallel_max} run at once, as many as parallel_max allows."
    ahead = _job_ahead_in_class(job)
    if ahead is not None:
        return f"{summary}: job {ahead.name} asks for the same and came first."
    ahead = _job_ahead_in_queue(state, job)
    if ahead is not None:
        return f"{summary}: queue {job.options.queue} is strict, and job {ahead.name} came first."
    reasons = reasons_of(state, job, filters, reserved)
    if reasons:
        first = reasons[0]
        nodes = f" ({first.nodes:,} node{'s' if first.nodes != 1 else ''})" if first.nodes else ""
        return f"{summary}: {first.text}{nodes}."
    return f"{summary} for their turn in the next round."


def _describe_gang_restart(job: Job, now_ms: int) -> str:
    """What a gang waits for that has to start again as a whole; empty if there is nothing."""
    members = [task_set for task_set in job.task_sets if task_set.ready and is_gathering(task_set.task_class, task_set)]
    if not members:
        return ""
    gang = job.task_sets if job.options.gang else members
    ending = sum(len(task_set.requeue_when_stopped or ()) for task_set in gang)
    if ending:
        verb = "more is ending" if ending == 1 else "more are ending"
        return f"the gang starts again as a whole, and {ending} {verb}"
    due_ms = max(at_ms for task_set in gang for at_ms in (task_set.delayed or {}).values())
    return f"the gang starts again as a whole, after a back-off of {format_duration(max(due_ms - now_ms, 0) / 1000)}"


def _is_at_parallel_max(task_set: TaskSet) -> bool:
    limit = task_set.spec.parallel_max
    return bool(limit and task_set.ready and task_set.task_class.width >= limit)


def _job_ahead_in_class(job: Job) -> Job | None:
    """The job that comes first among those that ask for the same, if it is another one."""
    for task_set in job.task_sets:
        first = next((other for other in task_set.task_class.task_sets if other.ready), None)
        if task_set.ready and first is not None and first.job.id != job.id:
            return first.job
    return None


def _job_ahead_in_queue(state: State, job: Job) -> Job | None:
    """The oldest job that waits in its strict queue, if it is another one."""
    queue = state.queues.get(job.options.queue)
    if queue.is_paused or not queue.is_strict:
        return None
    records = (record for record in state.classes.values() if record.key.queue == job.options.queue)
    waiting = [group.job for record in records if (group := record.first_ready()) is not None]
    oldest = min(waiting, key=lambda each: each.id, default=job)
    return None if oldest is job else oldest
