"""Columns over all pending classes, so that thousands are sorted or skipped at once. Owned by the backlog.

Each class has a number, which is its row here. Numbers are reused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shunter.model.identity.quotas import PLACED, placed_needs
from shunter.planning.filter.node_ledger import NodeLedger
from shunter.planning.order.rank import RankFunction
from shunter.planning.view import BoolArray, IntArray, Queued, TaskClass

TABLE_ROWS_MIN = 64
UNMEETABLE = 2**62  # a need that no node can meet
COLUMNS = ("counts", "ids", "since", "urgency", "deadline", "queue", "namespace", "turn_group", "node_demand", "status")


# The status of a class. Plain numbers, because NumPy is slow to compare members of an enumeration.
NEW = 0  # must look at all rows
RECHECK = 1  # must look at the rows that improved
BLOCKED = 2  # found no room


@dataclass(slots=True, eq=False)
class PendingClass:
    """One pending class. `queued` is the planner's own copy: its count decreases with every placed task, and its class
    has only the needs on nodes."""

    number: int
    task_class: TaskClass  # as the view has it
    queued: Queued
    needs: list[int]  # by column of the nodes' resources
    licences: tuple[tuple[str, int], ...]


class PendingClassTable:
    """Pending classes by class and by number, with everything that is compared between them as columns."""

    def __init__(self, order: RankFunction, ledger: NodeLedger, licences: Sequence[str]) -> None:
        self._order = order
        self._ledger = ledger
        self.licences = tuple(licences)
        self.by_class: dict[int, PendingClass] = {}
        self.by_number: list[PendingClass | None] = []
        self.names: dict[object, int] = {}  # of queues and of users, as numbers
        self.node_demands: dict[object, int] = {}  # requirements on the kind of node, as numbers
        self.example_classes: list[TaskClass] = []  # a class for each of them
        self.suitable: list[BoolArray] = []  # by kind of node, for each of them: maintained by `wakeup`
        self.with_rules: set[int] = set()  # numbers of classes with rules
        self._free: list[int] = []
        self._added: dict[int, PendingClass] = {}
        self._touched: dict[int, PendingClass] = {}
        self._allocate(0)

    def add(self, queued: Queued) -> PendingClass:
        if not self._free:
            self._grow()
        original = node_class = queued.task_class
        licences: tuple[tuple[str, int], ...] = ()
        if self.licences:
            licences = tuple((name, need) for name, need in original.needs.items() if name in self.licences)
            node_class = without_licences(original, self.licences)
        own_copy = Queued(node_class, queued.count, queued.since, queued.since_ms, queued.estimate_s, queued.avoid)
        needs = self._ledger.vector(node_class.needs) or [UNMEETABLE] * len(self._ledger.column)
        pending_class = PendingClass(self._free.pop(), original, own_copy, needs, licences)
        self.by_class[original.id] = self.by_number[pending_class.number] = pending_class
        if original.rules is not None:
            self.with_rules.add(pending_class.number)
        self._added[pending_class.number] = self._touched[pending_class.number] = pending_class
        return pending_class

    def remove(self, pending_class: PendingClass) -> None:
        del self.by_class[pending_class.task_class.id]
        self.by_number[pending_class.number] = None
        self.counts[pending_class.number] = 0
        self.with_rules.discard(pending_class.number)
        self._added.pop(pending_class.number, None)
        self._touched.pop(pending_class.number, None)
        self._free.append(pending_class.number)

    def mark_changed(self, pending_class: PendingClass) -> None:
        """Mark a class whose queued tasks changed."""
        self._touched[pending_class.number] = pending_class

    def flush(self) -> int:
        """Write the changed classes to the columns, all at once. Returns their number."""
        if self._added:
            rows, pending_classes = list(self._added), list(self._added.values())
            self.needs[rows] = [pending_class.needs for pending_class in pending_classes]
            self.ids[rows] = [pending_class.task_class.id for pending_class in pending_classes]
            self.status[rows] = NEW
            self.queue[rows] = [self.queue_number(pending_class.task_class.queue) for pending_class in pending_classes]
            self.namespace[rows] = [self.namespace_number(each.task_class.namespace) for each in pending_classes]
            self.quota_needs[rows] = [placed_needs(each.task_class.needs) for each in pending_classes]
            self.turn_group[rows] = [
                self._turn_group_number(pending_class.task_class) for pending_class in pending_classes
            ]
            self.node_demand[rows] = [
                self._node_demand_number(pending_class.queued.task_class) for pending_class in pending_classes
            ]
            for column, name in enumerate(self.licences):
                self.licence_needs[rows, column] = [
                    pending_class.task_class.needs.get(name, 0) for pending_class in pending_classes
                ]
            self._added = {}
        if self._touched:
            rows, waiting = list(self._touched), [pending_class.queued for pending_class in self._touched.values()]
            self.counts[rows] = [queued.count for queued in waiting]
            self.since[rows] = [queued.since for queued in waiting]
            self.urgency[rows], self.deadline[rows] = zip(*map(self._order, waiting), strict=True)
        touched, self._touched = len(self._touched), {}
        return touched

    def pending_class(self, number: int) -> PendingClass:
        pending_class = self.by_number[number]
        assert pending_class is not None, "only seats that are taken are lined up"
        return pending_class

    def queue_number(self, name: str) -> int:
        """The value of a queue in the column `queue`."""
        return self.names.setdefault((name,), len(self.names))

    def namespace_number(self, name: str) -> int:
        """The value of a namespace in the column `namespace`."""
        return self.names.setdefault((name, None), len(self.names))

    def _turn_group_number(self, task_class: TaskClass) -> int:
        return self.names.setdefault((task_class.namespace, task_class.user), len(self.names))

    def _node_demand_number(self, task_class: TaskClass) -> int:
        demands = (task_class.datacenters, task_class.constraints, task_class.runtime)
        number = self.node_demands.setdefault(demands, len(self.example_classes))
        if number == len(self.example_classes):
            self.example_classes.append(task_class)
        return number

    def _allocate(self, rows: int) -> None:
        self.counts: IntArray = np.zeros(rows, np.int64)  # pending tasks; 0 where the row is free
        self.ids: IntArray = np.zeros(rows, np.int64)
        self.since: IntArray = np.zeros(rows, np.int64)
        self.urgency: IntArray = np.zeros(rows, np.int64)  # the rank: the lower first
        self.deadline: IntArray = np.zeros(rows, np.int64)
        self.queue: IntArray = np.zeros(rows, np.int64)
        self.namespace: IntArray = np.zeros(rows, np.int64)
        self.quota_needs: IntArray = np.zeros((rows, len(PLACED)), np.int64)
        self.turn_group: IntArray = np.zeros(rows, np.int64)
        self.node_demand: IntArray = np.zeros(rows, np.int64)
        self.status: NDArray[np.uint8] = np.zeros(rows, np.uint8)
        self.needs: IntArray = np.zeros((rows, len(self._ledger.column)), np.int64)
        self.licence_needs: IntArray = np.zeros((rows, len(self.licences)), np.int64)

    def _grow(self) -> None:
        old, size = self.__dict__.copy(), len(self.counts)
        self._allocate(max(TABLE_ROWS_MIN, size * 2))
        for name in (*COLUMNS, "needs", "licence_needs", "quota_needs"):
            getattr(self, name)[:size] = old[name]
        self.by_number.extend([None] * (len(self.counts) - size))
        self._free.extend(reversed(range(size, len(self.counts))))


def without_licences(task_class: TaskClass, licences: Sequence[str]) -> TaskClass:
    """The needs of the class on nodes: licences are counts of the whole cluster."""
    needs = {resource: need for resource, need in task_class.needs.items() if resource not in licences}
    return replace(task_class, needs=needs) if len(needs) < len(task_class.needs) else task_class
