"""The attempts of a job over time: how many ran in each step, and the most telling ones. Used by `gateway.monitor`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shunter.engine.engine import Engine
from shunter.engine.state.records import Job
from shunter.gateway.jobs.runs import Runs
from shunter.gateway.jobs.task_reader import TaskReader
from shunter.gateway.jobs.task_refs import AnyRun, array_of, instance_indexes, task_sets_of
from shunter.model.job.arrays import index_at
from shunter.model.lifecycles import TaskState
from shunter.model.rest.monitor.views import Timeline
from shunter.model.timestamps import iso
from shunter.ports.principals import JobReference

LOST = len(TaskState)  # what an attempt can be, and a task cannot
STATE_NAMES = [*(state.wire_name for state in TaskState), "lost"]
LIVE = (TaskState.RUNNING, TaskState.STOPPING)

Times = NDArray[np.int64]


@dataclass(slots=True)
class _Attempts:
    """Columns of attempts that have started. `groups`: position among the names."""

    names: list[str] = field(default_factory=list)
    columns: dict[str, list[NDArray[np.int64]]] = field(
        default_factory=lambda: {name: [] for name in ("group", "index", "attempt", "node", "state", "start", "stop")}
    )

    def add(self, **columns: NDArray[np.int64]) -> None:
        for name, column in columns.items():
            self.columns[name].append(column)

    def joined(self) -> dict[str, NDArray[np.int64]]:
        empty = np.zeros(0, np.int64)
        return {name: np.concatenate([empty, *parts]) for name, parts in self.columns.items()}


class Timelines:
    def __init__(self, engine: Engine, runs: Runs, reader: TaskReader) -> None:
        self._engine, self._runs, self._reader = engine, runs, reader

    async def find(self, job: JobReference, steps: int, limit: int) -> Timeline:
        run = await self._runs.find(job)
        columns = (attempts := await self._attempts(run)).joined()
        view, now_ms = self._runs.view_of(run), self._engine.now_ms()
        start, stop = columns["start"], columns["stop"]
        ends = np.where(stop > 0, stop, now_ms)
        total = len(start)
        if not total:
            return Timeline(name=f"{view.name}@{view.run}", start=None, stop=None, step_s=0.0, running=[], total=0)
        first, last = int(start.min()), max(int(ends.max()), int(start.min()) + 1)
        step_ms = max(1, -(-(last - first) // steps))
        has_failed = (columns["state"] == TaskState.FAILED) | (columns["state"] == LOST)
        shown = np.lexsort((start - ends, ~has_failed))[:limit]
        shown = shown[np.argsort(start[shown], kind="stable")]
        names, arrays = self._engine.state.nodes.view.names, [array_of(run, name) for name in attempts.names]
        groups = columns["group"][shown].tolist()
        indexes = [
            index_at(arrays[group], index) if arrays[group] else index
            for group, index in zip(groups, columns["index"][shown].tolist(), strict=True)
        ]
        return Timeline(
            name=f"{view.name}@{view.run}",
            start=iso(first / 1000),
            stop=iso(last / 1000),
            step_s=step_ms / 1000,
            running=count_running(start, ends, first, step_ms, -(-(last - first) // step_ms)),
            total=total,
            indexes=indexes,
            groups=[attempts.names[group] for group in groups],
            attempts=columns["attempt"][shown].tolist(),
            nodes=[names[node] for node in columns["node"][shown].tolist()],
            states=[STATE_NAMES[state] for state in columns["state"][shown].tolist()],
            started_ms=start[shown].tolist(),
            ended_ms=[each or None for each in stop[shown].tolist()],
        )

    async def _attempts(self, run: AnyRun) -> _Attempts:
        found = _Attempts()
        for task_set in task_sets_of(run):
            if task_set.name not in found.names:
                found.names.append(task_set.name)
            group, first = found.names.index(task_set.name), 0
            visible = np.asarray(instance_indexes(task_set), np.int64)
            while first < task_set.count:
                block = await self._reader.block(run, task_set, first)
                if block is None:
                    break
                columns: dict[str, Any] = dict(block.columns)
                states = columns["state"]
                has_ended = states >= TaskState.SUCCEEDED
                rows = np.flatnonzero((columns["started_ms"] > 0) & (has_ended | np.isin(states, LIVE)))
                live = {name: columns[name][rows].astype(np.int64) for name in ("attempt", "node", "state")}
                found.add(
                    group=np.full(len(rows), group, np.int64),
                    index=visible[block.first + rows],
                    start=columns["started_ms"][rows],
                    stop=np.where(has_ended[rows], columns["ended_ms"][rows], 0),
                    **live,
                )
                first = block.first + len(block)
                await asyncio.sleep(0)
            self._add_past(run, task_set.number, group, visible, found)
        return found

    def _add_past(self, run: AnyRun, number: int, group: int, visible: Times, found: _Attempts) -> None:
        """Earlier attempts of tasks that were tried again."""
        if isinstance(run, Job):
            task_set = run.task_set(number)
            past = (task_set.history or []) if task_set is not None else []
        else:
            position = [each.number for each in task_sets_of(run)].index(number)
            past = run.summary.history[position] if position < len(run.summary.history) else []
        ran = [each for each in past if each[4] > 0]
        if not ran:
            return
        index, attempt, node, code, start, stop = (np.array([each[n] for each in ran], np.int64) for n in range(6))
        state = np.where(code < 0, LOST, np.where(code > 0, TaskState.FAILED, TaskState.SUCCEEDED))
        found.add(
            group=np.full(len(ran), group, np.int64), index=visible[index], attempt=attempt, node=node,
            state=state.astype(np.int64), start=start, stop=stop,
        )  # fmt: skip


def count_running(start: Times, stop: Times, first: int, step_ms: int, steps: int) -> list[int]:
    """How many attempts ran at some time of each step."""
    begun = np.bincount(np.clip((start - first) // step_ms, 0, steps - 1), minlength=steps)
    ended = np.bincount(np.clip((np.maximum(stop, start) - first) // step_ms, 0, steps - 1) + 1, minlength=steps + 1)
    counts: list[int] = (np.cumsum(begun) - np.cumsum(ended[:steps])).tolist()
    return counts
