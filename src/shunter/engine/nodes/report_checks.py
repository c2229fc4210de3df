"""Checks that a report names only attempts that the engine has assigned. Called before the report is recorded.

An outdated attempt is normal (the task was replaced or went to another node) and is dropped later. A task that its task
set never had, or an attempt that has not begun, is an error of the worker: the engine refuses the whole report."""

from __future__ import annotations

from shunter.engine.state.state import State
from shunter.model.errors import Rejected
from shunter.model.protocol.worker_messages import Report


def check_report(state: State, report: Report) -> None:
    """Raises Rejected."""
    for ended in report.ended:
        _check_range(state, ended.job, ended.group, ended.attempt, ended.first, ended.first + len(ended.ended_ms) - 1)
    for started in report.started:
        _check_range(state, started.job, started.group, started.attempt, started.index, started.index)
    for returned in report.returned:
        _check_range(state, returned.job, returned.group, returned.attempt, returned.first, returned.last)
    for lost in report.lost:
        _check_range(state, lost.job, lost.group, lost.attempt, lost.first, lost.last)
    for health in report.health:
        _check_range(state, health.job, health.group, health.attempt, health.index, health.index)


def _check_range(state: State, job_id: int, number: int, attempt: int, first: int, last: int) -> None:
    task_set = state.task_set(job_id, number)
    if task_set is None:
        return
    if last >= task_set.count:
        raise Rejected(f"task set {number} of job {job_id} has {task_set.count} tasks, but no task {last}")
    attempts, first_row = state.table.attempt, task_set.base + first
    if attempt <= attempts.item(first_row):  # nearly always
        return
    if attempt > attempts[first_row : task_set.base + last + 1].max():
        raise Rejected(f"attempt {attempt} of task {first} of job {job_id} has not begun")
