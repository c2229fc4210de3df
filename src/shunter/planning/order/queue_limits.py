"""What keeps classes back whatever room there is: paused and full queues, strict ones, licences.

Made by the planner for each decision.

In a strict queue whoever came first goes first: if it cannot be placed, all behind it wait. Nobody there is more urgent
than those ahead of it, since it cannot start before them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from shunter.planning.order.class_table import Seat, Seats
from shunter.planning.score.gangs import gang_of
from shunter.planning.view import BoolArray, IntArray, QueueRules


class Gates:
    """How many tasks of a class may still start, and who has to wait for its turn in a strict queue."""

    def __init__(self, seats: Seats, queues: Mapping[str, QueueRules], licences: Mapping[str, tuple[int, int]]) -> None:
        self._seats = seats
        self._queues = {name: rules for name, rules in queues.items() if rules != QueueRules(running=rules.running)}
        self._room = {
            name: 0 if rules.is_paused else max(0, rules.running_max - rules.running)
            for name, rules in self._queues.items()
            if rules.is_paused or rules.running_max
        }
        self._totals = {name: total for name, (total, _) in licences.items()}
        self._licences = {name: max(0, total - used) for name, (total, used) in licences.items()}

    def most(self, seat: Seat, count: int) -> int:
        """How many of `count` tasks its queue and its licences let through; both may be in debt, since limits can be
        lowered below what is in use."""
        if seat.task_class.queue in self._room:
            count = min(count, self._room[seat.task_class.queue])
        for name, need in seat.licences:
            count = min(count, self._licences[name] // need)
        return max(count, 0)

    def place(self, seat: Seat, count: int) -> None:
        if seat.task_class.queue in self._room:
            self._room[seat.task_class.queue] -= count
        for name, need in seat.licences:
            self._licences[name] -= need * count

    def limits(self, seat: Seat) -> bool:
        """Whether its queue or a licence may keep it back."""
        return bool(seat.licences) or seat.task_class.queue in self._room

    def shared(self, seat: Seat, other: Seat) -> str:
        """What of it one of them takes is missing to the other: a limited queue, or a licence; empty if nothing is."""
        if seat.task_class.queue in self._room and seat.task_class.queue == other.task_class.queue:
            return f"queue {seat.task_class.queue}"
        names = {name for name, _ in other.licences}
        return next((name for name, _ in seat.licences if name in names), "")

    def admit(self, wanted: Sequence[tuple[Seat, int]]) -> bool:
        """Whether queues and licences let all of these through together."""
        admitted: list[tuple[Seat, int]] = []
        for seat, count in wanted:
            if self.most(seat, count) < count:
                break
            self.place(seat, count)
            admitted.append((seat, count))
        for seat, count in admitted:
            self.place(seat, -count)
        return len(admitted) == len(wanted)

    def admits_ever(self, wanted: Sequence[tuple[Seat, int]]) -> bool:
        """Whether they would, if nothing else of these queues and licences were in use."""
        return Gates(
            self._seats,
            {name: replace(rules, running=0) for name, rules in self._queues.items()},
            {name: (total, 0) for name, total in self._totals.items()},
        ).admit(wanted)

    def short(self) -> list[Seat]:
        """Those who may need more at once than is left, while others could take what is left one by one."""
        seats = self._seats
        if not self._room and not self._licences:
            return []
        left = np.array([max(self._licences[name], 0) for name in seats.licences], np.int64)
        lacks: BoolArray = np.asarray(((seats.licence_needs > left) & (left > 0)).any(axis=1))
        for number in seats.coupled:
            seat = seats.seat(number)
            if gang_of(seat.task_class) and (seat.licences or self._room.get(seat.task_class.queue, 0) > 0):
                lacks[number] = True
        return [seats.seat(number) for number in np.flatnonzero(lacks & (seats.counts > 0)).tolist()]

    def open(self, ready: BoolArray) -> BoolArray:
        """Of the seats that are ready, those that no queue and no licence keeps back."""
        seats = self._seats
        for name, room in self._room.items():
            if room <= 0:
                ready = ready & (seats.queue != seats.queue_number(name))
        if self._licences:
            left = np.array([max(self._licences[name], 0) for name in seats.licences], np.int64)
            ready = ready & (seats.licence_needs <= left).all(axis=1)
        return ready

    def loose(self, ready: BoolArray) -> BoolArray:
        """Of the seats that are ready, those in no strict queue."""
        strict = [self._seats.queue_number(name) for name, rules in self._queues.items() if rules.is_strict]
        return ready & ~np.isin(self._seats.queue, strict)

    def strict_lines(self, ready: BoolArray) -> list[IntArray]:
        """For each strict queue: the seats in it that may go, in their order, as far as nobody ahead has to wait."""
        lines = []
        for name, rules in self._queues.items():
            if rules.is_strict:
                members = np.flatnonzero(
                    (self._seats.queue == self._seats.queue_number(name)) & (self._seats.counts > 0)
                )
                members = members[np.lexsort((self._seats.ids[members], self._seats.since[members]))]
                stuck = np.flatnonzero(~ready[members])
                lines.append(members[: stuck[0]] if len(stuck) else members)
        return lines
