"""Finds when and where a blocked item will fit, so that others may start earlier without delaying it. Called by
`reservations`.

This is EASY backfill (Lifka, "The ANL/IBM SP Scheduling System", 1995): the first blocked item gets a reservation at
the earliest time at which it fits, computed from the expected ends of running tasks. Others may start now if they end
before it, or if they fit next to it even then. A task with an unknown end counts as endless. Where no time can be
computed, the nodes that lack least are held as they become free, so that large tasks do not starve."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from shunter.planning.filter.node_ledger import NodeLedger, Rows
from shunter.planning.filter.rules import RuleSet
from shunter.planning.reserve.occupancy import Occupancy
from shunter.planning.score.gangs import Item, ItemPlacement, may_fit, place_gang, undo_all
from shunter.planning.score.pick import Picked
from shunter.planning.score.scores import More, Score, Shape
from shunter.planning.score.workspace import Workspace, compute_scores
from shunter.planning.view import NEVER, FloatArray, IntArray, Queued, TaskClass

RESERVE_AFTER_S = 30.0  # a single task that waited this long gets a reservation, a gang at once
HOLD_AFTER_S = 120.0  # room is held after this time, where no start can be computed
RENEW_AFTER_MS = 1_000  # age of a reservation before something earlier is sought
FIT_TRIES_MAX = 16  # ends after which placing an item is tried
STOP_EXPECTED_MS = 5_000  # a stopping task takes about this long
REVALIDATE_SLACK_MS = 1_000  # a reservation stays valid if a task ends this much later: reports take a moment
LATE_MIN_MS = 1_000  # a task that runs longer than expected ends no sooner than this


@dataclass(frozen=True, slots=True)
class PlannedStart:
    """Where and when an item will start, as computed at a given time. `at_ms` 0 means that the time is unknown."""

    placed: ItemPlacement
    at_ms: int = 0
    found_ms: int = 0


@dataclass(frozen=True, slots=True)
class Reservation:
    """A planned start, and the future in which the item has its place."""

    planned_start: PlannedStart
    workspace: Workspace


def reserve(
    item: Item, workspace: Workspace, occupancy: Occupancy, now_ms: int, last: PlannedStart | None = None
) -> Reservation | None:
    """The earliest time at which the whole item fits, and where; None if no such time is known.

    `last` is its previous reservation. It stays valid if nothing earlier is found: a packing found once must not be
    lost because another one is sought today. While it is recent, nothing earlier is sought."""
    ends = expected_ends(occupancy, now_ms)
    is_alive = last is not None and last.at_ms > 0 and now_ms < last.at_ms + REVALIDATE_SLACK_MS
    still_valid = _revalidate(item, workspace, occupancy, ends, last) if last is not None and is_alive else None
    if still_valid is not None and now_ms - still_valid.planned_start.found_ms < RENEW_AFTER_MS:
        return still_valid
    found = _earliest(item, workspace, occupancy, ends)
    if still_valid is not None and (found is None or still_valid.planned_start.at_ms < found.planned_start.at_ms):
        found = still_valid
    return replace(found, planned_start=replace(found.planned_start, found_ms=now_ms)) if found is not None else None


def hold(item: Item, workspace: Workspace, occupancy: Occupancy) -> Reservation | None:
    """Room to hold for an item whose start time is unknown: on the nodes that lack least."""
    emptied = workspace.scratch()
    ending = np.flatnonzero(occupancy.running.end_ms < NEVER)
    occupancy.release(emptied.ledger, ending, occupancy.running.count[ending])
    score = Score("closest", Shape.ANY, partial(_shortfall, workspace.ledger, emptied.ledger.free.copy()))
    emptied = replace(emptied, score=score, scores=partial(compute_scores, workspace.filters, score))
    placed = place_item(item, emptied)
    if placed is None:
        return None
    future = workspace.scratch()
    for queued, picked in placed:
        future.put(queued.task_class, picked)
    return Reservation(PlannedStart(placed), future)


def place_item(item: Item, workspace: Workspace) -> ItemPlacement | None:
    """Place the whole item in the workspace, or nothing of it."""
    if item.is_all_or_nothing:
        return place_gang(item.members, workspace)
    (queued,) = item.members
    picked = workspace.pick(queued, queued.count)
    if int(picked.counts.sum()) < queued.count:
        return None
    workspace.put(queued.task_class, picked)
    return [(queued, picked)]


def put_if_fits(item: Item, placed: ItemPlacement, workspace: Workspace) -> bool:
    """Place the item where it was once found to fit. If it no longer fits, the workspace is unchanged."""
    wanted = {each.task_class.id: each.count for each in item.members}
    if wanted != {queued.task_class.id: int(picked.counts.sum()) for queued, picked in placed}:
        return False
    done: ItemPlacement = []
    cursor = workspace.ledger.cursor
    for queued, picked in placed:
        if not _still_fits(workspace, queued, picked):
            undo_all(done, workspace, cursor)
            return False
        workspace.put(queued.task_class, picked)
        done.append((queued, picked))
    return True


def expected_ends(occupancy: Occupancy, now_ms: int) -> IntArray:
    """The expected end of each entry's tasks. A late task is expected to be as late again."""
    running = occupancy.running
    expected = np.where(running.end_ms < 0, now_ms - running.end_ms, running.end_ms)
    late = np.maximum(now_ms - expected, LATE_MIN_MS)
    ends = np.where(expected > now_ms, expected, now_ms + late)
    ends = np.where(expected > 0, ends, NEVER)
    return np.where(running.is_stopping, np.minimum(ends, now_ms + STOP_EXPECTED_MS), ends)


def _revalidate(
    item: Item, workspace: Workspace, occupancy: Occupancy, ends: IntArray, planned_start: PlannedStart
) -> Reservation | None:
    """The reservation, if the item still fits there at that time, or a moment later. Room that becomes free in that
    moment belongs to the item alone: a task admitted because of it would delay the item again and again."""
    future = _workspace_at(planned_start.at_ms, workspace, occupancy, ends)
    if put_if_fits(item, planned_start.placed, future):
        return Reservation(planned_start, future)
    if not put_if_fits(
        item, planned_start.placed, _workspace_at(planned_start.at_ms + REVALIDATE_SLACK_MS, workspace, occupancy, ends)
    ):
        return None
    for queued, picked in planned_start.placed:
        future.put(queued.task_class, picked)
    return Reservation(planned_start, future)


def _earliest(item: Item, workspace: Workspace, occupancy: Occupancy, ends: IntArray) -> Reservation | None:
    """Skip the times with too little total room, then try one after another, in growing steps."""
    timeline = _Timeline(workspace, occupancy, ends)
    times = timeline.times
    low, high = 0, len(times)
    while low < high:
        middle = (low + high) // 2
        future = timeline.at(middle)
        if may_fit(item.members, future):
            high = middle
        else:
            low = middle + 1
            timeline.advance_base(middle, future)  # nothing earlier is needed any more
    tries = 0
    while low < len(times):
        future = timeline.at(low)
        timeline.advance_base(low, future)
        future = future.scratch()
        placed = place_item(item, future)
        if placed is not None:
            return Reservation(PlannedStart(placed, int(times[low])), future)
        if low == len(times) - 1:
            return None
        tries += 1
        low = min(low + max(1, 2 ** (tries - FIT_TRIES_MAX)), len(times) - 1)
    return None


class _Timeline:
    """The future, end by end. The workspace at one time is made from that at an earlier one, so that searching ever
    nearer times costs ever less."""

    def __init__(self, workspace: Workspace, occupancy: Occupancy, ends: IntArray) -> None:
        self._occupancy = occupancy
        known = np.flatnonzero(ends < NEVER)
        self._order = known[np.argsort(ends[known])]
        self.times, self._first = np.unique(ends[self._order], return_index=True)
        self._base, self._done = workspace, 0  # what has ended in the base: this many of the order

    def at(self, index: int) -> Workspace:
        """After the end with this number, and not before the settled start."""
        future, until = self._base.scratch(), self._end_index(index)
        entries = self._order[self._done : until]
        if len(entries):
            self._occupancy.release(future.ledger, entries, self._occupancy.running.count[entries])
        return future

    def advance_base(self, index: int, future: Workspace) -> None:
        self._base, self._done = future, self._end_index(index)

    def _end_index(self, index: int) -> int:
        return int(self._first[index + 1]) if index + 1 < len(self._first) else len(self._order)


def _workspace_at(time_ms: int, workspace: Workspace, occupancy: Occupancy, ends: IntArray) -> Workspace:
    future = workspace.scratch()
    entries = np.flatnonzero(ends <= time_ms)
    occupancy.release(future.ledger, entries, occupancy.running.count[entries])
    return future


def _still_fits(workspace: Workspace, queued: Queued, picked: Picked) -> bool:
    """Whether the nodes still take these tasks."""
    task_class = queued.task_class
    scores = workspace.scores(queued, workspace.ledger)[picked.rows]
    if not (scores < np.inf).all() or (workspace.ledger.room(task_class, picked.rows, 2**31) < picked.counts).any():
        return False
    return not workspace.rule_set.constrains(task_class) or _rules_allow(workspace.rule_set, task_class, picked)


def _rules_allow(rule_set: RuleSet, task_class: TaskClass, picked: Picked) -> bool:
    placement_rules = rule_set.rules_for(task_class)
    if not placement_rules.allowed[picked.rows].all():
        return False
    return placement_rules.per_node_max is None or bool((picked.counts <= placement_rules.per_node_max).all())


def _shortfall(
    now: NodeLedger, free_at_first: IntArray, task_class: TaskClass, ledger: NodeLedger, rows: Rows, more: More = 0
) -> FloatArray:
    """How much of a task's needs a node lacks now, after what has been placed on the scratch copy, in tasks."""
    shortfall: FloatArray = np.zeros(np.shape(more + ledger.number[rows]))
    for resource, need in task_class.needs.items():
        column = ledger.column[resource]
        put = free_at_first[column][rows] - ledger.free[column][rows]
        free = now.free[column][rows] - put
        shortfall = np.maximum(shortfall, (need * (np.asarray(more) + 1) - free) / need)
    return shortfall
