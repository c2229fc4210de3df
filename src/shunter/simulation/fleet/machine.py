"""A simulated machine with its keepers: tasks wait in lanes, start, end by themselves, are stopped or lost.

Owned by `simulation.fleet.node`, which speaks for it; `simulation.fleet.fleet` owns the time. Tasks that start together
and take equally long are one `Wave`, so that arrays cost little per task."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from shunter.model.protocol.worker_messages import Ended, Health, Lost, Started
from shunter.simulation.fleet.outbox import Outbox
from shunter.simulation.fleet.outcomes import Outcome

STARTED_AFTER_S = 0.005  # tasks that end sooner are reported as ended only
STOP_TAKES_S = 0.05  # how long a task that heeds TERM needs to end
STUBBORN_RATE = 0.1  # tasks that ignore TERM and end when the grace is over
KILL_TAKES_S = 0.01
STUCK_RATE, STUCK_MAX_S = 0.02, 5.0  # processes that the kernel does not let go at once
EXIT_TERM, EXIT_KILL = 143, 137
ANY_ATTEMPT = 2**31

Place = tuple[int, int, int, int]  # job, group, first and last index


@dataclass(slots=True, eq=False)
class Run:
    """Tasks of one order that have not started."""

    job: int
    group: int
    first: int
    last: int
    attempt: int
    outcome: Outcome

    def part(self, first: int, last: int) -> Run:
        return Run(self.job, self.group, first, last, self.attempt, self.outcome)


@dataclass(slots=True, eq=False)
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
    outcome: Outcome
    how: str = ""
    live: bool = True
    is_healthy: bool = False  # its health checks have passed

    @property
    def count(self) -> int:
        return self.last - self.first + 1


class Ends(Protocol):
    """The fleet's one list of future ends."""

    def at(self, when: float, machine: Machine, wave: Wave) -> None: ...


class Observer(Protocol):
    """Told what really happens; the checkers compare it with what the engine believes."""

    def began(self, wave: Wave) -> None: ...

    def over(self, wave: Wave) -> None: ...


class Machine:
    """`news` is called whenever the outbox has something new."""

    __slots__ = ("_chance", "_ends", "_news", "_superseding", "frozen", "lanes", "observer", "outbox", "running")

    def __init__(self, ends: Ends, chance: random.Random, news: Callable[[], None]) -> None:
        self.outbox = Outbox()
        self.lanes: dict[int, Lanes] = {}
        self.running: dict[Wave, None] = {}  # a dict, because a set has no order of its own
        self.frozen: list[Wave] | None = None  # while the machine is paused: what should have ended meanwhile
        self.observer: Observer | None = None
        self._superseding: list[tuple[Lanes, Run]] = []  # newer attempts that wait for older ones to end
        self._ends = ends
        self._chance = chance
        self._news = news

    # ---- what the worker asks ----

    def reserve(self, reservation: int, width: int) -> Lanes:
        lanes = self.lanes.get(reservation)
        if lanes is None:
            lanes = self.lanes[reservation] = Lanes(reservation, width)
        lanes.width = width
        return lanes

    def push(self, lanes: Lanes, run: Run, now: float) -> None:
        """Into the line. What is still here of older attempts is ended first; a first attempt has none."""
        place = run.job, run.group, run.first, run.last
        if run.attempt > 1:
            self.take_back(*place)
        if run.attempt > 1 and self._overlapping(*place):
            self.signal(place, 0.0, now)
            self._superseding.append((lanes, run))
        else:
            lanes.waiting.append(run)

    def draw(self, lanes: Lanes, now: float) -> None:
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

    def draw_all(self, now: float) -> None:
        for lanes in list(self.lanes.values()):
            self.draw(lanes, now)

    def take_back(self, job: int, group: int, first: int, last: int, newest: int = ANY_ATTEMPT) -> list[Run]:
        """Take what has not started of these tasks out of the lines, but for attempts newer than that."""
        taken = []
        for lanes in self.lanes.values():
            kept: deque[Run] = deque()
            for run in lanes.waiting:
                low, high = max(run.first, first), min(run.last, last)
                if run.job != job or run.group != group or low > high or run.attempt > newest:
                    kept.append(run)
                    continue
                taken.append(run.part(low, high))
                kept.extend(
                    run.part(*rest) for rest in ((run.first, low - 1), (high + 1, run.last)) if rest[0] <= rest[1]
                )
            lanes.waiting = kept
        for lanes, run in list(self._superseding):
            is_meant = run.job == job and run.group == group and run.attempt <= newest
            if is_meant and run.first <= last and run.last >= first:
                self._superseding.remove((lanes, run))
                taken.append(run)
        return taken

    def take_back_all(self, reservation: int) -> list[Run]:
        lanes = self.lanes.get(reservation)
        if lanes is None:
            return []
        taken = list(lanes.waiting)
        lanes.waiting.clear()
        if not lanes.busy:
            del self.lanes[reservation]
        return taken

    def signal(self, place: Place, grace_s: float, now: float, newest: int = ANY_ATTEMPT) -> None:
        """End what runs of these tasks within the grace, if it does not end by itself before."""
        _, _, first, last = place
        for wave in self._overlapping(*place):
            if wave.attempt > newest:
                continue
            heeds = self._chance.random() >= STUBBORN_RATE
            takes_s = (min(STOP_TAKES_S, grace_s) if heeds else grace_s) + self._draw_kill_s()
            if wave.how != "stopped" and wave.ends_at > now + takes_s:
                self._split(wave, max(first, wave.first), min(last, wave.last), now + takes_s, heeds)

    def waiting(self) -> list[Run]:
        """What has not started."""
        return [
            *(run for lanes in self.lanes.values() for run in lanes.waiting),
            *(run for _, run in self._superseding),
        ]

    def held(self, job: int, group: int) -> Iterator[Run | Wave]:
        """What waits or runs of a group."""
        for lanes in self.lanes.values():
            for run in lanes.waiting:
                if run.job == job and run.group == group:
                    yield run
        for _, run in self._superseding:
            if run.job == job and run.group == group:
                yield run
        for wave in self.running:
            if wave.job == job and wave.group == group:
                yield wave

    def running_count(self) -> int:
        return sum(wave.count for wave in self.running)

    def is_idle(self) -> bool:
        """Nothing waits, nothing runs, and the manager has every result."""
        return not (self.lanes or self.running or self._superseding or self.outbox.unacknowledged)

    # ---- what befalls it ----

    def finish(self, wave: Wave, now: float) -> None:
        """The time of a wave has come: it ends, or before that its health checks have passed."""
        if self.frozen is not None:
            self.frozen.append(wave)
        elif wave.live and now < wave.ends_at:
            self._tell_health(wave, now)
        elif wave.live:
            self._end(wave)
            self._tell_ended(wave, int(now * 1000))
            self._go_on(wave.lanes, now)

    def lose(self, wave: Wave, reason: str, now: float) -> None:
        """The keepers of these attempts are gone, and with them the exit codes."""
        self._end(wave)
        self.outbox.lost.append(Lost(wave.job, wave.group, wave.attempt, wave.first, wave.last, reason))
        self._news()
        self._go_on(wave.lanes, now)

    def forget_everything(self) -> None:
        """The machine is gone, disks included."""
        for wave in list(self.running):
            self._end(wave)
        self.lanes.clear()
        self._superseding.clear()
        self.outbox = Outbox()

    def freeze(self) -> None:
        """Nothing moves until `thaw`."""
        self.frozen = []

    def thaw(self, now: float) -> None:
        overdue, self.frozen = self.frozen or [], None
        for wave in overdue:
            self.finish(wave, now)

    # ---- starting and ending ----

    def _start(self, lanes: Lanes, run: Run, first: int, last: int, now: float) -> None:
        outcome = run.outcome
        duration_s = outcome.draw_duration_s(self._chance)
        exits = outcome.draw_exits(last - first + 1, self._chance)
        wave = Wave(
            lanes, run.job, run.group, first, last, run.attempt, int(now * 1000), now + duration_s, exits, outcome
        )
        if duration_s <= 0:  # as many as there are, one after another, in no time
            self._start_and_end(wave)
            return
        if 0 < outcome.timeout_s < duration_s:
            wave.how, wave.exits, wave.ends_at = "timeout", [EXIT_KILL] * wave.count, now + outcome.timeout_s
        if 0 < outcome.sick_after_s < wave.ends_at - now:
            wave.how, wave.exits, wave.ends_at = "unhealthy", [EXIT_TERM] * wave.count, now + outcome.sick_after_s
        lanes.busy += wave.count
        self.running[wave] = None
        if self.observer is not None:
            self.observer.began(wave)
        if duration_s > STARTED_AFTER_S:
            self.outbox.started += [
                Started(
                    run.job, run.group, run.attempt, index, wave.started_ms, run.job, index,
                    outcome.ports_of(run.job, index),
                )
                for index in range(first, last + 1)
            ]  # fmt: skip
            self._news()
        self._ends.at(wave.ends_at, self, wave)
        if outcome.well_after_s is not None:
            self._ends.at(now + outcome.well_after_s, self, wave)

    def _start_and_end(self, wave: Wave) -> None:
        wave.live = False
        if self.observer is not None:
            self.observer.began(wave)
            self.observer.over(wave)
        self._tell_ended(wave, wave.started_ms)

    def _go_on(self, lanes: Lanes, now: float) -> None:
        """After an end: the next in line, and newer attempts that waited for it."""
        if self._superseding:
            waiting, self._superseding = self._superseding, []
            for lanes_of_run, run in waiting:
                self.push(self.reserve(lanes_of_run.reservation, lanes_of_run.width), run, now)
            self.draw_all(now)
        self.draw(lanes, now)

    def _end(self, wave: Wave) -> None:
        wave.live = False
        wave.lanes.busy -= wave.count
        del self.running[wave]
        if self.observer is not None:
            self.observer.over(wave)

    def _tell_ended(self, wave: Wave, ended_ms: int) -> None:
        """One run for plain exits; anything else is told task by task. A log's place is the task's own name."""
        spans = (
            [(wave.first, wave.count)] if not wave.how else [(index, 1) for index in range(wave.first, wave.last + 1)]
        )
        for first, count in spans:
            exits = wave.exits if not wave.how else wave.exits[:1]
            times = [wave.started_ms] * count, [ended_ms] * count
            self.outbox.ended.append(
                Ended(wave.job, wave.group, wave.attempt, first, exits, *times, wave.job, first, wave.how)
            )
        self._news()

    def _tell_health(self, wave: Wave, now: float) -> None:
        wave.is_healthy = True
        self.outbox.health += self.health_of(wave, int(now * 1000))
        self._news()

    def health_of(self, wave: Wave, at_ms: int) -> list[Health]:
        """What its checks say of each of its tasks."""
        return [
            Health(wave.job, wave.group, wave.attempt, index, True, at_ms)
            for index in range(wave.first, wave.last + 1)
            if wave.is_healthy
        ]

    def _draw_kill_s(self) -> float:
        return self._chance.uniform(0, STUCK_MAX_S) if self._chance.random() < STUCK_RATE else KILL_TAKES_S

    def _split(self, wave: Wave, first: int, last: int, ends_at: float, heeds: bool) -> None:
        """first..last of the wave end sooner, the others when they would have."""
        del self.running[wave]
        wave.live = False
        for low, high in ((wave.first, first - 1), (first, last), (last + 1, wave.last)):
            if low > high:
                continue
            exits = wave.exits[low - wave.first : high - wave.first + 1]
            part = Wave(
                wave.lanes,
                wave.job,
                wave.group,
                low,
                high,
                wave.attempt,
                wave.started_ms,
                wave.ends_at,
                exits,
                wave.outcome,
                wave.how,
                is_healthy=wave.is_healthy,
            )
            if low == first:
                part.ends_at, part.how = ends_at, "stopped"
                part.exits = [EXIT_TERM if heeds else EXIT_KILL] * part.count
            self.running[part] = None
            self._ends.at(part.ends_at, self, part)
            if part.outcome.well_after_s is not None and not part.is_healthy:
                self._ends.at(part.started_ms / 1000 + part.outcome.well_after_s, self, part)

    def _overlapping(self, job: int, group: int, first: int, last: int) -> list[Wave]:
        """What runs of these tasks, whatever its attempt."""
        return [
            wave
            for wave in self.running
            if wave.job == job and wave.group == group and wave.first <= last and wave.last >= first
        ]
