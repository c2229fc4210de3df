"""Validates messages of workers: ranges, lengths and magnitudes. Pure. The watcher calls it before the engine sees the
message, because workers are not trusted: anyone with the worker token can send anything.

`engine.nodes.report_checks` checks whether the node was given the attempts that a message names."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from shunter.model.protocol.message_limits import EXIT_CODE_MAX, HELD_MAX, HOWS, TEXT_MAX, TIME_MAX_MS
from shunter.model.protocol.worker_messages import (
    Ended,
    Goodbye,
    Health,
    Heartbeat,
    Held,
    Inventory,
    LogData,
    Lost,
    MachineSample,
    MachineStats,
    Ping,
    Report,
    Returned,
    Started,
    StatsData,
    TaskStats,
    WorkerMessage,
)
from shunter.model.usage import MEMORY_CLASS_MAX, AttemptsUsage

ID_MAX = 2**63 - 1  # of jobs
NUMBER_MAX = 2**31 - 1  # of task sets, indexes, attempts and log segments: the state has 32 signed bits for them
RECORD_MAX = 2**32 - 1  # in a log segment
SEQ_MAX = 2**63 - 1
COUNTER_MAX = 2**63 - 1  # bytes, tasks and the like
USAGE_MAX = 2**53  # of one Ended, so that the sums of a job stay within 64 bits
PORT_MAX = 2**16 - 1
TASKS_MAX = 10_000_000  # that one message names
PORTS_MAX = 256  # of one task
SAMPLES_MAX = 10_000


class _Bad(Exception):
    """Carries the problem from the check that found it."""


def message_problem(message: WorkerMessage) -> str | None:
    """A sentence that names the field, or None. `watcher.admission` checks a Hello."""
    check = _CHECKS.get(type(message))
    if check is None:
        return None
    try:
        check(message)
    except _Bad as problem:
        return f"{type(message).__name__}.{problem}"
    return None


def _check_report(report: Report) -> None:
    _require_within("seq", report.seq, 0, SEQ_MAX)
    _check_each("ended", report.ended, _check_ended)
    _check_each("started", report.started, _check_started)
    _check_each("returned", report.returned, _check_range)
    _check_each("lost", report.lost, _check_lost)
    _check_each("health", report.health, _check_health)
    named = _tasks_in(report.returned) + _tasks_in(report.lost)  # ends are as many as their times
    _require_within("tasks", named, 0, TASKS_MAX)


def _check_inventory(inventory: Inventory) -> None:
    _require_within("seq", inventory.seq, 0, SEQ_MAX)
    _require_within("held", len(inventory.held), 0, HELD_MAX)
    _check_each("held", inventory.held, _check_held)
    _check_each("ended", inventory.ended, _check_ended)
    _check_each("lost", inventory.lost, _check_lost)
    _check_each("health", inventory.health, _check_health)
    named = (
        sum(len(ended.ended_ms) for ended in inventory.ended) + _tasks_in(inventory.held) + _tasks_in(inventory.lost)
    )
    _require_within("tasks", named, 0, TASKS_MAX)


def _check_heartbeat(heartbeat: Heartbeat) -> None:
    _check_machine("stats", heartbeat.stats)
    _require_within("samples", len(heartbeat.samples), 0, SAMPLES_MAX)
    _check_each("samples", heartbeat.samples, _check_sample)
    _require_within("tasks", sum(len(sample.tasks) for sample in heartbeat.samples), 0, TASKS_MAX)


def _check_log_data(answer: LogData) -> None:
    _require_within("next", answer.next, 0, COUNTER_MAX)
    _check_text("error", answer.error)


def _check_stats_data(answer: StatsData) -> None:
    _check_machine("machine", answer.machine)
    _check_each("tasks", answer.tasks, _check_task_stats)


def _check_goodbye(goodbye: Goodbye) -> None:
    _check_text("reason", goodbye.reason)


def _check_ping(ping: Ping) -> None:
    _require_within("number", ping.number, 0, SEQ_MAX)


_CHECKS: dict[type, Callable[[Any], None]] = {
    Report: _check_report,
    Inventory: _check_inventory,
    Heartbeat: _check_heartbeat,
    LogData: _check_log_data,
    StatsData: _check_stats_data,
    Goodbye: _check_goodbye,
    Ping: _check_ping,
}


# ---- parts of messages ----


def _check_ended(ended: Ended) -> None:
    count = len(ended.ended_ms)
    _check_attempt(ended)
    _require_within("first", ended.first, 0, NUMBER_MAX)
    if not count:
        raise _Bad("ended_ms: is empty; an end has a time")
    if len(ended.started_ms) != count:
        raise _Bad(f"started_ms: has {len(ended.started_ms)} times, and ended_ms has {count}")
    if ended.exits and len(ended.exits) != count:
        raise _Bad(f"exits: has {len(ended.exits)} codes, and ended_ms has {count} times")
    _require_within("last", ended.first + count - 1, 0, NUMBER_MAX)
    _require_all_within("started_ms", ended.started_ms, 0, TIME_MAX_MS)
    _require_all_within("ended_ms", ended.ended_ms, 0, TIME_MAX_MS)
    if ended.exits:
        _require_all_within("exits", ended.exits, -1, EXIT_CODE_MAX)
    _require_within("segment", ended.segment, 0, NUMBER_MAX)
    _require_within("record", ended.record, 0, RECORD_MAX - count)
    if ended.how not in HOWS:
        raise _Bad(f"how: must be one of {', '.join(sorted(HOWS - {''}))} (got {ended.how[:80]!r})")
    _check_text("detail", ended.detail)
    if ended.usage is not None:
        _check_usage(ended.usage, count)


def _check_usage(usage: AttemptsUsage, count: int) -> None:
    if len(usage.memory_classes) != count:
        raise _Bad(f"usage.memory_classes: has {len(usage.memory_classes)} classes, and ended_ms has {count} times")
    _require_all_within("usage.memory_classes", usage.memory_classes, 0, MEMORY_CLASS_MAX)
    amounts = usage.cpu_ms, usage.cores_max_milli, usage.read_bytes, usage.written_bytes, usage.memory_max_bytes
    if min(amounts) < 0 or max(amounts) > USAGE_MAX:  # nearly never
        for name, amount in zip(usage.__struct_fields__, amounts, strict=False):
            _require_within(f"usage.{name}", amount, 0, USAGE_MAX)


def _check_started(started: Started) -> None:
    _check_attempt(started)
    _require_within("index", started.index, 0, NUMBER_MAX)
    _check_start(started)


def _check_held(held: Held) -> None:
    _check_range(held)
    _check_start(held)


def _check_start(start: Started | Held) -> None:
    _require_within("started_ms", start.started_ms, 0, TIME_MAX_MS)
    _require_within("segment", start.segment, 0, NUMBER_MAX)
    _require_within("record", start.record, 0, RECORD_MAX)
    _require_within("ports", len(start.ports), 0, PORTS_MAX)
    for name, port in start.ports.items():
        _check_text("ports", name)
        _require_within(f"ports.{name[:80]}", port, 0, PORT_MAX)


def _check_range(span: Returned | Lost | Held) -> None:
    _check_attempt(span)
    _require_within("first", span.first, 0, NUMBER_MAX)
    _require_within("last", span.last, span.first, NUMBER_MAX)


def _check_lost(lost: Lost) -> None:
    _check_range(lost)
    _check_text("reason", lost.reason)
    _check_text("with_keeper", lost.with_keeper)


def _check_health(health: Health) -> None:
    _check_attempt(health)
    _require_within("index", health.index, 0, NUMBER_MAX)
    _require_within("at_ms", health.at_ms, 0, TIME_MAX_MS)
    _check_text("detail", health.detail)


def _check_attempt(part: Ended | Started | Returned | Lost | Held | Health) -> None:
    _require_within("job", part.job, 0, ID_MAX)
    _require_within("group", part.group, 0, NUMBER_MAX)
    _require_within("attempt", part.attempt, 0, NUMBER_MAX)


def _check_sample(sample: MachineSample) -> None:
    _require_within("at_ms", sample.at_ms, 0, TIME_MAX_MS)
    _require_amount("cpu_s", sample.cpu_s)
    for name in ("memory_bytes", "read_bytes", "written_bytes", "received_bytes", "sent_bytes"):
        _require_within(name, getattr(sample, name), 0, COUNTER_MAX)
    _check_each("tasks", sample.tasks, _check_task_stats)


def _check_task_stats(task: TaskStats) -> None:
    _require_within("job", task.job, 0, ID_MAX)
    for name in ("group", "index", "attempt"):
        _require_within(name, getattr(task, name), 0, NUMBER_MAX)
    _require_amount("cpu_s", task.cpu_s)
    for name in ("memory_bytes", "processes", "read_bytes", "written_bytes"):
        _require_within(name, getattr(task, name), 0, COUNTER_MAX)
    _require_within("started_ms", task.started_ms, 0, TIME_MAX_MS)


def _check_machine(path: str, stats: MachineStats) -> None:
    _require_within(f"{path}.at_ms", stats.at_ms, 0, TIME_MAX_MS)
    for name in ("cpu_busy", "load_1m"):
        _require_amount(f"{path}.{name}", getattr(stats, name))
    for name in _MACHINE_COUNTERS:
        _require_within(f"{path}.{name}", getattr(stats, name), 0, COUNTER_MAX)


_MACHINE_COUNTERS = (
    "memory_total_bytes", "memory_available_bytes", "disk_total_bytes", "disk_free_bytes", "tasks_running", "keepers",
)  # fmt: skip


# ---- values ----


def _check_each(name: str, parts: list[Any], check: Callable[[Any], None]) -> None:
    for position, part in enumerate(parts):
        try:
            check(part)
        except _Bad as problem:
            raise _Bad(f"{name}[{position}].{problem}") from None


def _tasks_in(ranges: Iterable[Returned | Lost | Held]) -> int:
    return sum(span.last - span.first + 1 for span in ranges)


def _require_within(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise _Bad(f"{name}: {value} is not within {low} and {high}")


def _require_all_within(name: str, values: list[int], low: int, high: int) -> None:
    _require_within(name, min(values), low, high)
    _require_within(name, max(values), low, high)


def _require_amount(name: str, value: float) -> None:
    if not math.isfinite(value) or value < 0:
        raise _Bad(f"{name}: {value} is not a finite number of at least 0")


def _check_text(name: str, text: str) -> None:
    if len(text) > TEXT_MAX:
        raise _Bad(f"{name}: has {len(text)} characters, more than {TEXT_MAX}")
