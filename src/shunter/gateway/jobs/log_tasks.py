"""Finds the tasks of a job that have output, for `gateway.streams.job_logs`: those that a query selects, by batches,
and again those that have written more. Of each task it remembers only the last attempt that was read to its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shunter.engine.jobs.finish import TaskSetRef
from shunter.engine.read.views import TaskBlock, task_view
from shunter.gateway.jobs.runs import Runs
from shunter.gateway.jobs.task_reader import LogLocation, TaskReader
from shunter.gateway.jobs.task_refs import AnyRun, array_of, local_index_of, task_sets_of
from shunter.model.errors import Invalid, NotFound, Problem
from shunter.model.job.arrays import IndexRange, count_indexes, format_indexes, index_at
from shunter.model.lifecycles import TaskState
from shunter.model.rest.job_views import TaskView
from shunter.model.rest.log_views import LogGap
from shunter.ports.jobs import JobLogQuery
from shunter.ports.principals import JobReference

BATCH_SIZE = 256  # tasks that are looked up at once
INDEXES_MAX = 10_000
NAMES_SHOWN = 3
NOT_STARTED = "not started yet"
WAITING = "waiting for another attempt"
ENDED_EARLIER = "ended before --since"
_CODES = {state.wire_name: int(state) for state in TaskState}
_ASSIGNED, _ENDED = int(TaskState.ASSIGNED), int(TaskState.SUCCEEDED)


@dataclass(slots=True)
class LogGaps:
    """What is not shown, by reason. Bounded: a reason names a node or an option."""

    found: dict[str, LogGap] = field(default_factory=dict)

    def add(self, reason: str, names: Iterable[str], count: int = 1) -> None:
        gap = self.found.setdefault(reason, LogGap(reason=reason, tasks=0, names=[]))
        gap.tasks += count
        gap.names += list(names)[: NAMES_SHOWN - len(gap.names)]


@dataclass(slots=True)
class LogTask:
    """One attempt whose output is read, and how far."""

    number: int  # of its task set
    position: int  # in its task set
    view: TaskView
    attempt: int
    location: LogLocation
    offsets: dict[str, int] = field(default_factory=dict)

    @property
    def key(self) -> tuple[int, int]:
        return self.number, self.position


class TasksWithOutput:
    """The tasks of one request whose output is wanted."""

    def __init__(self, runs: Runs, reader: TaskReader, job: JobReference, query: JobLogQuery) -> None:
        self._runs, self._reader, self._job, self._query = runs, reader, job, query
        self._done: dict[int, NDArray[np.int32]] = {}  # task set -> last attempt that was read to its end
        self.left_out = LogGaps()

    def last_finished(self, task: LogTask) -> int:
        """The last attempt of the task that was read to its end; 0 if none was."""
        return int(self._done[task.number][task.position])

    def finish(self, task: LogTask) -> None:
        self._done[task.number][task.position] = task.attempt

    async def tasks(self) -> AsyncGenerator[LogTask, None]:
        """Tasks that the query selects and that have output which was not read to its end. The job may end meanwhile,
        so each batch is looked up again."""
        run = await self._runs.find(self._job)
        for number in [task_set.number for task_set in task_sets_of(run)]:
            first: int | None = 0
            while first is not None:
                batch, first = await self._batch(number, first)
                for task in batch:
                    yield task
                await asyncio.sleep(0)

    async def _batch(self, number: int, first: int) -> tuple[list[LogTask], int | None]:
        """Some tasks of a task set from an index on, and the index to go on with."""
        run, query = await self._runs.find(self._job), self._query
        sought = await self._block(run, number, first)
        if sought is None:
            return [], None
        task_set, block = sought
        attempts = _started_attempts(block)
        done = self._done.setdefault(number, np.zeros(task_set.count, np.int32))[block.first : block.first + len(block)]
        wanted = (block.columns["log"] != 0) & (attempts > done) & self._selected(run, task_set, block, query)
        rows = np.flatnonzero(wanted[first - block.first :])[:BATCH_SIZE] + (first - block.first)
        tasks = (self._log_task(task_set, block, row, int(attempts[row])) for row in rows.tolist())
        found = [task for task in tasks if task is not None]
        has_more = len(rows) == BATCH_SIZE
        return found, block.first + int(rows[-1]) + 1 if has_more else block.first + len(block)

    def _log_task(self, task_set: TaskSetRef, block: TaskBlock, row: int, attempt: int) -> LogTask | None:
        """The attempt to read in a row of the block; None if its output is left out."""
        index, columns = block.first + row, block.columns
        view, state = task_view(block, index), int(columns["state"][row])
        has_ended = state >= _ENDED
        if self._query.since_ms is not None and has_ended and int(columns["ended_ms"][row]) < self._query.since_ms:
            self._done[task_set.number][index] = attempt
            self.left_out.add(ENDED_EARLIER, [view.name])
            return None
        if index in block.hidden:
            return None
        is_over = has_ended or state <= _ASSIGNED  # the log of an assigned task is that of its last attempt
        location = LogLocation(int(columns["node"][row]), int(columns["log"][row]), is_over, attempt)
        return LogTask(task_set.number, index, view, attempt, location)

    def _selected(self, run: AnyRun, task_set: TaskSetRef, block: TaskBlock, query: JobLogQuery) -> NDArray[np.bool_]:
        selected = np.ones(len(block), np.bool_)
        if query.states:
            selected &= np.isin(block.columns["state"], [_CODES[state] for state in query.states])
        if query.indexes:
            array = array_of(run, task_set.name)
            positions = [local_index_of(task_set, array, index) for index in _indexes(query.indexes)]
            rows = np.arange(block.first, block.first + len(block))
            selected &= np.isin(rows, [position for position in positions if position is not None])
        return selected

    async def count_not_started(self) -> None:
        """Selected tasks that have no output yet."""
        run = await self._runs.find(self._job)
        for number in [task_set.number for task_set in task_sets_of(run)]:
            first: int | None = 0
            while first is not None:
                first = await self._count_not_started_from(number, first)
                await asyncio.sleep(0)

    async def _count_not_started_from(self, number: int, first: int) -> int | None:
        """In some tasks of a task set from an index on; returns the index to go on with."""
        run, query = await self._runs.find(self._job), self._query
        found = await self._block(run, number, first)
        if found is None:
            return None
        task_set, block = found
        has_no_log = (block.columns["log"] == 0) & self._selected(run, task_set, block, query)
        is_new = _started_attempts(block) == 0
        for reason, selected in ((NOT_STARTED, has_no_log & is_new), (WAITING, has_no_log & ~is_new)):
            rows = np.flatnonzero(selected)
            if rows.size:
                names = [task_view(block, block.first + row).name for row in rows[:NAMES_SHOWN].tolist()]
                self.left_out.add(reason, names, int(rows.size))
        return block.first + len(block)

    async def _block(self, run: AnyRun, number: int, first: int) -> tuple[TaskSetRef, TaskBlock] | None:
        """The tasks around an index; None if the query leaves the group out, or there are no more."""
        task_set = next((each for each in task_sets_of(run) if each.number == number), None)
        groups = self._query.groups
        if task_set is None or first >= task_set.count or (groups and task_set.name not in groups):
            return None
        block = await self._reader.block(run, task_set, first)
        return None if block is None else (task_set, block)


def _started_attempts(block: TaskBlock) -> NDArray[np.int32]:
    """The attempts that the column `log` belongs to: a task that is assigned again has the log of the one before."""
    attempts = block.columns["attempt"].astype(np.int32)
    attempts -= block.columns["state"] == _ASSIGNED
    return attempts


def check_indexes(run: AnyRun, query: JobLogQuery) -> None:
    if not query.indexes:
        return
    if count_indexes(query.indexes) > INDEXES_MAX:
        fault = f"must be at most {INDEXES_MAX:,} indexes"
        raise Invalid([Problem("query.index", fault, format_indexes(query.indexes), "leave it out for all tasks")])
    task_sets = [each for each in task_sets_of(run) if not query.groups or each.name in query.groups]
    arrays = {each.name: array_of(run, each.name) for each in task_sets}
    for index in _indexes(query.indexes):
        if all(local_index_of(each, arrays[each.name], index) is None for each in task_sets):
            counts = {each.name: each.count for each in task_sets}
            known = _describe_tasks(arrays, counts)
            raise NotFound(f"job '{run.name}' has no task {index}: its tasks are {known}")


def _describe_tasks(arrays: Mapping[str, tuple[IndexRange, ...]], counts: Mapping[str, int]) -> str:
    """The indexes of tasks, by group if there are several: `0 to 9`, or `fetch/0 to 9, sort/1-3`."""
    known = {name: format_indexes(array) if array else f"0 to {counts[name] - 1}" for name, array in arrays.items()}
    return ", ".join(known.values() if len(known) == 1 else (f"{name}/{tasks}" for name, tasks in known.items()))


def _indexes(parts: tuple[IndexRange, ...]) -> list[int]:
    return [index_at(parts, position) for position in range(count_indexes(parts))]
