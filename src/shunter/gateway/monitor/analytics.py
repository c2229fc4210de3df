"""Throughput, waiting times, run times, failures and utilisation over time. Used by `gateway.monitor`.

Rollups answer for the past, by minutes or, for long windows, by hours; history answers for what is newer or older than
they are. A request looks at a limited number of jobs in history, the newest first, and says when there were more."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field

from shunter.engine.engine import Engine
from shunter.gateway.explain.plan import RunInThread
from shunter.gateway.jobs.task_reader import TaskReader
from shunter.gateway.monitor.ended_jobs import FAILED_JOBS_MAX, ended_jobs, failures_by_node
from shunter.gateway.monitor.tallies import ClusterTally, JobTally, Rollup, add_failures, decode_rollups
from shunter.model.rest.monitor.analytics_views import Analytics, ClusterSeries, Share
from shunter.model.timestamps import iso
from shunter.ports.metrics import HOUR_S, MINUTE_S
from shunter.ports.store import FinishedQuery, Store

JOBS_MAX = 20_000  # of history, looked at for one answer
SHARES_MAX = 20
MINUTES_MAX_S = 48 * HOUR_S  # longer windows are answered by hours
SERIES = ("cpu", "memory", "busy", "stranded", "running", "waiting")

Sees = Callable[[str | None], bool]


@dataclass(frozen=True, slots=True)
class Window:
    """`namespace` None: all that the caller sees."""

    start_s: float
    stop_s: float
    steps: int
    namespace: str | None = None

    @property
    def step_s(self) -> float:
        return (self.stop_s - self.start_s) / self.steps

    def step_of(self, at_s: float) -> int:
        return max(0, min(self.steps - 1, int((at_s - self.start_s) / self.step_s)))


@dataclass(slots=True)
class _Found:
    steps: list[JobTally]
    total: JobTally
    cluster: list[ClusterTally]
    namespaces: dict[str, JobTally] = field(default_factory=dict)
    is_partial: bool = False
    failed_looked_at: int = 0

    def add(self, step: int, namespace: str, tally: JobTally) -> None:
        for each in (self.steps[step], self.total, self.namespaces.setdefault(namespace, JobTally())):
            each.merge(tally)


class AnalyticsReader:
    """Rollups are decoded in a thread: a month of minutes takes a while."""

    def __init__(self, engine: Engine, store: Store, reader: TaskReader, run_in_thread: RunInThread) -> None:
        self._engine, self._store, self._reader = engine, store, reader
        self._run_in_thread = run_in_thread

    async def find(self, window: Window, sees: Sees) -> Analytics:
        await self._engine.wait_committed()
        found = _Found(
            [JobTally() for _ in range(window.steps)], JobTally(), [ClusterTally() for _ in range(window.steps)]
        )
        rows, ends_at = await self._rows(window)
        first = rows[0].start if rows else ends_at
        for row in rows:
            step = window.step_of(row.start)
            found.cluster[step].merge(row.cluster)
            for namespace, tally in row.jobs.items():
                if window.namespace in (None, namespace) and sees(namespace):
                    found.add(step, namespace, tally)
        await self._add_history(window, (max(window.start_s, ends_at), window.stop_s), found, sees)
        await self._add_history(window, (window.start_s, min(window.stop_s, first)), found, sees)
        return _view(window, found, rollups_from=rows[0].start if rows else None, shows_cluster=sees(None))

    async def _rows(self, window: Window) -> tuple[list[Rollup], float]:
        """The rows of the window, in order, and until when there are any."""
        minutes = await self._read(window, MINUTE_S)
        if not minutes:
            return [], window.start_s
        ends_at = minutes[-1].start + MINUTE_S
        rows = minutes
        if window.stop_s - window.start_s > MINUTES_MAX_S:
            hours = await self._read(window, HOUR_S)
            if hours:
                rows = hours + minutes[bisect_left(minutes, hours[-1].start + HOUR_S, key=lambda row: row.start) :]
        inside = [row for row in rows if window.start_s <= row.start < window.stop_s]
        return inside, max(window.start_s, min(ends_at, window.stop_s))

    async def _read(self, window: Window, tier_s: int) -> list[Rollup]:
        rows = await self._store.rollups(tier_s, math.ceil(window.start_s))
        return await self._run_in_thread(decode_rollups, [row.body for row in rows])

    async def _add_history(self, window: Window, part: tuple[float, float], found: _Found, sees: Sees) -> None:
        if part[1] <= part[0]:
            return
        query = FinishedQuery(namespace=window.namespace, ended_after=part[0], ended_before=part[1])
        seen = 0
        async for run, ended_s in ended_jobs(self._store, query, JOBS_MAX):
            seen += 1
            if not sees(run.namespace):
                continue
            tally = JobTally()
            tally.add(run.view, ended_s)
            if run.view.state == "failed" and found.failed_looked_at < FAILED_JOBS_MAX:
                found.failed_looked_at += 1
                add_failures(tally.nodes, await failures_by_node(self._reader, run))
            found.add(window.step_of(ended_s), run.namespace, tally)
        found.is_partial = found.is_partial or seen >= JOBS_MAX


def _view(window: Window, found: _Found, rollups_from: int | None, *, shows_cluster: bool) -> Analytics:
    steps, total = found.steps, found.total
    cluster = {name: [each.mean(name) for each in found.cluster] for name in SERIES}
    return Analytics(
        start=iso(window.start_s) or "",
        stop=iso(window.stop_s) or "",
        step_s=window.step_s,
        jobs=total.jobs,
        succeeded=[each.states[0] for each in steps],
        failed=[each.states[1] for each in steps],
        cancelled=[each.states[2] for each in steps],
        tasks=[each.tasks for each in steps],
        deadlines=[each.deadlines_missed for each in steps],
        wait_p50_s=[each.wait.percentile(0.5) for each in steps],
        wait_p95_s=[each.wait.percentile(0.95) for each in steps],
        run_p50_s=[each.run.percentile(0.5) for each in steps],
        run_p95_s=[each.run.percentile(0.95) for each in steps],
        wait=total.wait.distribution(),
        run=total.run.distribution(),
        cluster=ClusterSeries(**cluster) if shows_cluster and rollups_from is not None else None,
        users=_shares(total.users),
        namespaces=_shares({name: [each.jobs, each.tasks, each.states[1]] for name, each in found.namespaces.items()}),
        failures=_shares(total.reasons),
        nodes=_shares({name: [0, count, count] for name, count in total.nodes.items()}) if shows_cluster else [],
        deadlines_missed=total.deadlines_missed,
        partial=found.is_partial,
        rollups_from=iso(rollups_from),
    )


def _shares(counts: dict[str, list[int]]) -> list[Share]:
    rows = sorted(counts.items(), key=lambda row: (-row[1][0], -row[1][1], row[0]))[:SHARES_MAX]
    return [Share(key=key, jobs=jobs, tasks=tasks, failed=failed) for key, (jobs, tasks, failed) in rows]
