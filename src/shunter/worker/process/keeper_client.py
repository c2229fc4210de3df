"""The worker's side of one keeper: its process, its connection, and its ranges. `worker.process.lanes` decides what it
runs; `worker.process.launcher` starts and finds it."""

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
from shunter.worker.process.protocol import (
    KeeperReport,
    KeeperStarted,
    KeeperState,
    Reclaimed,
    ReclaimedRange,
    TaskPorts,
)
from shunter.worker.process.range_ledger import TaskRange

log = Log(__name__)

T = TypeVar("T")

SPECS_CACHED_MAX = 16  # of those that no task range in the keeper needs


class KeeperOwner(Protocol):
    """Receives the messages of keepers."""

    def keeper_reported(self, keeper: Keeper, report: KeeperReport) -> None: ...

    def keeper_returned_tasks(self) -> None: ...

    def keeper_disconnected(self, keeper: Keeper) -> None: ...


class PendingStop:
    """A stop whose end the keeper has not reported yet."""

    __slots__ = ("grace_s", "waited_s")

    def __init__(self, grace_s: float) -> None:
        self.grace_s = grace_s
        self.waited_s = 0.0


class Keeper(asyncio.Protocol):
    """One keeper: its process, its connection, and the task ranges that it has."""

    def __init__(self, number: int, pid: int, owner: KeeperOwner, mark: str = "") -> None:
        self.number = number
        self.pid = pid
        self.mark = mark  # NAME=VALUE, which its tasks have in their environment
        self.is_outdated = False  # an earlier worker started it with another isolation
        self.is_retired = False  # such a keeper, or one of an older version: it gets no more tasks
        self.task_ranges: list[TaskRange] = []  # in the order in which they run
        self.held = 0  # tasks in them
        self.running: KeeperStarted | None = None  # as far as reported
        self.memory_peak_bytes = 0  # of all processes of the running task together, as sampled
        self.reservation: int | None = None
        self.last_reservation: int | None = None
        self.idle_since = 0.0
        self.segment = 0  # the log segment in use
        self.devices: dict[str, list[str]] = {}  # those that its tasks are told
        self.is_rebalancing = False  # some of its tasks are on their way to another lane
        self.contact_at_s: float | None = None  # when this worker was last in contact with a manager
        self.needs_contact = False  # it has, or had, tasks with `stop_after_s`
        self.is_ending = False
        self.is_disconnected = False
        self.kill_reason = ""  # why this worker killed it
        self.pending_stops: dict[tuple[protocol.RangeBounds, int], PendingStop] = {}  # by bounds and newest attempt
        self.unanswered_s = 0.0  # how long the oldest request has waited for its answer, as `keeper_watch` counts
        self.ready: asyncio.Future[KeeperState] = asyncio.get_running_loop().create_future()
        self._owner = owner
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._unsent: list[bytes] = []  # messages of this turn of the event loop
        self._specs: dict[int, int] = {}  # id -> how many task ranges need it; in the order of their last use
        self._reclaim_callbacks: dict[int, Callable[[list[ReclaimedRange]], None]] = {}
        self._requests = 0
        self._dead = asyncio.Event()
        self._pidfd: int | None = None
        self._is_child = False

    @property
    def unstarted(self) -> int:
        """Tasks given to it that wait behind the running one."""
        return max(0, self.held - 1)

    def use_devices(self, devices: dict[str, list[str]]) -> None:
        """Set the devices for the tasks that it gets from now on."""
        if devices != self.devices:
            self.devices = devices
            self._write(protocol.devices(devices))

    def run(self, task_ranges: list[TaskRange], specs: Mapping[int, TaskSpec], ports: list[TaskPorts]) -> None:
        """Give it task ranges to run after those it has."""
        lines = [protocol.ports(task) for task in ports]
        orders = []
        for task_range in task_ranges:
            assert task_range.spec is not None
            if task_range.spec not in self._specs:
                lines.append(protocol.spec(task_range.spec, specs[task_range.spec]))
            if specs[task_range.spec].stop_after_s and not self.needs_contact and self.contact_at_s is not None:
                self.needs_contact = True
                lines.append(protocol.contact(self.contact_at_s))
            self._specs[task_range.spec] = self._specs.pop(task_range.spec, 0) + 1
            task_range.keeper = self
            self.held += len(task_range)
            orders.append(_order_for(task_range))
        self.task_ranges += task_ranges
        lines.append(protocol.run(orders))
        lines += [protocol.forget(id) for id in self._unused_specs()]
        self._write(b"".join(lines))

    def note_contact(self, at_s: float) -> None:
        """This worker was in contact with a manager: tasks with `stop_after_s` may go on."""
        self.contact_at_s = at_s
        self.needs_contact = self.needs_contact and self.held > 0
        if self.needs_contact:
            self._write(protocol.contact(at_s))

    def adopt_range(self, task_range: TaskRange) -> None:
        """The keeper already has this range, from an earlier worker process."""
        task_range.keeper = self
        self.held += len(task_range)
        self.task_ranges.append(task_range)

    def advance_range(self, task_range: TaskRange, count: int) -> bool:
        """The first `count` of a task range ended; returns whether all of it has."""
        self.held -= count
        task_range.first += count
        if task_range.first <= task_range.last:
            return False
        self._remove_range(task_range)
        return True

    def release_range(self, task_range: TaskRange, first: int, last: int) -> list[TaskRange]:
        """It gave back first..last of a task range; returns the parts that it still has."""
        self._remove_range(task_range)
        self.held -= len(task_range)
        rest = []
        for low, high in ((task_range.first, first - 1), (last + 1, task_range.last)):
            if low <= high:
                part = TaskRange(task_range.order, low, high, task_range.spec)
                if task_range.spec is not None:
                    self._specs[task_range.spec] += 1
                self.adopt_range(part)
                rest.append(part)
        return rest

    def reclaim(self, kind: str, selector: Any, callback: Callable[[list[ReclaimedRange]], None]) -> None:
        """Ask for tasks that have not started. `callback` gets the returned ones; it is not called if the keeper dies
        first."""
        self._requests += 1
        self._reclaim_callbacks[self._requests] = callback
        self._write(protocol.reclaim(self._requests, kind, selector))

    @property
    def is_answer_due(self) -> bool:
        return bool(self._reclaim_callbacks)

    def ping(self) -> None:
        """Ask for an answer, and nothing else."""
        self.reclaim("tail", 0, lambda _: None)

    def holds(self, bounds: protocol.RangeBounds, attempt_max: int) -> bool:
        """Whether it has any of these tasks."""
        job, group, first, last = bounds
        return any(
            task_range.key == (job, group)
            and task_range.first <= last
            and task_range.last >= first
            and task_range.order.attempt <= attempt_max
            for task_range in self.task_ranges
        )

    def reclaim_tail(self, count: int, callback: Callable[[list[ReclaimedRange]], None]) -> None:
        """Ask for this many of its last tasks, for another lane."""

        def reclaimed(ranges: list[ReclaimedRange]) -> None:
            self.is_rebalancing = False
            callback(ranges)

        self.is_rebalancing = True
        self.reclaim("tail", count, reclaimed)

    def stop(self, bounds: protocol.RangeBounds, attempt_max: int, ending: protocol.Termination) -> None:
        pending = self.pending_stops.get((bounds, attempt_max))
        if pending is None or pending.waited_s + ending.grace_s < pending.grace_s:
            self.pending_stops[bounds, attempt_max] = PendingStop(ending.grace_s)
        self._write(protocol.stop(bounds, attempt_max, ending))

    def acknowledge(self, seq: int) -> None:
        self._write(protocol.acknowledge(seq))

    def end(self) -> None:
        """Ask it to end; its connection closes when it does."""
        self.is_ending = True
        self._write(protocol.end())

    def kill(self, reason: str = "") -> None:
        """Make sure that it is dead, so that it cannot contradict what we report about it."""
        self.kill_reason = self.kill_reason or reason
        if self._pidfd is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    async def wait_dead(self) -> None:
        """Until its process is not there any longer; its connection may close a little sooner."""
        if self._pidfd is not None:
            await self._dead.wait()

    def watch(self, is_child: bool) -> None:
        """Hold on to its process: a process id alone may come to name another. Raises ProcessLookupError."""
        self._pidfd = os.pidfd_open(self.pid)
        self._is_child = is_child
        asyncio.get_running_loop().add_reader(self._pidfd, self._reap)

    def detach(self) -> None:
        """Leave it to itself; it goes on."""
        self.flush()
        self.is_disconnected = True
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
                self._handle_line(line)
            except msgspec.MsgspecError as error:
                log.error("keeper.unreadable", keeper=self.number, error=error)
                assert self._transport is not None
                self._transport.abort()
                return

    def connection_lost(self, _error: Exception | None) -> None:
        if not self.ready.done():
            self.ready.set_exception(ConnectionResetError(f"keeper {self.number} ended"))
            self.ready.exception()  # waiters are notified; there need not be any
        if not self.is_disconnected:
            self.is_disconnected = True
            self._owner.keeper_disconnected(self)

    def _reap(self) -> None:
        if self._is_child:
            with suppress(ChildProcessError):  # another process collects this process's children
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

    def _handle_line(self, line: bytes) -> None:
        message = protocol.decode(line)
        if isinstance(message, KeeperReport):
            self.segment = message.segment
            self._owner.keeper_reported(self, message)
        elif isinstance(message, Reclaimed):
            self.unanswered_s = 0.0
            self._reclaim_callbacks.pop(message.request)(message.ranges)
            self._owner.keeper_returned_tasks()
        else:
            self.segment = message.segment
            self.ready.set_result(message)

    def _write(self, data: bytes) -> None:
        """Send it with everything else of this turn of the event loop: an order and the acknowledgement of the result
        before it wake the keeper once, not twice."""
        if self._transport is None or self.is_disconnected:
            return
        if not self._unsent:
            asyncio.get_running_loop().call_soon(self.flush)
        self._unsent.append(data)

    def flush(self) -> None:
        """Send what this turn of the event loop has collected, without waiting for its end."""
        if self._unsent and self._transport is not None and not self.is_disconnected:
            self._transport.write(b"".join(self._unsent))
        self._unsent.clear()

    def _remove_range(self, task_range: TaskRange) -> None:
        self.task_ranges.remove(task_range)
        if task_range.spec is not None:
            self._specs[task_range.spec] -= 1

    def _unused_specs(self) -> list[int]:
        unused = [id for id, users in self._specs.items() if not users][:-SPECS_CACHED_MAX]
        for id in unused:
            del self._specs[id]
        return unused


def _order_for(task_range: TaskRange) -> Order:
    order = task_range.order
    assert task_range.spec is not None
    return Order(
        order.job, order.group, task_range.first, task_range.last, order.attempt, task_range.spec, order.reservation,
        order.width, order.namespace, order.job_name, order.group_name, order.count, _slice_column(order.shown,
        task_range), _slice_column(order.entries, task_range), order.trace,
    )  # fmt: skip


def _slice_column(values: list[T], task_range: TaskRange) -> list[T]:
    """The part of an order's per-task column that belongs to the range."""
    if not values:
        return values
    first = task_range.order.first
    return values[task_range.first - first : task_range.last - first + 1]
