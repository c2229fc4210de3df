"""A simulated machine with its keepers: tasks wait in lanes, start, end, are stopped or lost.

Owned by `simulation.fleet.node`, which sends its messages; `simulation.fleet.fleet` owns the time. Tasks that start
together and run equally long are one `RunningRange`, so that arrays cost little per task."""

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
STOP_DURATION_S = 0.05  # how long a task that heeds TERM needs to end
IGNORES_TERM_RATE = 0.1  # tasks that ignore TERM and end when the grace is over
KILL_DURATION_S = 0.01
STUCK_RATE, STUCK_MAX_S = 0.02, 5.0  # processes that the kernel does not let go at once
EXIT_TERM, EXIT_KILL = 143, 137
ANY_ATTEMPT = 2**31

RangeBounds = tuple[int, int, int, int]  # job, group, first and last index


@dataclass(slots=True, eq=False)
class PendingRange:
    """Tasks of one order that have not started."""

    job: int
    group: int
    first: int
    last: int
    attempt: int
    outcome: Outcome

    def part(self, first: int, last: int) -> PendingRange:
        return PendingRange(self.job, self.group, first, last, self.attempt, self.outcome)

    def overlaps(self, job: int, group: int, first: int, last: int, attempt_max: int) -> bool:
        is_same_group = self.job == job and self.group == group
        return is_same_group and self.attempt <= attempt_max and self.first <= last and self.last >= first


@dataclass(slots=True, eq=False)
class Lanes:
    """One reservation: `width` tasks at once, the rest in a line."""

    reservation: int
    width: int
    busy: int = 0
    waiting: deque[PendingRange] = field(default_factory=deque)


@dataclass(slots=True, eq=False)
class RunningRange:
    """Attempts first..last that started together and will end together. `is_live` turns false when they are over."""

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
    is_live: bool = True
    is_healthy: bool = False  # its health checks have passed

    @property
    def count(self) -> int:
        return self.last - self.first + 1


class EndScheduler(Protocol):
    """The fleet's one list of future ends."""

    def schedule_end(self, at_s: float, machine: Machine, running_range: RunningRange) -> None: ...


class Observer(Protocol):
    """Receives what really happens; the checkers compare it with the engine's state."""

    def on_started(self, running_range: RunningRange) -> None: ...

    def on_ended(self, running_range: RunningRange) -> None: ...


class Machine:
    """`on_outbox_changed` is called whenever the outbox has something new."""

    __slots__ = (
        "_end_scheduler",
        "_on_outbox_changed",
        "_rng",
        "_superseding",
        "frozen",
        "lanes",
        "observer",
        "outbox",
        "running",
    )

    def __init__(self, end_scheduler: EndScheduler, rng: random.Random, on_outbox_changed: Callable[[], None]) -> None:
        self.outbox = Outbox()
        self.lanes: dict[int, Lanes] = {}
        self.running: dict[RunningRange, None] = {}  # a dict, because a set has no order of its own
        self.frozen: list[RunningRange] | None = None  # while the machine is paused: what should have ended meanwhile
        self.observer: Observer | None = None
        self._superseding: list[tuple[Lanes, PendingRange]] = []  # newer attempts that wait for older ones to end
        self._end_scheduler = end_scheduler
        self._rng = rng
        self._on_outbox_changed = on_outbox_changed

    # ---- what the worker asks ----

    def reserve(self, reservation: int, width: int) -> Lanes:
        lanes = self.lanes.get(reservation)
        if lanes is None:
            lanes = self.lanes[reservation] = Lanes(reservation, width)
        lanes.width = width
        return lanes

    def enqueue(self, lanes: Lanes, pending_range: PendingRange, now: float) -> None:
        """Into the line. What is still here of older attempts is ended first; a first attempt has none."""
        bounds = pending_range.job, pending_range.group, pending_range.first, pending_range.last
        if pending_range.attempt > 1:
            self.reclaim(*bounds)
        if pending_range.attempt > 1 and self._overlapping(*bounds):
            self.signal(bounds, 0.0, now)
            self._superseding.append((lanes, pending_range))
        else:
            lanes.waiting.append(pending_range)

    def start_waiting(self, lanes: Lanes, now: float) -> None:
        """Start what the free lanes can take."""
        while lanes.waiting and lanes.busy < lanes.width:
            pending_range = lanes.waiting[0]
            count = pending_range.last - pending_range.first + 1
            if pending_range.outcome.duration_s is None:
                count = 1
            elif pending_range.outcome.duration_s > 0:
                count = min(count, lanes.width - lanes.busy)
            if pending_range.first + count > pending_range.last:
                lanes.waiting.popleft()
            self._start(lanes, pending_range, pending_range.first, pending_range.first + count - 1, now)
            pending_range.first += count
        if not lanes.waiting and not lanes.busy:
            self.lanes.pop(lanes.reservation, None)

    def start_all_waiting(self, now: float) -> None:
        for lanes in list(self.lanes.values()):
            self.start_waiting(lanes, now)

    def reclaim(
        self, job: int, group: int, first: int, last: int, attempt_max: int = ANY_ATTEMPT
    ) -> list[PendingRange]:
        """Take what has not started of these tasks out of the lines, but for attempts newer than that."""
        reclaimed = []
        for lanes in self.lanes.values():
            remaining: deque[PendingRange] = deque()
            for pending_range in lanes.waiting:
                if not pending_range.overlaps(job, group, first, last, attempt_max):
                    remaining.append(pending_range)
                    continue
                low, high = max(pending_range.first, first), min(pending_range.last, last)
                reclaimed.append(pending_range.part(low, high))
                remaining.extend(
                    pending_range.part(*rest)
                    for rest in ((pending_range.first, low - 1), (high + 1, pending_range.last))
                    if rest[0] <= rest[1]
                )
            lanes.waiting = remaining
        for lanes, pending_range in list(self._superseding):
            if pending_range.overlaps(job, group, first, last, attempt_max):
                self._superseding.remove((lanes, pending_range))
                reclaimed.append(pending_range)
        return reclaimed

    def reclaim_reservation(self, reservation: int) -> list[PendingRange]:
        lanes = self.lanes.get(reservation)
        if lanes is None:
            return []
        reclaimed = list(lanes.waiting)
        lanes.waiting.clear()
        if not lanes.busy:
            del self.lanes[reservation]
        return reclaimed

    def signal(self, bounds: RangeBounds, grace_s: float, now: float, attempt_max: int = ANY_ATTEMPT) -> None:
        """End what runs of these tasks within the grace, if it does not end by itself before."""
        _, _, first, last = bounds
        for running_range in self._overlapping(*bounds):
            if running_range.attempt > attempt_max:
                continue
            obeys_term = self._rng.random() >= IGNORES_TERM_RATE
            stop_s = (min(STOP_DURATION_S, grace_s) if obeys_term else grace_s) + self._draw_kill_s()
            if running_range.how != "stopped" and running_range.ends_at > now + stop_s:
                self._split(
                    running_range,
                    max(first, running_range.first),
                    min(last, running_range.last),
                    now + stop_s,
                    obeys_term,
                )

    def waiting(self) -> list[PendingRange]:
        """What has not started."""
        return [
            *(pending_range for lanes in self.lanes.values() for pending_range in lanes.waiting),
            *(pending_range for _, pending_range in self._superseding),
        ]

    def held(self, job: int, group: int) -> Iterator[PendingRange | RunningRange]:
        """What waits or runs of a group."""
        for lanes in self.lanes.values():
            for pending_range in lanes.waiting:
                if pending_range.job == job and pending_range.group == group:
                    yield pending_range
        for _, pending_range in self._superseding:
            if pending_range.job == job and pending_range.group == group:
                yield pending_range
        for running_range in self.running:
            if running_range.job == job and running_range.group == group:
                yield running_range

    def running_count(self) -> int:
        return sum(running_range.count for running_range in self.running)

    def is_idle(self) -> bool:
        """Nothing waits, nothing runs, and the manager has every result."""
        return not (self.lanes or self.running or self._superseding or self.outbox.unacknowledged)

    # ---- what befalls it ----

    def finish(self, running_range: RunningRange, now: float) -> None:
        """The time of a wave has come: it ends, or before that its health checks have passed."""
        if self.frozen is not None:
            self.frozen.append(running_range)
        elif running_range.is_live and now < running_range.ends_at:
            self._report_health(running_range, now)
        elif running_range.is_live:
            self._end(running_range)
            self._report_ended(running_range, int(now * 1000))
            self._start_next(running_range.lanes, now)

    def mark_lost(self, running_range: RunningRange, reason: str, now: float, with_keeper: str = "") -> None:
        """The keepers of these attempts are gone, and with them the exit codes."""
        self._end(running_range)
        self.outbox.lost.append(
            Lost(
                running_range.job,
                running_range.group,
                running_range.attempt,
                running_range.first,
                running_range.last,
                reason,
                with_keeper,
            )
        )
        self._on_outbox_changed()
        self._start_next(running_range.lanes, now)

    def wipe(self) -> None:
        """The machine is gone, disks included."""
        for running_range in list(self.running):
            self._end(running_range)
        self.lanes.clear()
        self._superseding.clear()
        self.outbox = Outbox()

    def freeze(self) -> None:
        """Nothing moves until `thaw`."""
        self.frozen = []

    def thaw(self, now: float) -> None:
        overdue, self.frozen = self.frozen or [], None
        for running_range in overdue:
            self.finish(running_range, now)

    # ---- starting and ending ----

    def _start(self, lanes: Lanes, pending_range: PendingRange, first: int, last: int, now: float) -> None:
        outcome = pending_range.outcome
        duration_s = outcome.draw_duration_s(self._rng)
        exits = outcome.draw_exits(last - first + 1, self._rng)
        running_range = RunningRange(
            lanes,
            pending_range.job,
            pending_range.group,
            first,
            last,
            pending_range.attempt,
            int(now * 1000),
            now + duration_s,
            exits,
            outcome,
        )
        if duration_s <= 0:  # as many as there are, one after another, in no time
            self._start_and_end(running_range)
            return
        if 0 < outcome.timeout_s < duration_s:
            running_range.how, running_range.exits, running_range.ends_at = (
                "timeout",
                [EXIT_KILL] * running_range.count,
                now + outcome.timeout_s,
            )
        if 0 < outcome.unhealthy_after_s < running_range.ends_at - now:
            running_range.how, running_range.exits, running_range.ends_at = (
                "unhealthy",
                [EXIT_TERM] * running_range.count,
                now + outcome.unhealthy_after_s,
            )
        lanes.busy += running_range.count
        self.running[running_range] = None
        if self.observer is not None:
            self.observer.on_started(running_range)
        if duration_s > STARTED_AFTER_S:
            self.outbox.started += [
                Started(
                    pending_range.job, pending_range.group, pending_range.attempt, index, running_range.started_ms,
                    pending_range.job, index, outcome.ports_of(pending_range.job, index),
                )
                for index in range(first, last + 1)
            ]  # fmt: skip
            self._on_outbox_changed()
        self._end_scheduler.schedule_end(running_range.ends_at, self, running_range)
        if outcome.healthy_after_s is not None:
            self._end_scheduler.schedule_end(now + outcome.healthy_after_s, self, running_range)

    def _start_and_end(self, running_range: RunningRange) -> None:
        running_range.is_live = False
        if self.observer is not None:
            self.observer.on_started(running_range)
            self.observer.on_ended(running_range)
        self._report_ended(running_range, running_range.started_ms)

    def _start_next(self, lanes: Lanes, now: float) -> None:
        """After an end: the next in line, and newer attempts that waited for it."""
        if self._superseding:
            waiting, self._superseding = self._superseding, []
            for lanes_of_range, pending_range in waiting:
                self.enqueue(self.reserve(lanes_of_range.reservation, lanes_of_range.width), pending_range, now)
            self.start_all_waiting(now)
        self.start_waiting(lanes, now)

    def _end(self, running_range: RunningRange) -> None:
        running_range.is_live = False
        running_range.lanes.busy -= running_range.count
        del self.running[running_range]
        if self.observer is not None:
            self.observer.on_ended(running_range)

    def _report_ended(self, running_range: RunningRange, ended_ms: int) -> None:
        """One range for plain exits; anything else is reported task by task. A log's position is the task's own
        name."""
        ranges = (
            [(running_range.first, running_range.count)]
            if not running_range.how
            else [(index, 1) for index in range(running_range.first, running_range.last + 1)]
        )
        for first, count in ranges:
            exits = running_range.exits if not running_range.how else running_range.exits[:1]
            times = [running_range.started_ms] * count, [ended_ms] * count
            self.outbox.ended.append(
                Ended(
                    running_range.job,
                    running_range.group,
                    running_range.attempt,
                    first,
                    exits,
                    *times,
                    running_range.job,
                    first,
                    running_range.how,
                )
            )
        self._on_outbox_changed()

    def _report_health(self, running_range: RunningRange, now: float) -> None:
        running_range.is_healthy = True
        self.outbox.health += self.health_of(running_range, int(now * 1000))
        self._on_outbox_changed()

    def health_of(self, running_range: RunningRange, at_ms: int) -> list[Health]:
        """The result of its checks for each of its tasks."""
        return [
            Health(running_range.job, running_range.group, running_range.attempt, index, True, at_ms)
            for index in range(running_range.first, running_range.last + 1)
            if running_range.is_healthy
        ]

    def _draw_kill_s(self) -> float:
        return self._rng.uniform(0, STUCK_MAX_S) if self._rng.random() < STUCK_RATE else KILL_DURATION_S

    def _split(self, running_range: RunningRange, first: int, last: int, ends_at: float, obeys_term: bool) -> None:
        """first..last of the wave end sooner, the others when they would have."""
        del self.running[running_range]
        running_range.is_live = False
        for low, high in ((running_range.first, first - 1), (first, last), (last + 1, running_range.last)):
            if low > high:
                continue
            exits = running_range.exits[low - running_range.first : high - running_range.first + 1]
            part = RunningRange(
                running_range.lanes,
                running_range.job,
                running_range.group,
                low,
                high,
                running_range.attempt,
                running_range.started_ms,
                running_range.ends_at,
                exits,
                running_range.outcome,
                running_range.how,
                is_healthy=running_range.is_healthy,
            )
            if low == first:
                part.ends_at, part.how = ends_at, "stopped"
                part.exits = [EXIT_TERM if obeys_term else EXIT_KILL] * part.count
            self.running[part] = None
            self._end_scheduler.schedule_end(part.ends_at, self, part)
            if part.outcome.healthy_after_s is not None and not part.is_healthy:
                self._end_scheduler.schedule_end(part.started_ms / 1000 + part.outcome.healthy_after_s, self, part)

    def _overlapping(self, job: int, group: int, first: int, last: int) -> list[RunningRange]:
        """The running ones of these tasks, at any attempt."""
        return [
            running_range
            for running_range in self.running
            if running_range.job == job
            and running_range.group == group
            and running_range.first <= last
            and running_range.last >= first
        ]
