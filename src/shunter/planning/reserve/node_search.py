"""Finds the node where preemption is cheapest for one task, repeatedly for the tasks of a class. Called by
`preemption`.

Each node has a lower bound on the cost of its victims, computed for all nodes at once. The search examines the node
with the lowest bound and puts it back with its true cost. When a true cost comes first, that node is the answer. So few
nodes are searched, and the results serve the next task too."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace

import numpy as np

from shunter.planning.filter.colocation import depends_on_own_placements
from shunter.planning.filter.filters import feasible
from shunter.planning.reserve.occupancy import Occupancy
from shunter.planning.reserve.victims import (
    NO_VICTIMS,
    SEARCH_STEPS_MAX,
    Chosen,
    Cost,
    StepBudget,
    VictimCandidate,
    Victims,
    choose_victims,
    cost_of,
)
from shunter.planning.score.workspace import Workspace
from shunter.planning.view import BoolArray, IntArray, Queued

NODES_SEARCHED_MAX = 64  # before the first task of a class has its node
NODES_MORE_MAX = 2  # and for each task after it
SEARCHES_MAX = 100  # nodes searched in one decision; it takes about 30 ms
SEARCHES_MIN = 20
ENTRIES_PER_SEARCH = 4_000  # of running entries: reading this many takes as long as a search
Costs = dict[int, Cost]  # by row
COST_MAX: Cost = (2**31, 0, 0)  # above any cost of victims
COST_OF_ONE_MIN: Cost = (1, 0, -(2**62))  # below any cost of victims


@dataclass(slots=True)
class SearchBudget:
    """The work that is left in one decision."""

    searches: int = SEARCHES_MAX
    is_exhausted: bool = False

    def charge(self, entries: int) -> None:
        """Charge for entries that had to be read first."""
        self.searches = max(self.searches - entries // ENTRIES_PER_SEARCH, SEARCHES_MIN)


class NodeSearch:
    """`counts` has how many tasks of each entry may still be preempted; its owner updates it, and calls `refresh` for
    rows."""

    def __init__(
        self,
        queued: Queued,
        workspace: Workspace,
        occupancy: Occupancy,
        counts: IntArray,
        search_budget: SearchBudget,
        known: Costs,
    ) -> None:
        self._known = known  # findings about rows, updated here
        self._search_budget = search_budget
        self._queued = queued
        self._workspace = workspace
        self._occupancy = occupancy
        self._counts = counts
        self._is_exclusive = queued.task_class.rules is not None and queued.task_class.rules.exclusive
        self._searches = max(NODES_SEARCHED_MAX - len(known), NODES_MORE_MAX)
        self._step_budget = StepBudget(SEARCH_STEPS_MAX)
        self._allowed = self._allowed_rows()
        self._row_version = [0] * workspace.ledger.count  # of what is known of each row: older entries are invalid
        self._heap: list[tuple[Cost, int, int, Victims | None]] = self._bounds()
        heapq.heapify(self._heap)

    def cheapest(self) -> tuple[int, Victims] | None:
        """The row on which room for one task costs least, and its victims; the row leaves the heap. None if there is
        none, or if the slice is over."""
        while self._heap:
            _, row, version, victims = heapq.heappop(self._heap)
            if not self._allowed[row] or version != self._row_version[row]:
                continue
            if victims is not None:
                return row, victims
            if self._searches > 0 or row in self._known:
                if self._search_budget.searches <= 0:
                    self._search_budget.is_exhausted = True
                    return None
                self._search(row)
        return None

    def refresh(self, row: int, others: IntArray) -> None:
        """Tasks on the row have ended, and one of the class has its place there. If a gang has ended, so have tasks on
        other rows: room that becomes free there costs nothing more."""
        if depends_on_own_placements(self._queued.task_class.rules):
            self._allowed = self._allowed_rows()
        self._searches += NODES_MORE_MAX
        self._row_version[row] += 1
        self._known.pop(row, None)
        bound = self._bound(row)
        if bound is not None:
            heapq.heappush(self._heap, (bound, row, self._row_version[row], None))
        has_room = self._workspace.ledger.room(self._queued.task_class, others, 1) > 0
        for other, is_free in zip(others.tolist(), has_room.tolist(), strict=True):
            if other != row:
                self._row_version[other] += 1
                self._known.pop(other, None)
                known = (NO_VICTIMS.cost, NO_VICTIMS) if is_free and not self._is_exclusive else (COST_OF_ONE_MIN, None)
                heapq.heappush(self._heap, (known[0], other, self._row_version[other], known[1]))

    def _search(self, row: int) -> None:
        self._searches -= row not in self._known
        self._search_budget.searches -= 1
        victims = self._victims_on(row)
        self._known[row] = victims.cost if victims is not None else COST_MAX
        if victims is not None:
            self._row_version[row] += 1
            heapq.heappush(self._heap, (victims.cost, row, self._row_version[row], victims))

    def _allowed_rows(self) -> BoolArray:
        """Rows that refuse the class only for lack of room."""
        workspace, task_class = self._workspace, self._queued.task_class
        if task_class.rules is not None and task_class.rules.exclusive:
            task_class = replace(task_class, rules=replace(task_class.rules, exclusive=False))
        filters = [each for each in workspace.filters if each.name != "resources"]
        allowed = feasible(task_class, workspace.ledger, slice(0, workspace.ledger.count), filters).copy()
        if workspace.rule_set.constrains(task_class):
            allowed &= workspace.rule_set.rules_for(task_class).allowed
        allowed[[row for row in self._queued.avoid if row < len(allowed)]] = False
        return allowed

    def _bounds(self) -> list[tuple[Cost, int, int, Victims | None]]:
        """For each row where enough tasks could end: the fewest tasks if all were as large as the largest, the least
        important, and the youngest."""
        ledger = self._workspace.ledger
        if any(resource not in ledger.column for resource in self._queued.task_class.needs):
            return []
        parts, rows = self._parts(), ledger.count
        nodes = parts.node
        fewest = np.ones(rows, dtype=np.int64)
        possible = self._allowed & (np.bincount(nodes, minlength=rows) > 0)
        for resource, need in self._queued.task_class.needs.items():
            amounts = parts.amounts[ledger.column[resource]]
            free = ledger.free[ledger.column[resource]][:rows]
            held = np.bincount(nodes, amounts * parts.count, rows).astype(np.int64)
            largest = np.zeros(rows, dtype=np.int64)
            np.maximum.at(largest, nodes, amounts)
            possible &= free + held >= need
            fewest = np.maximum(fewest, -(-(need - free) // np.maximum(largest, 1)))
        tasks, priority, started = np.full(rows, 2**31), np.full(rows, 2**31), np.zeros(rows, dtype=np.int64)
        np.minimum.at(tasks, nodes, parts.tasks)
        np.minimum.at(priority, nodes, parts.priority)
        np.maximum.at(started, nodes, parts.started_ms)
        found = np.flatnonzero(possible)
        fewest = fewest[found] * tasks[found]
        columns = (fewest, fewest * priority[found], -fewest * started[found], found)
        facts, known = zip(*(each.tolist() for each in columns), strict=True), self._known
        return [(max((n, p, s), known[row]) if row in known else (n, p, s), row, 0, None) for n, p, s, row in facts]

    def _bound(self, row: int) -> Cost | None:
        """The same for one row; None if not enough can end there."""
        ledger, needs = self._workspace.ledger, self._queued.task_class.needs
        columns = [ledger.column[resource] for resource in needs]
        candidates = self._candidates_on(row, columns)
        if not candidates:
            return None
        fewest = 1
        for number, need in enumerate(needs.values()):
            lacking = need - int(ledger.free[columns[number], row])
            if sum(each.amounts[number] * each.count for each in candidates) < lacking:
                return None
            fewest = max(fewest, -(-lacking // max(1, *(each.amounts[number] for each in candidates))))
        fewest *= min(each.tasks for each in candidates)
        started_ms = max(each.started_ms for each in candidates)
        return fewest, fewest * min(each.priority for each in candidates), -fewest * (started_ms + 1)

    def _parts(self) -> _Parts:
        """What can end on a node by itself: a task of an entry, or all tasks of a gang there."""
        occupancy, running = self._occupancy, self._occupancy.running
        entries = np.flatnonzero(self._counts > 0)
        ganged = entries[occupancy.gang[entries] > 0] if occupancy.gangs else entries[:0]
        plain = entries[occupancy.gang[entries] == 0] if len(ganged) else entries
        ones = np.ones(len(plain), dtype=np.int64)
        parts = _Parts(
            running.node[plain],
            occupancy.amounts[:, plain],
            self._counts[plain],
            ones,
            running.priority[plain],
            running.started_ms[plain],
        )
        if not len(ganged):
            return parts
        gang, counts = occupancy.gang[ganged], self._counts[ganged]
        _, first, part = np.unique(
            np.stack([gang, running.node[ganged]]), axis=1, return_index=True, return_inverse=True
        )
        part = part.ravel()
        _, of_gang = np.unique(gang, return_inverse=True)
        tasks = np.bincount(of_gang, counts).astype(np.int64)[of_gang]
        held = [np.bincount(part, amounts * counts).astype(np.int64) for amounts in occupancy.amounts[:, ganged]]
        started = np.zeros(len(first), dtype=np.int64)
        np.maximum.at(started, part, running.started_ms[ganged])
        return parts.concat(
            _Parts(
                running.node[ganged][first],
                np.array(held),
                np.ones(len(first), dtype=np.int64),
                tasks[first],
                running.priority[ganged][first],
                np.full(len(first), started.max()),  # of the youngest anywhere, which is a bound for each gang
            )
        )

    def _victims_on(self, row: int) -> Victims | None:
        ledger, needs = self._workspace.ledger, self._queued.task_class.needs
        columns = [ledger.column[resource] for resource in needs]
        candidates = self._candidates_on(row, columns)
        if self._is_exclusive:
            return self._with_whole_gangs(self._all_tasks_on(row, candidates))
        lacking = [need - int(ledger.free[column, row]) for column, need in zip(columns, needs.values(), strict=True)]
        return self._with_whole_gangs(choose_victims(candidates, lacking, self._step_budget))

    def _with_whole_gangs(self, victims: Victims | None) -> Victims | None:
        """Adds all tasks of each gang of which a part was chosen."""
        if victims is None or not self._occupancy.gangs:
            return victims
        chosen: Chosen = {}
        for entry, count in victims.chosen.items():
            if self._occupancy.gang[entry]:
                ends = self._occupancy.gang_entries(entry).tolist()
                chosen |= {each: int(self._counts[each]) for each in ends if self._counts[each] > 0}
            else:
                chosen[entry] = count
        return Victims(chosen, victims.cost)

    def _candidates_on(self, row: int, columns: list[int]) -> list[VictimCandidate]:
        running, gang = self._occupancy.running, self._occupancy.gang
        entries = self._occupancy.entries_on(row)
        entries = entries[self._counts[entries] > 0]
        plain = entries[gang[entries] == 0] if self._occupancy.gangs else entries
        amounts = self._occupancy.amounts[np.array(columns)[:, None], plain].T.tolist()
        columns_of = (self._counts, running.priority, running.started_ms)
        facts = zip(plain.tolist(), amounts, *(each[plain].tolist() for each in columns_of), strict=True)
        candidates = [VictimCandidate(entry, tuple(held), *rest) for entry, held, *rest in facts]
        if len(plain) == len(entries):
            return candidates
        ganged = [(int(gang[entry]), entry) for entry in entries.tolist() if gang[entry]]
        for number in dict.fromkeys(each for each, _ in ganged):
            here = [entry for each, entry in ganged if each == number]
            candidates.append(self._gang_candidate(here[0], here, columns))
        return candidates

    def _gang_candidate(self, entry: int, here: list[int], columns: list[int]) -> VictimCandidate:
        """A gang's tasks on the node, at the cost of the whole gang. Its age is the mean."""
        running, ends = self._occupancy.running, self._occupancy.gang_entries(entry)
        counts = self._counts[ends]
        tasks = int(counts.sum())
        held = (self._occupancy.amounts[:, here] * self._counts[here]).sum(axis=1)
        started_ms = int((running.started_ms[ends] * counts).sum()) // tasks
        return VictimCandidate(entry, tuple(held[columns].tolist()), 1, int(running.priority[entry]), started_ms, tasks)

    def _all_tasks_on(self, row: int, candidates: list[VictimCandidate]) -> Victims | None:
        """For a task that needs the node for itself: all tasks there, or none if one of them must not end."""
        here = self._occupancy.entries_on(row)
        if int(np.maximum(self._counts[here], 0).sum()) < int(self._workspace.ledger.tasks[row]):
            return None
        chosen = {each.entry: each.count for each in candidates}
        return Victims(chosen, cost_of(candidates, chosen))


@dataclass(frozen=True, slots=True)
class _Parts:
    """Columns: what one part holds on its node, how many there are, and how many tasks end with one."""

    node: IntArray
    amounts: IntArray
    count: IntArray
    tasks: IntArray
    priority: IntArray
    started_ms: IntArray

    def concat(self, other: _Parts) -> _Parts:
        return _Parts(
            np.concatenate([self.node, other.node]),
            np.concatenate([self.amounts, other.amounts], axis=1),
            np.concatenate([self.count, other.count]),
            np.concatenate([self.tasks, other.tasks]),
            np.concatenate([self.priority, other.priority]),
            np.concatenate([self.started_ms, other.started_ms]),
        )
