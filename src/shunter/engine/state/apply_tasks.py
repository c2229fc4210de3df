"""What changes of tasks do to the state: rows move by the lifecycle's table; counts, queues and lanes follow.

The appliers of `engine.state.state`, which calls them live and in recovery alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from shunter.engine import changes as c
from shunter.engine.jobs.restart_policy import restarts_so_far
from shunter.engine.state.ready_runs import unqueue
from shunter.engine.state.records import BOUND_MS, STATES, Group, Job, PastAttempt
from shunter.model.errors import InvalidMove
from shunter.model.lifecycles import TASK, JobEvent, JobState, TaskEvent, TaskState

if TYPE_CHECKING:
    from shunter.engine.state.state import State

HISTORY_MAX = 1_000  # earlier attempts that a group remembers
_NO_MOVE = 255
_QUEUED = int(TaskState.QUEUED)
_ENDS = (TaskEvent.STOPPED, TaskEvent.CANCELLED, TaskEvent.GAVE_UP)


def _next_states() -> list[list[int]]:
    """The task table as a matrix [event][state], so that whole runs move by one look-up."""
    matrix = [[_NO_MOVE] * STATES for _ in TaskEvent]
    for (state, event), after in TASK.moves.items():
        matrix[event][state] = int(after)
    return matrix


NEXT = _next_states()
NEXT_COLUMNS = np.array(NEXT, np.uint8)


def tasks_placed(state: State, change: c.TasksPlaced) -> None:
    group = state.known_group(change.job, change.group)
    lanes = group.task_class.lanes[change.node]
    count = change.last - change.first + 1
    _move(state, group, change.first, change.last, TaskEvent.PLACED)
    if count == 1:
        row = group.base + change.first
        state.table.attempt[row], state.table.node[row] = change.attempt, change.node
    else:
        rows = slice(group.base + change.first, group.base + change.last + 1)
        state.table.attempt[rows] = change.attempt
        state.table.node[rows] = change.node
    if group.avoiding:
        for index in range(change.first, change.last + 1):
            group.avoiding.pop(index, None)
    if state.moves.bound:
        state.moves.bound.pop((change.job, change.group, change.first), None)  # such a task is placed alone
    lanes.outstanding += count
    state.nodes.tasks[change.node] += count
    state.nodes.touch(change.node)


def task_started(state: State, change: c.TaskStarted) -> None:
    group = state.known_group(change.job, change.group)
    _move(state, group, change.index, change.index, TaskEvent.STARTED)
    row = group.base + change.index
    state.table.started_ms[row] = change.started_ms
    state.table.log[row] = change.log
    if change.ports:
        group.ports = group.ports or {}
        group.ports[change.index] = change.ports
    _note_start(state, group.job, change.started_ms)


def tasks_finished(state: State, change: c.TasksFinished) -> None:
    group = state.known_group(change.job, change.group)
    started = c.unpack_times(change.started)
    _leave_node(state, group, change.first, change.last)
    _move(state, group, change.first, change.last, TaskEvent.FINISHED)
    table = state.table
    if change.first == change.last:  # single cells cost a fraction of slices, and most ranges are short
        row = group.base + change.first
        table.exit_code[row], table.log[row] = 0, change.log
        table.started_ms[row], table.ended_ms[row] = started[0], change.ended[0]
    else:
        rows = slice(group.base + change.first, group.base + change.last + 1)
        table.exit_code[rows] = 0
        table.started_ms[rows] = started
        table.ended_ms[rows] = c.unpack_times(change.ended)
        table.log[rows] = list(range(change.log, change.log + len(started)))
    _note_start(state, group.job, started[0])


def task_ended(state: State, change: c.TaskEnded) -> None:
    group = state.known_group(change.job, change.group)
    index, row, table = change.index, group.base + change.index, state.table
    _leave_node(state, group, index, index)
    event = TaskEvent(change.event)
    if event in (TaskEvent.RETRIED, TaskEvent.REQUEUED):
        node = int(table.node[row])
        past = (
            index, int(table.attempt[row]), node, change.exit_code,
            change.started_ms, change.ended_ms, change.log, change.reason,
        )  # fmt: skip
        _remember(group, past)
        table.node[row] = 0
        if event is TaskEvent.RETRIED:
            restarts = restarts_so_far(int(table.restarts[row]), change.started_ms, change.ended_ms)
            table.restarts[row] = min(restarts + 1, 65535)
            if group.spec.restart.elsewhere:
                group.avoiding = group.avoiding or {}
                group.avoiding[index] = node
    table.exit_code[row] = change.exit_code
    table.started_ms[row] = change.started_ms
    table.ended_ms[row] = change.ended_ms
    table.log[row] = change.log
    if change.reason:
        group.reasons = group.reasons or {}
        group.reasons[index] = change.reason
    if event is TaskEvent.GAVE_UP and group.spec.restart.policy != "never":
        state.dead.add(group.job.id, group.job.ref, group.spec.name, group.shows(index), change)
    _move(state, group, index, index, event, change.not_before_ms)
    if change.started_ms:
        _note_start(state, group.job, change.started_ms)


def tasks_lost(state: State, change: c.TasksLost) -> None:
    group = state.known_group(change.job, change.group)
    rows = slice(group.base + change.first, group.base + change.last + 1)
    table = state.table
    _remember_run(state, group, change.first, change.last, change.at_ms, change.reason)
    _leave_node(state, group, change.first, change.last)
    table.lost[rows] += 1
    table.node[rows] = 0
    table.started_ms[rows] = 0
    table.ended_ms[rows] = change.at_ms
    table.log[rows] = 0
    _move(state, group, change.first, change.last, TaskEvent.LOST)


def tasks_moved(state: State, change: c.TasksMoved) -> None:
    group = state.known_group(change.job, change.group)
    first, last, event = change.first, change.last, TaskEvent(change.event)
    rows = slice(group.base + first, group.base + last + 1)
    if event is TaskEvent.PREEMPTED:
        group.coming_back = (group.coming_back or set()) | set(range(first, last + 1))
    elif event is TaskEvent.CANCEL_ASKED and group.coming_back:
        group.coming_back -= set(range(first, last + 1))
    if event is TaskEvent.REQUEUED:
        _remember_run(state, group, first, last, change.at_ms, change.reason)
    if event in (TaskEvent.RETURNED, TaskEvent.STOPPED, TaskEvent.REQUEUED):
        _leave_node(state, group, first, last)
    if event in (TaskEvent.RETURNED, TaskEvent.REQUEUED):
        state.table.node[rows] = 0
    if event is TaskEvent.REQUEUED:
        state.table.started_ms[rows] = 0
        state.table.ended_ms[rows] = change.at_ms
        state.table.log[rows] = 0
    elif event in _ENDS or event is TaskEvent.UNBLOCKED:  # queued since then, as queueing time-outs see it
        state.table.ended_ms[rows] = change.at_ms
    if change.reason and (event is not TaskEvent.CANCEL_ASKED or group.job.is_lasting):
        group.reasons = group.reasons or {}
        for index in range(first, last + 1) if group.count <= HISTORY_MAX else (first,):
            group.reasons[index] = change.reason
    _move(state, group, first, last, event)


def task_bound(state: State, change: c.TaskBound) -> None:
    """While it waits to be placed there, a bound task is queued but not ready: no policy places it."""
    group = state.known_group(change.job, change.group)
    task, index = (change.job, change.group, change.index), change.index
    is_queued = state.table.state[group.base + index] == _QUEUED
    if change.node:
        state.moves.bound[task] = change.node
        if is_queued:
            unqueue(group, index, index)
            _requeue(state, group, index, index, 0)
    elif state.moves.bound.pop(task, None) and is_queued:
        (group.delayed or {}).pop(index, None)  # a job that is held makes nothing ready, and shall find it later
        _requeue(state, group, index, index, 0)


def task_health(state: State, change: c.TaskHealth) -> None:
    group = state.known_group(change.job, change.group)
    group.health = group.health or {}
    group.health[change.index] = (change.is_healthy, change.at_ms)


APPLIERS: dict[type, Callable[[Any, Any], None]] = {
    c.TasksPlaced: tasks_placed,
    c.TaskStarted: task_started,
    c.TasksFinished: tasks_finished,
    c.TaskEnded: task_ended,
    c.TasksLost: tasks_lost,
    c.TasksMoved: tasks_moved,
    c.TaskHealth: task_health,
    c.TaskBound: task_bound,
}


def _move(state: State, group: Group, first: int, last: int, event: TaskEvent, not_before_ms: int = 0) -> None:
    """Move a run by the table, and keep counts and queues true. Mostly all of it is in one state."""
    states, row, count = state.table.state, group.base + first, last - first + 1
    old = states.item(row)
    if count == 1:
        was_queued, new = old == _QUEUED, _next(state, group, old, 1, event)
        states[row] = new
    elif state.table.holds(states, row, row + count - 1, old):
        was_queued, new = old == _QUEUED, _next(state, group, old, count, event)
        states[row : row + count] = new
    else:
        tally = Counter(states[row : row + count].tobytes())
        was_queued = _QUEUED in tally
        for old, share in tally.items():
            new = _next(state, group, old, share, event)
        states[row : row + count] = NEXT_COLUMNS[event][states[row : row + count]]
    if was_queued:
        unqueue(group, first, last)
    if new == _QUEUED:
        _requeue(state, group, first, last, not_before_ms)


def _next(state: State, group: Group, old: int, count: int, event: TaskEvent) -> int:
    """Where so many tasks of a state go; they are counted there."""
    new = NEXT[event][old]
    if new == _NO_MOVE:
        raise InvalidMove(f"tasks of {group.job.ref}: no move from {TaskState(old).word} on {event.word}")
    group.counts[old] -= count
    group.counts[new] += count
    state.task_counts[old] -= count
    state.task_counts[new] += count
    return new


def _requeue(state: State, group: Group, first: int, last: int, not_before_ms: int) -> None:
    if state.moves.bound and (group.job.id, group.number, first) in state.moves.bound:
        not_before_ms = BOUND_MS
    if not_before_ms:
        group.delayed = group.delayed or {}
        group.delayed[first] = not_before_ms
    else:
        state.make_ready(group, first, last)


def _leave_node(state: State, group: Group, first: int, last: int) -> None:
    """The run's attempts are over on their node; all of them are on the same one."""
    node = state.table.node.item(group.base + first)
    count = last - first + 1
    lanes = group.task_class.lanes.get(node)
    if lanes is not None:
        lanes.outstanding -= count
    state.nodes.tasks[node] -= count
    state.nodes.touch(node)
    if group.ports or group.health or group.coming_back:
        for index in range(first, last + 1):
            for facts in (group.ports or {}, group.health or {}):
                facts.pop(index, None)
            (group.coming_back or set()).discard(index)


def _note_start(state: State, job: Job, started_ms: int) -> None:
    if not job.started_ms:
        job.started_ms = started_ms
    if job.state is JobState.PENDING:
        state.move_job(job, JobEvent.STARTED)


def _remember_run(state: State, group: Group, first: int, last: int, at_ms: int, reason: str) -> None:
    """Attempts that ended without an exit code."""
    table = state.table
    for index in range(first, last + 1):
        row = group.base + index
        past = (
            index, int(table.attempt[row]), int(table.node[row]), -1,
            int(table.started_ms[row]), at_ms, int(table.log[row]), reason,
        )  # fmt: skip
        _remember(group, past)


def _remember(group: Group, past: PastAttempt) -> None:
    if group.history is None:
        group.history = []
    group.history.append(past)
    if len(group.history) > HISTORY_MAX:
        del group.history[: HISTORY_MAX // 10]
