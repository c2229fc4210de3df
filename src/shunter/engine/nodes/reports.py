"""Processes reports of workers: tasks that started, ended, were lost, were returned, or changed health. Called by the
engine's rounds.

A report is dropped if its attempt is not the current one: an older number, another node, or a task that has ended."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from shunter.engine import changes as c
from shunter.engine.jobs.restart_policy import counted_restarts, exit_action, restart_delay_s
from shunter.engine.nodes.cordon import record_failure, record_success
from shunter.engine.nodes.report_checks import check_report
from shunter.engine.round import Round
from shunter.engine.state.records import TaskSet
from shunter.engine.timers import TimerKind
from shunter.model.lifecycles import TaskEvent, TaskState
from shunter.model.protocol.worker_messages import (
    LOST_RUNNING,
    LOST_WAITING,
    Ended,
    Health,
    Lost,
    Order,
    Report,
    Returned,
    Started,
)
from shunter.model.usage import usage_of

LOST_DELAY_MIN_MS = 1_000  # before the next attempt of a task whose keeper died while it ran
_ASSIGNED, _RUNNING, _STOPPING = int(TaskState.ASSIGNED), int(TaskState.RUNNING), int(TaskState.STOPPING)


def on_report(round: Round, node: int, report: Report) -> None:
    check_report(round.state, report)
    apply_report(round, node, report)


def apply_report(round: Round, node: int, report: Report) -> None:
    for started in report.started:
        apply_started(round, node, started)
    for ended in report.ended:
        _apply_ended(round, node, ended)
    for returned in report.returned:
        _apply_returned(round, node, returned)
    for lost in report.lost:
        _apply_lost(round, node, lost)
    for health in report.health:
        apply_health(round, node, health)
    round.outbox.acks[node] = report.seq


def apply_started(round: Round, node: int, started: Started) -> None:
    task_set = round.state.task_set(started.job, started.group)
    if task_set is None or not is_current_attempt(
        round, task_set, node, started.index, started.index, started.attempt, _ASSIGNED
    ):
        return
    log = started.segment << 32 | started.record
    index, ref = started.index, task_set.ref_of(started.index, started.index)
    if started.attempt == 1:
        round.measures.note_started(task_set.job.submitted_ms, [started.started_ms])
    change = c.TaskStarted(started.job, started.group, index, started.started_ms, log, ref, started.ports)
    round.record(change)


def _apply_ended(round: Round, node: int, ended: Ended) -> None:
    """Record successes of a whole range as one change, and everything else one by one."""
    task_set = round.state.task_set(ended.job, ended.group)
    if task_set is None:
        return
    last = ended.first + len(ended.ended_ms) - 1
    round.outbox.withdraw(task_set, ended.first, last, ended.attempt, node)
    if _is_plain_success(task_set, ended) and is_current_attempt(
        round, task_set, node, ended.first, last, ended.attempt
    ):
        _record_finished(round, task_set, ended.first, last, ended, 0)
        _note_usage(round, task_set, ended)
    else:
        is_news = False
        for offset, index in enumerate(range(ended.first, last + 1)):
            if is_current_attempt(round, task_set, node, index, index, ended.attempt):
                _end_attempt(round, task_set, index, ended, offset)
                is_news = True
        if is_news:
            _note_usage(round, task_set, ended)
    _adapt_depth(round, task_set, node, ended)


def _note_usage(round: Round, task_set: TaskSet, ended: Ended) -> None:
    """Add it to what this round stores at its end."""
    if ended.usage is None:
        return
    usage = usage_of(ended.usage, ended.started_ms, ended.ended_ms)
    groups, group = round.usage.setdefault(task_set.job.id, {}), task_set.spec.name
    if group in groups:
        groups[group].add(usage)
    else:
        groups[group] = usage


def return_unsent(round: Round, orders: Iterable[tuple[int, Order]]) -> None:
    """Queue tasks again whose orders were not sent to their nodes, because a secret is unreadable."""
    for node, order in orders:
        task_set = round.state.task_set(order.job, order.group)
        reason = "" if task_set is None else round.state.secrets.problem_of_class(task_set.task_class.key)
        returned = Returned(order.job, order.group, order.attempt, order.first, order.last)
        _apply_returned(round, node, returned, reason)


def _apply_returned(round: Round, node: int, returned: Returned, reason: str = "") -> None:
    task_set = round.state.task_set(returned.job, returned.group)
    if task_set is None:
        return
    round.outbox.withdraw(task_set, returned.first, returned.last, returned.attempt, node)
    if is_current_attempt(round, task_set, node, returned.first, returned.last, returned.attempt, _ASSIGNED):
        _transition(round, task_set, node, returned.first, returned.last, TaskEvent.RETURNED, reason)
    else:
        for index in current_indexes(round, task_set, node, returned.first, returned.last, returned.attempt):
            state = round.state.table.state[task_set.base + index]
            if state == _ASSIGNED:
                _transition(round, task_set, node, index, index, TaskEvent.RETURNED, reason)
            elif state == _STOPPING:
                _transition(round, task_set, node, index, index, _stop_or_requeue(round, task_set, index))
    lanes = task_set.task_class.lanes.get(node)
    if lanes is not None:
        lanes.recalled = False


def _apply_lost(round: Round, node: int, lost: Lost) -> None:
    task_set = round.state.task_set(lost.job, lost.group)
    if task_set is None:
        return
    round.outbox.withdraw(task_set, lost.first, lost.last, lost.attempt, node)
    bounds = task_set, node, lost.first, lost.last
    if lost.with_keeper == LOST_WAITING and is_current_attempt(round, *bounds, lost.attempt, _ASSIGNED):
        requeue(round, *bounds)
        return
    if lost.with_keeper in (LOST_RUNNING, LOST_WAITING):
        for index in current_indexes(round, task_set, node, lost.first, lost.last, lost.attempt):
            _on_lost_with_keeper(round, task_set, index, lost)
        return
    if is_current_attempt(round, task_set, node, lost.first, lost.last, lost.attempt):
        mark_lost(round, task_set, lost.first, lost.last, lost.reason)
        return
    for index in current_indexes(round, task_set, node, lost.first, lost.last, lost.attempt):
        mark_lost(round, task_set, index, index, lost.reason)


def _on_lost_with_keeper(round: Round, task_set: TaskSet, index: int, lost: Lost) -> None:
    """A keeper died. The task that ran in it may be the reason: it backs off, and fails if that happens again. Tasks
    that waited behind it are queued again, which does not count as a loss."""
    table, row = round.state.table, task_set.base + index
    if lost.with_keeper == LOST_WAITING and table.state[row] == _ASSIGNED:
        requeue(round, task_set, int(table.node[row]), index, index)
    elif lost.with_keeper == LOST_WAITING or table.state[row] == _STOPPING:
        mark_lost(round, task_set, index, index, lost.reason)
    elif index in (task_set.lost_with_keeper or ()) and counted_restarts(1, int(table.started_ms[row]), round.now_ms):
        _fail_lost(round, task_set, index, f"its keeper died twice while it ran; last reason: {lost.reason}")
    else:
        not_before_ms = round.now_ms + max(int(task_set.spec.restart.delay_s * 1000), LOST_DELAY_MIN_MS)
        mark_lost(round, task_set, index, index, lost.reason, not_before_ms)


def apply_health(round: Round, node: int, health: Health) -> None:
    task_set = round.state.task_set(health.job, health.group)
    if task_set is None or not is_current_attempt(
        round, task_set, node, health.index, health.index, health.attempt, _RUNNING
    ):
        return
    known = (task_set.health or {}).get(health.index)
    if known is None or known[0] is not health.is_healthy:
        job, ref = task_set.job, task_set.ref_of(health.index, health.index)
        change = c.TaskHealth(
            job.id, task_set.number, health.index, health.is_healthy, health.at_ms, health.detail, ref
        )  # fmt: skip
        round.record(change)


def requeue(round: Round, task_set: TaskSet, node: int, first: int, last: int) -> None:
    """Queue attempts again that have not been reported as started. It counts as no failure and no loss."""
    _transition(round, task_set, node, first, last, TaskEvent.RETURNED)


def mark_lost(round: Round, task_set: TaskSet, first: int, last: int, reason: str, keeper_back_off_ms: int = 0) -> None:
    """Attempts on one node ended without an exit code: queue them again, up to a limit. Tasks that were told to stop
    have stopped. One that was lost together with its keeper waits until `keeper_back_off_ms`."""
    table, node = round.state.table, int(round.state.table.node[task_set.base + first])
    rows = slice(task_set.base + first, task_set.base + last + 1)
    round.dirty.underfilled[task_set.task_class.id, node] = None
    if not (table.state[rows] == _STOPPING).any() and int(table.lost[rows].max()) + 1 < round.settings.lost_max:
        change = c.TasksLost(
            task_set.job.id, task_set.number, first, last, round.now_ms, reason, task_set.ref_of(first, last),
            keeper_back_off_ms, keeper_back_off_ms > 0,
        )  # fmt: skip
        round.record(change)
        if keeper_back_off_ms:
            round.timers.add(keeper_back_off_ms, TimerKind.BACK_OFF, task_set, first)
    elif first != last:
        for index in range(first, last + 1):
            mark_lost(round, task_set, index, index, reason)
    elif table.state[task_set.base + first] == _STOPPING:
        _transition(round, task_set, node, first, first, _stop_or_requeue(round, task_set, first))
    else:
        _fail_lost(round, task_set, first, f"lost {round.settings.lost_max} times; last reason: {reason}")


def _fail_lost(round: Round, task_set: TaskSet, index: int, detail: str) -> None:
    """A task that was lost too often does not get another attempt."""
    table, row = round.state.table, task_set.base + index
    round.dirty.underfilled[task_set.task_class.id, int(table.node[row])] = None
    change = c.TaskEnded(
        task_set.job.id, task_set.number, index, TaskEvent.GAVE_UP, -1, int(table.started_ms[row]), round.now_ms,
        int(table.log[row]), 0, detail, task_set.ref_of(index, index),
    )  # fmt: skip
    round.record(change)
    round.dirty.maybe_finished[task_set.job.id] = None


def is_current_attempt(
    round: Round, task_set: TaskSet, node: int, first: int, last: int, attempt: int, state: int | None = None
) -> bool:
    """Whether all of these tasks are live on that node with that attempt number in the engine's state."""
    if not 0 <= first <= last < task_set.count:
        return False
    table, first_row, last_row = round.state.table, task_set.base + first, task_set.base + last
    if not table.all_equal(table.attempt, first_row, last_row, attempt):
        return False
    if not table.all_equal(table.node, first_row, last_row, node):
        return False
    states = table.state[first_row : last_row + 1].tobytes()
    low, high = (_ASSIGNED, _STOPPING) if state is None else (state, state)
    return low <= min(states) and max(states) <= high


def current_indexes(round: Round, task_set: TaskSet, node: int, first: int, last: int, attempt: int) -> list[int]:
    """The tasks that are live on that node with that attempt number. A long range costs little, because a worker may
    name any."""
    table, rows = round.state.table, slice(task_set.base + first, task_set.base + min(last, task_set.count - 1) + 1)
    states = table.state[rows]
    is_live = (states >= _ASSIGNED) & (states <= _STOPPING)
    found = np.flatnonzero(is_live & (table.node[rows] == node) & (table.attempt[rows] == attempt))
    return [first + offset for offset in found.tolist()]


def _is_plain_success(task_set: TaskSet, ended: Ended) -> bool:
    """Whether these attempts succeeded and no rule can start another one."""
    restart = task_set.spec.restart
    return (
        not ended.exits
        and not ended.how
        and restart.policy in ("never", "on-failure")
        and not restart.on_exit
        and not task_set.job.is_long_running
    )


def _record_finished(round: Round, task_set: TaskSet, first: int, last: int, ended: Ended, offset: int) -> None:
    count = last - first + 1
    log = ended.segment << 32 | (ended.record + offset)
    started = ended.started_ms[offset : offset + count]
    _measure_ended(round, task_set, first, last, ended, offset)
    change = c.TasksFinished(
        task_set.job.id, task_set.number, first, last, c.pack_times(started),
        c.pack_times(ended.ended_ms[offset : offset + count]), log, task_set.ref_of(first, last),
    )  # fmt: skip
    node = round.state.table.node.item(task_set.base + first)
    round.dirty.underfilled[task_set.task_class.id, node] = None
    record_success(round, node)
    round.record(change)
    round.dirty.maybe_finished[task_set.job.id] = None


def _measure_ended(round: Round, task_set: TaskSet, first: int, last: int, ended: Ended, offset: int) -> None:
    """A short task may end before its start is reported."""
    count = last - first + 1
    started = ended.started_ms[offset : offset + count]
    round.measures.note_ended(started, ended.ended_ms[offset : offset + count])
    if ended.attempt == 1:
        states = round.state.table.state[task_set.base + first : task_set.base + last + 1].tobytes()
        is_new = min(states) == max(states) == _ASSIGNED
        unknown = started if is_new else list(compress(started, map(_ASSIGNED.__eq__, states)))
        if unknown:
            round.measures.note_started(task_set.job.submitted_ms, unknown)


def _end_attempt(round: Round, task_set: TaskSet, index: int, ended: Ended, offset: int) -> None:
    """End one attempt that did not plainly succeed, or whose policy may start another one anyway."""
    table, row, job = round.state.table, task_set.base + index, task_set.job
    exit_code = ended.exits[offset] if ended.exits else 0
    is_stopping = table.state[row] == _STOPPING
    if is_stopping:
        event, has_failed, not_before_ms = _verdict_after_stop(round, task_set, index, ended, exit_code)
    else:
        event, has_failed, not_before_ms = _verdict_after_exit(round, task_set, index, ended, offset, exit_code)
    if event is TaskEvent.FINISHED and not has_failed:
        _record_finished(round, task_set, index, index, ended, offset)
        return
    _measure_ended(round, task_set, index, index, ended, offset)
    reason = _end_reason(task_set, index, event, ended, exit_code)
    change = c.TaskEnded(
        job.id, task_set.number, index, event, exit_code, ended.started_ms[offset], ended.ended_ms[offset],
        ended.segment << 32 | (ended.record + offset), not_before_ms, reason, task_set.ref_of(index, index),
    )  # fmt: skip
    round.dirty.underfilled[task_set.task_class.id, int(table.node[row])] = None
    if has_failed and not is_stopping and job.id not in round.state.objects.applications:
        record_failure(round, int(table.node[row]), job)
    round.record(change)
    if event is TaskEvent.RETRIED:
        round.timers.add(not_before_ms, TimerKind.BACK_OFF, task_set, index)
    elif event is not TaskEvent.REQUEUED:
        round.dirty.maybe_finished[job.id] = None


def _end_reason(task_set: TaskSet, index: int, event: TaskEvent, ended: Ended, exit_code: int) -> str:
    reason = ended.detail or ended.how or (f"exit code {exit_code}" if exit_code else "")
    if event is TaskEvent.REQUEUED or (event is TaskEvent.STOPPED and task_set.job.is_long_running):
        return (task_set.reasons or {}).get(index, reason)  # why it was told to stop
    return reason


class _Verdict(NamedTuple):
    event: TaskEvent  # what happens to the task
    has_failed: bool  # the attempt has
    not_before_ms: int  # when the next attempt may start; 0 means at once, or that there is none


def _verdict_after_stop(round: Round, task_set: TaskSet, index: int, ended: Ended, exit_code: int) -> _Verdict:
    """Decide about a task that was told to stop. A batch task that exits with 0 finished in time, and its result
    counts. Services may exit with 0 because they were told to stop."""
    has_failed = exit_code != 0 or bool(ended.how)
    if has_failed or task_set.job.is_long_running:
        return _Verdict(_stop_or_requeue(round, task_set, index), has_failed, 0)
    return _Verdict(TaskEvent.FINISHED, False, 0)


def _verdict_after_exit(
    round: Round, task_set: TaskSet, index: int, ended: Ended, offset: int, exit_code: int
) -> _Verdict:
    """Decide about a task that was not told to stop. A rule for the exit code takes precedence over the restart
    policy."""
    was_ended = bool(ended.how)  # by its worker, for example at its time limit; it may then exit with 0
    action = "" if was_ended and not exit_code else exit_action(task_set.spec.restart, exit_code)
    if action == "succeed":
        return _Verdict(TaskEvent.FINISHED, exit_code != 0, 0)
    has_failed = exit_code != 0 or was_ended
    delay_s = _next_delay_s(round, task_set, index, ended, offset, action, has_failed)
    if delay_s is not None:
        return _Verdict(TaskEvent.RETRIED, has_failed, round.now_ms + max(int(delay_s * 1000), 1))
    event = TaskEvent.GAVE_UP if has_failed or action == "fail" else TaskEvent.FINISHED
    return _Verdict(event, has_failed, 0)


def _next_delay_s(
    round: Round, task_set: TaskSet, index: int, ended: Ended, offset: int, action: str, has_failed: bool
) -> float | None:
    """Seconds until the next attempt; None if there is none."""
    if action == "fail":
        return None
    restart = task_set.spec.restart
    if action == "restart":
        restart, has_failed = replace(restart, policy="always"), True
    restarts = int(round.state.table.restarts[task_set.base + index])
    counted = counted_restarts(restarts, ended.started_ms[offset], ended.ended_ms[offset])
    return restart_delay_s(restart, counted, has_failed, round.random)


def _stop_or_requeue(round: Round, task_set: TaskSet, index: int) -> TaskEvent:
    """A requested stop ends a task. A preemption or a drain queues it again."""
    if not task_set.requeue_when_stopped or index not in task_set.requeue_when_stopped:
        return TaskEvent.STOPPED
    lanes = task_set.task_class.lanes.get(int(round.state.table.node[task_set.base + index]))
    if lanes is not None:
        lanes.may_refill = False  # its room was freed for another task: the policy decides who gets it
    return TaskEvent.REQUEUED


def _transition(
    round: Round, task_set: TaskSet, node: int, first: int, last: int, event: TaskEvent, reason: str = ""
) -> None:
    round.dirty.underfilled[task_set.task_class.id, node] = None
    reason = task_set.job.reason if event is TaskEvent.STOPPED else reason
    round.transition(task_set, first, last, event, reason)
    if event is TaskEvent.STOPPED:
        round.dirty.maybe_finished[task_set.job.id] = None


def _adapt_depth(round: Round, task_set: TaskSet, node: int, ended: Ended) -> None:
    """Adapt how many tasks may be outstanding, so that orders hold about `order_ms` of work: double it while tasks are
    short."""
    record = task_set.task_class
    lanes = record.lanes.get(node)
    if lanes is not None:
        lanes.last_progress_ms = round.now_ms
    span_ms = sum(ended.ended_ms) - sum(ended.started_ms)
    mean_ms = max(span_ms / len(ended.ended_ms), 0.1)
    target_depth = max(int(round.settings.order_ms / mean_ms), 1)
    if record.key.rules is None:
        record.depth = min(record.depth * 2, target_depth, round.settings.depth_max)
