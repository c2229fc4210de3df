"""Throughput, waiting times, run times and failures of ended jobs over time, from history. Used by `gateway.monitor`.

History has one row for each ended job, and its retention bounds it. A request looks at a limited number of them, the
newest first, and says when there were more."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from shunter.engine.engine import Engine
from shunter.engine.jobs.finish import decode_summary
from shunter.model.rest.job_views import JobView
from shunter.model.rest.monitor.analytics_views import Analytics, Distribution, Share
from shunter.model.timestamps import iso
from shunter.ports.store import FinishedQuery, Store

JOBS_MAX = 20_000  # looked at for one answer
PAGE = 1_000
SHARES_MAX = 20
BOUNDS_S = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0, 10_000.0, 30_000.0, 100_000.0)


@dataclass(slots=True)
class _Ended:
    """Columns of ended jobs."""

    at_s: list[float] = field(default_factory=list)
    states: list[str] = field(default_factory=list)
    tasks: list[int] = field(default_factory=list)
    wait_s: list[float] = field(default_factory=list)  # nan: it never started
    run_s: list[float] = field(default_factory=list)
    users: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0, 0]))
    namespaces: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0, 0]))
    failures: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0, 0]))
    deadlines_missed: int = 0
    is_partial: bool = False

    def add(self, view: JobView, ended_s: float) -> None:
        started_s = _seconds(view.started_at)
        self.at_s.append(ended_s)
        self.states.append(view.state)
        self.tasks.append(view.count)
        self.wait_s.append(max(0.0, started_s - _seconds(view.submitted_at)))
        self.run_s.append(max(0.0, ended_s - started_s) if started_s == started_s else started_s)
        has_failed = view.state == "failed"
        self.deadlines_missed += view.terms is not None and view.terms.deadline_missed
        shares = [self.users[view.user], self.namespaces[view.namespace]]
        if has_failed:
            shares.append(self.failures[view.reason or "no reason"])
        for share in shares:
            share[0] += 1
            share[1] += view.count
            share[2] += has_failed


async def analyse(
    engine: Engine,
    store: Store,
    window: tuple[float, float],
    steps: int,
    namespace: str | None,
    sees: Callable[[str | None], bool],
) -> Analytics:
    await engine.wait_committed()
    start_s, stop_s = window
    ended = await _read(store, FinishedQuery(namespace=namespace, ended_after=start_s, ended_before=stop_s), sees)
    step_s = (stop_s - start_s) / steps
    at = np.array(ended.at_s)
    step = np.clip(((at - start_s) / step_s).astype(np.int64), 0, steps - 1)
    states, tasks = np.array(ended.states), np.array(ended.tasks, np.int64)

    def count(state: str) -> list[int]:
        counts: list[int] = np.bincount(step[states == state], minlength=steps).tolist()
        return counts

    tasks_by_step = np.zeros(steps, np.int64)
    np.add.at(tasks_by_step, step, tasks)
    wait, run = np.array(ended.wait_s), np.array(ended.run_s)
    wait_p50, wait_p95 = _percentiles(wait, step, steps)
    run_p50, run_p95 = _percentiles(run, step, steps)
    return Analytics(
        start=iso(start_s) or "",
        stop=iso(stop_s) or "",
        step_s=step_s,
        jobs=len(at),
        succeeded=count("succeeded"),
        failed=count("failed"),
        cancelled=count("cancelled"),
        tasks=tasks_by_step.tolist(),
        wait_p50_s=wait_p50,
        wait_p95_s=wait_p95,
        run_p50_s=run_p50,
        run_p95_s=run_p95,
        wait=_distribution(wait),
        run=_distribution(run),
        users=_shares(ended.users),
        namespaces=_shares(ended.namespaces),
        failures=_shares(ended.failures),
        deadlines_missed=ended.deadlines_missed,
        partial=ended.is_partial,
    )


async def _read(store: Store, query: FinishedQuery, sees: Callable[[str | None], bool]) -> _Ended:
    ended, before = _Ended(), None
    for _ in range(JOBS_MAX // PAGE):
        jobs = await store.finished_jobs(replace(query, before_id=before, limit=PAGE))
        for job in jobs:
            if sees(job.namespace):
                ended.add(decode_summary(job.summary).view, job.ended_at)
        if len(jobs) < PAGE:
            return ended
        before = jobs[-1].id
        await asyncio.sleep(0)
    ended.is_partial = True
    return ended


def _percentiles(
    values: np.ndarray[tuple[int], np.dtype[np.float64]], step: np.ndarray[tuple[int], np.dtype[np.int64]], steps: int
) -> tuple[list[float | None], list[float | None]]:
    middle: list[float | None] = [None] * steps
    high: list[float | None] = [None] * steps
    for number in np.unique(step).tolist():
        of_step = values[(step == number) & ~np.isnan(values)]
        if len(of_step):
            middle[number], high[number] = (round(float(each), 3) for each in np.percentile(of_step, (50, 95)))
    return middle, high


def _distribution(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Distribution:
    known = values[~np.isnan(values)]
    buckets = np.bincount(np.searchsorted(BOUNDS_S, known, side="right"), minlength=len(BOUNDS_S) + 1)
    p50, p95 = (round(float(each), 3) for each in np.percentile(known, (50, 95))) if len(known) else (None, None)
    largest = round(float(known.max()), 3) if len(known) else None
    return Distribution(p50=p50, p95=p95, max=largest, bounds=list(BOUNDS_S), buckets=buckets.tolist())


def _shares(counts: dict[str, list[int]]) -> list[Share]:
    rows = sorted(counts.items(), key=lambda row: (-row[1][0], row[0]))[:SHARES_MAX]
    return [Share(key=key, jobs=jobs, tasks=tasks, failed=failed) for key, (jobs, tasks, failed) in rows]


def _seconds(at: str | None) -> float:
    return datetime.fromisoformat(at).timestamp() if at else float("nan")
