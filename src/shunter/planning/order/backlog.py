"""The pending classes, as the planner remembers them from one decision to the next.

A class that found no room stays blocked until a row improves on which it may fit. So a decision looks only at new
classes and at those that may fit now, and its cost grows with what changed, not with what is pending."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from shunter.planning.filter.node_ledger import NodeLedger
from shunter.planning.order.pending_classes import BLOCKED, NEW, RECHECK, PendingClass, PendingClassTable
from shunter.planning.order.pending_queue import PendingQueue
from shunter.planning.order.rank import RankFunction
from shunter.planning.order.wakeup import may_fit
from shunter.planning.view import BoolArray, IntArray, LeftBehind, Queued

NAMES_MAX = 100_000  # queues, users and demands remembered; beyond it everything is read again

NO_ROWS: IntArray = np.empty(0, np.int64)


class Backlog:
    """The pending classes, in sync with the view, each with its status."""

    def __init__(self, order: RankFunction, ledger: NodeLedger) -> None:
        self._order = order
        self._ledger = ledger
        self._starts = -1
        self._clock = -1  # of the ledger, when classes were last woken
        self._source: PendingQueue | None = None
        self._tick = -1
        self._is_mid_pass = False  # in a pass that was split into slices
        self._unconfirmed: set[int] = set()  # placed by the last decision: some may have been refused
        self.pending_classes = PendingClassTable(order, ledger, ())
        self.improved_rows = NO_ROWS  # rows that improved since the last whole pass

    def sync(self, queued: Sequence[Queued], licences: Iterable[str]) -> int:
        """Update the classes from the view. Returns how many were new or had changed."""
        pending_classes = self.pending_classes
        is_stale = self._ledger.starts != self._starts or tuple(licences) != pending_classes.licences
        if is_stale or len(pending_classes.names) + len(pending_classes.example_classes) > NAMES_MAX:
            self._starts, self._source, self.improved_rows = self._ledger.starts, None, NO_ROWS
            self.pending_classes = PendingClassTable(self._order, self._ledger, tuple(licences))
        pending_queue = queued if isinstance(queued, PendingQueue) else None
        changed = (
            pending_queue.changed_since(self._tick)
            if pending_queue is not None and pending_queue is self._source
            else None
        )
        if pending_queue is not None and changed is not None:
            for class_id in {*changed, *self._unconfirmed}:
                self._update(class_id, pending_queue.get(class_id))
        else:
            removed = set(self.pending_classes.by_class)
            for each in queued:
                removed.discard(each.task_class.id)
                self._update(each.task_class.id, each)
            for class_id in removed:
                self._update(class_id, None)
        self._source, self._tick = pending_queue, pending_queue.tick if pending_queue is not None else -1
        self._unconfirmed.clear()
        return self.pending_classes.flush()

    def wake(self, improved: IntArray) -> None:
        """Wake the classes for which one of the improved rows may be large enough.

        A class with rules also depends on other rows, so any change may help it. But it wakes only once per pass, so
        that a pass in many slices reaches the classes behind it."""
        if not self._is_mid_pass:
            if self.pending_classes.with_rules and self._clock != self._ledger.clock:
                self.pending_classes.status[list(self.pending_classes.with_rules)] = NEW
            self._clock, self._is_mid_pass = self._ledger.clock, True
        if not len(improved):
            return
        self.improved_rows = np.union1d(self.improved_rows, improved) if len(self.improved_rows) else improved
        blocked = self._blocked()
        self.pending_classes.status[blocked[may_fit(self.pending_classes, blocked, improved, self._ledger)]] = RECHECK

    def reblock(self) -> None:
        """Block the classes again that no longer fit after the placements made meanwhile."""
        rechecked = np.flatnonzero(self.pending_classes.status == RECHECK)
        self.pending_classes.status[
            rechecked[~may_fit(self.pending_classes, rechecked, self.improved_rows, self._ledger)]
        ] = BLOCKED

    def end_pass(self) -> None:
        """End a whole pass. A class that is still awake was held back and must look at all rows later."""
        self.pending_classes.status[self.pending_classes.status == RECHECK] = NEW
        self.improved_rows = NO_ROWS
        self._is_mid_pass = False

    def recheck_all_rows(self, class_ids: Iterable[int]) -> None:
        """Let these classes look at all rows again."""
        pending_classes = [
            self.pending_classes.by_class[class_id]
            for class_id in class_ids
            if class_id in self.pending_classes.by_class
        ]
        self.pending_classes.status[[pending_class.number for pending_class in pending_classes]] = NEW

    def is_blocked(self, pending_class: PendingClass) -> bool:
        return self.pending_classes.status.item(pending_class.number) == BLOCKED

    def ready(self) -> BoolArray:
        """By number: whether the class has tasks to place and a row to look at."""
        ready: BoolArray = (self.pending_classes.counts > 0) & (self.pending_classes.status != BLOCKED)
        return ready

    def place(self, pending_class: PendingClass, count: int) -> None:
        pending_class.queued.count -= count
        self.pending_classes.counts[pending_class.number] = pending_class.queued.count
        self._unconfirmed.add(pending_class.task_class.id)

    def block(self, pending_class: PendingClass) -> None:
        self.pending_classes.status[pending_class.number] = BLOCKED

    def checks_improved_rows(self, pending_class: PendingClass) -> bool:
        return self.pending_classes.status.item(pending_class.number) == RECHECK

    def left(self) -> LeftBehind:
        pending_queue = np.flatnonzero(self.pending_classes.counts > 0)
        return LeftBehind(self.pending_classes.ids[pending_queue], self.pending_classes.counts[pending_queue])

    def first_blocked(self, most: int) -> list[PendingClass]:
        """The most urgent blocked classes, in order."""
        pending_classes, blocked = self.pending_classes, self._blocked()
        keys = (pending_classes.ids, pending_classes.since, pending_classes.deadline, pending_classes.urgency)
        order = np.lexsort([column[blocked] for column in keys])[:most]
        return [pending_classes.pending_class(number) for number in blocked[order].tolist()]

    def _blocked(self) -> IntArray:
        return np.flatnonzero((self.pending_classes.status == BLOCKED) & (self.pending_classes.counts > 0))

    def _update(self, class_id: int, queued: Queued | None) -> None:
        pending_class = self.pending_classes.by_class.get(class_id)
        if pending_class is not None and (queued is None or pending_class.task_class is not queued.task_class):
            self.pending_classes.remove(pending_class)
            pending_class = None
        if queued is None:
            return
        if pending_class is None:
            self.pending_classes.add(queued)
            return
        own_copy = pending_class.queued
        own_copy.estimate_s = queued.estimate_s
        if own_copy.avoid != queued.avoid:
            self.pending_classes.status[pending_class.number] = NEW
        elif own_copy.count == queued.count and own_copy.since == queued.since and own_copy.since_ms == queued.since_ms:
            return
        own_copy.count, own_copy.since, own_copy.since_ms, own_copy.avoid = (
            queued.count,
            queued.since,
            queued.since_ms,
            queued.avoid,
        )
        self.pending_classes.mark_changed(pending_class)
