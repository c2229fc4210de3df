"""Where tasks are put: a ledger, what couples tasks on it, and how its nodes are priced.

Used by the planner for classes with rules, and on scratch copies by gangs, preemption and backfill.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from shunter.planning.filter.filters import Filter, feasible
from shunter.planning.filter.node_ledger import Ledger
from shunter.planning.filter.rules import Couplings
from shunter.planning.score.pick import Offer, Picked, pick
from shunter.planning.score.pick_ruled import pick_coupled
from shunter.planning.score.scores import SCORES, Score
from shunter.planning.view import FloatArray, IntArray, Queued, TaskClass

Prices = Callable[[Queued, Ledger], FloatArray]
Ceiling = Callable[[TaskClass, int], IntArray | None]  # how many more tasks each row may get at most; None: no matter

NOWHERE = Picked(np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass(frozen=True, slots=True)
class Site:
    """Placements are put on it and can be taken back."""

    ledger: Ledger
    couplings: Couplings
    score: Score
    filters: tuple[Filter, ...]
    prices: Prices

    def pick(self, queued: Queued, count: int, ceilings: Sequence[Ceiling] = ()) -> Picked:
        """The nodes for up to `count` tasks; nothing is put there yet."""
        task_class, ledger = queued.task_class, self.ledger
        if any(resource not in ledger.column for resource in task_class.needs):
            return NOWHERE
        room = partial(ledger.room, task_class, most=count)
        offer = Offer(self.prices(queued, ledger), partial(self.score.cost, task_class, ledger), room)
        if queued.avoid:
            offer = replace(offer, prices=_without(offer.prices, queued.avoid))
        for each in ceilings:
            offer = _below(offer, each(task_class, count))
        if self.couplings.couples(task_class):
            return pick_coupled(offer, count, self.score.shape, self.couplings.of(task_class))
        return pick(offer, count, self.score.shape)

    def put(self, task_class: TaskClass, picked: Picked) -> None:
        if not len(picked.rows):
            return
        if self.score.settle is not None:
            self.score.settle(task_class, self.ledger, picked.rows, picked.counts)
        self.ledger.place(task_class, picked.rows, picked.counts)
        if task_class.rules is not None and task_class.rules.exclusive:
            self.ledger.own(picked.rows, task_class.rules.job)
        self.couplings.note(task_class, picked.rows, picked.counts)

    def take_back(self, task_class: TaskClass, picked: Picked) -> None:
        """Undo `put`. Whoever undoes several also sets the ledger's cursor back and tightens its bound."""
        self.ledger.place(task_class, picked.rows, -picked.counts)
        if task_class.rules is not None and task_class.rules.exclusive:
            self.ledger.own(picked.rows[self.ledger.tasks[picked.rows] == 0], 0)
        self.couplings.note(task_class, picked.rows, -picked.counts)

    def scratch(self) -> Site:
        """A copy for trials, with a memory of its own and prices that are worked out when asked for."""
        ledger = self.ledger.scratch()
        return replace(
            self,
            ledger=ledger,
            couplings=self.couplings.on(ledger),
            prices=partial(fresh_prices, self.filters, self.score),
        )

    def packing(self) -> Site:
        """The same place seen with other eyes: the fullest node that still has room comes first."""
        score = SCORES["bin-pack"]
        return replace(self, score=score, prices=partial(fresh_prices, self.filters, score))


def fresh_prices(filters: tuple[Filter, ...], score: Score, queued: Queued, ledger: Ledger) -> FloatArray:
    rows = slice(0, ledger.count)
    accepted = feasible(queued.task_class, ledger, rows, filters)
    if not accepted.any():
        return np.full(ledger.count, np.inf)
    return np.where(accepted, score.cost(queued.task_class, ledger, rows, 0), np.inf)


def _without(prices: FloatArray, avoided: frozenset[int]) -> FloatArray:
    prices = prices.copy()
    prices[[row for row in avoided if row < len(prices)]] = np.inf
    return prices


def _below(offer: Offer, ceiling: IntArray | None) -> Offer:
    """The offer with no more room on any row than the ceiling says."""
    if ceiling is None:
        return offer
    prices = np.where(ceiling > 0, offer.prices, np.inf)
    return Offer(prices, offer.price, lambda rows: np.minimum(offer.room(rows), ceiling[rows]))
