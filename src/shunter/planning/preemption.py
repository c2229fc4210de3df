"""Who must end so that something more important can start: the fewest tasks, among those the cheapest.

Called by `claims` for the most urgent items that found no room.

It works on a scratch in which everything that was told to end has ended already, so nobody is chosen while enough room
is coming anyway. Tasks are placed one at a time, each on the node where it costs least; what is left over of an ended
task's room serves the next. In the end, whoever turned out not to be needed is let go on.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from shunter.planning.candidates import feasible
from shunter.planning.gangs import Item, Placed, largest_first, place_gang
from shunter.planning.occupancy import Occupancy
from shunter.planning.pick import Picked
from shunter.planning.site import Site
from shunter.planning.victims import Chosen, Cost, Tenant, Victims, choose_victims
from shunter.planning.view import BoolArray, IntArray, Preemption, Queued, TaskClass

PREEMPT_GAP = 10  # a task is ended only for one whose priority is at least so much higher
WINNERS_MAX = 200  # tasks of one item that victims are looked for, a decision
VICTIM_NODES_MAX = 64  # nodes searched for the victims of one task, the most promising first
LET_GO_MAX = 64  # chosen tasks that are tried to be let go again


@dataclass(frozen=True, slots=True)
class Outcome:
    """The future in which the victims have ended and the item has its place."""

    site: Site
    placed: Placed
    chosen: Chosen  # entry of what runs -> tasks of it that must end
    preemptions: list[Preemption]


def preempt(item: Item, future: Site, occupancy: Occupancy, gap: int = PREEMPT_GAP) -> Outcome | None:
    """Room for a whole gang, or for as many tasks of a class as find any. None if none can be made.

    `future` is left as it was. Where nobody has to end, since enough is coming free, the outcome has no victims.
    """
    attempt = _Attempt(item, future, occupancy, gap)
    if not attempt.place():
        return None
    return attempt.settle()


class _Attempt:
    def __init__(self, item: Item, future: Site, occupancy: Occupancy, gap: int) -> None:
        self._item = item
        self._future = future
        self._occupancy = occupancy
        self._site = future.scratch()
        running = occupancy.running
        may_end = ~running.is_stopping & (running.priority <= item.priority - gap)
        self._count: IntArray = np.where(may_end, running.count, 0)  # tasks of each entry that may still be chosen
        self._chosen: Counter[int] = Counter()
        self._placed: Placed = []

    def place(self) -> bool:
        """Put the item's tasks one after another, ending others where there is no room."""
        winners = 0
        for queued in largest_first(self._item.members, self._site):
            missing = queued.count
            while missing:
                picked = self._site.pick(queued, missing)
                if not len(picked.rows):
                    row = self._make_room(queued) if winners < WINNERS_MAX else None
                    if row is None and not self._item.is_whole:
                        return bool(self._placed)
                    if row is None:
                        return False
                    picked, winners = Picked(np.array([row]), np.ones(1, dtype=np.int64)), winners + 1
                self._site.put(queued.task_class, picked)
                self._placed.append((queued, picked))
                missing -= int(picked.counts.sum())
        return True

    def settle(self) -> Outcome:
        """Let go whoever is not needed, the most important first and then the oldest."""
        running = self._occupancy.running
        by_worth = sorted(self._chosen, key=lambda entry: (-running.priority[entry], running.started_ms[entry]))
        if len(self._placed) > 1 and sum(self._chosen.values()) <= LET_GO_MAX:
            for entry in by_worth:
                while self._chosen[entry] and self._goes_without(entry):
                    self._chosen[entry] -= 1
        chosen = {entry: count for entry, count in sorted(self._chosen.items()) if count}
        return Outcome(self._site, self._placed, chosen, self._preemptions(chosen))

    def _make_room(self, queued: Queued) -> int | None:
        """End the cheapest tasks that give one task of the class a place; returns the row."""
        best: tuple[Cost, int, Victims] | None = None
        rows, bounds = self._promising(queued)
        for row, bound in zip(rows[:VICTIM_NODES_MAX].tolist(), bounds.tolist(), strict=False):
            if best is not None and bound > best[0][0]:
                break
            victims = self._victims_on(row, queued.task_class)
            if victims is not None and (best is None or (victims.cost, row) < best[:2]):
                best = (victims.cost, row, victims)
        if best is None:
            return None
        entries, counts = np.array(list(best[2].chosen)), np.array(list(best[2].chosen.values()))
        self._occupancy.release(self._site.ledger, entries, counts)
        self._count[entries] -= counts
        self._chosen.update(best[2].chosen)
        return best[1]

    def _promising(self, queued: Queued) -> tuple[IntArray, IntArray]:
        """The rows where enough could be ended, and how many tasks at least; the fewest first."""
        ledger, running = self._site.ledger, self._occupancy.running
        entries = np.flatnonzero(self._count > 0)
        nodes = running.node[entries]
        possible = self._allowed(queued)
        fewest = np.ones(ledger.count, dtype=np.int64)
        for resource, need in queued.task_class.needs.items():
            if resource not in ledger.column:
                return np.empty(0, np.int64), fewest
            amounts = self._occupancy.amounts[ledger.column[resource]][entries]
            free = ledger.free[ledger.column[resource]][: ledger.count]
            held = np.bincount(nodes, amounts * self._count[entries], ledger.count).astype(np.int64)
            largest = np.zeros(ledger.count, dtype=np.int64)
            np.maximum.at(largest, nodes, amounts)
            possible = possible & (free + held >= need)
            fewest = np.maximum(fewest, np.ceil((need - free) / np.maximum(largest, 1)).astype(np.int64))
        rows = np.flatnonzero(possible & (np.bincount(nodes, minlength=ledger.count) > 0))
        rows = rows[np.argsort(fewest[rows], kind="stable")]
        return rows, fewest[rows]

    def _allowed(self, queued: Queued) -> BoolArray:
        """Rows that have nothing against the class but a lack of room."""
        site, task_class = self._site, queued.task_class
        if task_class.rules is not None and task_class.rules.exclusive:
            task_class = replace(task_class, rules=replace(task_class.rules, exclusive=False))
        filters = [each for each in site.filters if each.name != "resources"]
        allowed = feasible(task_class, site.ledger, slice(0, site.ledger.count), filters)
        if site.couplings.couples(task_class):
            allowed = allowed & site.couplings.of(task_class).allowed
        allowed = allowed.copy()
        allowed[[row for row in queued.avoid if row < len(allowed)]] = False
        return allowed

    def _victims_on(self, row: int, task_class: TaskClass) -> Victims | None:
        ledger, running = self._site.ledger, self._occupancy.running
        entries = np.flatnonzero((running.node == row) & (self._count > 0))
        columns = [ledger.column[resource] for resource in task_class.needs]
        tenants = [
            Tenant(
                entry,
                tuple(self._occupancy.amounts[columns, entry].tolist()),
                int(self._count[entry]),
                int(running.priority[entry]),
                int(running.started_ms[entry]),
            )
            for entry in entries.tolist()
        ]
        if task_class.rules is not None and task_class.rules.exclusive:
            return self._everybody_on(row, tenants)
        lacking = [
            need - int(ledger.free[column, row])
            for column, need in zip(columns, task_class.needs.values(), strict=True)
        ]
        return choose_victims(tenants, lacking)

    def _everybody_on(self, row: int, tenants: list[Tenant]) -> Victims | None:
        """For a task that wants the node for itself: all that are there, or nobody if one of them must not end."""
        if sum(each.count for each in tenants) < int(self._site.ledger.tasks[row]):
            return None
        return Victims(
            {each.entry: each.count for each in tenants},
            (
                sum(each.count for each in tenants),
                sum(each.count * each.priority for each in tenants),
                -sum(each.count * each.started_ms for each in tenants),
            ),
        )

    def _goes_without(self, entry: int) -> bool:
        """Whether as much can be placed if one task of the entry goes on; if so, it is placed that way."""
        fewer = self._chosen.copy()
        fewer[entry] -= 1
        site = self._future.scratch()
        entries = np.array([each for each, count in fewer.items() if count], dtype=np.int64)
        if len(entries):
            self._occupancy.release(site.ledger, entries, np.array([fewer[each] for each in entries.tolist()]))
        placed = self._place_again(site)
        if placed is None:
            return False
        self._site, self._placed = site, placed
        return True

    def _place_again(self, site: Site) -> Placed | None:
        if self._item.is_whole:
            return place_gang(self._item.members, site)
        queued = self._item.members[0]
        count = sum(int(picked.counts.sum()) for _, picked in self._placed)
        picked = site.pick(queued, count)
        if int(picked.counts.sum()) < count:
            return None
        site.put(queued.task_class, picked)
        return [(queued, picked)]

    def _preemptions(self, chosen: Chosen) -> list[Preemption]:
        running = self._occupancy.running
        ends: Counter[tuple[int, int]] = Counter()
        for entry, count in chosen.items():
            ends[int(running.class_ids[entry]), int(running.node[entry])] += count
        winner = self._item.members[0].task_class.id
        return [Preemption(victim, node, count, winner) for (victim, node), count in ends.items()]
