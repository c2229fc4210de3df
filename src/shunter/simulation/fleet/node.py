"""One simulated worker: it answers every message of the protocol as a real worker does. Driven by
`simulation.fleet.fleet` and by whatever carries its messages; it never waits for anything."""

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
from shunter.simulation.fleet.machine import ANY_ATTEMPT, Ends, Machine, Run
from shunter.simulation.fleet.outcomes import Outcomes

Dropped = Callable[["SimulatedNode", Ended | Lost], None]


class Depot(Ends, Protocol):
    """What the fleet offers its nodes."""

    outcomes: Outcomes

    def dirty(self, node: SimulatedNode) -> None:
        """This node has something to report."""
        ...


class SimulatedNode:
    """A worker's memory: who it is, whom it obeys, and its machine. `dropped` hears of results no longer kept."""

    __slots__ = ("_depot", "dropped", "epoch", "hello", "id", "is_dirty", "machine")

    def __init__(self, hello: Hello, depot: Depot, chance: random.Random) -> None:
        self.hello = hello
        self.id = 0  # given by Welcome
        self.epoch = 0
        self.machine = Machine(depot, chance, self._mark_dirty)
        self.dropped: Dropped | None = None
        self.is_dirty = False
        self._depot = depot

    # ---- what the manager says ----

    def order(self, message: Orders, now: float) -> None:
        if not self.accepts(message.epoch):
            return
        for order in message.orders:
            outcome = self._depot.outcomes.of(message.specs[order.spec])
            lanes = self.machine.reserve(order.reservation, order.width)
            for first, last in self._news(order):
                self.machine.push(lanes, Run(order.job, order.group, first, last, order.attempt, outcome), now)
            self.machine.draw(lanes, now)

    def stop(self, epoch: int, ranges: list[StopRange], now: float) -> None:
        """What has not started is returned; what runs ends within the grace, or sooner by itself. Newer attempts than
        were meant are left alone."""
        if not self.accepts(epoch):
            return
        for wanted in ranges:
            place = wanted.job, wanted.group, wanted.first, wanted.last
            newest = wanted.attempt or ANY_ATTEMPT
            self._return(self.machine.take_back(*place, newest))
            self.machine.signal(place, wanted.grace_s, now, newest)
        self.machine.draw_all(now)

    def recall(self, epoch: int, reservations: list[int]) -> None:
        if not self.accepts(epoch):
            return
        for reservation in reservations:
            self._return(self.machine.take_back_all(reservation))

    def acknowledge(self, seq: int) -> None:
        for result in self.machine.outbox.acknowledge(seq):
            if self.dropped is not None:
                self.dropped(self, result)

    def shut_down(self, now: float) -> None:
        """The cluster stops: every task ends without an exit code; what had not started is given back."""
        for reservation in list(self.machine.lanes):
            self._return(self.machine.take_back_all(reservation))
        for wave in list(self.machine.running):
            self.machine.lose(wave, "the cluster was stopped", now)

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
        held = [Held(run.job, run.group, run.attempt, run.first, run.last, False) for run in waiting]
        held += [
            Held(
                wave.job, wave.group, wave.attempt, index, index, True, wave.started_ms, wave.job, index,
                wave.outcome.ports_of(wave.job, index),
            )
            for wave in self.machine.running
            for index in range(wave.first, wave.last + 1)
        ]  # fmt: skip
        health = [each for wave in self.machine.running for each in self.machine.health_of(wave, wave.started_ms)]
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
            TaskStats(wave.job, wave.group, index, wave.attempt, max(now - wave.started_ms / 1000, 0.0), 0, 1)
            for wave in self.machine.running
            for index in range(wave.first, wave.last + 1)
        ]

    # ---- steps ----

    def _news(self, order: Order) -> list[tuple[int, int]]:
        """The parts of an order that this worker has not got yet, at this attempt or a later one: it acts once."""
        fresh = [(order.first, order.last)]
        for held in self.machine.held(order.job, order.group):
            if held.attempt >= order.attempt:
                fresh = _without(fresh, held.first, held.last)
        for first, last in self.machine.outbox.results(order.job, order.group, order.attempt):
            fresh = _without(fresh, first, last)
        return fresh

    def _return(self, runs: list[Run]) -> None:
        for run in runs:
            self.machine.outbox.returned.append(Returned(run.job, run.group, run.attempt, run.first, run.last))
            self._mark_dirty()

    def _mark_dirty(self) -> None:
        if not self.is_dirty:
            self.is_dirty = True
            self._depot.dirty(self)


def _without(spans: list[tuple[int, int]], first: int, last: int) -> list[tuple[int, int]]:
    """The spans with first..last cut out of them."""
    parts = [part for low, high in spans for part in ((low, min(high, first - 1)), (max(low, last + 1), high))]
    return [(low, high) for low, high in parts if low <= high]
