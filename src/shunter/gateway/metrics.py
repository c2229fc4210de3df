"""The sub-gateway `metrics`: what nodes and tasks used over time. Implements `ports.metrics.MetricService`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime

from shunter.engine.engine import Engine
from shunter.gateway.jobs.runs import Runs
from shunter.gateway.jobs.tasks import Tasks
from shunter.gateway.scope import Scope
from shunter.model.errors import Invalid, NotFound, Problem, Unavailable
from shunter.model.objects.batch_jobs import ScheduledEvent
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import BATCH_JOB
from shunter.model.rest.job_views import TaskView
from shunter.model.rest.metric_views import MeasuredView, MetricsView, MetricView
from shunter.model.timestamps import iso
from shunter.ports.clock import Clock
from shunter.ports.jobs import TaskQuery
from shunter.ports.metrics import MetricProvider, MetricQuery, NodeSource, Series, Source, TaskSource, Window
from shunter.ports.principals import JobReference, TaskReference
from shunter.testbeds.application_parts import DRIVER, EXECUTOR

WINDOW_DEFAULT_MS = 600_000  # of a node, if no start is asked
STEP_MIN_MS = 1_000
POINTS_TARGET = 120  # if no step is asked
POINTS_MAX = 10_000
EXECUTORS_MAX = 10_000

BySource = Mapping[Source, list[Series]]


class Metrics:
    def __init__(
        self,
        engine: Engine,
        runs: Runs,
        tasks: Tasks,
        provider: MetricProvider | None,
        clock: Clock,
        scope: Scope,
    ) -> None:
        self._engine, self._runs, self._tasks, self._scope = engine, runs, tasks, scope
        self._provider, self._clock = provider, clock

    async def batch_job_metrics(self, name: ObjectName, run: int | None, step_ms: int | None) -> MetricsView:
        await self._engine.wait_committed()
        job = self._engine.state.objects.batch_jobs.get(name)
        if job is None or not self._scope.sees(name.namespace):
            raise NotFound(f"{BATCH_JOB} '{name}' does not exist")
        number, event = _find_run(job.status.events, job.status.runs, run)
        stop_ms = max(event.stop_ms or self._now_ms, event.start_ms + 1)
        window = _window(event.start_ms, stop_ms, step_ms)
        tasks = await self._tasks_of(name.namespace, event)
        sources = [TaskSource(event.job, EXECUTOR, index) for index in range(len(event.slot_ids))]
        sources.append(TaskSource(event.job, DRIVER, 0))
        nodes = {view.node for view in tasks.values() if view.node} or await self._nodes_with_samples(sources, window)
        nodes = nodes if self._scope.sees_all else set()  # what all tenants use on them
        found, step_ms = await self._query([*sources, *map(NodeSource, nodes)], window)
        slots = dict(zip(sources, event.slot_ids, strict=False))
        listed = [each for each in sources if each in slots or each in found or each in tasks]
        measured = [_measured(each, found, tasks.get(each), slots.get(each)) for each in listed]
        span = event.start_ms, stop_ms, step_ms
        return _view(name.name, span, _nodes(nodes, found), measured, name.namespace, number)

    async def node_metrics(self, name: str, window: Window) -> MetricsView:
        if name not in self._engine.state.nodes.by_name:
            raise NotFound(f"node '{name}' does not exist")
        stop_ms = self._now_ms if window.stop_ms is None else window.stop_ms
        start_ms = stop_ms - WINDOW_DEFAULT_MS if window.start_ms is None else window.start_ms
        resolved = _window(start_ms, stop_ms, window.step_ms)
        found, step_ms = await self._query([NodeSource(name)], resolved)
        return _view(name, (resolved[0], resolved[1], step_ms), _nodes([name], found), [])

    async def task_metrics(self, job: JobReference, task: TaskReference, window: Window) -> MetricsView:
        run = await self._runs.find(job)
        view = await self._tasks.get(JobReference(job.namespace, id=run.id), task)
        ended_ms, started_ms = _ms(view.ended_at) or self._now_ms, _ms(view.started_at)
        start_ms = (started_ms or ended_ms - 1) if window.start_ms is None else window.start_ms
        stop_ms = max(ended_ms, start_ms + 1) if window.stop_ms is None else window.stop_ms
        resolved = _window(start_ms, stop_ms, window.step_ms)
        source = TaskSource(run.id, view.group, view.index)
        nodes = [view.node] if view.node and self._scope.sees_all else []  # what all tenants use on it
        found, step_ms = await self._query([source, *map(NodeSource, nodes)], resolved)
        measured = [_measured(source, found, view, None)]
        return _view(view.name, (resolved[0], resolved[1], step_ms), _nodes(nodes, found), measured, job.namespace)

    @property
    def _now_ms(self) -> int:
        return int(self._clock.now() * 1000)

    async def _query(self, sources: Iterable[Source], window: tuple[int, int, int]) -> tuple[BySource, int]:
        if self._provider is None:
            raise Unavailable("this cluster stores no metrics")
        answer = await self._provider.query(MetricQuery(tuple(sources), *window))
        found: dict[Source, list[Series]] = {}
        for series in answer.series:
            found.setdefault(series.source, []).append(series)
        return found, answer.step_ms

    async def _nodes_with_samples(self, sources: Iterable[Source], window: tuple[int, int, int]) -> set[str]:
        found, _ = await self._query(sources, window)
        return {series[0].node for series in found.values()}

    async def _tasks_of(self, namespace: str, event: ScheduledEvent) -> dict[TaskSource, TaskView]:
        """The tasks of a run; empty if history does not have it any more."""
        try:
            page = await self._tasks.page(JobReference(namespace, id=event.job), TaskQuery(limit=EXECUTORS_MAX))
        except NotFound:
            return {}
        return {TaskSource(event.job, view.group, view.index): view for view in page.items}


def _find_run(events: tuple[ScheduledEvent, ...], runs: int, requested: int | None) -> tuple[int, ScheduledEvent]:
    """A run by its number, counted from 1. Only the last runs are remembered."""
    if not events:
        raise NotFound("the BatchJob has not run yet")
    first = runs - len(events) + 1
    number = runs if requested is None else requested
    if not first <= number <= runs:
        raise NotFound(f"run {number} is not available; runs {first} to {runs} are")
    return number, events[number - first]


def _window(start_ms: int, stop_ms: int, step_ms: int | None) -> tuple[int, int, int]:
    if stop_ms <= start_ms:
        raise Invalid([Problem("query.stop", "must be later than the start", iso(stop_ms / 1000))])
    if step_ms is None:
        step_ms = max(STEP_MIN_MS, math.ceil((stop_ms - start_ms) / POINTS_TARGET / STEP_MIN_MS) * STEP_MIN_MS)
    if step_ms < STEP_MIN_MS or (stop_ms - start_ms) / step_ms > POINTS_MAX:
        fix = f"use a step of at least 1s that gives at most {POINTS_MAX:,} points"
        raise Invalid([Problem("query.step", "is too short", f"{step_ms}ms", fix)])
    return start_ms, stop_ms, step_ms


def _nodes(names: Iterable[str], found: BySource) -> list[MeasuredView]:
    return [
        MeasuredView(name=name, node=name, metrics=_metrics(found.get(NodeSource(name), []))) for name in sorted(names)
    ]


def _measured(source: TaskSource, found: BySource, view: TaskView | None, slot: int | None) -> MeasuredView:
    series = found.get(source, [])
    node = view.node if view is not None and view.node else series[0].node if series else None
    name = view.name if view is not None else f"{source.group}/{source.index}"
    return MeasuredView(name=name, node=node, slot=slot, metrics=_metrics(series))


def _metrics(series: Iterable[Series]) -> dict[str, MetricView]:
    return {each.metric: MetricView(mean=each.mean, max=each.maximum, values=list(each.values)) for each in series}


def _view(
    name: str,
    window: tuple[int, int, int],
    nodes: list[MeasuredView],
    tasks: list[MeasuredView],
    namespace: str | None = None,
    run: int | None = None,
) -> MetricsView:
    start_ms, stop_ms, step_ms = window
    return MetricsView(
        name=name,
        namespace=namespace,
        run=run,
        start=iso(start_ms / 1000) or "",
        stop=iso(stop_ms / 1000) or "",
        step_s=step_ms / 1000,
        nodes=nodes,
        tasks=tasks,
    )


def _ms(text: str | None) -> int | None:
    return None if text is None else int(datetime.fromisoformat(text).timestamp() * 1000)
