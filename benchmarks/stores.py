"""SQLite and PostgreSQL under the whole engine, turn by turn in one run: one-task jobs and array tasks per second with
simulated nodes. Both are durable at every commit. The PostgreSQL server is started for the run, on this machine.

Every figure is taken in a fresh process, on a fresh store. Run: python -m benchmarks.stores"""

from __future__ import annotations

import multiprocessing
import shutil
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

import uvloop

from benchmarks.engine import array, cluster_on
from benchmarks.measure import Bar, Report, interleave, read_options
from shunter.adapters.postgres.store import PostgresStore
from shunter.adapters.sqlite.store import SqliteStore
from shunter.ports.store import Store
from tests.postgres_server import running_server

JOBS_RATIO = Bar(at_least=0.7)
ARRAY_TASKS_PER_S = Bar(at_least=100_000)
DURABLE = {"fsync": "on", "shared_buffers": "128MB", "max_wal_size": "2GB"}


@dataclass(frozen=True, slots=True)
class Size:
    nodes: int
    jobs: int
    arrays: int
    array_tasks: int


FULL = Size(nodes=1_000, jobs=20_000, arrays=20, array_tasks=20_000)
SMALL = Size(nodes=50, jobs=300, arrays=3, array_tasks=500)

Run = Callable[[str, Size], float]


def main() -> None:
    options = read_options(__doc__)
    report, size = Report("stores", options), SMALL if options.small else FULL
    folder = Path(tempfile.mkdtemp(prefix="shunter-bench-"))
    numbers = count(1)
    try:
        with running_server(DURABLE) as server:

            def on_sqlite(run: Run) -> float:
                return in_fresh_process(run, str(folder / f"{next(numbers)}" / "store.db"), size)

            def on_postgres(run: Run) -> float:
                return in_fresh_process(run, f"{server.url}?schema=run_{next(numbers)}", size)

            for what, unit, run in (
                (f"{size.jobs:,} one-task jobs", "jobs/s", run_jobs),
                (f"{size.arrays} arrays of {size.array_tasks:,} tasks", "tasks/s", run_arrays),
            ):
                found = interleave(
                    {"SQLite": partial(on_sqlite, run), "PostgreSQL": partial(on_postgres, run)}, options.rounds
                )
                is_arrays = run is run_arrays
                report.figure(f"{what} on SQLite", unit, found["SQLite"])
                report.figure(
                    f"{what} on PostgreSQL", unit, found["PostgreSQL"], ARRAY_TASKS_PER_S if is_arrays else None
                )
                report.ratio(
                    f"{what} on PostgreSQL", found["PostgreSQL"], "SQLite", found["SQLite"],
                    None if is_arrays else JOBS_RATIO,
                )  # fmt: skip
    finally:
        shutil.rmtree(folder)


def in_fresh_process(run: Run, where: str, size: Size) -> float:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(run, where, size).result()


def run_jobs(where: str, size: Size) -> float:
    return uvloop.run(_rate(where, size.nodes, size.jobs, 1))


def run_arrays(where: str, size: Size) -> float:
    return uvloop.run(_rate(where, size.nodes, size.arrays, size.array_tasks))


async def _rate(where: str, nodes: int, jobs: int, tasks: int) -> float:
    """Tasks a second: submitted, placed, ended, committed."""
    async with cluster_on(_store(where), nodes) as ours:
        specs = [array(f"job-{number}", tasks) for number in range(jobs)]
        began_s = time.perf_counter()
        await ours.submit(specs)
        await ours.all_ended()
        return jobs * tasks / (time.perf_counter() - began_s)


def _store(where: str) -> Store:
    return PostgresStore(where) if where.startswith("postgresql://") else SqliteStore(where)


if __name__ == "__main__":
    main()
