"""Connections between simulated workers and a manager. Each direction preserves order, has delays, and loses its tail
when the connection breaks. Messages of an old connection may arrive after those of a new one.

Used by `simulation.runtime.worker`; `simulation.runtime.faults` breaks, delays, duplicates and partitions
connections."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

from shunter.model.protocol.worker_messages import ManagerMessage, Orders, Report, WorkerMessage
from shunter.ports.clock import Clock
from shunter.simulation.runtime.process import Gate
from shunter.simulation.trace import Trace

if TYPE_CHECKING:
    from shunter.simulation.runtime.manager import SimulatedManager
    from shunter.simulation.runtime.worker import SimulatedWorker

Spawn = Callable[[Coroutine[Any, Any, None]], None]  # runs a task whose failure is the world's

DELAY_DEFAULT_S = 0.002
LATE_MAX_S = 3.0
HALF_OPEN_MAX_S = 6.0


class Network:
    """How the wires behave at present; faults turn these knobs."""

    def __init__(self, clock: Clock, rng: random.Random, trace: Trace, spawn: Spawn) -> None:
        self.spawn = spawn
        self.clock = clock
        self.rng = rng
        self.trace = trace
        self.delay_s = DELAY_DEFAULT_S
        self.duplicate_rate = 0.0
        self.connections: list[Connection] = []
        self._partitioned: dict[str, asyncio.Event] = {}  # worker name -> set when its partition is over

    def connect(self, worker: SimulatedWorker, manager: SimulatedManager) -> Connection:
        connection = Connection(self, worker, manager)
        self.connections.append(connection)
        return connection

    def connections_of(self, manager: SimulatedManager) -> list[Connection]:
        return [connection for connection in self.connections if connection.manager is manager]

    def partition(self, name: str) -> None:
        self._partitioned.setdefault(name, asyncio.Event())

    def heal(self, name: str) -> None:
        healed = self._partitioned.pop(name, None)
        if healed is not None:
            healed.set()

    def is_reachable(self, name: str) -> bool:
        return name not in self._partitioned

    async def wait_reachable(self, name: str) -> None:
        while name in self._partitioned:
            await self._partitioned[name].wait()


class Connection:
    """One worker's stream to one manager. `link` end: the manager sends and closes; `worker` end: send and reset."""

    def __init__(self, network: Network, worker: SimulatedWorker, manager: SimulatedManager) -> None:
        self.worker = worker
        self.manager = manager
        self.is_open = True
        self._network = network
        self._session = manager.watcher.connect(_Link(self))
        name = worker.name
        self._up = _Pipe(network, f"{name}>m{manager.number}", name, manager.gate, self._session.received)
        self._down = _Pipe(network, f"m{manager.number}>{name}", name, worker.gate, self._to_worker)

    def send_up(self, message: WorkerMessage) -> None:
        copies = 2 if isinstance(message, Report) and self._is_duplicated() else 1
        for _ in range(copies):
            self._up.send(message)

    def send_down(self, message: ManagerMessage) -> None:
        copies = 2 if isinstance(message, Orders) and self._is_duplicated() else 1
        for _ in range(copies):
            self._down.send(message)

    def close(self, reason: str) -> None:
        """An orderly end by the manager: what was sent before still arrives."""
        self._end(reason, is_orderly=True)

    def reset(self, reason: str) -> None:
        """Either direction keeps some first part of what is under way and loses the rest."""
        self._end(reason, is_orderly=False)

    def _end(self, reason: str, is_orderly: bool) -> None:
        if not self.is_open:
            return
        self.is_open = False
        self._network.connections.remove(self)
        self._network.trace.record("connection.ended", f"{self.worker.name} m{self.manager.number} {reason}")
        rng = self._network.rng
        close_delay_s = 0.0 if is_orderly or rng.random() < 0.6 else rng.uniform(0, HALF_OPEN_MAX_S)
        self._up.end(is_orderly, close_delay_s, lambda: self._session.closed(reason))
        self._down.end(is_orderly, 0.0, lambda: self.worker.disconnected(self, reason))

    async def _to_worker(self, message: ManagerMessage) -> None:
        self.worker.received(self, message)

    def _is_duplicated(self) -> bool:
        rate = self._network.duplicate_rate
        if rate and self._network.rng.random() < rate:
            self._network.trace.record("message.duplicated", self.worker.name)
            return True
        return False


class _Link:
    """The watcher's end."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def send(self, message: ManagerMessage) -> None:
        if self._connection.manager.gate.is_running:  # a killed process says nothing any more
            self._connection.send_down(message)

    def close(self, reason: str) -> None:
        if self._connection.manager.gate.is_running:
            self._connection.close(reason)


class _Pipe:
    """One direction. Delivers in order; waits for the delay, for the end of a partition, and for a paused receiver."""

    def __init__(
        self, network: Network, label: str, worker: str, receiver: Gate, deliver: Callable[[Any], Awaitable[None]]
    ) -> None:
        self._network = network
        self._label = label
        self._worker = worker
        self._receiver = receiver
        self._deliver = deliver
        self._in_flight: deque[tuple[float, Any]] = deque()
        self._last_arrival_s = 0.0
        self._on_end: Callable[[], None] | None = None
        self._close_delay_s = 0.0
        self._changed = asyncio.Event()
        network.spawn(self._run())

    def send(self, message: Any) -> None:
        if self._on_end is not None:
            return
        delay_s = self._network.rng.expovariate(1 / self._network.delay_s)
        self._last_arrival_s = max(self._last_arrival_s, self._network.clock.now() + delay_s)
        self._in_flight.append((self._last_arrival_s, message))
        self._changed.set()

    def end(self, is_orderly: bool, close_delay_s: float, on_end: Callable[[], None]) -> None:
        """The last that comes through; then, after a while, the receiver learns that the connection is gone."""
        rng = self._network.rng
        if not is_orderly:
            delivered = rng.randint(0, len(self._in_flight))
            lost = len(self._in_flight) - delivered
            late_s = rng.uniform(0, LATE_MAX_S) if rng.random() < 0.3 else 0.0
            self._in_flight = deque((at + late_s, message) for at, message in list(self._in_flight)[:delivered])
            if lost:
                self._network.trace.record("message.lost", f"{self._label} {lost}")
            if late_s and delivered:
                self._network.trace.record("message.late", f"{self._label} {delivered}")
        self._close_delay_s = close_delay_s
        self._on_end = on_end
        self._changed.set()

    async def _run(self) -> None:
        while True:
            while self._in_flight:
                await self._deliver_next()
            if self._on_end is not None:
                break
            self._changed.clear()
            await self._changed.wait()
        await self._network.clock.sleep(self._close_delay_s)
        await self._receiver.wait_open()
        self._on_end()

    async def _deliver_next(self) -> None:
        at, message = self._in_flight[0]
        wait_s = at - self._network.clock.now()
        if wait_s > 0:
            await self._network.clock.sleep(wait_s)
        await self._network.wait_reachable(self._worker)
        await self._receiver.wait_open()
        if not self._in_flight or self._in_flight[0][1] is not message:
            return  # the connection broke meanwhile, and this was lost with it
        self._in_flight.popleft()
        self._network.trace.record(f"{type(message).__name__.lower()}.delivered", f"{self._label} {describe(message)}")
        await self._deliver(message)


def describe(message: Any) -> str:
    """One line; long lists are counted."""
    fields = []
    for name in message.__struct_fields__:
        value = getattr(message, name)
        if isinstance(value, list | dict):
            if value:
                fields.append(f"{name}={_shorten(value)}")
        elif name in ("seq", "epoch", "node", "code", "boot", "name", "reason"):
            fields.append(f"{name}={value}")
    return " ".join(fields)


def _shorten(value: list[Any] | dict[Any, Any]) -> str:
    if isinstance(value, dict):
        return str(len(value))
    return ",".join(_describe_range(item) for item in value[:4]) + ("..." if len(value) > 4 else "")


def _describe_range(item: Any) -> str:
    job = getattr(item, "job", None)
    if job is None:
        return str(item)
    first = getattr(item, "first", getattr(item, "index", 0))
    last = getattr(item, "last", first + len(getattr(item, "ended_ms", (0,))) - 1)
    attempt = getattr(item, "attempt", "")
    how = getattr(item, "how", "") or ("running" if getattr(item, "running", False) else "")
    return f"{job}.{item.group}/{first}-{last}#{attempt}{how}"
