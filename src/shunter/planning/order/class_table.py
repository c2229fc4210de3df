"""Columns over all classes that wait, so that thousands are sorted or passed over at once. Owned by the backlog.

A class has a seat with a number, which is its row here; numbers are used again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shunter.planning.filter.node_ledger import Ledger
from shunter.planning.order.rank import Order
from shunter.planning.view import BoolArray, IntArray, Queued, TaskClass

SEATS_MIN = 64
NOWHERE = 2**62  # a need that no node can meet
COLUMNS = ("counts", "ids", "since", "urgency", "deadline", "queue", "party", "site", "standing")


# Where a class stands. Plain numbers, because NumPy is slow to compare members of an enumeration.
NEW = 0  # has to look at all rows
HOPEFUL = 1  # has to look at the rows that improved
BLOCKED = 2  # found no room


@dataclass(slots=True, eq=False)
class Seat:
    """One class that waits. `queued` is the planner's own copy: its count goes down with every task placed, and its
    class asks nodes only for what nodes have."""

    number: int
    task_class: TaskClass  # as the view has it
    queued: Queued
    needs: list[int]  # by column of the nodes' resources
    licences: tuple[tuple[str, int], ...]


class Seats:
    """Seats by class and by number, and what is compared between them as columns."""

    def __init__(self, order: Order, ledger: Ledger, licences: Sequence[str]) -> None:
        self._order = order
        self._ledger = ledger
        self.licences = tuple(licences)
        self.by_class: dict[int, Seat] = {}
        self.by_number: list[Seat | None] = []
        self.names: dict[object, int] = {}  # of queues and of users, as numbers
        self.sites: dict[object, int] = {}  # demands on the kind of node, as numbers
        self.examples: list[TaskClass] = []  # a class for each of them
        self.suitable: list[BoolArray] = []  # by kind of node, for each of them: kept by `hope`
        self.coupled: set[int] = set()  # numbers of seats with rules
        self._free: list[int] = []
        self._fresh: dict[int, Seat] = {}
        self._touched: dict[int, Seat] = {}
        self._allocate(0)

    def add(self, queued: Queued) -> Seat:
        if not self._free:
            self._grow()
        asked = stripped = queued.task_class
        licences: tuple[tuple[str, int], ...] = ()
        if self.licences:
            licences = tuple((name, need) for name, need in asked.needs.items() if name in self.licences)
            stripped = without_licences(asked, self.licences)
        ours = Queued(stripped, queued.count, queued.since, queued.since_ms, queued.estimate_s, queued.avoid)
        needs = self._ledger.vector(stripped.needs) or [NOWHERE] * len(self._ledger.column)
        seat = Seat(self._free.pop(), asked, ours, needs, licences)
        self.by_class[asked.id] = self.by_number[seat.number] = seat
        if asked.rules is not None:
            self.coupled.add(seat.number)
        self._fresh[seat.number] = self._touched[seat.number] = seat
        return seat

    def remove(self, seat: Seat) -> None:
        del self.by_class[seat.task_class.id]
        self.by_number[seat.number] = None
        self.counts[seat.number] = 0
        self.coupled.discard(seat.number)
        self._fresh.pop(seat.number, None)
        self._touched.pop(seat.number, None)
        self._free.append(seat.number)

    def touch(self, seat: Seat) -> None:
        """Its queued tasks are not what they were."""
        self._touched[seat.number] = seat

    def write(self) -> int:
        """Put what changed into the columns, all at once. Returns how many seats that were."""
        if self._fresh:
            rows, seats = list(self._fresh), list(self._fresh.values())
            self.needs[rows] = [seat.needs for seat in seats]
            self.ids[rows] = [seat.task_class.id for seat in seats]
            self.standing[rows] = NEW
            self.queue[rows] = [self.queue_number(seat.task_class.queue) for seat in seats]
            self.party[rows] = [self._party_number(seat.task_class) for seat in seats]
            self.site[rows] = [self._site_number(seat.queued.task_class) for seat in seats]
            for column, name in enumerate(self.licences):
                self.licence_needs[rows, column] = [seat.task_class.needs.get(name, 0) for seat in seats]
            self._fresh = {}
        if self._touched:
            rows, waiting = list(self._touched), [seat.queued for seat in self._touched.values()]
            self.counts[rows] = [queued.count for queued in waiting]
            self.since[rows] = [queued.since for queued in waiting]
            self.urgency[rows], self.deadline[rows] = zip(*map(self._order, waiting), strict=True)
        touched, self._touched = len(self._touched), {}
        return touched

    def seat(self, number: int) -> Seat:
        seat = self.by_number[number]
        assert seat is not None, "only seats that are taken are lined up"
        return seat

    def queue_number(self, name: str) -> int:
        """What the column `queue` holds for a queue."""
        return self.names.setdefault((name,), len(self.names))

    def _party_number(self, task_class: TaskClass) -> int:
        return self.names.setdefault((task_class.namespace, task_class.user), len(self.names))

    def _site_number(self, task_class: TaskClass) -> int:
        demands = (task_class.datacenters, task_class.constraints, task_class.runtime)
        number = self.sites.setdefault(demands, len(self.examples))
        if number == len(self.examples):
            self.examples.append(task_class)
        return number

    def _allocate(self, seats: int) -> None:
        self.counts: IntArray = np.zeros(seats, np.int64)  # tasks that wait; 0 where the seat is free
        self.ids: IntArray = np.zeros(seats, np.int64)
        self.since: IntArray = np.zeros(seats, np.int64)
        self.urgency: IntArray = np.zeros(seats, np.int64)  # the rank: the lower first
        self.deadline: IntArray = np.zeros(seats, np.int64)
        self.queue: IntArray = np.zeros(seats, np.int64)
        self.party: IntArray = np.zeros(seats, np.int64)
        self.site: IntArray = np.zeros(seats, np.int64)
        self.standing: NDArray[np.uint8] = np.zeros(seats, np.uint8)
        self.needs: IntArray = np.zeros((seats, len(self._ledger.column)), np.int64)
        self.licence_needs: IntArray = np.zeros((seats, len(self.licences)), np.int64)

    def _grow(self) -> None:
        old, have = self.__dict__.copy(), len(self.counts)
        self._allocate(max(SEATS_MIN, have * 2))
        for name in (*COLUMNS, "needs", "licence_needs"):
            getattr(self, name)[:have] = old[name]
        self.by_number.extend([None] * (len(self.counts) - have))
        self._free.extend(reversed(range(have, len(self.counts))))


def without_licences(task_class: TaskClass, licences: Sequence[str]) -> TaskClass:
    """What the class asks of nodes: licences are counts of the whole cluster."""
    needs = {resource: need for resource, need in task_class.needs.items() if resource not in licences}
    return replace(task_class, needs=needs) if len(needs) < len(task_class.needs) else task_class
