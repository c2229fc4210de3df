"""Computes when an application ran, from the reports of its workers. Called by `engine.objects.applications` while it
runs, and by `engine.jobs.finish` when it leaves memory."""

from __future__ import annotations

from collections.abc import Iterable

from shunter.engine.round import Round
from shunter.engine.state.records import Job, TaskSet
from shunter.planning.view import IntArray
from shunter.testbeds.application_parts import EXECUTOR


def start_ms(round: Round, job: Job) -> int:
    """When the last of its executors started; if it never got that far, when its first task did."""
    started_ms_column = round.state.table.started_ms
    starts = _reported_times(
        round, started_ms_column, (task_set for task_set in job.task_sets if task_set.spec.name == EXECUTOR)
    )
    starts = starts or _reported_times(round, started_ms_column, job.task_sets)[:1]
    return _clamp(job.submitted_ms, max(starts, default=round.now_ms), round.now_ms)


def span_ms(round: Round, job: Job) -> tuple[int, int]:
    """From its start to the end of its last task."""
    start = start_ms(round, job)
    ends = _reported_times(round, round.state.table.ended_ms, job.task_sets)
    return start, _clamp(start, max(ends, default=round.now_ms), round.now_ms)


def _reported_times(round: Round, column: IntArray, task_sets: Iterable[TaskSet]) -> list[int]:
    """The times that workers reported for tasks that have run."""
    table = round.state.table
    rows = [task_set.base + index for task_set in task_sets for index in range(task_set.count)]
    return [int(column[row]) for row in rows if table.started_ms[row]]


def _clamp(first_ms: int, time_ms: int, last_ms: int) -> int:
    """Keep runs in order and out of the future, whatever the clocks say."""
    return min(max(first_ms, time_ms), last_ms)
