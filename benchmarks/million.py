"""A manager with a million live one-task jobs: how long its event loop stands still at worst, its memory, the time of a
recovery per job, of a page of the job list, and of a dequeue when a thousand or a million jobs wait.

Every figure is taken in a fresh process, with a durable SQLite store. The peer of the recovery is what msgspec alone
needs to decode the same bytes. Run: python -m benchmarks.million"""

from __future__ import annotations

import asyncio
import gc
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import msgspec

from benchmarks.engine import Cluster, Figures, cluster, memory_mb, repeat
from benchmarks.measure import Bar, Report, read_options
from shunter.adapters.sqlite.store import SqliteStore
from shunter.engine.recovery import load_state
from shunter.gateway.jobs.jobs import Jobs
from shunter.gateway.jobs.runs import Runs
from shunter.gateway.objects.objects import Objects
from shunter.gateway.scope import Scope
from shunter.model.identity.roles import Role
from shunter.model.job.manifests import JobReader
from shunter.model.job.spec import GroupSpec, JobSpec, TaskSpec
from shunter.model.lifecycles import TaskState
from shunter.planning.filter.cel import parse_constraint, parse_job_match
from shunter.ports.jobs import JobQuery
from shunter.ports.principals import Principal

SUBMIT_JOBS = 500  # in one call
TICK_S = 0.001
PAGES = 20
LONG = GroupSpec("main", 1, TaskSpec(("work",), {"SHUNTER_SIM_DURATION": "1000000"}), {"cpu": 1000})
DEQUEUES = 30
STALL_MS = Bar(at_most=100)
MEMORY_MB = Bar(at_most=1_400)
RECOVERY_US = Bar(at_most=10)  # 0.1.0 took 20 to 24 on the same machine
DEQUEUE_TIMES = Bar(at_most=2)


@dataclass(frozen=True, slots=True)
class Size:
    nodes: int
    jobs: int
    few: int


FULL = Size(nodes=100, jobs=1_000_000, few=1_000)
SMALL = Size(nodes=5, jobs=2_000, few=200)


@dataclass(slots=True)
class Stalls:
    """The times for which the loop did not come around."""

    longest_ms: float = 0.0
    longest_busy_ms: float = 0.0  # processor time of the loop's thread alone, which other processes do not lengthen
    peak_mb: float = 0.0

    async def watch(self) -> None:
        before_s, busy_before_s, looks = time.perf_counter(), time.thread_time(), 0
        while True:
            await asyncio.sleep(TICK_S)
            now_s, busy_s, looks = time.perf_counter(), time.thread_time(), looks + 1
            self.longest_busy_ms = max(self.longest_busy_ms, (busy_s - busy_before_s) * 1000)
            busy_before_s = busy_s
            stall_ms = (now_s - before_s - TICK_S) * 1000
            self.longest_ms, before_s = max(self.longest_ms, stall_ms), now_s
            if looks % 50 == 1:
                self.peak_mb = max(self.peak_mb, memory_mb())


@asynccontextmanager
async def watched() -> AsyncIterator[Stalls]:
    stalls = Stalls()
    watching = asyncio.create_task(stalls.watch())
    await asyncio.sleep(0)  # it watches from here on
    try:
        yield stalls
    finally:
        await asyncio.sleep(2 * TICK_S)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


def main() -> None:
    options = read_options(__doc__)
    report, size = Report("million", options), SMALL if options.small else FULL
    live = repeat(run_live, size, options.rounds)
    what = f"{size.jobs:,} live one-task jobs"
    report.figure(f"{what}, submitted in calls of {SUBMIT_JOBS}", "jobs/s", live["jobs_per_s"])
    report.figure(f"{what}: longest stall of the loop", "ms", live["stall_ms"], STALL_MS)
    report.figure(f"{what}: longest work of the loop without a break", "ms", live["busy_ms"], STALL_MS)
    report.figure(f"{what}: peak of resident memory", "MB", live["peak_mb"], MEMORY_MB)
    report.figure(f"{what}: a page of the list", "ms", live["page_ms"])
    report.figure(f"{what}: a page by state and label", "ms", live["filtered_ms"])
    for way in ("snapshot", "rounds"):
        figures = live if way == "snapshot" else repeat(run_replay, size, options.rounds)
        report.figure(f"recovery from {way}, per job", "us", figures["recovery_us"], RECOVERY_US)
        report.ratio(
            f"recovery from {way}", figures["recovery_us"], "msgspec decoding the same bytes", figures["decode_us"]
        )
    few = repeat(run_few, size, options.rounds)
    report.figure(f"a dequeue at {size.few:,} queued jobs", "us", few["dequeue_us"])
    report.figure(f"a dequeue at {size.jobs:,} queued jobs", "us", live["dequeue_us"])
    report.ratio("a dequeue among many", live["dequeue_us"], "a dequeue among few", few["dequeue_us"], DEQUEUE_TIMES)


async def run_live(size: Size, folder: Path) -> Figures:
    """Submit all, look at them, end some of them, and recover them from a snapshot."""
    async with cluster(folder, size.nodes, orderly=False) as ours:
        async with watched() as stalls:
            began_s = time.perf_counter()
            await submit(ours, size.jobs)
            jobs_per_s = size.jobs / (time.perf_counter() - began_s)
            await snapshot_made(ours)
        page_ms, filtered_ms = await measure_pages(ours)
        dequeue_us = await measure_dequeue(ours)
        stall_ms, busy_ms, peak_mb = stalls.longest_ms, stalls.longest_busy_ms, stalls.peak_mb
    return {
        "jobs_per_s": jobs_per_s,
        "stall_ms": stall_ms,
        "busy_ms": busy_ms,
        "peak_mb": peak_mb,
        "page_ms": page_ms,
        "filtered_ms": filtered_ms,
        "dequeue_us": dequeue_us,
        **await measure_recovery(folder, size.jobs),
    }


async def run_few(size: Size, folder: Path) -> Figures:
    async with cluster(folder, size.nodes, orderly=False) as ours:
        await submit(ours, size.few + size.nodes * 8)
        return {"dequeue_us": await measure_dequeue(ours)}


async def run_replay(size: Size, folder: Path) -> Figures:
    """Recover from rounds alone, fewer than a snapshot is made for."""
    jobs = min(size.jobs, 50_000)
    async with cluster(folder, size.nodes, orderly=False) as ours:
        await submit(ours, jobs)
    return await measure_recovery(folder, jobs)


async def submit(ours: Cluster, jobs: int) -> None:
    specs = (JobSpec("default", f"job-{number}", (LONG,)) for number in range(jobs))
    while batch := list(islice(specs, SUBMIT_JOBS)):
        await ours.engine.submit(batch, "benchmark")


async def measure_pages(ours: Cluster) -> tuple[float, float]:
    """The processor time of the first page of all jobs, and of one by state and label, in ms."""
    caller = Principal("benchmark", frozenset((Role.ADMIN,)))
    scope = Scope(caller, ours.engine)
    runs, objects = Runs(ours.engine, ours.store, scope), Objects(caller, ours.engine, ours.store, scope)
    jobs = Jobs(caller, ours.engine, ours.store, runs, JobReader(parse_constraint, parse_job_match), objects, scope)
    queries = JobQuery("default"), JobQuery("default", states=("running",), labels=(("team", "film"),))
    first, filtered = [await median_ms(partial(jobs.page, query)) for query in queries]
    return first, filtered


async def median_ms(call: Callable[[], Awaitable[object]]) -> float:
    times_ms = []
    for _ in range(PAGES):
        began_s = time.process_time()
        await call()
        times_ms.append((time.process_time() - began_s) * 1000)
        await asyncio.sleep(0)
    return statistics.median(times_ms)


async def measure_dequeue(ours: Cluster) -> float:
    """The processor time until a lane that became free has its next task, in us: stop, report, dequeue, commits."""
    engine, times_us = ours.engine, []
    while engine.state.task_counts[TaskState.RUNNING] < len(engine.state.nodes.records) * 8:
        await asyncio.sleep(TICK_S)
    for job_id in list(islice(engine.state.jobs, DEQUEUES)):
        lanes, began_s = engine.state.task_counts[TaskState.RUNNING], time.process_time()
        await engine.stop_tasks(job_id, None, now=True)
        while job_id in engine.state.jobs or engine.state.task_counts[TaskState.RUNNING] < lanes:
            await asyncio.sleep(10 * TICK_S)
        times_us.append((time.process_time() - began_s) * 1e6)
    return statistics.median(times_us)


async def snapshot_made(ours: Cluster) -> None:
    await ours.engine._snapshots.wait()
    await ours.engine._snapshots.save(ours.engine.epoch)


async def measure_recovery(folder: Path, jobs: int) -> Figures:
    """In this process, which the jobs have left: reading the bytes is no part of it."""
    store = SqliteStore(folder / "store.db")
    await store.open()
    try:
        snapshot = await store.snapshot()
        rounds = await store.rounds_after(snapshot.version if snapshot else 0, 10**9)
        began_s = time.process_time()
        for body in ([snapshot.body] if snapshot else []) + [each.body for each in rounds]:
            msgspec.msgpack.decode(body)
        decode_s = time.process_time() - began_s
        del snapshot, rounds
        gc.collect()
        began_s = time.process_time()
        state = await load_state(store)
        recovery_s = time.process_time() - began_s
        assert jobs - DEQUEUES <= len(state.jobs) <= jobs
    finally:
        await store.close()
    return {"recovery_us": recovery_s / jobs * 1e6, "decode_us": decode_s / jobs * 1e6}


if __name__ == "__main__":
    main()
