"""What earlier rounds computed, kept by class: the price of the next task on every node. Owned by the planner."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from shunter.planning.filter.filters import Filter, avoiding, feasible
from shunter.planning.filter.node_ledger import Ledger, Rows
from shunter.planning.score.scores import Score
from shunter.planning.view import FloatArray, Queued, TaskClass

REMEMBERED_CELLS_MAX = 4_000_000  # prices kept, over all classes: 32 MB
MET_MAX = 100_000  # classes remembered as seen once


class PriceList:
    """Prices of one class by row, true as of the ledger's clock at `seen`."""

    def __init__(self, task_class: TaskClass, avoid: frozenset[int]) -> None:
        self.task_class = task_class
        self.avoid = avoid
        self.values: FloatArray = np.empty(0)
        self.seen = -1


class PriceBook:
    """The price lists of classes that come again; of one that comes for the first time nothing is kept.

    Most rounds see the classes of the round before and few changed nodes, so only those nodes are priced anew. Of ten
    thousand classes with one task each, none comes again: keeping their lists would cost more than it could save.
    """

    def __init__(self, filters: tuple[Filter, ...], score: Score) -> None:
        self._filters = filters
        self._score = score
        self._lists: OrderedDict[int, PriceList] = OrderedDict()
        self._met: set[int] = set()

    def prices(self, queued: Queued, ledger: Ledger) -> FloatArray:
        """The price of the next task on each row: infinite where it cannot go."""
        prices = self._list_of(queued, ledger.count)
        if prices is None:
            return self.prices_of(queued, ledger, slice(0, ledger.count))
        if len(prices.values) < ledger.count:
            prices.values = np.full(len(ledger.stamp), np.inf)
            prices.seen = -1
        if prices.seen < ledger.clock:
            rows = ledger.changed_since(prices.seen)
            prices.values[rows] = self.prices_of(queued, ledger, rows)
            prices.seen = ledger.clock
        return prices.values[: ledger.count]

    def prices_of(self, queued: Queued, ledger: Ledger, rows: Rows) -> FloatArray:
        """The same for these rows only; nothing is remembered."""
        filters = (*self._filters, avoiding(queued.avoid)) if queued.avoid else self._filters
        accepted = feasible(queued.task_class, ledger, rows, filters)
        return np.where(accepted, self._score.cost(queued.task_class, ledger, rows, 0), np.inf)

    def _list_of(self, queued: Queued, rows: int) -> PriceList | None:
        task_class = queued.task_class
        known = self._lists.get(task_class.id)
        if known is not None and known.task_class is task_class and known.avoid == queued.avoid:
            self._lists.move_to_end(task_class.id)
            return known
        if task_class.id not in self._met or self._score.settle is not None:
            if len(self._met) >= MET_MAX:
                self._met.clear()
            self._met.add(task_class.id)
            return None
        known = self._lists[task_class.id] = PriceList(task_class, queued.avoid)
        while len(self._lists) > max(1, REMEMBERED_CELLS_MAX // rows):
            self._lists.popitem(last=False)
        return known
