"""What earlier rounds computed, kept by class: the price of the next task on every node. Owned by the planner."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from shunter.planning.candidates import Filter, feasible
from shunter.planning.ledger import Ledger
from shunter.planning.scores import Score
from shunter.planning.view import FloatArray, TaskClass

REMEMBERED_CELLS_MAX = 4_000_000  # prices kept, over all classes: 32 MB
MET_MAX = 100_000  # classes remembered as seen once


class PriceList:
    """Prices of one class by row, true as of the ledger's clock at `seen`."""

    def __init__(self, task_class: TaskClass | None = None) -> None:
        self.task_class = task_class
        self.values: FloatArray = np.empty(0)
        self.seen = -1


class PriceBook:
    """The price lists of classes that come again; one that comes for the first time is priced on a scratch list.

    Most rounds see the classes of the round before and few changed nodes, so only those nodes are priced anew. Of ten
    thousand classes with one task each, none comes again: keeping their lists would cost more than it could save.
    """

    def __init__(self, filters: tuple[Filter, ...], score: Score) -> None:
        self._filters = filters
        self._score = score
        self._lists: OrderedDict[int, PriceList] = OrderedDict()
        self._met: set[int] = set()
        self._scratch = PriceList()

    def prices(self, task_class: TaskClass, ledger: Ledger) -> FloatArray:
        """The price of the next task on each row: infinite where it cannot go."""
        prices = self._list_of(task_class, ledger.count)
        if len(prices.values) < ledger.count:
            prices.values = np.full(len(ledger.stamp), np.inf)
            prices.seen = -1
        if prices.seen < ledger.clock:
            rows = ledger.changed_since(prices.seen)
            accepted = feasible(task_class, ledger, rows, self._filters)
            prices.values[rows] = np.where(accepted, self._score.cost(task_class, ledger, rows, 0), np.inf)
            prices.seen = ledger.clock
        return prices.values[: ledger.count]

    def _list_of(self, task_class: TaskClass, rows: int) -> PriceList:
        known = self._lists.get(task_class.id)
        if known is not None and known.task_class is task_class:
            self._lists.move_to_end(task_class.id)
            return known
        if task_class.id not in self._met or self._score.settle is not None:
            return self._fresh_scratch(task_class)
        known = self._lists[task_class.id] = PriceList(task_class)
        while len(self._lists) > max(1, REMEMBERED_CELLS_MAX // rows):
            self._lists.popitem(last=False)
        return known

    def _fresh_scratch(self, task_class: TaskClass) -> PriceList:
        if len(self._met) >= MET_MAX:
            self._met.clear()
        self._met.add(task_class.id)
        self._scratch.seen = -1
        return self._scratch
