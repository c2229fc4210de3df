"""The engine with a simulated fleet of 5,000 nodes and a durable SQLite store: tasks and jobs per second, the cost of a
million tasks, and the time of a restart. Tasks take no time, so the engine, its store and the fleet are measured.

Every figure is taken in a fresh process. Run: python -m benchmarks.engine"""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.measure import Bar, Report, Sample, read_options
from shunter.adapters.sqlite.store import SqliteStore
from shunter.adapters.system.clock import SystemClock
from shunter.adapters.system.garbage import tune_garbage_collector
from shunter.engine.engine import Engine
from shunter.engine.settings import EngineSettings
from shunter.model.job.spec import GroupSpec, JobSpec, TaskSpec
from shunter.planning.planner import build_policy
from shunter.ports.store import Store
from shunter.simulation.fleet.direct import SimulatedWorkers
from shunter.simulation.fleet.fleet import simulated_hellos

INSTANT = TaskSpec(("work",), {"SHUNTER_SIM_DURATION": "0"})
NOWHERE = {"unicorns": 1}  # no node has it, so such tasks stay queued
SUBMIT_JOBS = 1_000  # in one call

NODES_READY_S = Bar(at_most=1.0)
ARRAY_TASKS_PER_S = Bar(at_least=40_000)
JOBS_PER_S = Bar(at_least=5_000)
ACKNOWLEDGED_S = Bar(at_most=0.3)
MEMORY_MB = Bar(at_most=100)
STORE_MB = Bar(at_most=40)
RESTART_S = Bar(at_most=3)


@dataclass(frozen=True, slots=True)
class Size:
    nodes: int
    arrays: int
    array_tasks: int
    jobs: int
    large: int  # tasks of the one large array
    finished: int  # tasks that have ended before a restart


FULL = Size(nodes=5_000, arrays=20, array_tasks=10_000, jobs=20_000, large=1_000_000, finished=10_000)
SMALL = Size(nodes=50, arrays=3, array_tasks=500, jobs=300, large=20_000, finished=100)

Figures = dict[str, float]
S = TypeVar("S")


def main() -> None:
    options = read_options(__doc__)
    report, size = Report("engine", options), SMALL if options.small else FULL
    arrays = repeat(run_arrays, size, options.rounds)
    report.figure(f"{size.nodes:,} nodes join and are ready", "s", arrays["ready_s"], NODES_READY_S)
    what = f"{size.arrays} arrays of {size.array_tasks:,} tasks"
    report.figure(f"{what}, all alike", "tasks/s", arrays["tasks_per_s"], ARRAY_TASKS_PER_S)
    classes = repeat(run_classes, size, options.rounds)
    report.figure(f"{what}, each of another class", "tasks/s", classes["tasks_per_s"], ARRAY_TASKS_PER_S)
    jobs = repeat(run_jobs, size, options.rounds)
    report.figure(f"{size.jobs:,} one-task jobs, submit to all ended", "jobs/s", jobs["jobs_per_s"], JOBS_PER_S)
    large, what = repeat(run_large, size, options.rounds), f"array of {size.large:,} tasks"
    report.figure(f"{what}: acknowledged", "s", large["acknowledged_s"], ACKNOWLEDGED_S)
    report.figure(f"{what}: growth of memory when acknowledged", "MB", large["acknowledged_mb"], MEMORY_MB)
    report.figure(f"{what}: growth of memory while it runs, fleet included", "MB", large["running_mb"], MEMORY_MB)
    report.figure(f"{what}: tasks a second", "tasks/s", large["tasks_per_s"])
    report.figure(f"{what}: growth of the store when all are done", "MB", large["store_mb"], STORE_MB)
    restart = repeat(run_restart, size, options.rounds)
    what = f"restart with {size.large:,} tasks queued and {size.finished:,} finished"
    report.figure(f"{what}, until a submit is answered", "s", restart["restart_s"], RESTART_S)


def repeat(run: Callable[[S, Path], Coroutine[Any, Any, Figures]], size: S, rounds: int) -> Mapping[str, Sample]:
    """Each round in a process and a folder of its own, so that no round finds warm memory."""
    found: dict[str, list[float]] = {}
    context = multiprocessing.get_context("spawn")
    for _ in range(rounds):
        folder = Path(tempfile.mkdtemp(prefix="shunter-bench-"))
        try:
            with ProcessPoolExecutor(1, mp_context=context) as pool:
                for name, value in pool.submit(run_alone, run, size, folder).result().items():
                    found.setdefault(name, []).append(value)
        finally:
            shutil.rmtree(folder)
    return {name: Sample(tuple(values)) for name, values in found.items()}


def run_alone(run: Callable[[S, Path], Coroutine[Any, Any, Figures]], size: S, folder: Path) -> Figures:
    return asyncio.run(run(size, folder))


@dataclass(slots=True)
class Cluster:
    engine: Engine
    store: Store
    ready_s: float = 0.0
    peak_mb: float = field(default_factory=lambda: memory_mb())

    async def submit(self, specs: list[JobSpec]) -> None:
        for start in range(0, len(specs), SUBMIT_JOBS):
            await self.engine.submit(specs[start : start + SUBMIT_JOBS], "benchmark")

    async def all_ended(self) -> None:
        while self.engine.state.jobs:
            await asyncio.sleep(0.002)
            self.peak_mb = max(self.peak_mb, memory_mb())
        await self.engine.wait_committed()


@asynccontextmanager
async def cluster(folder: Path, nodes: int, orderly: bool = True) -> AsyncIterator[Cluster]:
    """The embedded manager's engine, without its API and with simulated nodes."""
    async with cluster_on(SqliteStore(folder / "store.db"), nodes, orderly) as ours:
        yield ours


@asynccontextmanager
async def cluster_on(store: Store, nodes: int, orderly: bool = True) -> AsyncIterator[Cluster]:
    clock = SystemClock()
    await store.open()
    workers = SimulatedWorkers(clock, random.Random(1))
    policy, chance = build_policy("e-pvm"), random.Random(2)
    settings = EngineSettings()
    engine = Engine(store=store, workers=workers, policy=policy, clock=clock, random=chance, settings=settings)
    await engine.start()
    running = asyncio.create_task(engine.run())
    tune_garbage_collector()
    ours, began_s = Cluster(engine, store), time.perf_counter()
    await workers.start(engine, simulated_hellos(nodes))
    while engine.state.nodes.view.eligible.sum() != nodes:
        await asyncio.sleep(0.001)
    ours.ready_s = time.perf_counter() - began_s
    try:
        yield ours
    finally:
        if orderly:
            await engine.stop()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await workers.stop()
        await store.close()


async def run_arrays(size: Size, folder: Path) -> Figures:
    return await run_arrays_of(size, folder, [1000] * size.arrays)


async def run_classes(size: Size, folder: Path) -> Figures:
    """The planner and the lanes have more to do where no two arrays ask for the same."""
    return await run_arrays_of(size, folder, [500 + 50 * number for number in range(size.arrays)])


async def run_arrays_of(size: Size, folder: Path, cpu_milli: list[int]) -> Figures:
    """Submitted, placed, ordered, ended, reported, committed."""
    async with cluster(folder, size.nodes) as ours:
        specs = [array(f"array-{number}", size.array_tasks, cpu) for number, cpu in enumerate(cpu_milli)]
        began_s = time.perf_counter()
        await ours.submit(specs)
        await ours.all_ended()
        elapsed_s = time.perf_counter() - began_s
        return {"ready_s": ours.ready_s, "tasks_per_s": size.arrays * size.array_tasks / elapsed_s}


async def run_jobs(size: Size, folder: Path) -> Figures:
    async with cluster(folder, size.nodes) as ours:
        specs = [array(f"job-{number}", 1) for number in range(size.jobs)]
        began_s = time.perf_counter()
        await ours.submit(specs)
        await ours.all_ended()
        return {"jobs_per_s": size.jobs / (time.perf_counter() - began_s)}


async def run_large(size: Size, folder: Path) -> Figures:
    async with cluster(folder, size.nodes) as ours:
        await ours.submit([array("warm-up", size.nodes)])
        await ours.all_ended()
        memory_before_mb, store_before_mb = memory_mb(), store_mb(folder)
        ours.peak_mb, began_s = memory_before_mb, time.perf_counter()
        await ours.submit([array("large", size.large)])
        acknowledged_s = time.perf_counter() - began_s
        acknowledged_mb = memory_mb() - memory_before_mb
        await ours.all_ended()
        elapsed_s = time.perf_counter() - began_s
        return {
            "acknowledged_s": acknowledged_s,
            "acknowledged_mb": acknowledged_mb,
            "running_mb": ours.peak_mb - memory_before_mb,
            "tasks_per_s": size.large / elapsed_s,
            "store_mb": store_mb(folder) - store_before_mb,
        }


async def run_restart(size: Size, folder: Path) -> Figures:
    """The first manager ends without a word, as by kill -9; the time runs from opening the store."""
    async with cluster(folder, size.nodes, orderly=False) as ours:
        await ours.submit([array("finished", size.finished)])
        await ours.all_ended()
        await ours.submit([array("queued", size.large, needs=NOWHERE)])
    began_s = time.perf_counter()
    async with cluster(folder, size.nodes, orderly=False) as ours:
        await ours.submit([array("after", 1, needs=NOWHERE)])
        restart_s = time.perf_counter() - began_s
        queued = sum(job.task_sets[0].counts[1] for job in ours.engine.state.jobs.values())
        assert queued == size.large + 1, f"{queued} tasks are queued after the restart"
    return {"restart_s": restart_s}


def array(name: str, count: int, cpu_milli: int = 1000, needs: Mapping[str, int] | None = None) -> JobSpec:
    return JobSpec("default", name, (GroupSpec("main", count, INSTANT, dict(needs or {"cpu": cpu_milli})),))


def memory_mb() -> float:
    """Resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def store_mb(folder: Path) -> float:
    """All of its files, the write-ahead log included."""
    return sum(path.stat().st_size for path in folder.iterdir()) / 1e6


if __name__ == "__main__":
    main()
