"""The engine by itself: durable SQLite, 5,000 simulated nodes whose tasks take no time.

Arrays and one-task jobs from submit to the last end; a million tasks submitted, run and restarted with. Every scene
runs in a process of its own, so that memory is its own. Run: python -m benchmarks.engine
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil

from benchmarks.measure import Bar, Report, Sample, read_options
from shunter.adapters.sqlite.store import SqliteStore
from shunter.adapters.system.clock import SystemClock
from shunter.adapters.system.garbage import collect_seldom
from shunter.engine.engine import Engine
from shunter.model.jobs import GroupSpec, JobSpec, TaskSpec
from shunter.planning.planner import POLICY_DEFAULT, build_policy
from shunter.simulation.direct import SimulatedWorkers
from shunter.simulation.fleet import simulated_hellos

NODES, NODES_SMALL = 5_000, 50
ARRAYS, ARRAY_TASKS, ARRAY_TASKS_SMALL = 20, 10_000, 100
JOBS, JOBS_SMALL, JOBS_PER_SUBMIT = 20_000, 200, 1_000
MILLION, MILLION_SMALL = 1_000_000, 10_000
FINISHED, FINISHED_SMALL = 10_000, 100
INSTANT = TaskSpec(("sleep", "0"), env={"SHUNTER_SIM_DURATION": "0"})

FIGURES: dict[str, list[tuple[str, str, Bar]]] = {
    "arrays": [("20 arrays of 10,000 tasks, placed, started and finished", "tasks/s", Bar(at_least=40_000))],
    "jobs": [("20,000 one-task jobs", "jobs/s", Bar(at_least=5_000))],
    "million": [
        ("a submit of 1,000,000 tasks is acknowledged within", "s", Bar(at_most=0.3)),
        ("memory that it takes", "MB", Bar(at_most=100)),
        ("what the store has grown by when all are done", "MB", Bar(at_most=40)),
    ],
    "restart": [("restart with 1,000,000 queued and 10,000 finished tasks, until it serves", "s", Bar(at_most=3))],
}


def main() -> None:
    options = read_options(__doc__)
    report = Report("engine", options)
    for scene, figures in FIGURES.items():
        turns = [run_scene(scene, options.small) for _ in range(options.rounds)]
        for (what, unit, bar), values in zip(figures, zip(*turns, strict=True), strict=True):
            report.figure(what, unit, Sample(tuple(values)), bar)


def run_scene(scene: str, small: bool) -> list[float]:
    command = [sys.executable, "-m", "benchmarks.engine", "--scene", scene, "small" if small else "full"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


async def play(scene: str, small: bool) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        nodes = NODES_SMALL if small else NODES
        if scene == "arrays":
            return [await arrays(path, nodes, ARRAY_TASKS_SMALL if small else ARRAY_TASKS)]
        if scene == "jobs":
            return [await jobs(path, nodes, JOBS_SMALL if small else JOBS)]
        if scene == "million":
            return await million(path, nodes, MILLION_SMALL if small else MILLION)
        return [await restart(path, MILLION_SMALL if small else MILLION, FINISHED_SMALL if small else FINISHED)]


async def arrays(path: Path, nodes: int, tasks: int) -> float:
    async with engine_on(path, nodes) as engine:
        begun = time.perf_counter()
        for number in range(ARRAYS):
            await engine.submit([spec(f"array-{number}", tasks)], "bench")
        await until_done(engine)
        return ARRAYS * tasks / (time.perf_counter() - begun)


async def jobs(path: Path, nodes: int, count: int) -> float:
    async with engine_on(path, nodes) as engine:
        begun = time.perf_counter()
        for first in range(0, count, JOBS_PER_SUBMIT):
            numbers = range(first, min(first + JOBS_PER_SUBMIT, count))
            await engine.submit([spec(f"job-{number}", 1) for number in numbers], "bench")
        await until_done(engine)
        return count / (time.perf_counter() - begun)


async def million(path: Path, nodes: int, count: int) -> list[float]:
    async with engine_on(path, nodes) as engine:
        before_bytes, stored_bytes = resident_bytes(), stored(path)
        begun = time.perf_counter()
        await engine.submit([spec("million", count)], "bench")
        acknowledged_s = time.perf_counter() - begun
        peak_bytes = resident_bytes()
        while engine.state.jobs:
            peak_bytes = max(peak_bytes, resident_bytes())
            await asyncio.sleep(0.05)
    return [acknowledged_s, (peak_bytes - before_bytes) / 1e6, (stored(path) - stored_bytes) / 1e6]


async def restart(path: Path, queued: int, finished: int) -> float:
    async with engine_on(path, 10) as engine:
        await engine.submit([spec("finished", finished)], "bench")
        await until_done(engine)
        await engine.submit([spec("queued", queued, cpus=1_000)], "bench")
    begun = time.perf_counter()
    async with engine_on(path, 0) as engine:
        assert sum(engine.state.task_counts) == queued
        await engine.committed()
        return time.perf_counter() - begun


@asynccontextmanager
async def engine_on(path: Path, nodes: int) -> AsyncIterator[Engine]:
    """A real engine with its fleet; it is not stopped in order, so that a restart replays the log."""
    store = SqliteStore(path)
    await store.open()
    clock = SystemClock()
    workers = SimulatedWorkers(clock, random.Random(1))
    policy = build_policy(POLICY_DEFAULT)
    engine = Engine(store=store, workers=workers, policy=policy, clock=clock, random=random.Random(1))
    await engine.start()
    running = asyncio.create_task(engine.run())
    await workers.start(engine, simulated_hellos(nodes))
    while int(engine.state.nodes.view.eligible.sum()) < nodes:
        await asyncio.sleep(0.001)
    try:
        yield engine
    finally:
        await workers.stop()
        await engine.committed()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await store.close()


async def until_done(engine: Engine) -> None:
    while engine.state.jobs:
        await asyncio.sleep(0.002)
    await engine.committed()


def spec(name: str, count: int, cpus: int = 1) -> JobSpec:
    return JobSpec("default", name, (GroupSpec("main", count, INSTANT, {"cpu": cpus * 1000}),))


def resident_bytes() -> int:
    return int(psutil.Process(os.getpid()).memory_info().rss)


def stored(path: Path) -> int:
    """The database with its write-ahead log."""
    return sum(file.stat().st_size for file in path.parent.iterdir() if file.name.startswith(path.name))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--scene"]:
        import uvloop

        collect_seldom()
        print(*uvloop.run(play(sys.argv[2], sys.argv[3] == "small")))
    else:
        main()
