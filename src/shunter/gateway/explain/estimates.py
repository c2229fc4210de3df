"""Estimates when a waiting job may start, and says on what basis. Called by `gateway.explain.why`.

An estimate considers only running tasks and their expected ends. Other waiting jobs may come first, so users read
"about". The basis names the job that ends, and how its end is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from shunter.engine.jobs.dependencies import earliest_start_ms, waits_for
from shunter.engine.state.records import ClassRecord, Job, TaskSet
from shunter.engine.state.state import State
from shunter.gateway.explain.names import ALL_NAMES, Names
from shunter.model.job.spec import LONG_RUNNING
from shunter.model.lifecycles import TaskState
from shunter.model.resources import format_duration
from shunter.model.rest.plan_views import StartView
from shunter.model.timestamps import iso
from shunter.planning.explain.start_estimate import ExpectedEnd, Forecast
from shunter.planning.filter.filters import FILTERS, Filter

SAMPLE_TASKS = 100_000  # of one group, to learn how long its tasks take
EXPECTED_ENDS_MAX = 20_000  # considered, the first ones

ReleasedAmount = Callable[[TaskSet], int]  # by the end of one of its tasks


def estimate_start(
    state: State, job: Job, now_ms: int, filters: Sequence[Filter] = FILTERS, names: Names = ALL_NAMES
) -> StartView | None:
    """For the next task of a job; None if no task waits."""
    waiting = [
        task_set
        for task_set in job.task_sets
        if task_set.counts[TaskState.QUEUED] or task_set.counts[TaskState.WAITING]
    ]
    if not waiting:
        return None
    ready = [task_set for task_set in waiting if task_set.ready]
    if not ready:
        return _start_by_time(state, job, waiting, now_ms)
    queue = job.options.queue
    if job.is_held:
        return StartView(at=None, basis="it is held")
    if state.queues.get(queue).is_paused:
        return StartView(at=None, basis=f"queue {queue} is paused")
    found = [_estimate_task_set(state, task_set, now_ms, filters, names) for task_set in ready]
    choose = max if job.options.gang else min  # a gang starts with its last group
    _, start = choose(found, key=lambda each: (each[1].at is None, each[0], each[1].at or ""))
    return start


def _start_by_time(state: State, job: Job, waiting: list[TaskSet], now_ms: int) -> StartView:
    """For a job without tasks that could be placed: it waits for a time or an event."""
    if job.is_held:
        return StartView(at=None, basis="it is held")
    delayed = [at_ms for task_set in waiting for at_ms in task_set.back_off_ends_ms]
    if delayed:
        return StartView(at=iso(min(delayed) / 1000), basis="its back-off ends")
    for _, node in state.moves.of_job(job.id):
        return StartView(at=None, basis=f"it was moved to {state.nodes.view.names[node]} and waits for room there")
    ends = [_expected_end(state, other, now_ms) for other in state.edges.targets(job.id).values()]
    at_ms, basis = max([(earliest_start_ms(job), "its start_at"), *ends])
    if at_ms <= now_ms or any(not end for end, _ in ends):
        return StartView(at=None, basis=f"it waits for {', and for '.join(waits_for(state, job, now_ms)) or 'others'}")
    return StartView(at=iso(at_ms / 1000), basis=basis)


def _expected_end(state: State, job_id: int, now_ms: int) -> tuple[int, str]:
    """When a job ends that others wait for, if all its unfinished tasks run; 0 if unknown."""
    job, latest = state.jobs.get(job_id), (0, "")
    if job is None:
        return latest
    for task_set in job.task_sets:
        rows = slice(task_set.base, task_set.base + task_set.count)
        states = state.table.state[rows]
        seconds, known = expected_duration(state, task_set)
        if (states <= TaskState.QUEUED).any() or not seconds:
            return 0, ""
        live = (states >= TaskState.ASSIGNED) & (states <= TaskState.STOPPING)
        started = state.table.started_ms[rows][live]
        if started.size:
            end_ms = int(np.where(started > 0, started, now_ms).max() + seconds * 1000)
            latest = max(latest, (end_ms, f"when {job.name}@{job.run} ends, {known}"))
    return latest


def _estimate_task_set(
    state: State, task_set: TaskSet, now_ms: int, filters: Sequence[Filter], names: Names
) -> tuple[bool, StartView]:
    """Whether it could never start, even if nothing else ran; and when it starts."""
    rules = task_set.task_class.task_class.rules
    count = task_set.task_class.queued if rules is not None and rules.gang else 1
    forecast = Forecast(task_set.task_class.task_class, state.nodes.view, filters)
    if not forecast.could_ever_fit(count):
        room = forecast.room_ever(count)
        basis = "no node could run it, even if nothing else ran"
        if room:
            basis = (
                f"the gang could not start even if nothing else ran: {room:,} of its {count:,} tasks would have room"
            )
        return True, StartView(at=None, basis=basis)
    for name, need in task_set.task_class.licences:
        if need * count > (total := state.cluster.licences().get(name, 0)):
            return False, StartView(at=None, basis=f"it needs {need * count} of {name}, but the cluster has {total}")
    ends = expected_ends(state, task_set, now_ms)
    last_end = _last_needed_end(state, task_set, count, forecast, ends)
    if last_end is None:
        return False, StartView(at=None, basis=_why_no_estimate(state, ends))
    ended = state.task_sets[last_end.source]
    assert ended is not None
    return False, StartView(at=iso(last_end.at_ms / 1000), basis=_basis(state, ended, last_end, now_ms, names))


def _last_needed_end(
    state: State, task_set: TaskSet, count: int, forecast: Forecast, ends: Sequence[ExpectedEnd]
) -> ExpectedEnd | None:
    """The end after which no limit is exceeded and there is room; None if the expected ends do not suffice."""
    shortages = [(shortage, released) for shortage, released in _limits(state, task_set, count) if shortage > 0]
    needed = [_first_sufficient_end(state, ends, *each) for each in shortages]
    if not shortages or forecast.room(count) < count:
        needed.append(forecast.first_fit(ends, count))
    known = [each for each in needed if each is not None]
    return max(known, key=lambda each: each.at_ms) if len(known) == len(needed) else None


def _why_no_estimate(state: State, ends: Sequence[ExpectedEnd]) -> str:
    if ends:
        return "running tasks with a known end do not free enough room"
    if _is_any_duration_known(state):
        return "running jobs have more queued tasks ahead of this one"
    return "no running task has a known duration"


def _limits(state: State, task_set: TaskSet, count: int) -> Iterator[tuple[int, ReleasedAmount]]:
    """Limits other than room: how much is missing to start `count` tasks, and how much the end of a task of another
    group releases."""
    record, queue = task_set.task_class, task_set.job.options.queue
    for name, need in record.licences:
        free = state.cluster.licences().get(name, 0) - state.licences_used[name]
        yield need * count - free, partial(_licences_held_by, name)
    if running_max := state.queues.get(queue).running_max:
        yield state.queue_lanes[queue] + count - running_max, lambda ended: ended.job.options.queue == queue
    if record.key.dedicated_to is not None:
        yield record.width + count - task_set.spec.parallel_max, lambda ended: ended.task_class is record


def _licences_held_by(name: str, task_set: TaskSet) -> int:
    return dict(task_set.task_class.licences).get(name, 0)


def _first_sufficient_end(
    state: State, expected_ends: Sequence[ExpectedEnd], shortage: int, released: ReleasedAmount
) -> ExpectedEnd | None:
    """The end after which nothing is missing any more."""
    for expected_end in expected_ends:
        ended = state.task_sets[expected_end.source]
        assert ended is not None
        shortage -= released(ended)
        if shortage <= 0:
            return expected_end
    return None


def expected_ends(state: State, waiting_task_set: TaskSet, now_ms: int) -> list[ExpectedEnd]:
    """The first ends of running tasks with a known duration. Leaves out classes with precedence that have more queued
    tasks: they take their room again."""
    table = state.table
    states = table.state[: table.used]
    live = np.flatnonzero((states >= TaskState.ASSIGNED) & (states <= TaskState.STOPPING))
    found: list[ExpectedEnd] = []
    for slot in np.unique(table.group[live]).tolist():
        task_set = state.task_sets[slot]
        if task_set is None or _has_precedence(task_set.task_class, waiting_task_set):
            continue
        rows = live[table.group[live] == slot]
        stopping = states[rows] == TaskState.STOPPING
        seconds = expected_duration(state, task_set)[0]
        ends = np.maximum(np.where(table.started_ms[rows] > 0, table.started_ms[rows], now_ms) + seconds * 1000, now_ms)
        ends = np.where(stopping, now_ms + task_set.spec.task.stop_grace_s * 1000, ends)
        known = stopping | (seconds > 0)
        needs = task_set.task_class.task_class.needs
        for end_ms, node in sorted(zip(ends[known].tolist(), table.node[rows][known].tolist(), strict=True)):
            found.append(ExpectedEnd(int(end_ms), node, needs, slot))
            if len(found) > 2 * EXPECTED_ENDS_MAX:
                found = sorted(found, key=lambda expected_end: expected_end.at_ms)[:EXPECTED_ENDS_MAX]
    return sorted(found, key=lambda expected_end: expected_end.at_ms)[:EXPECTED_ENDS_MAX]


def _is_any_duration_known(state: State) -> bool:
    """Whether any class that runs has a known duration."""
    on_nodes = (record for record in state.classes.values() if record.lanes)
    return any(expected_duration(state, task_set)[0] for record in on_nodes for task_set in record.task_sets)


def _has_precedence(record: ClassRecord, waiting_task_set: TaskSet) -> bool:
    first = next((task_set for task_set in record.task_sets if task_set.ready), None)
    if first is None or record is waiting_task_set.task_class:
        return False
    return (-record.key.priority, first.job.id) < (-waiting_task_set.job.priority, waiting_task_set.job.id)


def expected_duration(state: State, task_set: TaskSet) -> tuple[float, str]:
    """How long a task of a group runs, in seconds, and how that is known; 0 if unknown."""
    job, spec = task_set.job, task_set.spec
    if job.type in LONG_RUNNING:
        return 0.0, ""
    if spec.estimate_s:
        return spec.estimate_s, f"according to its estimate of {format_duration(spec.estimate_s)}"
    observed_s = state.durations.estimate_s(job.namespace, job.name, spec.name)
    if observed_s:
        runs = state.durations.runs(job.namespace, job.name, spec.name)
        return (
            observed_s,
            f"because its tasks took {format_duration(observed_s)} in {runs} earlier run{'s' if runs != 1 else ''}",
        )
    if finished := task_set.counts[TaskState.SUCCEEDED]:
        mean = _mean_duration_s(state, task_set)
        return max(mean, 0.001), f"because its {finished:,} finished tasks took {format_duration(mean)}"
    if spec.task.run_timeout_s:
        return spec.task.run_timeout_s, f"because its timeout.run is {format_duration(spec.task.run_timeout_s)}"
    return 0.0, ""


def _mean_duration_s(state: State, task_set: TaskSet) -> float:
    """The mean over the finished tasks; in a huge array, over those near the first of them."""
    table, end = state.table, task_set.base + task_set.count
    first = task_set.base + int((table.state[task_set.base : end] == TaskState.SUCCEEDED).argmax())
    rows = slice(first, min(first + SAMPLE_TASKS, end))
    done = table.state[rows] == TaskState.SUCCEEDED
    return float((table.ended_ms[rows][done] - table.started_ms[rows][done]).mean()) / 1000


def _basis(state: State, task_set: TaskSet, expected_end: ExpectedEnd, now_ms: int, names: Names) -> str:
    """How the end is known is said only of jobs that the caller sees."""
    run, node = names.run(task_set.job), state.nodes.view.names[expected_end.node]
    if task_set.counts[TaskState.STOPPING]:
        return f"when {run}, which is stopping, ends on {node}"
    known = f", {expected_duration(state, task_set)[1]}" if names.sees(task_set.job.namespace) else ""
    return f"when {run} ends on {node}{known}" + ("; it is overdue" if expected_end.at_ms <= now_ms else "")
