"""Three managers on PostgreSQL and etcd: what reads at a follower cost the leader, how long a submit takes at 500
requests per second, and how the rate of tasks grows with the number of workers. All are real processes on this machine.

Run: python -m benchmarks.managers"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.measure import Bar, Options, Report, Sample, interleave, read_options
from shunter import aio
from shunter.sdk.manifests import job_manifest
from tests.manager_cluster import TOKEN, ManagerCluster, manager_cluster

LEADER_SHARE = Bar(at_most=0.05)
LINEAR = Bar(at_least=0.9)
RATE_PER_S = 500
JOBS_LISTED = 200
WORKERS = 8
LANES = 4  # `--cpu` of the workers of a manager_cluster
CONNECTIONS = 16


@dataclass(frozen=True, slots=True)
class Size:
    reads: int
    submits: int
    task_s: float  # how long each task sleeps
    tasks_each: int  # of each lane


FULL = Size(reads=3_000, submits=5_000, task_s=2.0, tasks_each=5)
SMALL = Size(reads=50, submits=50, task_s=0.1, tasks_each=1)


def main() -> None:
    options = read_options(__doc__)
    report, size = Report("managers", options), SMALL if options.small else FULL
    with tempfile.TemporaryDirectory(prefix="shunter-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with manager_cluster(folder, workers=1) as cluster:
            measure_reads(cluster, report, size, options)
            measure_submits(cluster, report, size)
            measure_workers(cluster, report, size)


# ---- reads ----


def measure_reads(cluster: ManagerCluster, report: Report, size: Size, options: Options) -> None:
    """The leader's processor time for the same reads at the leader and at a follower."""
    leader = cluster.wait_for_leader()
    follower = next(name for name in cluster.managers if name != leader)
    with cluster.client() as client:
        for number in range(JOBS_LISTED):
            client.run(["/bin/true"], name=f"listed-{number}", hold=True)

    def leader_cpu_s(asked: str) -> float:
        process = psutil.Process(cluster.processes[leader].pid)
        used_s = _cpu_s(process)
        asyncio.run(_in_parallel(cluster.url_of(asked), size.reads, read))
        return _cpu_s(process) - used_s

    contenders = {"leader": lambda: leader_cpu_s(leader), "follower": lambda: leader_cpu_s(follower)}
    found = interleave(contenders, options.rounds)
    report.figure(f"the leader's processor time for {size.reads:,} reads at the leader", "s", found["leader"])
    report.figure(f"the leader's processor time for {size.reads:,} reads at a follower", "s", found["follower"])
    report.ratio(
        "reads at a follower cost the leader", found["follower"], "reads at the leader", found["leader"], LEADER_SHARE
    )


async def read(client: aio.Client, number: int) -> None:
    """A page of jobs, or one of them."""
    if number % 10 == 0:
        assert [job async for job in client.jobs(limit=50)]
    else:
        await client.job(f"listed-{number % JOBS_LISTED}")


# ---- submits ----


def measure_submits(cluster: ManagerCluster, report: Report, size: Size) -> None:
    """Each request has its own moment, however slow those before it are: waiting in line counts."""
    seconds = sorted(asyncio.run(_submit_at_a_rate(cluster.url_of(cluster.wait_for_leader()), size.submits)))
    for percent in (50, 99):
        value = seconds[min(len(seconds) - 1, len(seconds) * percent // 100)]
        report.figure(f"submit at {RATE_PER_S} requests/s, {percent} % within", "ms", Sample((1000 * value,)))


async def _submit_at_a_rate(url: str, count: int) -> list[float]:
    clients = [aio.connect(url, TOKEN) for _ in range(CONNECTIONS)]
    began_s = time.perf_counter()

    async def submit(number: int) -> float:
        due_s = began_s + number / RATE_PER_S
        await asyncio.sleep(due_s - time.perf_counter())
        manifest = job_manifest(["/bin/true"], {"name": f"submit-{number}", "hold": True})
        await clients[number % CONNECTIONS].submit(manifest)
        return time.perf_counter() - due_s

    try:
        return await asyncio.gather(*(submit(number) for number in range(count)))
    finally:
        for client in clients:
            await client.close()


# ---- workers ----


def measure_workers(cluster: ManagerCluster, report: Report, size: Size) -> None:
    """Tasks that sleep need no processor, so the machine is not the limit."""
    one = tasks_per_s(cluster, 1, size)
    cluster.start(*(f"w{number}" for number in range(2, WORKERS + 1)))
    cluster.wait_for_workers(WORKERS)
    all_of_them = tasks_per_s(cluster, WORKERS, size)
    linear = Sample((WORKERS * one,))
    report.figure("tasks per second on 1 worker", "tasks/s", Sample((one,)))
    report.figure(f"tasks per second on {WORKERS} workers", "tasks/s", Sample((all_of_them,)))
    report.ratio(f"{WORKERS} workers", Sample((all_of_them,)), f"{WORKERS} times one worker", linear, LINEAR)


def tasks_per_s(cluster: ManagerCluster, workers: int, size: Size) -> float:
    count = workers * LANES * size.tasks_each
    with cluster.client() as client:
        began_s = time.perf_counter()
        assert client.run(["/bin/sleep", str(size.task_s)], count=count).wait().state == "succeeded"
        return count / (time.perf_counter() - began_s)


# ---- steps ----


async def _in_parallel(url: str, count: int, work: Callable[[aio.Client, int], Awaitable[None]]) -> None:
    numbers = iter(range(count))

    async def run_some() -> None:
        async with aio.connect(url, TOKEN) as client:
            for number in numbers:
                await work(client, number)

    await asyncio.gather(*(run_some() for _ in range(CONNECTIONS)))


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


if __name__ == "__main__":
    main()
