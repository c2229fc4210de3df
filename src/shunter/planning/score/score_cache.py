"""Scores computed in earlier rounds: the score of the next task on every node, by class. Owned by the planner."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from shunter.planning.filter.filters import Filter, avoid_filter, feasible
from shunter.planning.filter.node_ledger import NodeLedger, Rows
from shunter.planning.score.scores import Score
from shunter.planning.view import FloatArray, Queued, TaskClass

CACHED_CELLS_MAX = 4_000_000  # cached scores, over all classes: 32 MB
SEEN_ONCE_MAX = 100_000  # classes remembered as seen once


class ScoreList:
    """Scores of one class by row, valid as of the ledger's clock at `seen`."""

    def __init__(self, task_class: TaskClass, avoid: frozenset[int]) -> None:
        self.task_class = task_class
        self.avoid = avoid
        self.values: FloatArray = np.empty(0)
        self.seen = -1


class ScoreCache:
    """The scores of recurring classes; nothing is cached for a class that comes for the first time.

    Most rounds see the classes of the round before and few changed nodes, so only those nodes are scored again. Of ten
    thousand classes with one task each, none recurs: caching their scores would cost more than it could save."""

    def __init__(self, filters: tuple[Filter, ...], score: Score) -> None:
        self._filters = filters
        self._score = score
        self._lists: OrderedDict[int, ScoreList] = OrderedDict()
        self._seen_once: set[int] = set()

    def scores(self, queued: Queued, ledger: NodeLedger) -> FloatArray:
        """The score of the next task on each row: infinite where it cannot go."""
        scores = self._cached_list(queued, ledger.count)
        if scores is None:
            return self.scores_of_rows(queued, ledger, slice(0, ledger.count))
        if len(scores.values) < ledger.count:
            scores.values = np.full(len(ledger.stamp), np.inf)
            scores.seen = -1
        if scores.seen < ledger.clock:
            rows = ledger.changed_since(scores.seen)
            scores.values[rows] = self.scores_of_rows(queued, ledger, rows)
            scores.seen = ledger.clock
        return scores.values[: ledger.count]

    def scores_of_rows(self, queued: Queued, ledger: NodeLedger, rows: Rows) -> FloatArray:
        """The same for these rows only; nothing is cached."""
        filters = (*self._filters, avoid_filter(queued.avoid)) if queued.avoid else self._filters
        accepted = feasible(queued.task_class, ledger, rows, filters)
        return np.where(accepted, self._score.cost(queued.task_class, ledger, rows, 0), np.inf)

    def _cached_list(self, queued: Queued, rows: int) -> ScoreList | None:
        task_class = queued.task_class
        cached = self._lists.get(task_class.id)
        if cached is not None and cached.task_class is task_class and cached.avoid == queued.avoid:
            self._lists.move_to_end(task_class.id)
            return cached
        if task_class.id not in self._seen_once or self._score.settle is not None:
            if len(self._seen_once) >= SEEN_ONCE_MAX:
                self._seen_once.clear()
            self._seen_once.add(task_class.id)
            return None
        cached = self._lists[task_class.id] = ScoreList(task_class, queued.avoid)
        while len(self._lists) > max(1, CACHED_CELLS_MAX // rows):
            self._lists.popitem(last=False)
        return cached
