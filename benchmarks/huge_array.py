"""One array of nine million tasks: how long each request about it keeps the event loop busy without a break.

What counts is the processor time of the loop's thread, which other processes on the machine do not lengthen. Every
request is made on its own, with a durable SQLite store. Run: python -m benchmarks.huge_array"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from benchmarks.engine import Cluster, Figures, cluster, repeat
from benchmarks.measure import Bar, Report, read_options
from benchmarks.million import watched
from shunter.adapters.memory.coordination import Alone
from shunter.adapters.system.clock import SystemClock
from shunter.gateway.gateway import LocalGateway
from shunter.gateway.known_leader import KnownLeader
from shunter.gateway.managers import Members
from shunter.gateway.tokens import Tokens
from shunter.model.identity.roles import Role
from shunter.model.job.spec import GroupSpec, JobSpec, TaskSpec
from shunter.model.lifecycles import TaskState
from shunter.ports.coordination import ManagerRecord
from shunter.ports.gateway import CallerGateway
from shunter.ports.jobs import JobLogQuery, JobQuery, TaskQuery
from shunter.ports.principals import JobReference, Principal, TaskReference

STALL_MS = Bar(at_most=100)
LINES_READ = 10  # of the log of all tasks
LONG = TaskSpec(("work",), {"SHUNTER_SIM_DURATION": "1000000"})
HUGE = JobReference("default", "huge")
OTHER: dict[str, object] = {
    "apiVersion": "shunter.dev/v1",
    "kind": "Job",
    "metadata": {"name": "other"},
    "spec": {"command": ["true"], "resources": {"cpu": 1}},
}
Request = Callable[[CallerGateway], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Size:
    nodes: int
    tasks: int


FULL = Size(nodes=100, tasks=9_000_000)
SMALL = Size(nodes=5, tasks=20_000)


def main() -> None:
    options = read_options(__doc__)
    report, size = Report("huge_array", options), SMALL if options.small else FULL
    for what, sample in repeat(run, size, options.rounds).items():
        report.figure(f"an array of {size.tasks:,} tasks: {what}, longest work without a break", "ms", sample, STALL_MS)


REQUESTS: dict[str, Request] = {
    "job": lambda gateway: gateway.jobs.get(HUGE),
    "list of jobs": lambda gateway: gateway.jobs.page(JobQuery("default")),
    "first tasks": lambda gateway: gateway.tasks.page(HUGE, TaskQuery()),
    "failed tasks": lambda gateway: gateway.tasks.page(HUGE, TaskQuery(states=("failed",))),
    "one task": lambda gateway: gateway.tasks.get(HUGE, TaskReference(1_000)),
    "why": lambda gateway: gateway.explain.why(HUGE),
    "why of one task": lambda gateway: gateway.explain.why(HUGE, TaskReference(10_000)),
    "plan of another job": lambda gateway: gateway.explain.plan([OTHER], namespace="default"),
    "logs": lambda gateway: read_logs(gateway, JobLogQuery()),
    "logs of failed tasks": lambda gateway: read_logs(gateway, JobLogQuery(states=("failed",))),
    "hold": lambda gateway: gateway.jobs.hold(HUGE, True),
    "release": lambda gateway: gateway.jobs.hold(HUGE, False),
    "stop of one task": lambda gateway: gateway.jobs.stop(HUGE, TaskReference(5), now=True),
}


async def run(size: Size, folder: Path) -> Figures:
    figures: Figures = {}
    async with cluster(folder, size.nodes, orderly=False) as ours:
        gateway = build_gateway(ours)
        figures["submit"] = await busy_ms(ours.submit([huge(size.tasks)]))
        await running(ours, size.nodes)
        for what, request in REQUESTS.items():
            figures[what] = await busy_ms(request(gateway))
        figures["snapshot"] = await busy_ms(save_snapshot(ours))
        figures["stop"] = await busy_ms(stop(ours, gateway))
        figures["retry of failed tasks"] = await busy_ms(gateway.jobs.retry(HUGE, True, None))
        await running(ours, size.nodes)
        figures["end of all tasks"] = await busy_ms(stop(ours, gateway))
    return figures


def huge(tasks: int) -> JobSpec:
    return JobSpec("default", "huge", (GroupSpec("main", tasks, LONG, {"cpu": 1000}),))


def build_gateway(ours: Cluster) -> CallerGateway:
    coordination = Alone()
    gateway = LocalGateway(
        engine=ours.engine,
        store=ours.store,
        workers=ours.engine._workers,
        clock=SystemClock(),
        tokens=Tokens({}),
        identity={"name": "benchmark", "version": "0"},
        members=Members(coordination, KnownLeader(coordination), None, ManagerRecord("benchmark", "")),
        is_simulated=True,
        on_down=lambda *_: None,
        on_heartbeat=lambda _: None,
        run_in_thread=asyncio.to_thread,
    )
    return gateway.for_caller(Principal("benchmark", frozenset((Role.ADMIN,))), "getMe")


async def busy_ms(request: Awaitable[object]) -> float:
    async with watched() as stalls:
        await request
    return stalls.longest_busy_ms


async def running(ours: Cluster, nodes: int) -> None:
    while ours.engine.state.task_counts[TaskState.RUNNING] < nodes * 8:
        await asyncio.sleep(0.01)


async def stop(ours: Cluster, gateway: CallerGateway) -> None:
    await gateway.jobs.stop(HUGE, None, now=True)
    await ours.all_ended()


async def save_snapshot(ours: Cluster) -> None:
    await ours.engine._snapshots.wait()
    await ours.engine._snapshots.save(ours.engine.epoch)


async def read_logs(gateway: CallerGateway, query: JobLogQuery) -> None:
    lines: AsyncGenerator[object, None] = await gateway.streams.job_logs(HUGE, query)
    async with aclosing(lines):
        for _ in range(LINES_READ):
            if await anext(lines, None) is None:
                break


if __name__ == "__main__":
    main()
