"""The states of a group's tasks in cells, for arrays of millions: counted in columns. Used by `gateway.monitor`."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shunter.engine.engine import Engine
from shunter.engine.jobs.finish import TaskSetRef
from shunter.gateway.jobs.runs import Runs
from shunter.gateway.jobs.task_reader import TaskReader
from shunter.gateway.jobs.task_refs import AnyRun, array_of, group_name, instance_indexes, is_long_running, task_sets_of
from shunter.model.errors import Invalid, Problem
from shunter.model.job.arrays import IndexRange, index_at
from shunter.model.lifecycles import TaskState
from shunter.model.rest.monitor.views import FailureCount, TaskMap
from shunter.ports.monitor import TaskMapQuery
from shunter.ports.principals import JobReference

FAILURES_MAX = 20
STATES = len(TaskState)
FIELDS, FIELD_BITS = 4, np.uint64(16)
FIELD_MAX = 2**16 - 1

Codes = NDArray[Any]


class TaskMaps:
    def __init__(self, engine: Engine, runs: Runs, reader: TaskReader) -> None:
        self._engine, self._runs, self._reader = engine, runs, reader

    async def find(self, job: JobReference, query: TaskMapQuery) -> TaskMap:
        run = await self._runs.find(job)
        sets = task_sets_of(run)
        groups = list(dict.fromkeys(task_set.name for task_set in sets))
        name = group_name(run, query.group if query.group or (len(groups) != 1 and not groups) else groups[0])
        columns = await self._columns(run, [task_set for task_set in sets if task_set.name == name])
        total = len(columns.states)
        last = total - 1 if query.last is None else min(query.last, total - 1)
        if total and query.first > last:
            raise Invalid([Problem("query.first", f"must be at most {last}, the last task", query.first)])
        states = columns.states[query.first : last + 1]
        edges = cell_edges(len(states), query.cells)
        counts = count_cells(states, edges)
        view = self._runs.view_of(run)
        return TaskMap(
            name=f"{view.name}@{view.run}",
            group=name,
            groups=groups,
            total=total,
            first=query.first,
            last=last,
            starts=[columns.visible(query.first + edge) for edge in edges[:-1].tolist()],
            sizes=np.diff(edges).tolist(),
            counts={state.wire_name: counts[:, state].tolist() for state in TaskState if counts[:, state].any()},
            failures=columns.failures(),
            state_version=self._engine.state.version,
        )

    async def _columns(self, run: AnyRun, sets: list[TaskSetRef]) -> _Columns:
        """The tasks of a batch job in order, or the instances of a long-running job without those that were
        replaced."""
        parts: tuple[list[Codes], list[Codes], list[Codes]] = [], [], []
        states, codes, indexes = parts
        reasons: dict[int, str] = {}
        for task_set in sets:
            first = 0
            visible = np.asarray(instance_indexes(task_set), np.int64)
            while first < task_set.count:
                block = await self._reader.block(run, task_set, first)
                if block is None:
                    break
                shown = np.ones(len(block), np.bool_)
                hidden = [index - block.first for index in block.hidden if 0 <= index - block.first < len(block)]
                shown[hidden] = False
                position = sum(map(len, states))
                states.append(block.columns["state"][shown])
                codes.append(block.columns["exit_code"][shown])
                indexes.append(visible[block.first : block.first + len(block)][shown])
                if not hidden:
                    reasons |= {position + index - block.first: text for index, text in block.reasons.items()}
                first = block.first + len(block)
                await asyncio.sleep(0)
        if not states:
            return _Columns(np.zeros(0, np.uint8), np.zeros(0, np.int16), np.zeros(0, np.int64), {}, ())
        columns = [np.concatenate(each) if len(each) > 1 else each[0] for each in parts]
        if is_long_running(run):
            order = np.argsort(columns[2], kind="stable")
            columns = [column[order] for column in columns]
            reasons = {}
        return _Columns(columns[0], columns[1], columns[2], reasons, array_of(run, sets[0].name))


class _Columns:
    def __init__(
        self,
        states: Codes,
        exit_codes: Codes,
        indexes: Codes,
        reasons: dict[int, str],
        array: tuple[IndexRange, ...],
    ) -> None:
        self.states, self._exit_codes, self._indexes = states, exit_codes, indexes
        self._reasons, self._array = reasons, array

    def visible(self, position: int) -> int:
        """SHUNTER_TASK_INDEX."""
        index = int(self._indexes[position])
        return index_at(self._array, index) if self._array else index

    def failures(self) -> list[FailureCount]:
        """The failed tasks by exit code."""
        rows = np.flatnonzero(self.states == TaskState.FAILED)
        found, firsts, counts = np.unique(self._exit_codes[rows], return_index=True, return_counts=True)
        views = [
            FailureCount(
                exit_code=None if code < 0 else code,
                tasks=count,
                first=self.visible(int(rows[first])),
                reason=self._reasons.get(int(rows[first])),
            )
            for code, first, count in zip(found.tolist(), firsts.tolist(), counts.tolist(), strict=True)
        ]
        return sorted(views, key=lambda view: -view.tasks)[:FAILURES_MAX]


def cell_edges(tasks: int, cells: int) -> NDArray[np.int64]:
    """Where each cell begins, and where the last one ends. Cells differ by one task at most."""
    cells = min(tasks, cells)
    return np.arange(cells + 1, dtype=np.int64) * tasks // max(1, cells)


def count_cells(states: Codes, edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """[cell, state]. Idea: a state becomes a 1 in one of four fields of 16 bits, so that one sum counts four states.
    No field may overflow, so large cells are summed in parts."""
    cells = len(edges) - 1
    counts = np.zeros((cells, STATES), np.int64)
    if cells <= 0:
        return counts
    parts = np.union1d(edges[:-1], np.arange(0, edges[-1], FIELD_MAX))
    cell_starts = np.searchsorted(parts, edges[:-1])
    for base in range(0, STATES, FIELDS):
        ones = np.zeros(STATES, np.uint64)
        ones[base : base + FIELDS] = np.uint64(1) << (
            FIELD_BITS * np.arange(min(FIELDS, STATES - base), dtype=np.uint64)
        )
        sums = np.add.reduceat(ones[states], parts)
        for field in range(min(FIELDS, STATES - base)):
            values = (sums >> np.uint64(int(FIELD_BITS) * field)) & np.uint64(FIELD_MAX)
            counts[:, base + field] = np.add.reduceat(values.astype(np.int64), cell_starts)
    return counts
