"""A harness for engine tests: the real engine on the memory store, in virtual time, with workers played by the test."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

from shunter.adapters.memory.store import MemoryStore
from shunter.engine.changes import decode_round
from shunter.engine.engine import Engine
from shunter.engine.jobs.submit import SubmitResult
from shunter.engine.read.events import render
from shunter.engine.recovery import load_state
from shunter.engine.settings import EngineSettings
from shunter.engine.state.fingerprints.fingerprint import fingerprint
from shunter.model import secrets
from shunter.model.errors import ShunterError
from shunter.model.job.spec import GroupSpec, JobSpec, Restart, TaskSpec, estimate_bucket
from shunter.model.lifecycles import TaskState
from shunter.model.protocol.worker_messages import (
    Ack,
    Ended,
    Hello,
    Inventory,
    LogData,
    Lost,
    ManagerMessage,
    Order,
    Orders,
    Recall,
    Report,
    Started,
    StatsData,
    Stop,
    StopRange,
    Welcome,
)
from shunter.model.rest.cluster_views import EventView
from shunter.planning.planner import build_policy
from shunter.simulation.runtime.loop import VirtualClock, run_virtual


class RecordingWorkers:
    """The workers port: keeps what the engine sent."""

    heartbeat_s = 1.0

    def __init__(self) -> None:
        self.sent: list[tuple[int, ManagerMessage]] = []
        self.resets = 0
        self.suspensions = 0
        self.rejected: list[tuple[int, ShunterError]] = []

    def send(self, node: int, message: ManagerMessage) -> None:
        self.sent.append((node, message))

    def reject(self, node: int, error: ShunterError) -> None:
        self.rejected.append((node, error))

    def suspend(self, _reason: str) -> None:
        self.suspensions += 1

    def reset(self, _reason: str) -> None:
        self.resets += 1

    async def read_log(self, *_: object) -> LogData:
        raise AssertionError("not part of these tests")

    async def read_stats(self, _node: int) -> StatsData:
        raise AssertionError("not part of these tests")


class Harness:
    def __init__(self, store: MemoryStore, settings: EngineSettings) -> None:
        self.store = store
        self.settings = settings
        self.workers = RecordingWorkers()
        self.engine = self._new_engine()
        self._running: asyncio.Task[None] | None = None
        self._seq: dict[int, int] = {}
        self.attributes = {secrets.ATTRIBUTE: "true"}  # of nodes that join

    def _new_engine(self) -> Engine:
        return Engine(
            store=self.store,
            workers=self.workers,
            policy=build_policy("bin-pack"),
            clock=VirtualClock(),
            random=random.Random(1),
            settings=self.settings,
        )

    async def open(self) -> Harness:
        await self.store.open()
        await self.engine.start()
        self._running = asyncio.create_task(self.engine.run())
        return self

    def crash(self) -> None:
        """The manager is gone; only the store is left."""
        assert self._running is not None
        self._running.cancel()

    async def restart_manager(self) -> None:
        """The manager was killed; another one takes over, and the workers connect to it with nothing in hand."""
        self.crash()
        self.engine = self._new_engine()
        self.workers.sent.clear()
        await self.open()
        for node in self.engine.state.nodes.records:
            self._seq[node] = 1
            await self.engine.inventory(node, Inventory(1, [], []))
        await self.settle()

    async def settle(self, seconds: float = 0.0) -> None:
        """Let everything that is due happen."""
        await asyncio.sleep(seconds)
        for _ in range(50):
            await asyncio.sleep(0)

    async def join(
        self, name: str = "n1", cpu: int = 2, boot: str = "b1", datacenter: str = "", **capacity: int
    ) -> int:
        amounts = {"cpu": cpu * 1000, "memory": 2**30, **capacity}
        hello = Hello(
            protocol=1, name=name, boot=boot, capacity=amounts, datacenter=datacenter, attributes=self.attributes
        )
        welcome = await self.engine.hello(hello)
        assert isinstance(welcome, Welcome)
        self._seq[welcome.node] = 1
        await self.engine.inventory(welcome.node, Inventory(1, [], []))
        await self.settle()
        return welcome.node

    async def submit(self, *specs: JobSpec, key: str | None = None) -> list[SubmitResult]:
        results = await self.engine.submit(list(specs), "tester", key)
        await self.settle()
        return results

    async def report(self, node: int, **parts: Any) -> None:
        self._seq[node] += 1
        await self.engine.report(node, Report(self._seq[node], **parts))
        await self.settle()

    async def end(self, node: int, order: Order, exit_code: int = 0, how: str = "") -> None:
        """The worker reports that all tasks of an order ended."""
        count = order.last - order.first + 1
        now_ms = int(VirtualClock().now() * 1000)
        exits = [exit_code] * count if exit_code else []
        ended = Ended(
            order.job, order.group, order.attempt, order.first, exits, [now_ms - 5] * count, [now_ms] * count, 1, 0, how
        )
        await self.report(node, ended=[ended])

    async def end_all(self) -> list[int]:
        """Every order that was sent ends well, until no more come; says which jobs they were of."""
        ended = []
        while orders := self.orders():
            for node, order in orders:
                await self.end(node, order)
                ended.append(order.job)
        return ended

    async def report_lost(self, node: int, order: Order, reason: str = "the keeper died") -> None:
        lost = Lost(order.job, order.group, order.attempt, order.first, order.last, reason)
        await self.report(node, lost=[lost])

    def orders(self) -> list[tuple[int, Order]]:
        """The orders sent since the last call."""
        found = [(node, order) for node, sent in self.workers.sent if isinstance(sent, Orders) for order in sent.orders]
        self.workers.sent = [(node, sent) for node, sent in self.workers.sent if not isinstance(sent, Orders)]
        return found

    def stops(self) -> list[StopRange]:
        return [each for _, sent in self.workers.sent if isinstance(sent, Stop) for each in sent.ranges]

    def recalls(self) -> list[int]:
        return [each for _, sent in self.workers.sent if isinstance(sent, Recall) for each in sent.reservations]

    def acks(self, node: int) -> list[int]:
        return [sent.seq for to, sent in self.workers.sent if isinstance(sent, Ack) and to == node]

    async def started(self, node: int, order: Order) -> None:
        """The worker reports that the tasks of an order run, each in a lane of its own."""
        now_ms = int(VirtualClock().now() * 1000)
        name = order.job, order.group, order.attempt
        await self.report(
            node, started=[Started(*name, index, now_ms, 1, 0) for index in range(order.first, order.last + 1)]
        )

    async def events(self, after: int = 0) -> list[EventView]:
        """All events since a version, as people see them."""
        names = self.engine.state.nodes.view.names
        rounds = await self.store.rounds_after(after, 100_000)
        return [
            event
            for logged in rounds
            for event in render(logged.version, logged.at, decode_round(logged.body), names.__getitem__)
        ]

    def counts(self, job_id: int) -> dict[str, int]:
        job = self.engine.state.jobs[job_id]
        return {TaskState(state).wire_name: count for state, count in enumerate(job.counts()) if count}

    def reserved_cpu(self, node: int) -> int:
        return int(self.engine.state.nodes.view.reserved[node, 0])

    async def recovered_fingerprint(self) -> dict[str, Any]:
        """The state as a new manager would find it."""
        state = await load_state(self.store)
        return fingerprint(state)


def spec(name: str = "job", count: int = 1, **fields: Any) -> JobSpec:
    restart = fields.pop("restart", Restart())
    needs = fields.pop("needs", {"cpu": 1000})
    queue_timeout_s = fields.pop("queue_timeout_s", 0.0)
    group_fields = {name: fields.pop(name) for name in list(fields) if name in GroupSpec.__struct_fields__}
    group_fields["estimate_bits"] = estimate_bucket(group_fields.get("estimate_s", 0.0))
    task = group_fields.pop("task", TaskSpec(("/bin/true",)))
    group = GroupSpec("main", count, task, needs, restart, queue_timeout_s=queue_timeout_s, **group_fields)
    return JobSpec(fields.pop("namespace", "default"), name, (group,), **fields)


def run_scenario(scenario: Callable[[Harness], Coroutine[Any, Any, None]], **settings: Any) -> None:
    """Run one scene on a fresh stage; in the end the store must tell the same story as memory."""

    async def main(_: random.Random) -> None:
        harness = await Harness(MemoryStore(), EngineSettings(**settings)).open()
        await scenario(harness)
        await harness.settle()
        assert await harness.recovered_fingerprint() == fingerprint(harness.engine.state)

    run_virtual(main, 1)
