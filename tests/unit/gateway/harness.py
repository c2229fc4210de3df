"""The harness for gateway tests: the real gateway on the engine's harness, with workers whose logs the test writes."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

from shunter.adapters.memory.coordination import Alone
from shunter.adapters.memory.store import MemoryStore
from shunter.engine.engine import Engine
from shunter.engine.settings import EngineSettings
from shunter.gateway.gateway import LocalGateway
from shunter.gateway.known_leader import KnownLeader
from shunter.gateway.managers import Members
from shunter.gateway.tokens import ADMIN, Tokens
from shunter.model.errors import Unavailable
from shunter.model.protocol.worker_messages import (
    Ended,
    LogData,
    MachineStats,
    Order,
    Report,
    Started,
    StatsData,
    Stop,
    TaskStats,
)
from shunter.model.rest.job_views import SubmittedJob
from shunter.ports.coordination import ManagerRecord
from shunter.ports.principals import JobReference, Principal
from shunter.simulation.runtime.loop import VirtualClock, run_virtual
from tests.unit.engine.harness import Harness, RecordingWorkers

ANNA = Principal("anna", ADMIN)
T = TypeVar("T")


class LogWorkers(RecordingWorkers):
    """Workers that have what the test wrote, by (segment, record, stream)."""

    def __init__(self) -> None:
        super().__init__()
        self.written: dict[tuple[int, int, str], bytes] = {}
        self.opened: dict[tuple[int, int, int, int], int] = {}  # attempts that have a segment and have not started
        self.cut: tuple[int, int] | None = None  # what the log limit took out of every log
        self.is_reachable = True
        self.log_error = ""  # what the worker answers instead
        self.running: list[TaskStats] = []

    def write(self, segment: int, data: bytes, stream: str = "stdout", record: int = 0) -> None:
        key = (segment, record, stream)
        self.written[key] = self.written.get(key, b"") + data

    async def read_log(self, *place: Any) -> LogData:
        node, segment, record, stream, offset, size_max, *attempt = place
        if not segment:  # not told yet where it writes: asked for by its attempt
            [name] = attempt
            segment = self.opened.get(name, 0)
        if not self.is_reachable:
            raise Unavailable(f"node '{node}' is not connected")
        if self.log_error:
            return LogData(0, b"", True, error=self.log_error)
        body = self.written.get((segment, record, stream), b"")
        if self.cut is not None and offset < self.cut[1]:
            data = body[offset : self.cut[0]]
            return LogData(0, data, False, truncated=True, next=self.cut[1])
        data = body[offset : offset + size_max]
        return LogData(0, data, offset + len(data) >= len(body), next=offset + len(data))

    async def read_stats(self, _node: int) -> StatsData:
        return StatsData(0, MachineStats(1_700_000_000_000, cpu_busy=0.5), self.running)


def local_gateway(
    engine: Engine,
    store: MemoryStore,
    workers: LogWorkers,
    on_down: Callable[[bool], None] = lambda _: None,
    on_heartbeat: Callable[[float | None], None] = lambda _: None,
) -> LocalGateway:
    coordination = Alone()
    return LocalGateway(
        engine=engine,
        store=store,
        workers=workers,
        clock=VirtualClock(),
        tokens=Tokens({"secret": "anna"}),
        identity={"name": "stage", "version": "1.2.3"},
        members=Members(coordination, KnownLeader(coordination), None, ManagerRecord("m1", "http://m1")),
        is_simulated=False,
        on_down=on_down,
        on_heartbeat=on_heartbeat,
    )


class GatewayHarness(Harness):
    def __init__(self, store: MemoryStore, settings: EngineSettings) -> None:
        super().__init__(store, settings)
        self.log_workers = LogWorkers()
        self.downs: list[bool] = []  # whether tasks are left running
        self.heartbeats: list[float | None] = []
        self.local_gateway = local_gateway(
            self.engine,
            store,
            self.log_workers,
            on_down=self.downs.append,
            on_heartbeat=self.heartbeats.append,
        )
        self.gateway = self.local_gateway.for_caller(ANNA, "getMe")

    async def run(self, name: str, count: int = 1, **fields: Any) -> SubmittedJob:
        """Submit one manifest; `namespace` and `labels` go into its metadata, the rest into its spec."""
        metadata = {key: fields.pop(key) for key in ("labels",) if key in fields}
        namespace = fields.pop("namespace", "default")
        document = {
            "apiVersion": "shunter.dev/v1",
            "kind": "Job",
            "metadata": {"name": name, **metadata},
            "spec": {"command": ["/bin/true"], "count": count, **fields},
        }
        [submitted] = await self.gateway.jobs.submit([document], namespace=namespace, key=None)
        await self.settle()
        return submitted

    async def start_task(self, node: int, order: Order, segment: int) -> None:
        """The worker reports, one after another, that the tasks of an order run and write to a segment."""
        for record, index in enumerate(range(order.first, order.last + 1)):
            now_ms = int(VirtualClock().now() * 1000)
            started = Started(order.job, order.group, order.attempt, index, now_ms, segment, record)
            await self.report(node, started=[started])

    async def end_task(self, node: int, order: Order, segment: int, exit_code: int = 0) -> None:
        now_ms = int(VirtualClock().now() * 1000)
        exits = [exit_code] if exit_code else []
        ended = Ended(order.job, order.group, order.attempt, order.first, exits, [now_ms], [now_ms], segment, 0)
        await self.report(node, ended=[ended])

    async def complete_stops(self) -> None:
        """The workers end what they were told to end, all at once, until nobody is told to end any more."""
        while stops := [(node, sent) for node, sent in self.workers.sent if isinstance(sent, Stop)]:
            self.workers.sent = [(node, sent) for node, sent in self.workers.sent if not isinstance(sent, Stop)]
            now_ms = int(VirtualClock().now() * 1000)
            for node, each in [(node, each) for node, stop in stops for each in stop.ranges]:
                group = self.engine.state.task_set(each.job, each.group)
                for index in range(each.first, each.last + 1) if group is not None else ():
                    assert group is not None
                    attempt = int(self.engine.state.table.attempt[group.base + index])
                    ended = Ended(each.job, each.group, attempt, index, [143], [now_ms], [now_ms], 1, 0, "stopped")
                    self._seq[node] += 1
                    await self.engine.report(node, Report(self._seq[node], ended=[ended]))
            await self.settle()

    async def run_to_end(self, node: int, name: str, count: int = 1, exit_code: int = 0, **fields: Any) -> SubmittedJob:
        submitted = await self.run(name, count, **fields)
        while orders := self.orders():
            for _, order in orders:
                await self.end(node, order, exit_code)
        return submitted


def reference(name: str, run: int | None = None, namespace: str = "default") -> JobReference:
    return JobReference(namespace, name, run)


async def read_all(stream: AsyncGenerator[T, None], into: list[T]) -> None:
    """Read a stream to its end, as a client beside the test does; what was read so far is always there."""
    async with aclosing(stream):
        async for each in stream:
            into += [each]


def run_scenario(scenario: Callable[[GatewayHarness], Coroutine[Any, Any, None]], **settings: Any) -> None:
    """Run one scene on a fresh stage, in virtual time."""

    async def main(_: random.Random) -> None:
        harness = GatewayHarness(MemoryStore(), EngineSettings(**settings))
        await harness.open()
        await scenario(harness)

    run_virtual(main, 1)
