"""The sub-gateway `monitor`: what screens show of many jobs, tasks and nodes. Implements
`ports.monitor.MonitorService`."""

from __future__ import annotations

from dataclasses import dataclass

from shunter.engine.engine import Engine
from shunter.gateway.jobs.runs import Runs
from shunter.gateway.jobs.task_reader import TaskReader
from shunter.gateway.monitor.analytics import AnalyticsReader, Window
from shunter.gateway.monitor.decision_details import DecisionDetails
from shunter.gateway.monitor.decisions import Decisions
from shunter.gateway.monitor.flight_overview import flight_timeline
from shunter.gateway.monitor.job_counts import count_jobs
from shunter.gateway.monitor.job_manifest import Manifests
from shunter.gateway.monitor.node_map import node_map, node_tasks
from shunter.gateway.monitor.recording import Recording
from shunter.gateway.monitor.search import search
from shunter.gateway.monitor.task_map import TaskMaps
from shunter.gateway.monitor.timeline import Timelines
from shunter.gateway.monitor.usage import UsageReader
from shunter.gateway.scope import Scope
from shunter.model.errors import Invalid, Problem
from shunter.model.job.manifests import JobReader
from shunter.model.rest.monitor.analytics_views import Analytics
from shunter.model.rest.monitor.decision_views import DecisionDetail, DecisionPage, DecisionReplay, FlightTimeline
from shunter.model.rest.monitor.usage_views import JobUsageView, UsageSums
from shunter.model.rest.monitor.views import (
    JobCounts,
    JobManifest,
    NodeMap,
    NodeTaskPage,
    SearchPage,
    TaskMap,
    Timeline,
)
from shunter.ports.monitor import TaskMapQuery
from shunter.ports.principals import JobReference, Principal
from shunter.ports.store import Store

WINDOW_S = 86_400.0  # of analytics, unless a request says otherwise
USAGE_WINDOW_S = 7 * 86_400.0


@dataclass(frozen=True, slots=True)
class Records:
    """What reads recordings and rollups, the same for all callers."""

    recording: Recording
    decisions: Decisions
    details: DecisionDetails
    analytics: AnalyticsReader


class Monitor:
    def __init__(
        self,
        caller: Principal,
        engine: Engine,
        store: Store,
        runs: Runs,
        reader: TaskReader,
        manifests: JobReader,
        records: Records,
        scope: Scope,
    ) -> None:
        self._manifests = Manifests(caller, engine, runs, manifests)
        self._engine, self._store, self._records, self._sees = engine, store, records, scope.sees
        self._scope = scope
        self._task_maps, self._timelines = TaskMaps(engine, runs, reader), Timelines(engine, runs, reader)
        self._usage = UsageReader(engine, store, runs, scope)

    async def counts(self, namespace: str | None, group_by: str) -> JobCounts:
        return await count_jobs(self._engine, self._store, namespace, group_by, self._sees)

    async def search(self, text: str, limit: int) -> SearchPage:
        return await search(self._engine, self._store, text, limit, self._scope)

    async def task_map(self, job: JobReference, query: TaskMapQuery) -> TaskMap:
        return await self._task_maps.find(job, query)

    async def timeline(self, job: JobReference, steps: int, limit: int) -> Timeline:
        return await self._timelines.find(job, steps, limit)

    async def manifest(self, job: JobReference, version: int | None) -> JobManifest:
        return await self._manifests.find(job, version)

    async def analytics(
        self, namespace: str | None, start_s: float | None, stop_s: float | None, steps: int
    ) -> Analytics:
        stop_s = (self._engine.now_ms() + 1) / 1000 if stop_s is None else stop_s  # with what ends just now
        start_s = stop_s - WINDOW_S if start_s is None else start_s
        if start_s >= stop_s:
            raise Invalid([Problem("query.start", "must be before stop")])
        return await self._records.analytics.find(Window(start_s, stop_s, steps, namespace), self._sees)

    async def job_usage(self, job: JobReference) -> JobUsageView:
        return await self._usage.of_job(job)

    async def usage(self, by: str, since_s: float | None, namespace: str | None) -> UsageSums:
        since_s = self._engine.now_ms() / 1000 - USAGE_WINDOW_S if since_s is None else since_s
        return await self._usage.sums(by, since_s, namespace)

    async def decisions(self, limit: int, after: str | None, has_all: bool) -> DecisionPage:
        return await self._records.decisions.page(limit, after, has_all)

    async def flight_timeline(self, limit: int, has_all: bool) -> FlightTimeline:
        return await flight_timeline(self._records.recording, limit, has_all=has_all)

    async def decision(self, id: str) -> DecisionDetail:
        return await self._records.details.find(id)

    async def replay_decision(self, id: str, policy: str) -> DecisionReplay:
        return await self._records.details.replay(id, policy)

    async def node_map(self, group_by: str) -> NodeMap:
        return await node_map(self._engine, group_by)

    async def node_tasks(self, node: str, limit: int, after: str | None) -> NodeTaskPage:
        return await node_tasks(self._engine, node, limit, after, self._sees)
