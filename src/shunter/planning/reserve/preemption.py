"""Chooses the tasks to preempt so that a more important item can start: the fewest, and among those the cheapest.

Called by `reservations` for the most urgent blocked items. It works on a scratch copy in which every task that was told
to stop has ended, so it chooses no victims while enough room is about to become free. Tasks are placed one at a time,
each where it costs least; room left over from a victim serves the next task. At the end, victims that turned out to be
unnecessary are spared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shunter.planning.filter.colocation import depends_on_own_placements, is_required_job_affinity
from shunter.planning.reserve.node_search import Costs, NodeSearch, SearchBudget
from shunter.planning.reserve.occupancy import Occupancy
from shunter.planning.reserve.victims import Chosen
from shunter.planning.score.gangs import Item, ItemPlacement, largest_first, may_fit, place_gang
from shunter.planning.score.pick import Picked
from shunter.planning.score.workspace import NO_NODES, Workspace
from shunter.planning.view import BoolArray, IntArray, Preemption, Queued

PREEMPT_GAP = 10  # a task is preempted only for one whose priority is at least this much higher
WINNERS_MAX = 50  # nodes on which room is made in one decision; the next one continues
GANG_WINNERS_MAX = 200  # the same for a gang, which cannot continue next time
ROUNDS_MAX = 50  # after which an attempt is dropped: too much changes meanwhile
NO_LIMIT = 2**31
SPARE_TRIES_MAX = 16  # victims for which winners are moved, to spare them
NO_ROWS: IntArray = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class PreemptionPlan:
    """The future in which the victims have ended and the item has its place."""

    workspace: Workspace
    placed: ItemPlacement
    chosen: Chosen  # entry of running tasks -> number of its tasks that must end
    winners: int  # nodes on which room was made
    preemptions: list[Preemption]


@dataclass(frozen=True, slots=True)
class SuspendedAttempt:
    """An attempt whose slice of the work is over. Entries have other numbers next time, so victims are stored by class
    and node: the youngest are meant."""

    placed: tuple[tuple[int, IntArray, IntArray], ...]  # class, rows, counts
    victim_counts: Mapping[tuple[int, int], int]  # class, node -> tasks to preempt
    winners: int
    known: Mapping[int, Costs]  # class -> cost of victims on the nodes that were searched for it
    rounds: int = 1


def preempt(
    item: Item, future: Workspace, occupancy: Occupancy, gap: int = PREEMPT_GAP, search_budget: SearchBudget | None =
    None, suspended: SuspendedAttempt | None = None,
) -> PreemptionPlan | SuspendedAttempt | None:  # fmt: skip
    """Make room for a whole gang, or for as many tasks of a class as possible. None if none can be made.

    `future` is unchanged. If enough room is about to become free, the plan has no victims. When the slice is over, the
    result is the `suspended` attempt: pass it in next time to continue."""
    attempt = _Attempt(item, future, occupancy, gap, search_budget or SearchBudget(NO_LIMIT))
    rounds = 1 if suspended is None else suspended.rounds + 1
    if suspended is not None and not attempt.resume(suspended):
        attempt = _Attempt(item, future, occupancy, gap, search_budget or SearchBudget(NO_LIMIT))
    elif suspended is None and item.is_all_or_nothing and not attempt.may_fit():
        return None
    is_placed = attempt.place()
    if attempt.is_exhausted:
        return attempt.suspended(rounds) if rounds < ROUNDS_MAX else None
    if not is_placed:
        return None
    attempt.spare_unneeded()
    return attempt.plan()


def _is_affinity_target(item: Item, workspace: Workspace, class_ids: IntArray) -> BoolArray:
    """The running tasks next to which the item must run: without them, it could not start."""
    rules = [each.task_class.rules for each in item.members if each.task_class.rules is not None]
    matches = {each.match for rule in rules for each in rule.affinity if is_required_job_affinity(each)}
    if not matches:
        return np.zeros(len(class_ids), dtype=np.bool_)
    ids = [
        each
        for each in np.unique(class_ids).tolist()
        if any(workspace.rule_set.holds(match, each) for match in matches)
    ]
    return np.isin(class_ids, ids)


class _Attempt:
    def __init__(
        self, item: Item, future: Workspace, occupancy: Occupancy, gap: int, search_budget: SearchBudget
    ) -> None:
        self._search_budget = search_budget
        self._item = item
        self._future = future
        self._occupancy = occupancy
        self._workspace = future.scratch()
        running = occupancy.running
        may_end = ~running.is_stopping & (running.priority <= item.priority - gap)
        may_end &= ~_is_affinity_target(item, future, running.class_ids)
        self._count: IntArray = np.where(may_end, running.count, 0)  # tasks of each entry that may still be chosen
        self._chosen: Counter[int] = Counter()
        self._placed: ItemPlacement = []
        self._known: dict[int, Costs] = {}
        self.winners = 0

    def may_fit(self) -> bool:
        """Whether a gang could fit if all possible victims ended: most hopeless ones end here."""
        workspace, entries = self._future.scratch(), np.flatnonzero(self._count)
        self._occupancy.release(workspace.ledger, entries, self._count[entries])
        return may_fit(self._item.members, workspace)

    def place(self) -> bool:
        """Place the item's tasks, preempting others where there is no room."""
        done = Counter[int]()
        for queued, picked in self._placed:
            done[queued.task_class.id] += int(picked.counts.sum())
        for queued in largest_first(self._item.members, self._workspace):
            missing = queued.count - done[queued.task_class.id]
            picked = self._workspace.pick(queued, missing) if missing else NO_NODES
            if len(picked.rows):
                self._put(queued, picked)
            missing -= int(picked.counts.sum())
            if missing and not self._place_by_preempting(queued, missing):
                return bool(self._placed) and not self._item.is_all_or_nothing
        return True

    @property
    def is_exhausted(self) -> bool:
        """Whether the slice has ended before the attempt."""
        return self._search_budget.is_exhausted

    def suspended(self, rounds: int) -> SuspendedAttempt:
        placed = tuple((queued.task_class.id, picked.rows, picked.counts) for queued, picked in self._placed)
        return SuspendedAttempt(placed, self._victim_counts(), self.winners, self._known, rounds)

    def resume(self, suspended: SuspendedAttempt) -> bool:
        """Continue where a slice ended; False if that is no longer valid."""
        chosen: Chosen = {}
        for (class_id, node), count in suspended.victim_counts.items():
            for entry in self._youngest(class_id, node):
                chosen[entry] = min(count, int(self._count[entry]))
                count -= chosen[entry]
            if count > 0:
                return False
        self._end_all({entry: count for entry, count in chosen.items() if count})
        members = {each.task_class.id: each for each in self._item.members}
        for class_id, rows, counts in suspended.placed:
            queued = members.get(class_id)
            if queued is None or (self._workspace.ledger.room(queued.task_class, rows, 2**31) < counts).any():
                return False
            self._put(queued, Picked(rows, counts))
        self.winners, self._known = suspended.winners, dict(suspended.known)
        return all(self._placed_count(each) <= each.count for each in self._item.members)

    def _placed_count(self, queued: Queued) -> int:
        return sum(int(picked.counts.sum()) for each, picked in self._placed if each is queued)

    def _youngest(self, class_id: int, node: int) -> list[int]:
        """Entries of a class on a node of which some may end."""
        running, here = self._occupancy.running, self._occupancy.entries_on(node)
        here = here[(running.class_ids[here] == class_id) & (self._count[here] > 0)]
        ordered: list[int] = here[np.argsort(-running.started_ms[here], kind="stable")].tolist()
        return ordered

    def spare_unneeded(self) -> None:
        """Spare the victims that are not needed, the most important first and then the oldest.

        First those whose room is unused. Then, if there is room for a winner to move to, those without whom everything
        would still fit: only a few are tried, because each try places the whole item again. A move may leave the room
        of others unused, so the procedure starts again."""
        if any(each.task_class.rules is not None and each.task_class.rules.exclusive for each in self._item.members):
            return
        running = self._occupancy.running
        first = [entry for entry in self._chosen if entry == self._spared_together(entry)[0]]
        by_importance = sorted(first, key=lambda entry: (-running.priority[entry], running.started_ms[entry]))
        tries, has_moved = SPARE_TRIES_MAX, True
        while has_moved:
            self._spare_unused(by_importance)
            tries, has_moved = self._spare_by_moving(by_importance, tries)

    def _spare_unused(self, entries: list[int]) -> None:
        for entry in entries:
            while self._chosen[entry] and self._is_unused(entry):
                for each in self._spared_together(entry):
                    self._end(each, -self._spared_count(each))

    def _spare_by_moving(self, entries: list[int], tries: int) -> tuple[int, bool]:
        """Returns how many tries are left, and whether a winner has moved."""
        has_moved, may_move = False, tries > 0 and self._may_move()
        for entry in entries:
            if self._chosen[entry] and tries and may_move:
                tries -= 1
                if self._fits_without(entry):
                    has_moved, may_move = True, self._may_move()
        return tries, has_moved

    def plan(self) -> PreemptionPlan:
        chosen = {entry: count for entry, count in sorted(self._chosen.items()) if count}
        winner = self._item.members[0].task_class.id
        preemptions = [
            Preemption(victim, node, count, winner) for (victim, node), count in self._victim_counts().items()
        ]
        return PreemptionPlan(self._workspace, self._placed, chosen, self.winners, preemptions)

    def _victim_counts(self) -> Counter[tuple[int, int]]:
        running, victim_counts = self._occupancy.running, Counter[tuple[int, int]]()
        for entry, count in sorted(self._chosen.items()):
            if count:
                victim_counts[int(running.class_ids[entry]), int(running.node[entry])] += count
        return victim_counts

    def _place_by_preempting(self, queued: Queued, missing: int) -> bool:
        """Preempt others for the missing tasks, one after another. False if not all could be placed."""
        known = self._known.setdefault(queued.task_class.id, {})
        node_search = NodeSearch(queued, self._workspace, self._occupancy, self._count, self._search_budget, known)
        while missing:
            if self.winners == (GANG_WINNERS_MAX if self._item.is_all_or_nothing else WINNERS_MAX):
                return False
            found = node_search.cheapest()
            if found is None:
                return False
            row, victims = found
            self._end_all(victims.chosen)
            others = np.unique(self._occupancy.running.node[list(victims.chosen)]) if self._occupancy.gangs else NO_ROWS
            room = int(self._workspace.ledger.room(queued.task_class, np.array([row]), missing)[0])
            served = 1 if depends_on_own_placements(queued.task_class.rules) else room
            self._put(queued, Picked(np.array([row]), np.array([served])))
            node_search.refresh(row, others)
            missing -= served
            self.winners += 1
        return True

    def _put(self, queued: Queued, picked: Picked) -> None:
        self._workspace.put(queued.task_class, picked)
        self._placed.append((queued, picked))

    def _end(self, entry: int, count: int) -> None:
        """Mark this many tasks of the entry as victims; a negative number spares them."""
        self._occupancy.release(self._workspace.ledger, np.array([entry]), np.array([count]))
        self._count[entry] -= count
        self._chosen[entry] += count

    def _end_all(self, chosen: Chosen) -> None:
        entries, counts = np.array(list(chosen), dtype=np.int64), np.array(list(chosen.values()), dtype=np.int64)
        self._occupancy.release(self._workspace.ledger, entries, counts)
        self._count[entries] -= counts
        self._chosen.update(chosen)

    def _spared_together(self, entry: int) -> list[int]:
        """The victims that are spared together: those of a gang, or one alone."""
        return [each for each in self._occupancy.gang_entries(entry).tolist() if self._chosen[each]] or [entry]

    def _spared_count(self, entry: int) -> int:
        """How many of its tasks are spared at a time: one, but all of a gang."""
        return self._chosen[entry] if self._occupancy.gang[entry] else 1

    def _is_unused(self, entry: int) -> bool:
        """Whether the room of one of its tasks is unused; for a gang, of all of them."""
        free, held = self._workspace.ledger.free, dict[int, IntArray]()
        for each in self._spared_together(entry):
            node, amounts = (
                int(self._occupancy.running.node[each]),
                self._occupancy.amounts[:, each] * self._spared_count(each),
            )
            held[node] = held[node] + amounts if node in held else amounts
        return all((free[:, node] >= amounts).all() for node, amounts in held.items())

    def _may_move(self) -> bool:
        """Whether there is room for one more task of any member: if not, none can be moved."""
        return any(len(self._workspace.pick(each, 1).rows) for each in self._item.members)

    def _fits_without(self, entry: int) -> bool:
        """Whether as much can be placed if one task of the entry, or its gang, continues; if so, it is placed that
        way."""
        fewer = self._chosen.copy()
        for each in self._spared_together(entry):
            fewer[each] -= self._spared_count(each)
        workspace = self._future.scratch()
        entries = np.array([each for each, count in fewer.items() if count], dtype=np.int64)
        if len(entries):
            self._occupancy.release(workspace.ledger, entries, np.array([fewer[each] for each in entries.tolist()]))
        placed = self._place_anew(workspace)
        if placed is None:
            return False
        self._workspace, self._placed, self._chosen = workspace, placed, fewer
        return True

    def _place_anew(self, workspace: Workspace) -> ItemPlacement | None:
        if self._item.is_all_or_nothing:
            return place_gang(self._item.members, workspace)
        queued = self._item.members[0]
        count = sum(int(picked.counts.sum()) for _, picked in self._placed)
        picked = workspace.pick(queued, count)
        if int(picked.counts.sum()) < count:
            return None
        workspace.put(queued.task_class, picked)
        return [(queued, picked)]
