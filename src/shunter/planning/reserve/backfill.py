"""When and where an item that found no room will fit, so that others may go ahead without delaying it.

Called by `claims`. This is EASY backfill (Lifka, "The ANL/IBM SP Scheduling System", 1995): the first blocked item
gets a reservation at the earliest time at which it fits, reckoned from when running tasks are expected to end. Others
may start now if they end before it, or if they fit beside it even then. Unknown ends count as never; where no time can
be worked out, room on the nodes that lack least is held as it comes free, so that large tasks do not starve.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from shunter.planning.filter.node_ledger import Ledger, Rows
from shunter.planning.filter.rules import Couplings
from shunter.planning.reserve.occupancy import Occupancy
from shunter.planning.score.gangs import Item, Placed, may_fit, place_gang, take_all_back
from shunter.planning.score.pick import Picked
from shunter.planning.score.scores import More, Score, Shape
from shunter.planning.score.workspace import Site, fresh_prices
from shunter.planning.view import NEVER, FloatArray, IntArray, Queued, TaskClass

RESERVE_AFTER_S = 30.0  # a single task that waited so long gets a reservation, a gang at once
HOLD_AFTER_S = 120.0  # room is held after so long, where no time can be worked out
RENEW_AFTER_MS = 1_000  # a promise is so old before something earlier is looked for
FIT_TRIES_MAX = 16  # ends after which an item is tried to be placed
STOP_EXPECTED_MS = 5_000  # a task that was told to end takes about so long
STAND_SLACK_MS = 1_000  # a promise stands where somebody ends so much later: starting and reporting take a moment
LATE_MIN_MS = 1_000  # a task that runs longer than expected ends no sooner than this


@dataclass(frozen=True, slots=True)
class Promise:
    """Where and when an item will start, as worked out at a time. `at_ms` 0 means that nobody knows when."""

    placed: Placed
    at_ms: int = 0
    found_ms: int = 0


@dataclass(frozen=True, slots=True)
class Reservation:
    """A promise, and the future in which the item has its place."""

    promise: Promise
    site: Site


def reserve(
    item: Item, site: Site, occupancy: Occupancy, now_ms: int, last: Promise | None = None
) -> Reservation | None:
    """The earliest time at which the whole item fits, and where; None if it is not known to fit at any time.

    `last` is what it was promised before. It stands where nothing earlier is found: a packing that was found once must
    not be lost because another one is looked for today. While it is young, nothing earlier is looked for.
    """
    ends = expected_ends(occupancy, now_ms)
    is_alive = last is not None and last.at_ms > 0 and now_ms < last.at_ms + STAND_SLACK_MS
    standing = _stand(item, site, occupancy, ends, last) if last is not None and is_alive else None
    if standing is not None and now_ms - standing.promise.found_ms < RENEW_AFTER_MS:
        return standing
    found = _earliest(item, site, occupancy, ends)
    if standing is not None and (found is None or standing.promise.at_ms < found.promise.at_ms):
        found = standing
    return replace(found, promise=replace(found.promise, found_ms=now_ms)) if found is not None else None


def hold(item: Item, site: Site, occupancy: Occupancy) -> Reservation | None:
    """Room to keep for an item of which nobody can say when it will fit: on the nodes that lack least."""
    everything = site.scratch()
    ending = np.flatnonzero(occupancy.running.end_ms < NEVER)
    occupancy.release(everything.ledger, ending, occupancy.running.count[ending])
    score = Score("closest", Shape.ANY, partial(_lacking, site.ledger, everything.ledger.free.copy()))
    everything = replace(everything, score=score, prices=partial(fresh_prices, site.filters, score))
    placed = place_item(item, everything)
    if placed is None:
        return None
    future = site.scratch()
    for queued, picked in placed:
        future.put(queued.task_class, picked)
    return Reservation(Promise(placed), future)


def place_item(item: Item, site: Site) -> Placed | None:
    """The whole item on the site, or nothing."""
    if item.is_whole:
        return place_gang(item.members, site)
    (queued,) = item.members
    picked = site.pick(queued, queued.count)
    if int(picked.counts.sum()) < queued.count:
        return None
    site.put(queued.task_class, picked)
    return [(queued, picked)]


def put_again(item: Item, placed: Placed, site: Site) -> bool:
    """Put the item where it was once found to fit. If it does not any more, the site is left as it was."""
    wanted = {each.task_class.id: each.count for each in item.members}
    if wanted != {queued.task_class.id: int(picked.counts.sum()) for queued, picked in placed}:
        return False
    done: Placed = []
    cursor = site.ledger.cursor
    for queued, picked in placed:
        if not _takes(site, queued, picked):
            take_all_back(done, site, cursor)
            return False
        site.put(queued.task_class, picked)
        done.append((queued, picked))
    return True


def expected_ends(occupancy: Occupancy, now_ms: int) -> IntArray:
    """When each entry's tasks end, for all that is known. One that is late is expected to be as late again."""
    running = occupancy.running
    expected = np.where(running.end_ms < 0, now_ms - running.end_ms, running.end_ms)
    late = np.maximum(now_ms - expected, LATE_MIN_MS)
    ends = np.where(expected > now_ms, expected, now_ms + late)
    ends = np.where(expected > 0, ends, NEVER)
    return np.where(running.is_stopping, np.minimum(ends, now_ms + STOP_EXPECTED_MS), ends)


def _stand(item: Item, site: Site, occupancy: Occupancy, ends: IntArray, promise: Promise) -> Reservation | None:
    """The promise, if the item still fits there and then, or a moment later. What comes in that moment is the item's
    alone: whoever was let in beside it on that account would put it off again and again."""
    future = _at(promise.at_ms, site, occupancy, ends)
    if put_again(item, promise.placed, future):
        return Reservation(promise, future)
    if not put_again(item, promise.placed, _at(promise.at_ms + STAND_SLACK_MS, site, occupancy, ends)):
        return None
    for queued, picked in promise.placed:
        future.put(queued.task_class, picked)
    return Reservation(promise, future)


def _earliest(item: Item, site: Site, occupancy: Occupancy, ends: IntArray) -> Reservation | None:
    """Skip the times at which there is too little room in all, then try one after another, in growing steps."""
    unfolding = _Unfolding(site, occupancy, ends)
    times = unfolding.times
    low, high = 0, len(times)
    while low < high:
        middle = (low + high) // 2
        future = unfolding.at(middle)
        if may_fit(item.members, future):
            high = middle
        else:
            low = middle + 1
            unfolding.settle(middle, future)  # nobody asks for anything earlier any more
    tries = 0
    while low < len(times):
        future = unfolding.at(low)
        unfolding.settle(low, future)
        future = future.scratch()
        placed = place_item(item, future)
        if placed is not None:
            return Reservation(Promise(placed, int(times[low])), future)
        if low == len(times) - 1:
            return None
        tries += 1
        low = min(low + max(1, 2 ** (tries - FIT_TRIES_MAX)), len(times) - 1)
    return None


class _Unfolding:
    """The future, end by end. A site at some time is made of an earlier one, so that looking at ever nearer times costs
    ever less."""

    def __init__(self, site: Site, occupancy: Occupancy, ends: IntArray) -> None:
        self._occupancy = occupancy
        known = np.flatnonzero(ends < NEVER)
        self._order = known[np.argsort(ends[known])]
        self.times, self._first = np.unique(ends[self._order], return_index=True)
        self._base, self._done = site, 0  # what has ended in the base: so many of the order

    def at(self, place: int) -> Site:
        """After the end with this number, and not before what was settled."""
        future, until = self._base.scratch(), self._until(place)
        entries = self._order[self._done : until]
        if len(entries):
            self._occupancy.release(future.ledger, entries, self._occupancy.running.count[entries])
        return future

    def settle(self, place: int, future: Site) -> None:
        self._base, self._done = future, self._until(place)

    def _until(self, place: int) -> int:
        return int(self._first[place + 1]) if place + 1 < len(self._first) else len(self._order)


def _at(time_ms: int, site: Site, occupancy: Occupancy, ends: IntArray) -> Site:
    future = site.scratch()
    entries = np.flatnonzero(ends <= time_ms)
    occupancy.release(future.ledger, entries, occupancy.running.count[entries])
    return future


def _takes(site: Site, queued: Queued, picked: Picked) -> bool:
    """Whether the nodes still take these tasks."""
    task_class = queued.task_class
    prices = site.prices(queued, site.ledger)[picked.rows]
    if not (prices < np.inf).all() or (site.ledger.room(task_class, picked.rows, 2**31) < picked.counts).any():
        return False
    return not site.couplings.couples(task_class) or _may_go(site.couplings, task_class, picked)


def _may_go(couplings: Couplings, task_class: TaskClass, picked: Picked) -> bool:
    coupling = couplings.of(task_class)
    if not coupling.allowed[picked.rows].all():
        return False
    return coupling.a_node_max is None or bool((picked.counts <= coupling.a_node_max).all())


def _lacking(
    now: Ledger, free_at_first: IntArray, task_class: TaskClass, ledger: Ledger, rows: Rows, more: More = 0
) -> FloatArray:
    """How much of a task's needs a node lacks today, after what has been put on the scratch, in tasks."""
    lacking: FloatArray = np.zeros(np.shape(more + ledger.number[rows]))
    for resource, need in task_class.needs.items():
        column = ledger.column[resource]
        put = free_at_first[column][rows] - ledger.free[column][rows]
        free = now.free[column][rows] - put
        lacking = np.maximum(lacking, (need * (np.asarray(more) + 1) - free) / need)
    return lacking
