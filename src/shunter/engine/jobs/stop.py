"""Stops jobs and single tasks, and fails tasks that were queued too long. Called by the engine's rounds."""

from __future__ import annotations

import itertools

import numpy as np

from shunter.engine import changes as c
from shunter.engine.round import Round
from shunter.engine.state.records import Job, TaskSet, ranges_where
from shunter.engine.state.state import State
from shunter.engine.timers import TimerKind
from shunter.model.errors import NotFound
from shunter.model.lifecycles import JobState, NodeState, TaskEvent, TaskState

_ASSIGNED, _RUNNING, _STOPPING = int(TaskState.ASSIGNED), int(TaskState.RUNNING), int(TaskState.STOPPING)
_WAITING = int(TaskState.WAITING)
_QUEUED = int(TaskState.QUEUED)


def on_stop(round: Round, job_id: int, task: tuple[str, int] | None, now: bool, reason: str, signal: int = 0) -> None:
    """Stop a job, or one of its tasks. Ended tasks stay as they are. `now` leaves no time to stop gracefully; `signal`
    is sent instead of TERM. A single task of a long-running job stays down until it is restarted."""
    job = round.state.jobs.get(job_id)
    if job is None:
        return
    if task is None:
        if job.state is not JobState.STOPPING:
            round.record(c.JobStopRequested(job.id, round.now_ms, reason, job.ref))
        for task_set in job.task_sets:
            stop_range(round, task_set, 0, task_set.count - 1, now, reason, signal)
    else:
        if job.is_long_running:
            _mark_down(round, job, *task)
        task_set, index = find_task(round.state, job, *task)
        stop_range(round, task_set, index, index, now, reason, signal)
    round.dirty.maybe_finished[job.id] = None


def arm_queue_timeout(round: Round, task_set: TaskSet) -> None:
    """Arm the queue timeout of a new group."""
    if task_set.spec.queue_timeout_s:
        due_ms = round.now_ms + int(task_set.spec.queue_timeout_s * 1000)
        round.timers.add(due_ms, TimerKind.QUEUE_TIMEOUT, task_set)


def on_queue_timeout(round: Round, task_set: TaskSet) -> None:
    """Fail the tasks that have been queued for longer than their job allows, and check again when the next one is due.
    For a held job, the time counts from its release."""
    table, rows = round.state.table, slice(task_set.base, task_set.base + task_set.count)
    limit_ms = int(task_set.spec.queue_timeout_s * 1000)
    since_ms = np.where(table.ended_ms[rows] > 0, table.ended_ms[rows], task_set.job.submitted_ms)
    queued = (table.state[rows] == _QUEUED) & (not task_set.job.is_held)
    for first, last in ranges_where(queued & (since_ms + limit_ms <= round.now_ms)):
        reason = f"exceeded timeout.queue of {task_set.spec.queue_timeout_s:g} s"
        round.transition(task_set, first, last, TaskEvent.GAVE_UP, reason)
    round.dirty.maybe_finished[task_set.job.id] = None
    unfinished = table.state[rows] < int(TaskState.SUCCEEDED)
    if unfinished.any():
        waiting = since_ms[(table.state[rows] == _QUEUED) & (not task_set.job.is_held)]
        due_ms = int(waiting.min()) + limit_ms if waiting.size else round.now_ms + limit_ms
        round.timers.add(max(due_ms, round.now_ms + 1), TimerKind.QUEUE_TIMEOUT, task_set)


def find_task(state: State, job: Job, name: str, visible_index: int) -> tuple[TaskSet, int]:
    """The task set and index of a task by its visible name: the newest unfinished one, if any."""
    found: tuple[TaskSet, int] | None = None
    for task_set in job.task_sets:
        if task_set.spec.name != name:
            continue
        index = task_set.local_index_of(visible_index)
        if index is None:
            continue
        if found is None or state.table.state[task_set.base + index] < TaskState.SUCCEEDED:
            found = task_set, index
    if found is None:
        raise NotFound(f"job {job.name} has no task {visible_index} in group {name}")
    return found


def _mark_down(round: Round, job: Job, group: str, index: int) -> None:
    find_task(round.state, job, group, index)
    if not round.state.services.jobs[job.id].is_down(group, index):
        round.record(c.InstanceDownSet(job.id, group, index, True, round.now_ms, job.ref))
        round.dirty.jobs[job.id, 0] = None


def stop_range(round: Round, task_set: TaskSet, first: int, last: int, now: bool, reason: str, signal: int = 0) -> None:
    table, base = round.state.table, task_set.base
    states = table.state[base + first : base + last + 1]
    for start, end in ranges_where(states == _QUEUED):
        round.transition(task_set, first + start, first + end, TaskEvent.CANCELLED, reason)
    states = table.state[base + first : base + last + 1]
    for start, end in ranges_where(states == _WAITING):
        round.transition(task_set, first + start, first + end, TaskEvent.CANCELLED, reason)
    live = (states == _ASSIGNED) | (states == _RUNNING)
    for index in task_set.requeue_when_stopped or ():
        if first <= index <= last:
            live[index - first] = True
    for start, end in ranges_where(live):
        round.transition(task_set, first + start, first + end, TaskEvent.CANCEL_ASKED, reason)
    grace_s = 0.0 if now else task_set.spec.task.stop_grace_s
    states = table.state[base + first : base + last + 1]
    for start, end in ranges_where(states == _STOPPING):
        send_stop_orders(round, task_set, first + start, first + end, grace_s, signal)


def send_stop_orders(round: Round, task_set: TaskSet, first: int, last: int, grace_s: float, signal: int = 0) -> None:
    """Send one stop order per range of tasks on the same node."""
    nodes = round.state.table.node[task_set.base + first : task_set.base + last + 1]
    boundaries = [0, *(np.flatnonzero(np.diff(nodes)) + 1).tolist(), nodes.size]
    for start, end in itertools.pairwise(boundaries):
        node = int(nodes[start])
        round.outbox.stop(task_set, first + start, first + end - 1, node, grace_s, signal)
        if round.state.nodes.records[node].state is NodeState.DOWN:  # no worker receives the order
            round.timers.add_for(round.now_ms, TimerKind.DISCONNECT, node)
