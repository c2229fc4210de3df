"""Applies changes of tasks to the state: moves rows by the lifecycle's table and updates counts, queues and lanes.

Called by `engine.state.state`, live and in recovery."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from shunter.engine import changes as c
from shunter.engine.jobs.restart_policy import counted_restarts
from shunter.engine.state.ready_ranges import remove_ready
from shunter.engine.state.records import NEVER_MS, ONE_IN_STATE, STATE_COUNT, Job, PastAttempt, TaskSet
from shunter.model.errors import InvalidMove
from shunter.model.lifecycles import TASK, JobEvent, JobState, TaskEvent, TaskState

if TYPE_CHECKING:
    from shunter.engine.state.state import State

HISTORY_MAX = 1_000  # earlier attempts that a task set remembers
_NO_TRANSITION = 255
_QUEUED = int(TaskState.QUEUED)
_QUEUE_EVENTS = (TaskEvent.UNBLOCKED, TaskEvent.CANCELLED, TaskEvent.GAVE_UP)  # of tasks that are on no node


def _build_next_states() -> list[list[int]]:
    """The task lifecycle as a matrix [event][state], so that a whole range moves by one lookup."""
    matrix = [[_NO_TRANSITION] * STATE_COUNT for _ in TaskEvent]
    for (state, event), after in TASK.moves.items():
        matrix[event][state] = int(after)
    return matrix


NEXT_STATE = _build_next_states()
NEXT_STATE_ARRAY = np.array(NEXT_STATE, np.uint8)


def tasks_placed(state: State, change: c.TasksPlaced) -> None:
    task_set = state.require_task_set(change.job, change.task_set)
    lanes = task_set.task_class.lanes[change.node]
    count = change.last - change.first + 1
    _transition(state, task_set, change.first, change.last, TaskEvent.PLACED)
    if count == 1:
        row = task_set.base + change.first
        state.table.attempt[row], state.table.node[row] = change.attempt, change.node
    else:
        rows = slice(task_set.base + change.first, task_set.base + change.last + 1)
        state.table.attempt[rows] = change.attempt
        state.table.node[rows] = change.node
    if task_set.avoided_nodes:
        for index in range(change.first, change.last + 1):
            task_set.avoided_nodes.pop(index, None)
    if state.moves.pinned:
        state.moves.pinned.pop((change.job, change.task_set, change.first), None)  # such a task is placed alone
    lanes.outstanding += count
    state.nodes.tasks[change.node] += count
    state.nodes.touch(change.node)


def task_started(state: State, change: c.TaskStarted) -> None:
    task_set = state.require_task_set(change.job, change.task_set)
    _transition(state, task_set, change.index, change.index, TaskEvent.STARTED)
    row = task_set.base + change.index
    state.table.started_ms[row] = change.started_ms
    state.table.log[row] = change.log
    if change.ports:
        task_set.ports = task_set.ports or {}
        task_set.ports[change.index] = change.ports
    _record_start(state, task_set.job, change.started_ms)


def tasks_finished(state: State, change: c.TasksFinished) -> None:
    task_set = state.require_task_set(change.job, change.task_set)
    started = c.unpack_times(change.started)
    _detach_from_node(state, task_set, change.first, change.last)
    _transition(state, task_set, change.first, change.last, TaskEvent.FINISHED)
    table = state.table
    if change.first == change.last:  # single cells cost a fraction of slices, and most ranges are short
        row = task_set.base + change.first
        table.exit_code[row], table.log[row] = 0, change.log
        table.started_ms[row], table.ended_ms[row] = started[0], change.ended[0]
    else:
        rows = slice(task_set.base + change.first, task_set.base + change.last + 1)
        table.exit_code[rows] = 0
        table.started_ms[rows] = started
        table.ended_ms[rows] = c.unpack_times(change.ended)
        table.log[rows] = list(range(change.log, change.log + len(started)))
    _record_start(state, task_set.job, started[0])


def task_ended(state: State, change: c.TaskEnded) -> None:
    task_set = state.require_task_set(change.job, change.task_set)
    index, row, table = change.index, task_set.base + change.index, state.table
    _detach_from_node(state, task_set, index, index)
    event = TaskEvent(change.event)
    if event in (TaskEvent.RETRIED, TaskEvent.REQUEUED):
        node = int(table.node[row])
        attempt = (
            index, int(table.attempt[row]), node, change.exit_code,
            change.started_ms, change.ended_ms, change.log, change.reason,
        )  # fmt: skip
        _append_history(task_set, attempt)
        table.node[row] = 0
        if event is TaskEvent.RETRIED:
            restarts = counted_restarts(int(table.restarts[row]), change.started_ms, change.ended_ms)
            table.restarts[row] = min(restarts + 1, 65535)
            if task_set.spec.restart.elsewhere:
                task_set.avoided_nodes = task_set.avoided_nodes or {}
                task_set.avoided_nodes[index] = node
    table.exit_code[row] = change.exit_code
    table.started_ms[row] = change.started_ms
    table.ended_ms[row] = change.ended_ms
    table.log[row] = change.log
    if change.reason:
        task_set.reasons = task_set.reasons or {}
        task_set.reasons[index] = change.reason
    if event is TaskEvent.GAVE_UP and task_set.spec.restart.policy != "never":
        visible_index = task_set.visible_index_of(index) if task_set.spec.array else None
        instance = task_set.spec.name, task_set.instance_index_of(index)
        state.dead_letters.add(task_set.job.id, task_set.job.ref, *instance, visible_index, change)
    _transition(state, task_set, index, index, event, change.not_before_ms)
    if change.started_ms:
        _record_start(state, task_set.job, change.started_ms)


def tasks_lost(state: State, change: c.TasksLost) -> None:
    task_set = state.require_task_set(change.job, change.task_set)
    rows = slice(task_set.base + change.first, task_set.base + change.last + 1)
    table = state.table
    _record_attempts(state, task_set, change.first, change.last, change.at_ms, change.reason)
    _detach_from_node(state, task_set, change.first, change.last)
    table.lost[rows] += 1
    table.node[rows] = 0
    table.started_ms[rows] = 0
    table.ended_ms[rows] = change.at_ms
    table.log[rows] = 0
    if change.with_keeper:
        task_set.lost_with_keeper = (task_set.lost_with_keeper or set()) | {change.first}
    _transition(state, task_set, change.first, change.last, TaskEvent.LOST, change.not_before_ms)


def tasks_transitioned(state: State, change: c.TasksTransitioned) -> None:
    task_set = state.require_task_set(change.job, change.task_set)
    first, last, event = change.first, change.last, TaskEvent(change.event)
    table, rows = state.table, slice(task_set.base + first, task_set.base + last + 1)
    if event is TaskEvent.PREEMPTED:
        task_set.requeue_when_stopped = (task_set.requeue_when_stopped or set()) | set(range(first, last + 1))
    elif event is TaskEvent.CANCEL_ASKED:
        if task_set.requeue_when_stopped:
            task_set.requeue_when_stopped -= set(range(first, last + 1))
    elif event is TaskEvent.REQUEUED:
        _record_attempts(state, task_set, first, last, change.at_ms, change.reason)
        _detach_from_node(state, task_set, first, last)
        table.node[rows] = table.started_ms[rows] = table.log[rows] = 0
        table.ended_ms[rows] = change.at_ms
    elif event is TaskEvent.RETURNED:
        _detach_from_node(state, task_set, first, last)
        table.node[rows] = 0
    elif event is TaskEvent.STOPPED:
        _detach_from_node(state, task_set, first, last)
        table.ended_ms[rows] = change.at_ms
    elif event in _QUEUE_EVENTS:
        table.ended_ms[rows] = change.at_ms  # queueing time-outs read it as the start of queueing
    if change.reason and (event is not TaskEvent.CANCEL_ASKED or task_set.job.is_long_running):
        task_set.reasons = task_set.reasons or {}
        for index in range(first, last + 1) if task_set.count <= HISTORY_MAX else (first,):
            task_set.reasons[index] = change.reason
    _transition(state, task_set, first, last, event)


def task_pinned(state: State, change: c.TaskPinned) -> None:
    """While it waits for its node, a pinned task is queued but not ready: no policy places it."""
    task_set = state.require_task_set(change.job, change.task_set)
    task, index = (change.job, change.task_set, change.index), change.index
    is_queued = state.table.state[task_set.base + index] == _QUEUED
    if change.node:
        state.moves.pinned[task] = change.node
        if is_queued:
            remove_ready(task_set, index, index)
            _requeue(state, task_set, index, index, 0)
    elif state.moves.pinned.pop(task, None) and is_queued:
        (task_set.delayed or {}).pop(index, None)  # a held job makes nothing ready, and must find it later
        _requeue(state, task_set, index, index, 0)


def task_health(state: State, change: c.TaskHealth) -> None:
    task_set = state.require_task_set(change.job, change.task_set)
    task_set.health = task_set.health or {}
    task_set.health[change.index] = (change.is_healthy, change.at_ms)


APPLIERS: dict[type, Callable[[Any, Any], None]] = {
    c.TasksPlaced: tasks_placed,
    c.TaskStarted: task_started,
    c.TasksFinished: tasks_finished,
    c.TaskEnded: task_ended,
    c.TasksLost: tasks_lost,
    c.TasksTransitioned: tasks_transitioned,
    c.TaskHealth: task_health,
    c.TaskPinned: task_pinned,
}


def _transition(
    state: State, task_set: TaskSet, first: int, last: int, event: TaskEvent, not_before_ms: int = 0
) -> None:
    """Move a range by the table and update counts and queues. Usually all of it is in one state."""
    states, row, count = state.table.state, task_set.base + first, last - first + 1
    old = states.item(row)
    if count == 1:
        was_queued, new = old == _QUEUED, _next_state(state, task_set, old, 1, event)
        states[row] = new
    elif state.table.all_equal(states, row, row + count - 1, old):
        was_queued, new = old == _QUEUED, _next_state(state, task_set, old, count, event)
        states[row : row + count] = new
    else:
        tally = Counter(states[row : row + count].tobytes())
        was_queued = _QUEUED in tally
        for old, count_in_state in tally.items():
            new = _next_state(state, task_set, old, count_in_state, event)
        states[row : row + count] = NEXT_STATE_ARRAY[event][states[row : row + count]]
    if was_queued:
        remove_ready(task_set, first, last)
    if new == _QUEUED:
        _requeue(state, task_set, first, last, not_before_ms)


def _next_state(state: State, task_set: TaskSet, old: int, count: int, event: TaskEvent) -> int:
    """The next state of this many tasks; they are counted there."""
    new = NEXT_STATE[event][old]
    if new == _NO_TRANSITION:
        raise InvalidMove(f"tasks of {task_set.job.ref}: no move from {TaskState(old).wire_name} on {event.wire_name}")
    counts = task_set.counts
    if isinstance(counts, list):
        counts[old] -= count
        counts[new] += count
    else:
        task_set.counts = ONE_IN_STATE[new]
    state.task_counts[old] -= count
    state.task_counts[new] += count
    if (old <= _QUEUED) != (new <= _QUEUED):
        state.pending_tasks[task_set.job.namespace] += count if new <= _QUEUED else -count
    return new


def _requeue(state: State, task_set: TaskSet, first: int, last: int, not_before_ms: int) -> None:
    if state.moves.pinned and (task_set.job.id, task_set.number, first) in state.moves.pinned:
        not_before_ms = NEVER_MS
    if not_before_ms:
        task_set.delayed = task_set.delayed or {}
        task_set.delayed[first] = not_before_ms
    else:
        state.make_ready(task_set, first, last)


def _detach_from_node(state: State, task_set: TaskSet, first: int, last: int) -> None:
    """The range's attempts have ended on their node; all of them are on the same one."""
    node = state.table.node.item(task_set.base + first)
    count = last - first + 1
    lanes = task_set.task_class.lanes.get(node)
    if lanes is not None:
        lanes.outstanding -= count
    state.nodes.tasks[node] -= count
    state.nodes.touch(node)
    if task_set.ports or task_set.health or task_set.requeue_when_stopped:
        for index in range(first, last + 1):
            for values_by_index in (task_set.ports or {}, task_set.health or {}):
                values_by_index.pop(index, None)
            (task_set.requeue_when_stopped or set()).discard(index)


def _record_start(state: State, job: Job, started_ms: int) -> None:
    if not job.started_ms:
        job.started_ms = started_ms
    if job.state is JobState.PENDING:
        state.transition_job(job, JobEvent.STARTED)


def _record_attempts(state: State, task_set: TaskSet, first: int, last: int, at_ms: int, reason: str) -> None:
    """Attempts that ended without an exit code."""
    table = state.table
    for index in range(first, last + 1):
        row = task_set.base + index
        attempt = (
            index, int(table.attempt[row]), int(table.node[row]), -1,
            int(table.started_ms[row]), at_ms, int(table.log[row]), reason,
        )  # fmt: skip
        _append_history(task_set, attempt)


def _append_history(task_set: TaskSet, attempt: PastAttempt) -> None:
    if task_set.history is None:
        task_set.history = []
    task_set.history.append(attempt)
    if len(task_set.history) > HISTORY_MAX:
        del task_set.history[: HISTORY_MAX // 10]
