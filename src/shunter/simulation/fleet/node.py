"""One simulated worker, which answers every message of the protocol as a real worker does. Driven by
`simulation.fleet.fleet` and by the transport of its messages; it never waits."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Protocol

from shunter.model.protocol.worker_messages import (
    Ended,
    Held,
    Hello,
    Inventory,
    Lost,
    MachineStats,
    Order,
    Orders,
    Report,
    Returned,
    StopRange,
    TaskStats,
)
from shunter.simulation.fleet.machine import ANY_ATTEMPT, EndScheduler, Machine, PendingRange
from shunter.simulation.fleet.outcomes import Outcomes

ANY_INDEX = 2**31
OnResultDropped = Callable[["SimulatedNode", Ended | Lost], None]


class FleetPort(EndScheduler, Protocol):
    """The fleet as its nodes see it."""

    outcomes: Outcomes

    def mark_dirty(self, node: SimulatedNode) -> None:
        """This node has something to report."""
        ...


class SimulatedNode:
    """A worker's memory: who it is, which epoch it obeys, and its machine. `on_result_dropped` is called for each
    result that it drops."""

    __slots__ = ("_fleet", "epoch", "hello", "id", "is_dirty", "machine", "on_result_dropped")

    def __init__(self, hello: Hello, fleet: FleetPort, rng: random.Random) -> None:
        self.hello = hello
        self.id = 0  # given by Welcome
        self.epoch = 0
        self.machine = Machine(fleet, rng, self._mark_dirty)
        self.on_result_dropped: OnResultDropped | None = None
        self.is_dirty = False
        self._fleet = fleet

    # ---- what the manager says ----

    def order(self, message: Orders, now: float) -> None:
        if not self.accepts(message.epoch):
            return
        for order in message.orders:
            outcome = self._fleet.outcomes.for_spec(message.specs[order.spec])
            lanes = self.machine.reserve(order.reservation, order.width)
            for first, last in self._new_parts(order):
                self.machine.enqueue(
                    lanes, PendingRange(order.job, order.group, first, last, order.attempt, outcome), now
                )
            self.machine.start_waiting(lanes, now)

    def stop(self, epoch: int, ranges: list[StopRange], now: float) -> None:
        """Tasks that have not started are returned; running ones end within the grace, or earlier by themselves. Newer
        attempts than the stop names are left alone."""
        if not self.accepts(epoch):
            return
        for stop_range in ranges:
            bounds = stop_range.job, stop_range.group, stop_range.first, stop_range.last
            attempt_max = stop_range.attempt or ANY_ATTEMPT
            self._return(self.machine.reclaim(*bounds, attempt_max))
            self.machine.signal(bounds, stop_range.grace_s, now, attempt_max)
        self.machine.start_all_waiting(now)

    def recall(self, epoch: int, reservations: list[int]) -> None:
        if not self.accepts(epoch):
            return
        for reservation in reservations:
            self._return(self.machine.reclaim_reservation(reservation))

    def return_waiting(self, job: int, group: int) -> None:
        """Give back what has not started of these tasks."""
        self._return(self.machine.reclaim(job, group, 0, ANY_INDEX))

    def acknowledge(self, seq: int) -> None:
        for result in self.machine.outbox.acknowledge(seq):
            if self.on_result_dropped is not None:
                self.on_result_dropped(self, result)

    def shut_down(self, now: float) -> None:
        """The cluster stops: every task ends without an exit code; what had not started is given back."""
        for reservation in list(self.machine.lanes):
            self._return(self.machine.reclaim_reservation(reservation))
        for running_range in list(self.machine.running):
            self.machine.mark_lost(running_range, "the cluster was stopped", now)

    def accepts(self, epoch: int) -> bool:
        """An older epoch than the newest seen is refused: its leader was replaced."""
        if epoch < self.epoch:
            return False
        self.epoch = epoch
        return True

    # ---- what it says ----

    def take_report(self) -> Report:
        self.is_dirty = False
        return self.machine.outbox.take_report()

    def take_inventory(self) -> Inventory:
        """All that this worker has, for a new connection; earlier reports may have been lost with the old one."""
        self.is_dirty = False
        waiting = self.machine.waiting()
        held = [
            Held(
                pending_range.job,
                pending_range.group,
                pending_range.attempt,
                pending_range.first,
                pending_range.last,
                False,
            )
            for pending_range in waiting
        ]
        held += [
            Held(
                running_range.job, running_range.group, running_range.attempt, index, index, True,
                running_range.started_ms, running_range.job, index, running_range.outcome.ports_of(running_range.job,
                index),
            )
            for running_range in self.machine.running
            for index in range(running_range.first, running_range.last + 1)
        ]  # fmt: skip
        health = [
            each
            for running_range in self.machine.running
            for each in self.machine.health_of(running_range, running_range.started_ms)
        ]
        seq, ended, lost = self.machine.outbox.take_results()
        return Inventory(seq, held, ended, lost, health)

    def machine_stats(self, now: float) -> MachineStats:
        running = self.machine.running_count()
        cpus = max(self.hello.capacity.get("cpu", 1000), 1) / 1000
        memory_bytes = self.hello.capacity.get("memory", 0)
        return MachineStats(
            at_ms=int(now * 1000),
            cpu_busy=min(running / cpus, 1.0),
            load_1m=float(running),
            memory_total_bytes=memory_bytes,
            memory_available_bytes=memory_bytes,
            tasks_running=running,
            keepers=running,
        )

    def task_stats(self, now: float) -> list[TaskStats]:
        return [
            TaskStats(
                running_range.job,
                running_range.group,
                index,
                running_range.attempt,
                max(now - running_range.started_ms / 1000, 0.0),
                0,
                1,
            )
            for running_range in self.machine.running
            for index in range(running_range.first, running_range.last + 1)
        ]

    # ---- steps ----

    def _new_parts(self, order: Order) -> list[tuple[int, int]]:
        """The parts of an order that this worker has not got yet, at this attempt or a later one: it acts once."""
        new_parts = [(order.first, order.last)]
        for held in self.machine.held(order.job, order.group):
            if held.attempt >= order.attempt:
                new_parts = _subtract(new_parts, held.first, held.last)
        for first, last in self.machine.outbox.results(order.job, order.group, order.attempt):
            new_parts = _subtract(new_parts, first, last)
        return new_parts

    def _return(self, runs: list[PendingRange]) -> None:
        for pending_range in runs:
            self.machine.outbox.returned.append(
                Returned(
                    pending_range.job,
                    pending_range.group,
                    pending_range.attempt,
                    pending_range.first,
                    pending_range.last,
                )
            )
            self._mark_dirty()

    def _mark_dirty(self) -> None:
        if not self.is_dirty:
            self.is_dirty = True
            self._fleet.mark_dirty(self)


def _subtract(ranges: list[tuple[int, int]], first: int, last: int) -> list[tuple[int, int]]:
    """The spans with first..last cut out of them."""
    parts = [part for low, high in ranges for part in ((low, min(high, first - 1)), (max(low, last + 1), high))]
    return [(low, high) for low, high in parts if low <= high]
