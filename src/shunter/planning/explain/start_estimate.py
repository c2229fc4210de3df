"""Estimates when tasks of a class will find room, from the expected ends of running tasks. Called when a user asks why
they wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shunter.planning.explain.suggest import without_licence_needs
from shunter.planning.filter.colocation import is_one_per_node
from shunter.planning.filter.filters import FILTERS, RESOURCES, Filter, feasible
from shunter.planning.filter.node_ledger import NodeLedger
from shunter.planning.view import BoolArray, Nodes, TaskClass


@dataclass(frozen=True, slots=True)
class ExpectedEnd:
    """A running task's expected end, and the resources it frees."""

    at_ms: int
    node: int
    needs: Mapping[str, int]
    source: int = 0  # any identifier of the caller


class Forecast:
    """The nodes that one class may use regardless of room, and the room on them."""

    def __init__(self, task_class: TaskClass, nodes: Nodes, filters: Sequence[Filter] = FILTERS) -> None:
        task_class = without_licence_needs(task_class)
        self._class = task_class
        self._ledger = NodeLedger()
        self._ledger.sync(nodes)
        other_filters = tuple(each for each in filters if each.name != RESOURCES)
        self._accepted: BoolArray = feasible(task_class, self._ledger, slice(0, self._ledger.count), other_filters)
        self._needs = {name: need for name, need in task_class.needs.items() if name in self._ledger.column}
        if len(self._needs) < len(task_class.needs):
            self._accepted = np.zeros_like(self._accepted)

    def could_ever_fit(self, count: int = 1) -> bool:
        """Whether this many tasks would fit if nothing else ran."""
        return self.room_ever(count) >= count

    def room_ever(self, most: int) -> int:
        """How many tasks would have room if nothing else ran, at most `most`."""
        rows = np.flatnonzero(self._accepted)
        room = np.full(len(rows), self._most_per_node(most), dtype=np.int64)
        for resource, need in self._needs.items():
            np.minimum(room, self._ledger.capacity(resource)[rows] // need, out=room)
        return min(int(room.sum()), most)

    def room(self, most: int) -> int:
        """How many tasks have room now, at most `most`."""
        rows = np.flatnonzero(self._accepted)
        if not len(rows):
            return 0
        return min(int(self._ledger.room(self._class, rows, self._most_per_node(most)).sum()), most)

    def totals(self, resource: str) -> tuple[int, int]:
        """How much is free now on all nodes that the class may use, and their capacity."""
        if resource not in self._ledger.column:
            return 0, 0
        rows = np.flatnonzero(self._accepted)
        free = np.maximum(self._ledger.free[self._ledger.column[resource]][rows], 0)
        return int(free.sum()), int(self._ledger.capacity(resource)[rows].sum())

    def _most_per_node(self, most: int) -> int:
        return min(most, 1) if is_one_per_node(self._class.rules) else most

    def first_fit(self, expected_ends: Sequence[ExpectedEnd], count: int = 1) -> ExpectedEnd | None:
        """The end after which `count` tasks have room. None: not even after all of these ends.

        One pass through the ends in the order of time; the room of a node only grows on the way."""
        rows = np.flatnonzero(self._accepted)
        room = dict(zip(rows.tolist(), self._ledger.room(self._class, rows, count).tolist(), strict=True))
        total = sum(room.values())
        free: dict[int, dict[str, int]] = {}
        for expected_end in sorted(expected_ends, key=lambda expected_end: expected_end.at_ms):
            row = expected_end.node
            if row not in room:
                continue
            if row not in free:
                free[row] = {name: int(self._ledger.free[self._ledger.column[name]][row]) for name in self._needs}
            for resource in free[row]:
                free[row][resource] += expected_end.needs.get(resource, 0)
            fits = min((free[row][name] // need for name, need in self._needs.items()), default=count)
            total += min(fits, count) - room[row]
            room[row] = min(fits, count)
            if total >= count:
                return expected_end
        return None
