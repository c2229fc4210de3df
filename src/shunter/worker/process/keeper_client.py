"""The worker's end of one keeper: its process, its connection, and the spans that it has. What it is given to run is
decided in `worker.process.lanes`; it is started and found by `worker.process.launcher`."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Protocol, TypeVar, cast

import msgspec

from shunter.log import Log
from shunter.model.job.spec import TaskSpec
from shunter.model.protocol.worker_messages import Order
from shunter.worker.process import protocol
from shunter.worker.process.protocol import KeeperReport, KeeperStarted, KeeperState, Taken, TakenRange, TaskPorts
from shunter.worker.process.range_ledger import Span

log = Log(__name__)

T = TypeVar("T")

SPECS_KEPT_MAX = 16  # of those that no span in the keeper needs


class KeeperOwner(Protocol):
    """Who is told what keepers say."""

    def keeper_reported(self, keeper: Keeper, report: KeeperReport) -> None: ...

    def keeper_gave_back(self) -> None: ...

    def keeper_gone(self, keeper: Keeper) -> None: ...


class Keeper(asyncio.Protocol):
    """One keeper: its process, its connection, and the spans that it has."""

    def __init__(self, number: int, pid: int, owner: KeeperOwner) -> None:
        self.number = number
        self.pid = pid
        self.spans: list[Span] = []  # in the order in which they run
        self.held = 0  # tasks in them
        self.running: KeeperStarted | None = None  # as far as reported
        self.reservation: int | None = None
        self.last_reservation: int | None = None
        self.idle_since = 0.0
        self.segment = 0  # the log segment in use
        self.devices: dict[str, list[str]] = {}  # those that its tasks are told
        self.is_sharing = False  # some of its tasks are on their way to another lane
        self.ending = False
        self.gone = False
        self.ready: asyncio.Future[KeeperState] = asyncio.get_running_loop().create_future()
        self._owner = owner
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._specs: dict[int, int] = {}  # id -> how many spans need it; in the order of their last use
        self._taking: dict[int, Callable[[list[TakenRange]], None]] = {}
        self._requests = 0
        self._dead = asyncio.Event()
        self._pidfd: int | None = None
        self._is_child = False

    @property
    def unstarted(self) -> int:
        """Tasks given that wait behind the one that runs."""
        return max(0, self.held - 1)

    def use_devices(self, devices: dict[str, list[str]]) -> None:
        """Which devices the tasks are told that it is given from now on."""
        if devices != self.devices:
            self.devices = devices
            self._write(protocol.devices(devices))

    def run(self, spans: list[Span], specs: Mapping[int, TaskSpec], ports: list[TaskPorts]) -> None:
        """Give it spans to run after what it has."""
        lines = [protocol.ports(task) for task in ports]
        orders = []
        for span in spans:
            assert span.spec is not None
            if span.spec not in self._specs:
                lines.append(protocol.spec(span.spec, specs[span.spec]))
            self._specs[span.spec] = self._specs.pop(span.spec, 0) + 1
            span.keeper = self
            self.held += len(span)
            orders.append(_part(span))
        self.spans += spans
        lines.append(protocol.run(orders))
        lines += [protocol.forget(id) for id in self._unneeded_specs()]
        self._write(b"".join(lines))

    def hold(self, span: Span) -> None:
        """The keeper has this already, from an earlier life of the worker."""
        span.keeper = self
        self.held += len(span)
        self.spans.append(span)

    def shorten(self, span: Span, count: int) -> bool:
        """The first `count` of a span ended; says whether all of it has."""
        self.held -= count
        span.first += count
        if span.first <= span.last:
            return False
        self._forget(span)
        return True

    def give_up(self, span: Span, first: int, last: int) -> list[Span]:
        """It gave back first..last of a span; returns the parts that it still has."""
        self._forget(span)
        self.held -= len(span)
        rest = []
        for low, high in ((span.first, first - 1), (last + 1, span.last)):
            if low <= high:
                part = Span(span.order, low, high, span.spec)
                if span.spec is not None:
                    self._specs[span.spec] += 1
                self.hold(part)
                rest.append(part)
        return rest

    def take(self, kind: str, what: Any, then: Callable[[list[TakenRange]], None]) -> None:
        """Ask for what has not started. `then` gets what comes back; it is not called if the keeper dies first."""
        self._requests += 1
        self._taking[self._requests] = then
        self._write(protocol.take(self._requests, kind, what))

    def share(self, count: int, then: Callable[[list[TakenRange]], None]) -> None:
        """Ask for so many of those last in turn, for another lane."""

        def shared(ranges: list[TakenRange]) -> None:
            self.is_sharing = False
            then(ranges)

        self.is_sharing = True
        self.take("tail", count, shared)

    def stop(self, place: protocol.Place, attempt_max: int, ending: protocol.Ending) -> None:
        self._write(protocol.stop(place, attempt_max, ending))

    def acknowledge(self, seq: int) -> None:
        self._write(protocol.acknowledge(seq))

    def end(self) -> None:
        """Ask it to end; its connection closes when it does."""
        self.ending = True
        self._write(protocol.end())

    def kill(self) -> None:
        """Make sure that it is dead, so that nothing it may still do contradicts what we say of it."""
        if self._pidfd is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    async def dead(self) -> None:
        """Until its process is not there any longer; its connection may close a little sooner."""
        if self._pidfd is not None:
            await self._dead.wait()

    def watch(self, is_child: bool) -> None:
        """Hold on to its process: a process id alone may come to name another. Raises ProcessLookupError."""
        self._pidfd = os.pidfd_open(self.pid)
        self._is_child = is_child
        asyncio.get_running_loop().add_reader(self._pidfd, self._bury)

    def detach(self) -> None:
        """Leave it to itself; it goes on."""
        self.gone = True
        if self._transport is not None:
            self._transport.close()
        self._unwatch()

    # ---- asyncio.Protocol ----

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own class is none of asyncio's
        self._transport.write(protocol.attach())

    def data_received(self, data: bytes) -> None:
        self._received += data
        end = self._received.rfind(b"\n")
        if end < 0:
            return
        lines = bytes(self._received[:end]).split(b"\n")
        del self._received[: end + 1]
        for line in lines:
            try:
                self._hear(line)
            except msgspec.MsgspecError as error:
                log.error("keeper.unreadable", keeper=self.number, error=error)
                assert self._transport is not None
                self._transport.abort()
                return

    def connection_lost(self, _error: Exception | None) -> None:
        if not self.ready.done():
            self.ready.set_exception(ConnectionResetError(f"keeper {self.number} ended"))
            self.ready.exception()  # whoever waits is told; nobody needs to be
        if not self.gone:
            self.gone = True
            self._owner.keeper_gone(self)

    def _bury(self) -> None:
        if self._is_child:
            with suppress(ChildProcessError):  # somebody else collects this process's children
                os.waitpid(self.pid, 0)
        self._unwatch()
        self._dead.set()
        if self._transport is not None:
            self._transport.abort()

    def _unwatch(self) -> None:
        if self._pidfd is not None:
            asyncio.get_running_loop().remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None

    def _hear(self, line: bytes) -> None:
        message = protocol.decode(line)
        if isinstance(message, KeeperReport):
            self.segment = message.segment
            self._owner.keeper_reported(self, message)
        elif isinstance(message, Taken):
            self._taking.pop(message.request)(message.ranges)
            self._owner.keeper_gave_back()
        else:
            self.segment = message.segment
            self.ready.set_result(message)

    def _write(self, data: bytes) -> None:
        if self._transport is not None and not self.gone:
            self._transport.write(data)

    def _forget(self, span: Span) -> None:
        self.spans.remove(span)
        if span.spec is not None:
            self._specs[span.spec] -= 1

    def _unneeded_specs(self) -> list[int]:
        unneeded = [id for id, users in self._specs.items() if not users][:-SPECS_KEPT_MAX]
        for id in unneeded:
            del self._specs[id]
        return unneeded


def _part(span: Span) -> Order:
    order = span.order
    assert span.spec is not None
    return Order(
        order.job, order.group, span.first, span.last, order.attempt, span.spec, order.reservation, order.width,
        order.namespace, order.job_name, order.group_name, order.count,
        _columns(order.shown, span), _columns(order.entries, span),
    )  # fmt: skip


def _columns(values: list[T], span: Span) -> list[T]:
    """Of what an order says about each of its tasks, that about the tasks of the span."""
    if not values:
        return values
    first = span.order.first
    return values[span.first - first : span.last - first + 1]
