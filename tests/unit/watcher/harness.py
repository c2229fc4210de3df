"""The harness of the watcher's tests: an engine that records its calls, scripted workers, and virtual time."""

from __future__ import annotations

import asyncio
import functools
import random
from collections.abc import Awaitable, Callable
from typing import Any

from shunter.model.lifecycles import NodeEvent
from shunter.model.protocol.worker_messages import (
    PROTOCOL_VERSION,
    Heartbeat,
    Hello,
    Inventory,
    MachineStats,
    ManagerMessage,
    Refused,
    Report,
    Welcome,
    WorkerMessage,
)
from shunter.ports.clock import Clock
from shunter.simulation.runtime.loop import VirtualClock, run_virtual
from shunter.watcher.session import WorkerSession
from shunter.watcher.settings import WatcherSettings
from shunter.watcher.watcher import Watcher

EPOCH = 7
HEARD, SILENT, TIMED_OUT, LEFT = NodeEvent.HEARD, NodeEvent.SILENT, NodeEvent.TIMED_OUT, NodeEvent.LEFT


def virtual(scenario: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """A test that runs in virtual time: waiting costs nothing and ends exactly when it should."""

    @functools.wraps(scenario)
    def test(*arguments: Any, **named: Any) -> None:
        async def main(_: random.Random) -> None:
            await scenario(*arguments, **named)

        run_virtual(main, seed=0)

    return test


class RecordingEngine:
    """The engine as the watcher knows it. `message_error` makes messages raise and `gate` makes them wait;
    `event_error` makes verdicts raise."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._nodes: dict[str, int] = {}
        self.calls: list[tuple[str, int, Any]] = []
        self.events: list[tuple[float, int, NodeEvent, str]] = []
        self.refusal: Refused | None = None
        self.leads = True
        self.message_error: Exception | None = None
        self.event_error: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()

    async def hello(self, hello: Hello) -> Welcome | Refused:
        await self._record("hello", 0, hello)
        if self.refusal is not None:
            return self.refusal
        return Welcome(EPOCH, self._nodes.setdefault(hello.name, len(self._nodes) + 1), heartbeat_s=99.0)

    async def inventory_part(self, node: int, report: Report) -> None:
        await self._record("inventory_part", node, report)

    async def inventory(self, node: int, inventory: Inventory) -> None:
        await self._record("inventory", node, inventory)

    async def report(self, node: int, report: Report) -> None:
        await self._record("report", node, report)

    def heartbeat(self, node: int, stats: MachineStats) -> None:
        self.calls.append(("heartbeat", node, stats))

    def node_name(self, node: int) -> str:
        return next(name for name, number in self._nodes.items() if number == node)

    async def is_leading(self) -> bool:
        return self.leads

    async def node_event(self, node: int, event: NodeEvent, reason: str) -> None:
        if self.event_error is not None:
            raise self.event_error
        self.events.append((self._clock.now(), node, event, reason))

    def events_of(self, node: int) -> list[NodeEvent]:
        return [event for _, told_node, event, _ in self.events if told_node == node]

    def when(self, node: int, wanted: NodeEvent) -> float:
        return next(at for at, told_node, event, _ in self.events if told_node == node and event is wanted)

    def call_kinds(self) -> list[str]:
        return [kind for kind, _, _ in self.calls]

    async def _record(self, kind: str, node: int, message: Any) -> None:
        self.calls.append((kind, node, message))
        await self.gate.wait()
        if self.message_error is not None:
            raise self.message_error


class RecordingLink:
    """The manager's end of a connection that a test holds in its hand."""

    def __init__(self) -> None:
        self.sent: list[ManagerMessage] = []
        self.close_reason: str | None = None

    def send(self, message: ManagerMessage) -> None:
        assert self.close_reason is None, "sent after close"
        self.sent.append(message)

    def close(self, reason: str) -> None:
        self.close_reason = reason

    @property
    def refused(self) -> Refused | None:
        return next((message for message in self.sent if isinstance(message, Refused)), None)

    def of(self, kind: type) -> list[Any]:
        return [message for message in self.sent if isinstance(message, kind)]


class Harness:
    """One watcher on one engine, in virtual time."""

    def __init__(self, settings: WatcherSettings | None = None) -> None:
        self.clock = VirtualClock()
        self.engine = RecordingEngine(self.clock)
        self.leader = ""  # where another manager takes workers
        self.watcher = Watcher(self.clock, settings, lambda: self.leader)

    async def open(self, expected: tuple[int, ...] = ()) -> Harness:
        await self.watcher.start(self.engine, expected)
        return self

    def connect(self) -> tuple[RecordingLink, WorkerSession]:
        link = RecordingLink()
        return link, self.watcher.connect(link)

    async def join(self, name: str = "n1", boot: str = "b1") -> FakeWorker:
        """A worker that is live."""
        fake_worker = FakeWorker(self, name, boot)
        await fake_worker.send(hello(name, boot))
        await fake_worker.send(Inventory(1, [], []))
        await self.settle()
        return fake_worker

    async def advance(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self.settle()

    async def settle(self) -> None:
        """Let everything that is due happen; no time passes."""
        for _ in range(10):
            await asyncio.sleep(0)


class FakeWorker:
    """A worker on a string: says what the test makes it say."""

    def __init__(self, harness: Harness, name: str, boot: str) -> None:
        self.name, self.boot = name, boot
        self.link, self.session = harness.connect()
        self._harness = harness
        self._beating: asyncio.Task[None] | None = None

    @property
    def node(self) -> int:
        return self.session.node

    async def send(self, message: WorkerMessage) -> None:
        await self.session.received(message)

    async def beat(self) -> None:
        await self.send(beat())

    def beat_every(self, seconds: float) -> None:
        """From now on, in the background, until `stop_beating`."""
        self.stop_beating()
        self._beating = asyncio.create_task(self._beat_periodically(seconds))

    def stop_beating(self) -> None:
        if self._beating is not None:
            self._beating.cancel()

    async def _beat_periodically(self, seconds: float) -> None:
        while True:
            await self.beat()
            await self._harness.clock.sleep(seconds)


def hello(name: str = "n1", boot: str = "b1", protocol: int = PROTOCOL_VERSION) -> Hello:
    return Hello(protocol, name, boot, {"cpu": 4000})


def beat(busy: float = 0.0) -> Heartbeat:
    return Heartbeat(MachineStats(at_ms=1, cpu_busy=busy))
