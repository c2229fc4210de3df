"""What workers report: starts, ends, losses, returns, health. Called by the engine's rounds.

A report of an attempt that the engine does not believe in (an older number, another node, a task that has ended)
changes nothing: it is dropped here.
"""

from __future__ import annotations

from msgspec.structs import replace

from shunter.engine import changes as c
from shunter.engine.jobs.restart_policy import action_of, back_off_s, restarts_so_far
from shunter.engine.nodes.cordon import note_failure, note_success
from shunter.engine.round import Round, TimerKind
from shunter.engine.state.records import TaskSet
from shunter.model.lifecycles import TaskEvent, TaskState
from shunter.model.protocol.worker_messages import Ended, Health, Lost, Report, Returned, Started

_ASSIGNED, _RUNNING, _STOPPING = int(TaskState.ASSIGNED), int(TaskState.RUNNING), int(TaskState.STOPPING)


def on_report(round: Round, node: int, report: Report) -> None:
    for started in report.started:
        on_started(round, node, started)
    for ended in report.ended:
        on_ended(round, node, ended)
    for returned in report.returned:
        on_returned(round, node, returned)
    for lost in report.lost:
        on_lost(round, node, lost)
    for health in report.health:
        on_health(round, node, health)
    round.acks[node] = report.seq


def on_started(round: Round, node: int, started: Started) -> None:
    group = round.state.task_set(started.job, started.group)
    if group is None or not believed(round, group, node, started.index, started.index, started.attempt, _ASSIGNED):
        return
    log = started.segment << 32 | started.record
    ports = started.ports
    change = c.TaskStarted(started.job, started.group, started.index, started.started_ms, log, group.ref, ports)
    round.record(change)


def on_ended(round: Round, node: int, ended: Ended) -> None:
    """Successes of a whole run are one change; anything else is looked at one by one."""
    group = round.state.task_set(ended.job, ended.group)
    if group is None:
        return
    last = ended.first + len(ended.ended_ms) - 1
    round.withdraw(group, ended.first, last, ended.attempt, node)
    restart = group.spec.restart
    is_plain = not ended.exits and not ended.how and restart.policy in ("never", "on-failure") and not restart.on_exit
    is_plain = is_plain and not group.job.is_long_running
    if is_plain and believed(round, group, node, ended.first, last, ended.attempt):
        _finish(round, group, ended.first, last, ended, 0)
    else:
        for offset, index in enumerate(range(ended.first, last + 1)):
            if believed(round, group, node, index, index, ended.attempt):
                _end_one(round, group, index, ended, offset)
    _adapt_depth(round, group, node, ended)


def on_returned(round: Round, node: int, returned: Returned) -> None:
    group = round.state.task_set(returned.job, returned.group)
    if group is None:
        return
    round.withdraw(group, returned.first, returned.last, returned.attempt, node)
    if believed(round, group, node, returned.first, returned.last, returned.attempt, _ASSIGNED):
        _move(round, group, node, returned.first, returned.last, TaskEvent.RETURNED)
    else:
        for index in range(returned.first, returned.last + 1):
            if believed(round, group, node, index, index, returned.attempt, _ASSIGNED):
                _move(round, group, node, index, index, TaskEvent.RETURNED)
            elif believed(round, group, node, index, index, returned.attempt, _STOPPING):
                _move(round, group, node, index, index, _after_stop(round, group, index))
    lanes = group.task_class.lanes.get(node)
    if lanes is not None:
        lanes.recalled = False


def on_lost(round: Round, node: int, lost: Lost) -> None:
    group = round.state.task_set(lost.job, lost.group)
    if group is None:
        return
    round.withdraw(group, lost.first, lost.last, lost.attempt, node)
    if believed(round, group, node, lost.first, lost.last, lost.attempt):
        lose(round, group, lost.first, lost.last, lost.reason)
        return
    for index in range(lost.first, lost.last + 1):
        if believed(round, group, node, index, index, lost.attempt):
            lose(round, group, index, index, lost.reason)


def on_health(round: Round, node: int, health: Health) -> None:
    group = round.state.task_set(health.job, health.group)
    if group is None or not believed(round, group, node, health.index, health.index, health.attempt, _RUNNING):
        return
    known = (group.health or {}).get(health.index)
    if known is None or known[0] is not health.is_healthy:
        job = group.job
        change = c.TaskHealth(
            job.id, group.number, health.index, health.is_healthy, health.at_ms, health.detail, group.ref
        )  # fmt: skip
        round.record(change)


def lose(round: Round, group: TaskSet, first: int, last: int, reason: str) -> None:
    """Attempts on one node ended without an exit code: queue them again, up to a limit; a stop asked for is done."""
    table, node = round.state.table, int(round.state.table.node[group.base + first])
    rows = slice(group.base + first, group.base + last + 1)
    round.underfilled[group.task_class.id, node] = None
    if not (table.state[rows] == _STOPPING).any() and int(table.lost[rows].max()) + 1 < round.settings.lost_max:
        round.record(c.TasksLost(group.job.id, group.number, first, last, round.now_ms, reason, group.ref))
    elif first != last:
        for index in range(first, last + 1):
            lose(round, group, index, index, reason)
    elif table.state[group.base + first] == _STOPPING:
        _move(round, group, node, first, first, _after_stop(round, group, first))
    else:
        why = f"lost {round.settings.lost_max} times, the last time: {reason}"
        row = group.base + first
        change = c.TaskEnded(
            group.job.id, group.number, first, TaskEvent.GAVE_UP, -1, int(table.started_ms[row]), round.now_ms,
            int(table.log[row]), 0, why, group.ref,
        )  # fmt: skip
        round.record(change)
        round.maybe_finished[group.job.id] = None


def believed(
    round: Round, group: TaskSet, node: int, first: int, last: int, attempt: int, state: int | None = None
) -> bool:
    """Whether all of these tasks are, as far as the engine knows, live on that node with that attempt number."""
    if not 0 <= first <= last < group.count:
        return False
    table, first_row, last_row = round.state.table, group.base + first, group.base + last
    if not table.all_equal(table.attempt, first_row, last_row, attempt):
        return False
    if not table.all_equal(table.node, first_row, last_row, node):
        return False
    states = table.state[first_row : last_row + 1].tobytes()
    low, high = (_ASSIGNED, _STOPPING) if state is None else (state, state)
    return low <= min(states) and max(states) <= high


def _finish(round: Round, group: TaskSet, first: int, last: int, ended: Ended, offset: int) -> None:
    count = last - first + 1
    log = ended.segment << 32 | (ended.record + offset)
    started = ended.started_ms[offset : offset + count]
    change = c.TasksFinished(
        group.job.id, group.number, first, last, c.pack_times(started),
        c.pack_times(ended.ended_ms[offset : offset + count]), log, group.ref,
    )  # fmt: skip
    node = round.state.table.node.item(group.base + first)
    round.underfilled[group.task_class.id, node] = None
    note_success(round, node)
    round.record(change)
    round.maybe_finished[group.job.id] = None


def _end_one(round: Round, group: TaskSet, index: int, ended: Ended, offset: int) -> None:
    """One attempt that did not plainly succeed, or whose policy may want another one anyway."""
    table, row = round.state.table, group.base + index
    exit_code = ended.exits[offset] if ended.exits else 0
    has_failed = exit_code != 0 or bool(ended.how)  # a task may make 0 of being told that its time is over
    is_stopping = table.state[row] == _STOPPING
    action = "" if is_stopping or (ended.how and not exit_code) else action_of(group.spec.restart, exit_code)
    delay_s = None
    if action == "succeed":
        event, has_failed = TaskEvent.FINISHED, exit_code != 0
    elif is_stopping:
        is_told = has_failed or group.job.is_long_running  # a service may make 0 of being told to end
        event = _after_stop(round, group, index) if is_told else TaskEvent.FINISHED
    elif (delay_s := _delay_s(round, group, index, ended, offset, action, has_failed)) is not None:
        event = TaskEvent.RETRIED
    else:
        event = TaskEvent.GAVE_UP if has_failed or action == "fail" else TaskEvent.FINISHED
    if event is TaskEvent.FINISHED and not has_failed:
        _finish(round, group, index, index, ended, offset)
        return
    reason = _reason(ended, exit_code)
    if event is TaskEvent.REQUEUED or (event is TaskEvent.STOPPED and group.job.is_long_running):
        reason = (group.reasons or {}).get(index, reason)  # why it was told to end
    not_before_ms = 0 if delay_s is None else round.now_ms + max(int(delay_s * 1000), 1)
    change = c.TaskEnded(
        group.job.id, group.number, index, event, exit_code, ended.started_ms[offset], ended.ended_ms[offset],
        ended.segment << 32 | (ended.record + offset), not_before_ms, reason, group.ref,
    )  # fmt: skip
    round.underfilled[group.task_class.id, int(table.node[row])] = None
    if has_failed and not is_stopping and group.job.id not in round.state.objects.applications:
        note_failure(round, int(table.node[row]), group.job)
    round.record(change)
    if event is TaskEvent.RETRIED:
        round.timers.add(not_before_ms, TimerKind.BACK_OFF, group, index)
    elif event is not TaskEvent.REQUEUED:
        round.maybe_finished[group.job.id] = None


def _delay_s(
    round: Round, group: TaskSet, index: int, ended: Ended, offset: int, action: str, has_failed: bool
) -> float | None:
    """Until the next attempt; None if there is none. A rule for the exit code wins over the policy."""
    if action == "fail":
        return None
    restart = group.spec.restart
    if action == "restart":
        restart, has_failed = replace(restart, policy="always"), True
    restarts = int(round.state.table.restarts[group.base + index])
    counted = restarts_so_far(restarts, ended.started_ms[offset], ended.ended_ms[offset])
    return back_off_s(restart, counted, has_failed, round.random)


def _after_stop(round: Round, group: TaskSet, index: int) -> TaskEvent:
    """A stop that was asked for ends a task; one that makes room, or empties a node, sends it back to the queue."""
    if not group.requeue_when_stopped or index not in group.requeue_when_stopped:
        return TaskEvent.STOPPED
    lanes = group.task_class.lanes.get(int(round.state.table.node[group.base + index]))
    if lanes is not None:
        lanes.may_refill = False  # its room is meant for someone else: who gets it is for the policy to say
    return TaskEvent.REQUEUED


def _reason(ended: Ended, exit_code: int) -> str:
    if ended.detail:
        return ended.detail
    return ended.how or (f"exit code {exit_code}" if exit_code else "")


def _move(round: Round, group: TaskSet, node: int, first: int, last: int, event: TaskEvent) -> None:
    round.underfilled[group.task_class.id, node] = None
    reason = group.job.reason if event is TaskEvent.STOPPED else ""
    round.record(c.TasksTransitioned(group.job.id, group.number, first, last, event, round.now_ms, reason, group.ref))
    if event is TaskEvent.STOPPED:
        round.maybe_finished[group.job.id] = None


def _adapt_depth(round: Round, group: TaskSet, node: int, ended: Ended) -> None:
    """Orders hold about `order_ms` of work: double what may be outstanding while tasks are short."""
    record = group.task_class
    lanes = record.lanes.get(node)
    if lanes is not None:
        lanes.last_progress_ms = round.now_ms
    span_ms = sum(ended.ended_ms) - sum(ended.started_ms)
    mean_ms = max(span_ms / len(ended.ended_ms), 0.1)
    wanted = max(int(round.settings.order_ms / mean_ms), 1)
    if record.key.rules is None:
        record.depth = min(record.depth * 2, wanted, round.settings.depth_max)
