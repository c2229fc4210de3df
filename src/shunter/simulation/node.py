"""One simulated worker with its machine: it answers every message of the protocol as a real worker does, but a task is
only an entry in a list of future ends. Driven by `simulation.fleet`, which owns the time; it never waits for anything.

Tasks that start together and take equally long are one `Wave`, so that arrays cost little per task.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from shunter.model.messages import (
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
    Started,
    StopRange,
    TaskStats,
)
from shunter.simulation.outbox import Outbox
from shunter.simulation.outcomes import Outcome, Outcomes

STARTED_AFTER_S = 0.005  # tasks that end sooner are reported as ended only
STOP_TAKES_S = 0.05  # how long a task that heeds TERM needs to end
STUBBORN_RATE = 0.1  # tasks that ignore TERM and end when the grace is over
EXIT_TERM, EXIT_KILL = 143, 137


class Timers(Protocol):
    """The fleet's one list of future ends."""

    def at(self, when: float, node: SimulatedNode, wave: Wave) -> None: ...

    def dirty(self, node: SimulatedNode) -> None:
        """This node has something to report."""
        ...


class Observer(Protocol):
    """Told what really happens on the machines; the checkers compare it with what the engine believes."""

    def began(self, node: SimulatedNode, wave: Wave) -> None: ...

    def over(self, node: SimulatedNode, wave: Wave) -> None: ...

    def dropped(self, node: SimulatedNode, result: Ended | Lost) -> None:
        """The manager acknowledged it, so it is kept no longer."""
        ...


@dataclass(slots=True)
class Run:
    """Tasks of one order that have not started."""

    job: int
    group: int
    first: int
    last: int
    attempt: int
    outcome: Outcome


@dataclass(slots=True)
class Lanes:
    """One reservation: `width` tasks at once, the rest in a line."""

    reservation: int
    width: int
    busy: int = 0
    waiting: deque[Run] = field(default_factory=deque)


@dataclass(slots=True, eq=False)
class Wave:
    """Attempts first..last that started together and will end together. `live` turns false when they are over."""

    lanes: Lanes
    job: int
    group: int
    first: int
    last: int
    attempt: int
    started_ms: int
    ends_at: float
    exits: list[int]
    how: str = ""
    live: bool = True

    @property
    def count(self) -> int:
        return self.last - self.first + 1


class SimulatedNode:
    """A worker's memory: what waits, what runs, and results that the manager has not acknowledged."""

    __slots__ = (
        "_chance", "_outcomes", "_timers",
        "epoch", "frozen", "hello", "id", "is_dirty", "lanes", "observer", "outbox", "running",
    )  # fmt: skip

    def __init__(self, hello: Hello, timers: Timers, outcomes: Outcomes, chance: random.Random) -> None:
        self.hello = hello
        self.id = 0  # given by Welcome
        self.epoch = 0
        self.lanes: dict[int, Lanes] = {}
        self.running: dict[Wave, None] = {}  # a dict, because a set has no order of its own
        self.outbox = Outbox()
        self.frozen: list[Wave] | None = None  # while the machine is paused: what should have ended meanwhile
        self.observer: Observer | None = None
        self.is_dirty = False
        self._timers = timers
        self._outcomes = outcomes
        self._chance = chance

    # ---- what the manager says ----

    def order(self, message: Orders, now: float) -> None:
        if not self.accepts(message.epoch):
            return
        for order in message.orders:
            outcome = self._outcomes.of(message.specs[order.spec])
            lanes = self.lanes.get(order.reservation)
            if lanes is None:
                lanes = self.lanes[order.reservation] = Lanes(order.reservation, order.width)
            lanes.width = order.width
            for first, last in self._not_yet_known(order):
                lanes.waiting.append(Run(order.job, order.group, first, last, order.attempt, outcome))
            self._draw(lanes, now)

    def stop(self, epoch: int, ranges: list[StopRange], now: float) -> None:
        """What has not started is returned; what runs ends within the grace, or sooner by itself."""
        if not self.accepts(epoch):
            return
        for wanted in ranges:
            for lanes in list(self.lanes.values()):
                self._give_back(lanes, wanted)
            for wave in list(self.running):
                if (wave.job, wave.group) == (wanted.job, wanted.group):
                    self._stop_part(wave, wanted, now)
            for lanes in list(self.lanes.values()):
                self._draw(lanes, now)

    def recall(self, epoch: int, reservations: list[int]) -> None:
        if not self.accepts(epoch):
            return
        for reservation in reservations:
            lanes = self.lanes.get(reservation)
            if lanes is not None:
                self._return_all(lanes)

    def acknowledge(self, seq: int) -> None:
        for result in self.outbox.acknowledge(seq):
            if self.observer is not None:
                self.observer.dropped(self, result)

    def accepts(self, epoch: int) -> bool:
        """An older epoch than the newest seen is refused: its leader was replaced."""
        if epoch < self.epoch:
            return False
        self.epoch = epoch
        return True

    # ---- what the machine does ----

    def finish(self, wave: Wave, now: float) -> None:
        """The time of a wave has come."""
        if not wave.live:
            return
        self._end(wave)
        self._tell_ended(wave, int(now * 1000))
        self._draw(wave.lanes, now)

    def lose(self, wave: Wave, reason: str, now: float) -> None:
        """The keepers of these attempts are gone, and with them the exit codes."""
        self._end(wave)
        self.outbox.lost.append(Lost(wave.job, wave.group, wave.attempt, wave.first, wave.last, reason))
        self._mark_dirty()
        self._draw(wave.lanes, now)

    def lose_all(self, reason: str, now: float) -> None:
        """Every task ends without an exit code; what had not started is given back."""
        for lanes in list(self.lanes.values()):
            self._return_all(lanes)
        for wave in list(self.running):
            self.lose(wave, reason, now)

    def freeze(self) -> None:
        """Nothing moves until `thaw`."""
        self.frozen = []

    def thaw(self, now: float) -> None:
        overdue, self.frozen = self.frozen or [], None
        for wave in overdue:
            self.finish(wave, now)

    def forget_everything(self) -> None:
        """The machine is gone, disks included."""
        for wave in list(self.running):
            self._end(wave)
        self.lanes.clear()
        self.outbox = Outbox()

    # ---- what the worker says ----

    def take_report(self) -> Report:
        self.is_dirty = False
        return self.outbox.take_report()

    def take_inventory(self) -> Inventory:
        """All that this worker has, for a new connection; earlier reports may have been lost with the old one."""
        self.is_dirty = False
        held = [
            Held(run.job, run.group, run.attempt, run.first, run.last, False)
            for lanes in self.lanes.values()
            for run in lanes.waiting
        ]
        held += [
            Held(wave.job, wave.group, wave.attempt, index, index, True, wave.started_ms, wave.job, index)
            for wave in self.running
            for index in range(wave.first, wave.last + 1)
        ]
        seq, ended, lost = self.outbox.take_results()
        return Inventory(seq, held, ended, lost)

    def machine_stats(self, now: float) -> MachineStats:
        running = self.running_count()
        cpus = max(self.hello.capacity.get("cpu", 1000), 1) / 1000
        return MachineStats(
            at_ms=int(now * 1000),
            cpu_busy=min(running / cpus, 1.0),
            load_1m=float(running),
            memory_total_bytes=self.hello.capacity.get("memory", 0),
            memory_available_bytes=self.hello.capacity.get("memory", 0),
            tasks_running=running,
            keepers=running,
        )

    def task_stats(self, now: float) -> list[TaskStats]:
        return [
            TaskStats(wave.job, wave.group, index, wave.attempt, max(now - wave.started_ms / 1000, 0.0), 0, 1)
            for wave in self.running
            for index in range(wave.first, wave.last + 1)
        ]

    def running_count(self) -> int:
        return sum(wave.count for wave in self.running)

    # ---- starting and ending ----

    def _draw(self, lanes: Lanes, now: float) -> None:
        """Start what the free lanes can take."""
        while lanes.waiting and lanes.busy < lanes.width:
            run = lanes.waiting[0]
            count = run.last - run.first + 1
            if run.outcome.duration_s is None:
                count = 1
            elif run.outcome.duration_s > 0:
                count = min(count, lanes.width - lanes.busy)
            if run.first + count > run.last:
                lanes.waiting.popleft()
            self._start(lanes, run, run.first, run.first + count - 1, now)
            run.first += count
        if not lanes.waiting and not lanes.busy:
            self.lanes.pop(lanes.reservation, None)

    def _start(self, lanes: Lanes, run: Run, first: int, last: int, now: float) -> None:
        outcome = run.outcome
        duration_s = outcome.draw_duration_s(self._chance)
        exits = outcome.draw_exits(last - first + 1, self._chance)
        wave = Wave(lanes, run.job, run.group, first, last, run.attempt, int(now * 1000), now + duration_s, exits)
        if 0 < outcome.timeout_s < duration_s:
            wave.how, wave.exits, wave.ends_at = "timeout", [EXIT_KILL] * wave.count, now + outcome.timeout_s
        if duration_s <= 0:  # as many as there are, one after another, in no time
            wave.live = False
            if self.observer is not None:
                self.observer.began(self, wave)
                self.observer.over(self, wave)
            self._tell_ended(wave, wave.started_ms)
            return
        lanes.busy += wave.count
        self.running[wave] = None
        if self.observer is not None:
            self.observer.began(self, wave)
        if duration_s > STARTED_AFTER_S:
            for index in range(first, last + 1):
                self.outbox.started.append(
                    Started(run.job, run.group, run.attempt, index, wave.started_ms, run.job, index)
                )
            self._mark_dirty()
        self._timers.at(wave.ends_at, self, wave)

    def _end(self, wave: Wave) -> None:
        wave.live = False
        wave.lanes.busy -= wave.count
        del self.running[wave]
        if self.observer is not None:
            self.observer.over(self, wave)

    def _tell_ended(self, wave: Wave, ended_ms: int) -> None:
        """One run for plain exits; anything else is told task by task."""
        times = [(wave.first, wave.count)] if not wave.how else [(i, 1) for i in range(wave.first, wave.last + 1)]
        for first, count in times:
            exits = wave.exits if not wave.how else wave.exits[:1]
            started = [wave.started_ms] * count
            ended = [ended_ms] * count
            self.outbox.ended.append(
                Ended(wave.job, wave.group, wave.attempt, first, exits, started, ended, wave.job, first, wave.how)
            )
        self._mark_dirty()

    def _stop_part(self, wave: Wave, wanted: StopRange, now: float) -> None:
        """Split the wave into what goes on and what is being stopped."""
        first, last = max(wave.first, wanted.first), min(wave.last, wanted.last)
        if first > last or wave.how == "stopped":
            return
        heeds = self._chance.random() >= STUBBORN_RATE
        takes_s = min(STOP_TAKES_S, wanted.grace_s) if heeds else wanted.grace_s
        if wave.ends_at <= now + takes_s:
            return  # it ends by itself before the signal does
        del self.running[wave]
        wave.live = False
        for part_first, part_last in ((wave.first, first - 1), (first, last), (last + 1, wave.last)):
            if part_first > part_last:
                continue
            exits = wave.exits[part_first - wave.first : part_last - wave.first + 1]
            part = Wave(
                wave.lanes, wave.job, wave.group, part_first, part_last, wave.attempt,
                wave.started_ms, wave.ends_at, exits, wave.how,
            )  # fmt: skip
            if part_first == first:
                part.ends_at, part.how = now + takes_s, "stopped"
                part.exits = [EXIT_TERM if heeds else EXIT_KILL] * part.count
            self.running[part] = None
            self._timers.at(part.ends_at, self, part)

    # ---- giving back what has not started ----

    def _give_back(self, lanes: Lanes, wanted: StopRange) -> None:
        kept: deque[Run] = deque()
        for run in lanes.waiting:
            first, last = max(run.first, wanted.first), min(run.last, wanted.last)
            if (run.job, run.group) != (wanted.job, wanted.group) or first > last:
                kept.append(run)
                continue
            self.outbox.returned.append(Returned(run.job, run.group, run.attempt, first, last))
            self._mark_dirty()
            if run.first < first:
                kept.append(Run(run.job, run.group, run.first, first - 1, run.attempt, run.outcome))
            if last < run.last:
                kept.append(Run(run.job, run.group, last + 1, run.last, run.attempt, run.outcome))
        lanes.waiting = kept

    def _return_all(self, lanes: Lanes) -> None:
        for run in lanes.waiting:
            self.outbox.returned.append(Returned(run.job, run.group, run.attempt, run.first, run.last))
            self._mark_dirty()
        lanes.waiting.clear()
        if not lanes.busy:
            self.lanes.pop(lanes.reservation, None)

    # ---- memory ----

    def _not_yet_known(self, order: Order) -> list[tuple[int, int]]:
        """The parts of an order that this worker has neither in hand nor as a result: it acts once on each attempt."""
        fresh = [(order.first, order.last)]
        for first, last in self._known(order.job, order.group, order.attempt):
            parts = [part for low, high in fresh for part in ((low, min(high, first - 1)), (max(low, last + 1), high))]
            fresh = [(low, high) for low, high in parts if low <= high]
        return fresh

    def _known(self, job: int, group: int, attempt: int) -> Iterator[tuple[int, int]]:
        yield from self.held(job, group, attempt)
        yield from self.outbox.results(job, group, attempt)

    def held(self, job: int, group: int, attempt: int) -> Iterator[tuple[int, int]]:
        """Runs of this attempt that wait or run here, as first and last."""
        for lanes in self.lanes.values():
            for run in lanes.waiting:
                if run.job == job and run.group == group and run.attempt == attempt:
                    yield run.first, run.last
        for wave in self.running:
            if wave.job == job and wave.group == group and wave.attempt == attempt:
                yield wave.first, wave.last

    def _mark_dirty(self) -> None:
        if not self.is_dirty:
            self.is_dirty = True
            self._timers.dirty(self)
