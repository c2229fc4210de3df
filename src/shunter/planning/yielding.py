"""Which node yields room for one task most cheaply, again and again for the tasks of a class. Called by `preemption`.

Every node has a bound below what its victims cost, worked out for all at once. The best bound is looked at more closely
and put back with its true cost; a true cost that comes first is the answer. So few nodes are searched, however many
there are, and what was found out about them serves the next task too.
"""

from __future__ import annotations

import heapq
from dataclasses import replace

import numpy as np

from shunter.planning.candidates import feasible
from shunter.planning.occupancy import Occupancy
from shunter.planning.site import Site
from shunter.planning.victims import SEARCH_STEPS_MAX, Cost, Effort, Tenant, Victims, choose_victims
from shunter.planning.view import BoolArray, IntArray, Queued

NODES_SEARCHED_MAX = 64  # before the first task of a class has its node
NODES_MORE_MAX = 4  # and for each task after it


class Yielding:
    """`counts` says how many tasks of each entry may still end; its owner keeps it true, and calls `renew` for rows."""

    def __init__(self, queued: Queued, site: Site, occupancy: Occupancy, counts: IntArray) -> None:
        self._queued = queued
        self._site = site
        self._occupancy = occupancy
        self._counts = counts
        self._is_exclusive = queued.task_class.rules is not None and queued.task_class.rules.exclusive
        self._searches = NODES_SEARCHED_MAX
        self._effort = Effort(SEARCH_STEPS_MAX)
        self._allowed = self._allow()
        self._heap: list[tuple[Cost, int, Victims | None]] = self._bounds()
        heapq.heapify(self._heap)

    def cheapest(self) -> tuple[int, Victims] | None:
        """The row on which room for one task costs least, and who has to end there; it leaves the line."""
        while self._heap:
            _, row, victims = heapq.heappop(self._heap)
            if not self._allowed[row]:
                continue
            if victims is not None:
                return row, victims
            if self._searches > 0:
                self._search(row)
        return None

    def renew(self, row: int) -> None:
        """Tasks on the row have ended, and one of the class has its place there."""
        if self._site.couplings.couples(self._queued.task_class):
            self._allowed = self._allow()
        self._searches += NODES_MORE_MAX
        self._search(row)

    def _search(self, row: int) -> None:
        self._searches -= 1
        victims = self._victims_on(row)
        if victims is not None:
            heapq.heappush(self._heap, (victims.cost, row, victims))

    def _allow(self) -> BoolArray:
        """Rows that have nothing against the class but a lack of room."""
        site, task_class = self._site, self._queued.task_class
        if task_class.rules is not None and task_class.rules.exclusive:
            task_class = replace(task_class, rules=replace(task_class.rules, exclusive=False))
        filters = [each for each in site.filters if each.name != "resources"]
        allowed = feasible(task_class, site.ledger, slice(0, site.ledger.count), filters).copy()
        if site.couplings.couples(task_class):
            allowed &= site.couplings.of(task_class).allowed
        allowed[[row for row in self._queued.avoid if row < len(allowed)]] = False
        return allowed

    def _bounds(self) -> list[tuple[Cost, int, Victims | None]]:
        """For each row where enough could end: the fewest tasks if all were as large as the largest, the least
        important, and the youngest."""
        ledger, running = self._site.ledger, self._occupancy.running
        if any(resource not in ledger.column for resource in self._queued.task_class.needs):
            return []
        entries = np.flatnonzero(self._counts > 0)
        nodes, rows = running.node[entries], ledger.count
        fewest = np.ones(rows, dtype=np.int64)
        possible = self._allowed & (np.bincount(nodes, minlength=rows) > 0)
        for resource, need in self._queued.task_class.needs.items():
            amounts = self._occupancy.amounts[ledger.column[resource]][entries]
            free = ledger.free[ledger.column[resource]][:rows]
            held = np.bincount(nodes, amounts * self._counts[entries], rows).astype(np.int64)
            largest = np.zeros(rows, dtype=np.int64)
            np.maximum.at(largest, nodes, amounts)
            possible &= free + held >= need
            fewest = np.maximum(fewest, -(-(need - free) // np.maximum(largest, 1)))
        priority, started = np.full(rows, 2**31), np.zeros(rows, dtype=np.int64)
        np.minimum.at(priority, nodes, running.priority[entries])
        np.maximum.at(started, nodes, running.started_ms[entries])
        return [
            ((int(fewest[row]), int(fewest[row] * priority[row]), -int(fewest[row] * started[row])), row, None)
            for row in np.flatnonzero(possible).tolist()
        ]

    def _victims_on(self, row: int) -> Victims | None:
        ledger, needs = self._site.ledger, self._queued.task_class.needs
        columns = [ledger.column[resource] for resource in needs]
        tenants = self._tenants(row, columns)
        if self._is_exclusive:
            return self._everybody_on(row, tenants)
        lacking = [need - int(ledger.free[column, row]) for column, need in zip(columns, needs.values(), strict=True)]
        return choose_victims(tenants, lacking, self._effort)

    def _tenants(self, row: int, columns: list[int]) -> list[Tenant]:
        running = self._occupancy.running
        return [
            Tenant(
                entry,
                tuple(self._occupancy.amounts[columns, entry].tolist()),
                int(self._counts[entry]),
                int(running.priority[entry]),
                int(running.started_ms[entry]),
            )
            for entry in self._occupancy.on(row).tolist()
            if self._counts[entry] > 0
        ]

    def _everybody_on(self, row: int, tenants: list[Tenant]) -> Victims | None:
        """For a task that wants the node for itself: all that are there, or nobody if one of them must not end."""
        count = sum(each.count for each in tenants)
        if count < int(self._site.ledger.tasks[row]):
            return None
        priorities = sum(each.count * each.priority for each in tenants)
        ages = -sum(each.count * each.started_ms for each in tenants)
        return Victims({each.entry: each.count for each in tenants}, (count, priorities, ages))
