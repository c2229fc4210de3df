"""The sub-gateway `tasks`: lists of tasks, single tasks, and their attempts. Implements `ports.jobs.TaskService`."""

from __future__ import annotations

import numpy as np

from shunter.engine.engine import Engine
from shunter.engine.read.views import TaskBlock, last_attempt_view, past_attempt_view, task_view
from shunter.engine.state.records import Job
from shunter.gateway.jobs.runs import Runs
from shunter.gateway.jobs.task_reader import TaskReader
from shunter.gateway.jobs.task_refs import AnyRun, instance_indexes, is_long_running, task_sets_of
from shunter.model.errors import Invalid, Problem
from shunter.model.lifecycles import TaskState
from shunter.model.rest.job_views import AttemptPage, TaskPage, TaskView
from shunter.ports.jobs import TaskQuery
from shunter.ports.principals import JobReference, TaskReference

REPLACED_CURSOR = 999_999_999  # instead of a task set, in cursors among the replaced tasks
_CODES = {state.wire_name: int(state) for state in TaskState}

Rows = list[tuple[str, TaskView]]  # each task with the cursor of a page that ends with it


class Tasks:
    def __init__(self, engine: Engine, runs: Runs, reader: TaskReader) -> None:
        self._engine, self._runs, self._reader = engine, runs, reader

    async def page(self, job: JobReference, query: TaskQuery) -> TaskPage:
        """Replaced tasks first, if the query asks for them; then the others by group and index."""
        run = await self._runs.find(job)
        view, after = self._runs.view_of(run), query.after
        total = sum(view.counts.get(state, 0) for state in query.states) if query.states else view.count
        rows: Rows = []
        if query.all:
            replaced = [task for task in self._reader.replaced(run) if not query.states or task.state in query.states]
            total += len(replaced)
            first = _first_replaced(after)
            if first is not None:
                part = replaced[first : first + query.limit + 1]
                rows = [(f"{REPLACED_CURSOR}.{index}", task) for index, task in enumerate(part, first)]
                after = None
        limit = query.limit + 1 - len(rows)
        if is_long_running(run):
            rows += await self._rows_by_instance(run, query.states, after, limit)
        else:
            rows += await self._rows_by_task_set(run, query.states, after, limit)
        page = rows[: query.limit]
        return TaskPage([task for _, task in page], page[-1][0] if len(rows) > query.limit else None, total)

    async def get(self, job: JobReference, task: TaskReference) -> TaskView:
        return await self._reader.task(await self._runs.find(job), task)

    async def attempts(self, job: JobReference, task: TaskReference) -> AttemptPage:
        run = await self._runs.find(job)
        found = await self._reader.task(run, task)
        names = self._engine.state.nodes.view.names
        views = [past_attempt_view(found, past, names) for past in self._reader.history(run, task)]
        if found.attempt and not any(view.attempt == found.attempt for view in views):
            views.append(last_attempt_view(found))
        return AttemptPage(views, None, len(views))

    async def _rows_by_task_set(self, run: AnyRun, states: tuple[str, ...], after: str | None, limit: int) -> Rows:
        """Tasks of a batch job. The cursor is TASK_SET.INDEX."""
        start, first = _task_set_and_index(after)
        rows: Rows = []
        for position, task_set in enumerate(task_sets_of(run)[start:], start):
            while first < task_set.count and len(rows) < limit:
                block = await self._reader.block(run, task_set, first)
                if block is None:
                    break
                indexes = _select(block, states, first, limit - len(rows))
                rows += [(f"{position}.{index}", task_view(block, index)) for index in indexes]
                first = block.first + len(block)
            first = 0
        return rows

    async def _rows_by_instance(self, run: AnyRun, states: tuple[str, ...], after: str | None, limit: int) -> Rows:
        """Tasks of a long-running job, whose task sets overlap where instances were replaced. The cursor is
        GROUP.INDEX.TASK_SET."""
        position = _position(after) if after else ()
        groups = _group_order(run)
        found: list[tuple[tuple[int, int, int], TaskBlock, int]] = []
        for task_set in task_sets_of(run):
            indexes, group = instance_indexes(task_set), groups.get(task_set.name, len(groups))
            first = 0
            while first < task_set.count and (block := await self._reader.block(run, task_set, first)) is not None:
                found += [
                    (key, block, index)
                    for index in _select(block, states, first, task_set.count)
                    if (key := (group, indexes[index], task_set.number)) > position
                ]
                first = block.first + len(block)
        listed = sorted(found, key=lambda each: each[0])[:limit]
        return [(".".join(map(str, key)), task_view(block, index)) for key, block, index in listed]


def _group_order(run: AnyRun) -> dict[str, int]:
    specs = run.spec_version.groups if isinstance(run, Job) else run.specs
    return {spec.name: number for number, spec in enumerate(specs)}


def _first_replaced(after: str | None) -> int | None:
    """Which of the replaced tasks a page begins with; None if its cursor is behind them."""
    if not after:
        return 0
    position = _position(after)
    return position[1] + 1 if len(position) == 2 and position[0] == REPLACED_CURSOR else None


def _task_set_and_index(after: str | None) -> tuple[int, int]:
    """Where a page begins. A plain number is an index of the first task set. Raises Invalid."""
    if not after:
        return 0, 0
    position = _position(after)
    if len(position) > 2:
        fix = "list the tasks from the beginning"
        raise Invalid([Problem("query.after", "is not a cursor of this job", after, fix)])
    return (0, position[0] + 1) if len(position) == 1 else (position[0], position[1] + 1)


def _position(after: str) -> tuple[int, ...]:
    return tuple(int(part) for part in after.split("."))


def _select(block: TaskBlock, states: tuple[str, ...], first: int, limit: int) -> list[int]:
    """Indexes of the task set from `first` on, in any of these states."""
    column = block.columns["state"]
    start = max(first - block.first, 0)
    if states:
        wanted = np.isin(column[start:], [_CODES[state] for state in states])
        rows = (np.flatnonzero(wanted)[:limit] + start).tolist()
    else:
        rows = list(range(start, min(start + limit, len(column))))
    return [block.first + row for row in rows if block.first + row not in block.hidden]
