"""What waits, remembered by the planner from one decision to the next.

A class that found no room stays blocked until a row improves on which it may fit. So a decision looks only at classes
that are new or may hope again, and its cost grows with what changed, not with what waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from shunter.planning.filter.node_ledger import Ledger
from shunter.planning.order.class_table import BLOCKED, HOPEFUL, NEW, Seat, Seats
from shunter.planning.order.pending_queue import Waiting
from shunter.planning.order.rank import Order
from shunter.planning.order.wakeup import may_fit
from shunter.planning.view import BoolArray, IntArray, LeftBehind, Queued

NAMES_MAX = 100_000  # queues, users and demands remembered; past it everything is read anew

NO_ROWS: IntArray = np.empty(0, np.int64)


class Backlog:
    """The seats, kept true to the view, and where each of them stands."""

    def __init__(self, order: Order, ledger: Ledger) -> None:
        self._order = order
        self._ledger = ledger
        self._starts = -1
        self._clock = -1  # of the ledger, when classes were woken last
        self._source: Waiting | None = None
        self._tick = -1
        self._is_midway = False  # in a pass that was cut into slices
        self._doubted: set[int] = set()  # classes that the last decision placed: some of it may have been refused
        self.seats = Seats(order, ledger, ())
        self.hope = NO_ROWS  # rows that improved since the last whole pass

    def take_in(self, queued: Sequence[Queued], licences: Iterable[str]) -> int:
        """Bring the seats up to date with the view. Returns how many were new or had changed."""
        seats = self.seats
        is_stale = self._ledger.starts != self._starts or tuple(licences) != seats.licences
        if is_stale or len(seats.names) + len(seats.examples) > NAMES_MAX:
            self._starts, self._source, self.hope = self._ledger.starts, None, NO_ROWS
            self.seats = Seats(self._order, self._ledger, tuple(licences))
        waiting = queued if isinstance(queued, Waiting) else None
        changed = waiting.changed_since(self._tick) if waiting is not None and waiting is self._source else None
        if waiting is not None and changed is not None:
            for class_id in {*changed, *self._doubted}:
                self._update(class_id, waiting.get(class_id))
        else:
            gone = set(self.seats.by_class)
            for each in queued:
                gone.discard(each.task_class.id)
                self._update(each.task_class.id, each)
            for class_id in gone:
                self._update(class_id, None)
        self._source, self._tick = waiting, waiting.tick if waiting is not None else -1
        self._doubted.clear()
        return self.seats.write()

    def wake(self, improved: IntArray) -> None:
        """Let those hope again for whom one of the improved rows may be large enough.

        A class with rules looks at what runs elsewhere too, so any change may help it; but once a pass, lest a pass in
        many slices never comes to those behind it.
        """
        if not self._is_midway:
            if self.seats.coupled and self._clock != self._ledger.clock:
                self.seats.standing[list(self.seats.coupled)] = NEW
            self._clock, self._is_midway = self._ledger.clock, True
        if not len(improved):
            return
        self.hope = np.union1d(self.hope, improved) if len(self.hope) else improved
        blocked = self._blocked()
        self.seats.standing[blocked[may_fit(self.seats, blocked, improved, self._ledger)]] = HOPEFUL

    def sober(self) -> None:
        """Those for whom the placements made meanwhile left no hope need not look."""
        hopeful = np.flatnonzero(self.seats.standing == HOPEFUL)
        self.seats.standing[hopeful[~may_fit(self.seats, hopeful, self.hope, self._ledger)]] = BLOCKED

    def rest(self) -> None:
        """A whole pass is over. Whoever still hopes was held back, and has to look at all rows later."""
        self.seats.standing[self.seats.standing == HOPEFUL] = NEW
        self.hope = NO_ROWS
        self._is_midway = False

    def look_again(self, class_ids: Iterable[int]) -> None:
        """These classes look at all rows again."""
        seats = [self.seats.by_class[class_id] for class_id in class_ids if class_id in self.seats.by_class]
        self.seats.standing[[seat.number for seat in seats]] = NEW

    def is_blocked(self, seat: Seat) -> bool:
        return self.seats.standing.item(seat.number) == BLOCKED

    def ready(self) -> BoolArray:
        """By number: whether the class has tasks to place and a row to look at."""
        ready: BoolArray = (self.seats.counts > 0) & (self.seats.standing != BLOCKED)
        return ready

    def place(self, seat: Seat, count: int) -> None:
        seat.queued.count -= count
        self.seats.counts[seat.number] = seat.queued.count
        self._doubted.add(seat.task_class.id)

    def block(self, seat: Seat) -> None:
        self.seats.standing[seat.number] = BLOCKED

    def is_hopeful(self, seat: Seat) -> bool:
        return self.seats.standing.item(seat.number) == HOPEFUL

    def left(self) -> LeftBehind:
        waiting = np.flatnonzero(self.seats.counts > 0)
        return LeftBehind(self.seats.ids[waiting], self.seats.counts[waiting])

    def first_blocked(self, most: int) -> list[Seat]:
        """The most urgent classes that found no room, the most urgent first."""
        seats, blocked = self.seats, self._blocked()
        keys = (seats.ids, seats.since, seats.deadline, seats.urgency)
        order = np.lexsort([column[blocked] for column in keys])[:most]
        return [seats.seat(number) for number in blocked[order].tolist()]

    def _blocked(self) -> IntArray:
        return np.flatnonzero((self.seats.standing == BLOCKED) & (self.seats.counts > 0))

    def _update(self, class_id: int, queued: Queued | None) -> None:
        seat = self.seats.by_class.get(class_id)
        if seat is not None and (queued is None or seat.task_class is not queued.task_class):
            self.seats.remove(seat)
            seat = None
        if queued is None:
            return
        if seat is None:
            self.seats.add(queued)
            return
        ours = seat.queued
        ours.estimate_s = queued.estimate_s
        if ours.avoid != queued.avoid:
            self.seats.standing[seat.number] = NEW
        elif ours.count == queued.count and ours.since == queued.since and ours.since_ms == queued.since_ms:
            return
        ours.count, ours.since, ours.since_ms, ours.avoid = queued.count, queued.since, queued.since_ms, queued.avoid
        self.seats.touch(seat)
