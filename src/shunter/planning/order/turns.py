"""Whose turn it is, and for how many tasks: the order stage at work. Made by the planner for each decision.

Ranks go one after the other. Within a rank, namespaces take turns by their share, in a namespace its users by theirs,
and a user's classes go by their wait. A turn lasts until somebody else's would come: the quantum that keeps the order
true.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from shunter.planning.order.backlog import Backlog
from shunter.planning.order.class_table import Seat, Seats
from shunter.planning.order.fair_share import Owner, Shares
from shunter.planning.order.queue_limits import Gates
from shunter.planning.view import IntArray

Key = tuple[int, int, int, int, int]  # urgency, deadline, level of the share, since, class id: the least goes first


class Turn(NamedTuple):
    seat: Seat
    quantum: int | None  # tasks until somebody else is to go first; None while nobody else is in line


@dataclass(slots=True, eq=False)
class Party:
    """Classes of one user, or of one strict queue, that go one after the other."""

    number: int  # negative for a strict queue
    line: list[int]  # numbers of seats; the first is at the end of the list
    seats: Seats

    @property
    def first(self) -> Seat:
        return self.seats.seat(self.line[-1])

    @property
    def user(self) -> Owner:
        task_class = self.first.task_class
        return task_class.namespace, task_class.user

    @property
    def namespace(self) -> Owner:
        return self.first.task_class.namespace, None

    def key(self, level: int) -> Key:
        """Behind whoever kept it waiting in a strict queue, somebody may be more urgent than the others of the rank."""
        seat, number = self.first, self.line[-1]
        urgency, deadline = self.seats.urgency.item(number), self.seats.deadline.item(number)
        return urgency, deadline, level, seat.queued.since, seat.task_class.id


class Lineup:
    """All seats that may go, sorted once. The planner tells by `settle` how a turn ended."""

    def __init__(self, backlog: Backlog, gates: Gates, shares: Shares) -> None:
        self._backlog = backlog
        self._gates = gates
        self._shares = shares
        self.rebuild()

    def rebuild(self) -> None:
        """Line up anew, without those who cannot go any more."""
        self._stuck: set[int] = set()  # strict queues whose first has to wait
        self._contests = self._line_up()
        self._contest: Contest | None = None

    def next(self) -> Turn | None:
        while True:
            turn = self._contest.next() if self._contest is not None else None
            if turn is not None:
                return turn
            self._contest = next(self._contests, None)
            if self._contest is None:
                return None

    def settle(self, has_to_wait: bool) -> None:
        """The class of the last turn is done for now: all its tasks are placed, or the rest has to wait."""
        assert self._contest is not None, "a turn comes first"
        party = self._contest.party
        if has_to_wait and party.number < 0:
            self._stuck.add(party.number)
            party.line.clear()
        else:
            party.line.pop()

    def _line_up(self) -> Iterator[Contest]:
        """The contests of all ranks, the most urgent first."""
        seats, ready = self._backlog.seats, self._gates.open(self._backlog.ready())
        urgency, deadline, party = seats.urgency, seats.deadline, seats.party
        lines = self._gates.strict_lines(ready)
        if lines:
            ready = self._gates.loose(ready)
            urgency, deadline, party = urgency.copy(), deadline.copy(), party.copy()
            for number, line in enumerate(lines):
                ready[line] = True
                party[line] = -1 - number
                urgency[line], deadline[line] = _worst_so_far(urgency[line], deadline[line])
        numbers = np.flatnonzero(ready)
        keys = (seats.ids, seats.since, party, deadline, urgency)
        numbers = numbers[np.lexsort([column[numbers] for column in keys])]
        is_new_rank = (np.diff(urgency[numbers]) != 0) | (np.diff(deadline[numbers]) != 0)
        for first, end in pairwise([0, *(np.flatnonzero(is_new_rank) + 1).tolist(), len(numbers)]):
            if first < end:
                yield Contest(self._parties(numbers[first:end], party[numbers[first:end]]), self._shares)

    def _parties(self, numbers: IntArray, party: IntArray) -> list[Party]:
        line, seats = numbers.tolist(), self._backlog.seats
        cuts = [0, *(np.flatnonzero(np.diff(party)) + 1).tolist(), len(line)]
        parties = [Party(int(party[first]), line[first:end][::-1], seats) for first, end in pairwise(cuts)]
        return [each for each in parties if each.number not in self._stuck]


class Contest:
    """The parties of one rank. With a single one there is nothing to compare, and no share is worked out.

    Shares only rise while a decision is made. So a key that was worked out earlier is too low at worst: whoever comes
    first by such keys is asked for the true one, and goes only if it is still the least.
    """

    def __init__(self, parties: list[Party], shares: Shares) -> None:
        self._shares = shares
        self._alone = parties[0] if len(parties) == 1 else None
        if parties:
            self.party = parties[0]
        if self._alone is not None:
            return
        by_namespace: dict[object, list[Party]] = {}
        for each in parties:
            by_namespace.setdefault(each.number if each.number < 0 else each.namespace, []).append(each)
        contenders = [Contender(members, shares) for members in by_namespace.values()]
        if len(contenders) == 1:
            self._heap = [((0, 0, 0, 0, 0), contenders[0])]
        else:
            self._heap = [(key, each) for each in contenders if (key := each.key(is_alone=False)) is not None]
            heapq.heapify(self._heap)

    def next(self) -> Turn | None:
        if self._alone is not None:
            return Turn(self._alone.first, None) if self._alone.line else None
        while self._heap:
            known, contender = self._heap[0]
            key = contender.key(is_alone=len(self._heap) == 1)
            if key is None:
                heapq.heappop(self._heap)
            elif key != known:
                heapq.heapreplace(self._heap, (key, contender))
            else:
                self.party = contender.first
                return Turn(self.party.first, self._quantum(contender, key))
        return None

    def _quantum(self, contender: Contender, key: Key) -> int | None:
        quantum = contender.quantum()
        if len(self._heap) > 1:
            rival = min(self._heap[1:3])[0]
            most = _tasks_until(rival, key, self.party.namespace, self.party.first, self._shares)
            quantum = most if quantum is None or (most is not None and most < quantum) else quantum
        return quantum


class Contender:
    """One namespace with its users, or one strict queue, which counts as whoever is first in it."""

    def __init__(self, parties: list[Party], shares: Shares) -> None:
        self._shares = shares
        self._heap = [(each.key(self._level(each, len(parties))), each) for each in parties]
        heapq.heapify(self._heap)

    @property
    def first(self) -> Party:
        return self._heap[0][1]

    def key(self, is_alone: bool) -> Key | None:
        """Where it stands among the namespaces; None if it has nobody left."""
        while self._heap:
            known, party = self._heap[0]
            if not party.line:
                heapq.heappop(self._heap)
                continue
            key = party.key(self._level(party, len(self._heap)))
            if key == known:
                return party.key(0 if is_alone else self._shares.level(party.namespace))
            heapq.heapreplace(self._heap, (key, party))
        return None

    def quantum(self) -> int | None:
        """How many tasks its first user may have before the next one's turn."""
        if len(self._heap) == 1:
            return None
        key, party = self._heap[0]
        return _tasks_until(min(self._heap[1:3])[0], key, party.user, party.first, self._shares)

    def _level(self, party: Party, rivals: int) -> int:
        return self._shares.level(party.user) if rivals > 1 else 0


def _tasks_until(rival: Key, mine: Key, owner: Owner, seat: Seat, shares: Shares) -> int | None:
    """After how many tasks a rival's key is the lesser one; None while it is less urgent."""
    if mine[:2] < rival[:2]:
        return None
    level = rival[2] + 1 if mine[3:] < rival[3:] else rival[2]
    return shares.tasks_to(level, owner, seat.needs)


def _worst_so_far(urgency: IntArray, deadline: IntArray) -> tuple[IntArray, IntArray]:
    """For each of a line, the rank of the least urgent up to it."""
    order = np.lexsort((deadline, urgency))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    worst = order[np.maximum.accumulate(place)]
    return urgency[worst], deadline[worst]
