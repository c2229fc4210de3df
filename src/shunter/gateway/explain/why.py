"""Explains why a job is in its state: one sentence, the reasons why nodes reject it, and when it may start.

Called by `gateway.explain.explain`, and by plans for jobs that would stay pending."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from shunter.engine.jobs.dependencies import waits_for
from shunter.engine.placement.cluster_view import build_view
from shunter.engine.placement.gang_restart import is_gathering
from shunter.engine.policy.active_policy import ActivePolicy
from shunter.engine.policy.sessions import Session
from shunter.engine.read.views import counts_view, rollout_view
from shunter.engine.services.crashes import DEGRADED
from shunter.engine.services.instances import collect_instances
from shunter.engine.services.per_node import class_of
from shunter.engine.state.records import Job, TaskSet
from shunter.engine.state.registries.services import ServiceState
from shunter.engine.state.state import State
from shunter.gateway.explain.down_nodes import describe_only_down, describe_tasks_on_down_nodes
from shunter.gateway.explain.estimates import estimate_start
from shunter.gateway.explain.names import ALL_NAMES, Names
from shunter.gateway.explain.rollout import describe_crash, describe_update
from shunter.gateway.explain.testbed_holds import describe_testbed_holds
from shunter.model.job.spec import PER_NODE
from shunter.model.lifecycles import TaskState
from shunter.model.resources import format_duration
from shunter.model.rest.job_views import JobView, TaskView, describe_end_state
from shunter.model.rest.plan_views import ReasonView, WhyView
from shunter.planning.explain.wait_reasons import explain
from shunter.planning.filter.filters import FILTERS, Filter
from shunter.planning.planner import Planner
from shunter.planning.view import TaskClass

PROBE_BUDGET = 100_000  # tasks that the planner places to explain itself
POLICY_REASON_SIZE_MAX = 200  # of the reason that a policy gives for a class
NO_REASONS: Mapping[int, str] = MappingProxyType({})


def why(
    state: State,
    job: Job,
    now_ms: int,
    filters: Sequence[Filter] = FILTERS,
    reserved: Mapping[int, str] = NO_REASONS,
    names: Names = ALL_NAMES,
) -> WhyView:
    """All but the suggestions, which need a dry run."""
    sentences = (
        describe_state(state, job, now_ms, filters, reserved, names),
        describe_tasks_on_down_nodes(state, job, now_ms),
        describe_update(state, job, now_ms),
        describe_crash(state, job, now_ms),
    )
    reasons = reasons_of(state, job, filters, reserved, names)
    start = estimate_start(state, job, now_ms, filters, names)
    if start is not None and start.at is None and reasons and (down := describe_only_down(state, reasons[0])):
        start.basis = f"{down}; it is placed when the node is back"
    return WhyView(
        name=job.name,
        state=job.state.wire_name,
        sentence=" ".join(filter(None, sentences)),
        counts=counts_view(_counts(state, job)),
        reasons=reasons,
        start=start,
    )


def why_ended(run: JobView) -> WhyView:
    sentence = f"{run.name} {describe_end_state(run.state)}"
    sentence = f"{sentence}: {run.reason.rstrip('.')}." if run.reason else f"{sentence}."
    return WhyView(name=run.name, state=run.state, sentence=sentence, counts=run.counts)


def why_task(task: TaskView, lost_reason: str = "") -> WhyView:
    """For a task that is past waiting. `lost_reason`: why its last lost attempt was lost."""
    where = f" on {task.node}" if task.node else ""
    details = f": {task.reason}" if task.reason else ""
    sentences = {
        "assigned": f"{task.name} is starting on {task.node}.",
        "running": f"{task.name} is running{where}, attempt {task.attempt}, since {task.started_at}.",
        "stopping": f"{task.name} is stopping{where}{details}.",
        "succeeded": f"{task.name} succeeded{where} in attempt {task.attempt}.",
        "cancelled": f"{task.name} was cancelled{details}.",
    }
    code = f" with exit code {task.exit_code}" if task.exit_code is not None else ""
    cause = "" if task.reason == code.removeprefix(" with ") else details  # the reason may only repeat the code
    failed = f"{task.name} failed{where}{code} in attempt {task.attempt}{cause}."
    sentence = sentences.get(task.state, failed)
    if lost_reason and task.state in ("assigned", "running", "stopping"):
        times = "once" if task.lost == 1 else f"{task.lost} times"
        sentence = f"{sentence} It was lost {times} before, last because: {lost_reason.rstrip('.')}."
    return WhyView(name=task.name, state=task.state, sentence=sentence, counts={task.state: 1})


def reservation_reasons(
    state: State, active_policy: ActivePolicy, leader: Session | None, now_ms: int, names: Names = ALL_NAMES
) -> Mapping[int, str]:
    """By class: for which job room is reserved that it cannot use, or that room is reserved or being made for it.

    The built-in planner is asked again, because decisions do not record reasons. Other policies give reasons in their
    last decision; they may be about anything, so only who sees everything reads them.
    """
    if leader is not None:
        name, refusals, reasons = leader.name, leader.refusals, leader.reasons
    elif not isinstance(policy := active_policy.round_policy, Planner):
        name, refusals, reasons = active_policy.name, active_policy.refusals, active_policy.last_decision.reasons
    else:
        view = replace(build_view(state), called=lambda class_id: names.called(state, class_id))
        return policy.fork().decide(view, now_ms / 1000, PROBE_BUDGET).reasons
    refused = refusals.describe(name, now_ms)
    if not names.sees_all:
        waiting = [record.id for record in state.classes.values() if record.queued] if refused else reasons
        return dict.fromkeys(waiting, f"{name} has not placed it")
    if refused:
        return {record.id: refused for record in state.classes.values() if record.queued}
    return _attributed(name, reasons)


def _attributed(name: str, reasons: Mapping[int, str]) -> Mapping[int, str]:
    return {class_id: f"{name} says: {str(text)[:POLICY_REASON_SIZE_MAX]}" for class_id, text in reasons.items()}


def reasons_of(
    state: State,
    job: Job,
    filters: Sequence[Filter] = FILTERS,
    reserved: Mapping[int, str] = NO_REASONS,
    names: Names = ALL_NAMES,
) -> list[ReasonView]:
    """Why groups that could be placed are not, the most important reason first."""
    return _find_reasons(state, job, filters, reserved, names).in_order()


@dataclass(frozen=True, slots=True)
class _Reasons:
    reserved: list[str]  # room is reserved, for others or for the job itself
    nodes: list[ReasonView]  # what nodes lack
    testbeds: list[str]  # testbeds whose slots hold what the job needs

    def in_order(self) -> list[ReasonView]:
        reserved, testbeds = (
            [ReasonView(text=each, nodes=0) for each in texts] for texts in (self.reserved, self.testbeds)
        )
        return [*reserved, *self.nodes, *testbeds]


def _find_reasons(
    state: State, job: Job, filters: Sequence[Filter], reserved: Mapping[int, str], names: Names
) -> _Reasons:
    """Groups share equal reasons."""
    waiting = list(_waiting_classes(state, job))
    if not waiting:
        return _Reasons([], [], [])
    by_text = _node_reasons(state, waiting, filters, has_one_group=len(job.spec_version.groups) == 1)
    records = (state.classes.get(task_class.id) for _, task_class, _ in waiting)
    secrets = (state.secrets.problem_of_class(each.key) for each in records if each is not None)
    texts = dict.fromkeys(filter(None, secrets))
    texts |= dict.fromkeys(reserved[task_class.id] for _, task_class, _ in waiting if task_class.id in reserved)
    testbeds = dict.fromkeys(
        text
        for _, task_class, node in waiting
        for text in describe_testbed_holds(state, task_class, filters, node, names)
    )
    return _Reasons([text for text in texts if text not in by_text], list(by_text.values()), list(testbeds))


def _node_reasons(
    state: State, waiting: Sequence[tuple[str, TaskClass, int]], filters: Sequence[Filter], *, has_one_group: bool
) -> dict[str, ReasonView]:
    view, by_text = build_view(state), dict[str, ReasonView]()
    for group, task_class, node in waiting:
        for reason in explain(task_class, state.nodes.view, filters, view, node):
            text = f"must run on {reason.examples[0]}: {reason.text}" if node and reason.nodes else reason.text
            if reason.nodes and not has_one_group:
                text = f"group {group}: {text}"
            by_text.setdefault(text, ReasonView(text=text, nodes=reason.nodes, examples=list(reason.examples)))
    return by_text


def _waiting_classes(state: State, job: Job) -> Iterator[tuple[str, TaskClass, int]]:
    """Groups of a job with tasks that could be placed: name, task class, and the node that they must run on or 0."""
    if job.type in PER_NODE and not job.task_sets:  # no node matches yet
        for spec in job.spec_version.groups:
            yield spec.name, class_of(job, spec), 0
        return
    for task_set in job.task_sets:
        if task_set.ready:
            yield task_set.spec.name, task_set.task_class.task_class, task_set.node
    for number, node in state.moves.of_job(job.id):
        task_set = state.require_task_set(job.id, number)
        yield task_set.spec.name, task_set.task_class.task_class, node


def describe_state(
    state: State,
    job: Job,
    now_ms: int,
    filters: Sequence[Filter] = FILTERS,
    reserved: Mapping[int, str] = NO_REASONS,
    names: Names = ALL_NAMES,
) -> str:
    """The state of an unfinished job in one sentence."""
    counts = _counts(state, job)
    if job.type in PER_NODE and not job.task_sets and not job.is_held and not waits_for(state, job, now_ms):
        return _describe_no_matching_node(state, job, filters, names)
    if counts[TaskState.WAITING] or counts[TaskState.QUEUED]:
        return _describe_pending(state, job, now_ms, filters, reserved, names)
    if counts[TaskState.STOPPING]:
        return f"{job.name} is stopping: {counts[TaskState.STOPPING]:,} of {sum(counts):,} tasks have not ended yet."
    return _describe_running(state, job, now_ms)


def _describe_no_matching_node(state: State, job: Job, filters: Sequence[Filter], names: Names) -> str:
    details = "".join(f": {reason.text}" for reason in reasons_of(state, job, filters, names=names)[:1])
    return f"{job.name} runs on every matching node, but no node matches{details}."


def _counts(state: State, job: Job) -> Sequence[int]:
    """Tasks by state, as `job` shows them: of a long-running job, without those that are being replaced."""
    if job.id not in state.services.jobs:
        return job.counts()
    _, by_group = rollout_view(state, job)
    return [sum(column) for column in zip(*by_group.values(), strict=True)]


def _describe_running(state: State, job: Job, now_ms: int) -> str:
    counts = _counts(state, job)
    live, total = counts[TaskState.ASSIGNED] + counts[TaskState.RUNNING], sum(counts)
    service = state.services.jobs.get(job.id)
    if service is not None and (unavailable := _describe_unavailable(state, job, service, now_ms, (live, total))):
        return unavailable
    if live and not counts[TaskState.RUNNING]:
        is_containerized = any(group.task.container is not None for group in job.spec_version.groups)
        hint = f"; `shunter logs {job.name}` shows the progress of the image pull" if is_containerized else ""
        sent = f"{live:,} of {total:,} tasks were sent to nodes"
        return f"{job.name} is starting: {sent}, none has started yet{hint}."
    if live == total == 1:
        return f"{job.name} is running."
    ended = total - live
    others = f", {ended:,} {'has' if ended == 1 else 'have'} ended" if ended else ""
    return f"{job.name} is running: {live:,} of {total:,} tasks {'is' if live == 1 else 'are'} running{others}."


def _describe_unavailable(
    state: State, job: Job, service: ServiceState, now_ms: int, live_of_total: tuple[int, int]
) -> str:
    """A long-running job of which some instances gave up or were stopped by a user, and how to start them again;
    empty if there are none."""
    (live, total), (view, _) = live_of_total, rollout_view(state, job, now_ms)
    current = [instance.current for instance in collect_instances(state, job).values()]
    failed = [member for member in current if member.state == TaskState.FAILED]
    stopped = [member for member in current if service.is_down(member.task_set.spec.name, member.visible_index)]
    if not failed and not stopped:
        return ""
    details = [f"{live:,} of {total:,} tasks {'is' if live == 1 else 'are'} running"]
    details += [f"{len(stopped):,} stopped by a user"] if stopped else []
    if failed:
        details.append(view.reason if view.status == DEGRADED and view.reason else f"{len(failed):,} failed")
    first, is_one = (failed + stopped)[0], len(failed) + len(stopped) == 1
    target = first.task_set.task_name(first.index) if is_one else f"{job.name}/INDEX"
    fix = f"Start {'it' if is_one else 'them'} again with `shunter restart {target}`."
    return f"{job.name} is {view.status if failed else 'running'}: {', '.join(details)}. {fix}"


def _describe_pending(
    state: State, job: Job, now_ms: int, filters: Sequence[Filter], reserved: Mapping[int, str], names: Names
) -> str:
    if job.is_held:
        also = waits_for(state, job, now_ms)
        return f"Held. Start it with `shunter release {job.name}`." + (
            f" It also waits for {' and for '.join(also)}." if also else ""
        )
    counts = _counts(state, job)
    waiting, queued, total = counts[TaskState.WAITING], counts[TaskState.QUEUED], sum(counts)
    waits = waits_for(state, job, now_ms) if waiting else []
    if waits:
        return f"{_count_pending(waiting + queued, total)}: waiting for {' and for '.join(waits)}."
    if queued:
        return f"{_count_pending(queued, total)}: {_describe_queued(state, job, now_ms, filters, reserved, names)}."
    return f"{_count_pending(waiting, total)}: waiting for other tasks of the job to end."


def _count_pending(pending: int, total: int) -> str:
    if pending < total:
        return f"{pending:,} of {total:,} tasks are pending" if pending > 1 else f"1 of {total:,} tasks is pending"
    if total == 1:
        return "Pending"
    return "Both tasks are pending" if total == 2 else f"All {total:,} tasks are pending"


def _describe_queued(
    state: State, job: Job, now_ms: int, filters: Sequence[Filter], reserved: Mapping[int, str], names: Names
) -> str:
    """What queued tasks wait for: the first cause that applies, from the job itself to the nodes."""
    delayed = [at_ms for task_set in job.task_sets for at_ms in task_set.back_off_ends_ms]
    if len(delayed) == job.counts()[TaskState.QUEUED]:
        wait = format_duration(max(min(delayed) - now_ms, 0) / 1000)
        return f"{job.name} is in back-off, and the next attempt starts in {wait}"
    if gathering := _describe_gang_restart(job, now_ms):
        return gathering
    if (limited := next(filter(_is_at_parallel_max, job.task_sets), None)) is not None:
        return f"the job has reached its parallel_max of {limited.spec.parallel_max}"
    if (ahead := _job_ahead_in_class(job)) is not None:
        return f"{names.job(ahead)} requests the same resources and was submitted first"
    if (ahead := _job_ahead_in_queue(state, job)) is not None:
        return f"queue {job.options.queue} is strict, and {names.job(ahead)} was submitted first"
    return _describe_reasons(state, _find_reasons(state, job, filters, reserved, names)) or "waiting for the next round"


def _describe_reasons(state: State, reasons: _Reasons) -> str:
    """The first reason, and the first testbed in the way; empty if there is no reason."""
    first = next(iter(reasons.in_order()), None)
    if first is None:
        return ""
    if down := describe_only_down(state, first):
        return down
    nodes = f" ({first.nodes:,} node{'s' if first.nodes != 1 else ''})" if first.nodes else ""
    testbeds = [text for text in reasons.testbeds[:1] if text != first.text]
    return "; ".join([f"{first.text}{nodes}", *testbeds])


def _describe_gang_restart(job: Job, now_ms: int) -> str:
    """What a gang waits for before it starts again as a whole; empty if it does not."""
    members = [task_set for task_set in job.task_sets if task_set.ready and is_gathering(task_set.task_class, task_set)]
    if not members:
        return ""
    gang = job.task_sets if job.options.gang else members
    ending = sum(len(task_set.requeue_when_stopped or ()) for task_set in gang)
    if ending:
        verb = "task is still stopping" if ending == 1 else "tasks are still stopping"
        return f"the gang restarts as a whole, and {ending} {verb}"
    due_ms = max(at_ms for task_set in gang for at_ms in (task_set.delayed or {}).values())
    return f"the gang restarts as a whole, after a back-off of {format_duration(max(due_ms - now_ms, 0) / 1000)}"


def _is_at_parallel_max(task_set: TaskSet) -> bool:
    limit = task_set.spec.parallel_max
    return bool(limit and task_set.ready and task_set.task_class.width >= limit)


def _job_ahead_in_class(job: Job) -> Job | None:
    """The first job among those that ask for the same, if it is another one."""
    for task_set in job.task_sets:
        first = next((other for other in task_set.task_class.task_sets if other.ready), None)
        if task_set.ready and first is not None and first.job.id != job.id:
            return first.job
    return None


def _job_ahead_in_queue(state: State, job: Job) -> Job | None:
    """The oldest job that waits in the same strict queue, if it is another one."""
    queue = state.queues.get(job.options.queue)
    if queue.is_paused or not queue.is_strict:
        return None
    records = (record for record in state.classes.values() if record.key.queue == job.options.queue)
    waiting = [group.job for record in records if (group := record.first_ready()) is not None]
    oldest = min(waiting, key=lambda each: each.id, default=job)
    return None if oldest is job else oldest
