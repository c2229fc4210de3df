"""Finding runs, live or finished, and reading their tasks. Called by the gateway.

A live run is read from the engine's memory between rounds, a finished one from the store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

import msgspec
import numpy as np
from numpy.typing import NDArray

from shunter.engine.endings import Summary
from shunter.engine.engine import Engine
from shunter.engine.records import Group, Job, PastAttempt
from shunter.engine.table import unpack_columns
from shunter.engine.views import group_columns, job_view, task_views
from shunter.model.errors import NotFound
from shunter.model.lifecycles import TaskState
from shunter.model.views import JobPage, JobView, TaskPage, TaskView
from shunter.ports.gateway import JobQuery, JobReference, TaskQuery
from shunter.ports.store import FinishedJob, FinishedQuery, Store

_summary_decoder = msgspec.msgpack.Decoder(Summary)
_CODES = {state.word: int(state) for state in TaskState}
_ENDED_JOBS = ("succeeded", "failed", "cancelled")
Columns = Mapping[str, NDArray[np.generic]]


@dataclass(frozen=True, slots=True)
class FinishedRun:
    id: int
    summary: Summary

    @property
    def view(self) -> JobView:
        return self.summary.view


@dataclass(frozen=True, slots=True)
class TaskPlace:
    """Where one attempt of a task is, for reading its log. A log of 0 means that nothing was written yet."""

    node: int
    log: int
    is_over: bool


class Runs:
    def __init__(self, engine: Engine, store: Store) -> None:
        self._engine, self._store = engine, store

    async def find(self, reference: JobReference) -> Job | FinishedRun:
        """The run that is meant: the newest of its name unless the reference says otherwise."""
        await self._engine.committed()
        state = self._engine.state
        if reference.id is not None:
            live = state.jobs.get(reference.id)
            finished = None if live else await self._store.finished_job(reference.id)
        else:
            live = state.find_job(reference.namespace, reference.name)
            if live is not None and reference.run not in (None, live.run):
                live = None
            finished = None
            if live is None:
                finished = await self._store.finished_run(reference.namespace, reference.name, reference.run)
        if live is not None:
            return live
        if finished is None:
            raise NotFound(self._unknown(reference))
        return FinishedRun(finished.id, _summary_decoder.decode(finished.summary))

    async def page(self, query: JobQuery) -> JobPage:
        """Newest first. Live ones are read before the store is asked, so a job that ends meanwhile is not missed."""
        await self._engine.committed()
        before = int(query.after) if query.after else None
        live, live_total = self._live(query, before)
        states = tuple(state for state in query.states if state in _ENDED_JOBS)
        finished: list[FinishedJob] = []
        finished_total = 0
        if states or not query.states:
            finished_query = FinishedQuery(
                namespace=query.namespace, states=states, labels=query.labels, before_id=before, limit=query.limit + 1
            )
            finished = await self._store.finished_jobs(finished_query)
            finished_total = await self._store.count_finished(finished_query)
        ended = {job.id for job in finished}
        views = [view for view in live if view.id not in ended]
        views += [_summary_decoder.decode(job.summary).view for job in finished]
        views.sort(key=lambda view: -view.id)
        has_more = len(views) > query.limit
        views = views[: query.limit]
        return JobPage(views, str(views[-1].id) if has_more else None, live_total + finished_total)

    async def runs_of(self, run: Job | FinishedRun, limit: int, after: str | None) -> JobPage:
        view = job_view(run) if isinstance(run, Job) else run.view
        query = FinishedQuery(
            namespace=view.namespace, name=view.name, before_id=int(after) if after else None, limit=limit + 1
        )
        views = [_summary_decoder.decode(job.summary).view for job in await self._store.finished_jobs(query)]
        total = await self._store.count_finished(query)
        live = self._engine.state.find_job(view.namespace, view.name)
        if live is not None and not after:
            views.insert(0, job_view(live))
        total += live is not None
        return JobPage(views[:limit], str(views[limit - 1].id) if len(views) > limit else None, total)

    async def tasks(self, run: Job | FinishedRun, query: TaskQuery) -> TaskPage:
        first = int(query.after) + 1 if query.after else 0
        view = job_view(run) if isinstance(run, Job) else run.view
        total = sum(view.counts.get(state, 0) for state in query.states) if query.states else view.count
        found: list[TaskView] = []
        part = await self._part(run, first)
        while part is not None and len(found) <= query.limit:
            found += part.select(query.states, first, query.limit + 1 - len(found))
            part = await self._part(run, part.end)
        has_more = len(found) > query.limit
        found = found[: query.limit]
        return TaskPage(found, str(found[-1].index) if has_more else None, total)

    async def task(self, run: Job | FinishedRun, index: int) -> TaskView:
        page = await self.tasks(run, TaskQuery(limit=1, after=str(index - 1) if index else None))
        if not page.items or page.items[0].index != index:
            name = run.name if isinstance(run, Job) else run.view.name
            raise NotFound(f"job {name} has no task {index}: its tasks are 0 to {page.total - 1}")
        return page.items[0]

    async def place_of(self, run: Job | FinishedRun, index: int, attempt: int | None) -> TaskPlace:
        """Where an attempt's log is; None means the latest."""
        task = await self.task(run, index)
        for past in self.history(run, index):
            if past[1] == attempt:
                return TaskPlace(past[2], past[6], True)
        if attempt is not None and attempt != task.attempt:
            raise NotFound(f"task {task.name} has no attempt {attempt}: its latest is {task.attempt}")
        part = await self._part(run, index)
        if part is None:
            raise NotFound(f"task {task.name} has left history")
        row = index - part.first
        is_over = task.state in _ENDED_JOBS
        return TaskPlace(int(part.columns["node"][row]), int(part.columns["log"][row]), is_over)

    def history(self, run: Job | FinishedRun, index: int) -> list[PastAttempt]:
        past = run.groups[0].history or [] if isinstance(run, Job) else run.summary.history[0]
        return [attempt for attempt in past if attempt[0] == index]

    async def _part(self, run: Job | FinishedRun, index: int) -> _Part | None:
        """Neighbouring tasks with task `index` among them; None behind the last one."""
        names = self._engine.state.nodes.view.names
        if isinstance(run, Job):
            group: Group = run.groups[0]
            if index >= group.count:
                return None
            return _Part(run.name, 0, group_columns(self._engine.state, group), names, group.reasons or {})
        chunks = await self._store.finished_tasks(run.id, 0, index, index)
        if not chunks:
            return None
        columns = unpack_columns(chunks[0].count, chunks[0].body)
        return _Part(run.view.name, chunks[0].first, columns, names, run.summary.reasons[0])

    def _live(self, query: JobQuery, before: int | None) -> tuple[list[JobView], int]:
        views: list[JobView] = []
        total = 0
        for job in reversed(self._engine.state.jobs.values()):
            if query.namespace not in (None, job.namespace):
                continue
            if query.states and job.state.word not in query.states:
                continue
            if any(job.labels.get(key) != value for key, value in query.labels):
                continue
            total += 1
            if (before is None or job.id < before) and len(views) <= query.limit:
                views.append(job_view(job))
        return views, total

    def _unknown(self, reference: JobReference) -> str:
        if reference.id is not None:
            return f"there is no job with id {reference.id}"
        state = self._engine.state
        names = [*state.names.get(reference.namespace, ()), *state.last_runs.get(reference.namespace, ())]
        near = get_close_matches(reference.name, names[:10_000], 1)
        wanted = reference.name if reference.run is None else f"{reference.name}@{reference.run}"
        hint = f"; did you mean {near[0]}?" if near and near[0] != reference.name else ""
        return f"there is no job {wanted} in namespace {reference.namespace}{hint}"


@dataclass(frozen=True, slots=True)
class _Part:
    """Columns of neighbouring tasks, whose row 0 is task `first`."""

    job_name: str
    first: int
    columns: Columns
    node_names: list[str]
    reasons: Mapping[int, str]

    @property
    def end(self) -> int:
        return self.first + len(self.columns["state"])

    def select(self, states: tuple[str, ...], first: int, limit: int) -> list[TaskView]:
        column = self.columns["state"]
        start = max(first - self.first, 0)
        if states:
            wanted = np.isin(column[start:], [_CODES[state] for state in states])
            rows = (np.flatnonzero(wanted)[:limit] + start).tolist()
        else:
            rows = list(range(start, min(start + limit, len(column))))
        indexes = [self.first + row for row in rows]
        return task_views(self.job_name, "main", self.columns, indexes, self.first, self.node_names, self.reasons)
