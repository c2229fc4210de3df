"""Which nodes get how many tasks of a class that rules couple. Called by `site`; `pick` does it for all others.

The yardstick is the same greedy, one task at a time: on the allowed node with the least price, counted in spans, plus
its bias and what its values of spread labels weigh now; the lower row among equals. A property test holds it to that.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from shunter.planning.filter.rules import Coupling
from shunter.planning.score.pick import Offer, Picked, pick
from shunter.planning.score.scores import More, Shape
from shunter.planning.view import FloatArray, IntArray


def pick_coupled(offer: Offer, count: int, shape: Shape, coupling: Coupling) -> Picked:
    """The nodes for `count` tasks, or for as many as the rules let in."""
    offer = _restricted(offer, coupling)
    if coupling.together and count > 1:
        return _pick_together(offer, count, shape, coupling)
    if coupling.evenness or coupling.apart is not None:
        return _pick_by_values(_biased(offer, coupling), count, coupling)
    if coupling.again is not None:
        shape = Shape.ANY
    if coupling.bias is not None or coupling.again is not None:
        offer = _biased(offer, coupling)
    return pick(offer, count, shape)


def _restricted(offer: Offer, coupling: Coupling) -> Offer:
    """No price where the class may not go, and no more room than one node may give."""
    prices = np.where(coupling.allowed, offer.prices, np.inf)
    most = coupling.a_node_max
    if most is None:
        return replace(offer, prices=prices)
    return Offer(prices, offer.price, lambda rows: np.minimum(offer.room(rows), most))


def _biased(offer: Offer, coupling: Coupling) -> Offer:
    """Prices counted in spans above the best one, with the bias of soft rules. A constant for each row keeps a rising
    price rising and a falling one falling."""
    finite = offer.prices[offer.prices < np.inf]
    low = float(finite.min()) if len(finite) else 0.0
    span = (float(finite.max()) - low if len(finite) else 0.0) or 1.0
    bias = np.zeros(len(offer.prices)) if coupling.bias is None else coupling.bias
    again = np.zeros(len(offer.prices)) if coupling.again is None else coupling.again

    def price(rows: IntArray, more: More) -> FloatArray:
        return (offer.price(rows, more) - low) / span + bias[rows] + again[rows] * np.greater(more, 0)

    return Offer((offer.prices - low) / span + bias, price, offer.room)


def _pick_together(offer: Offer, count: int, shape: Shape, coupling: Coupling) -> Picked:
    """The first task chooses; the others follow it, as far as there is room."""
    first = pick_coupled(offer, 1, shape, replace(coupling, together=False))
    if not len(first.rows) or coupling.apart is not None:
        return first
    room = min(count, int(offer.room(first.rows)[0]))
    return Picked(first.rows, np.full(1, room, dtype=np.int64))


@dataclass(slots=True)
class _Values:
    """Rows with the same values of every label that matters, cheapest first. What a spread weighs is alike for all of
    them, so one step of the greedy compares values, not rows."""

    heaps: list[list[tuple[float, int]]]
    codes: IntArray  # [labels, values]
    prices: FloatArray  # of each value's cheapest row
    rows: IntArray  # which one it is

    def refresh(self, value: int) -> None:
        heap = self.heaps[value]
        self.prices[value], self.rows[value] = heap[0] if heap else (math.inf, 0)


def _pick_by_values(offer: Offer, count: int, coupling: Coupling) -> Picked:
    values = _group(offer, coupling)
    tasks = [each.tasks.copy() for each in coupling.evenness]
    counts: Counter[int] = Counter()
    room: dict[int, int] = {}
    while count and len(values.prices):
        totals = values.prices + _weights(coupling, values, tasks)
        least = totals.min()
        if least == math.inf:
            break
        tied = np.flatnonzero(totals == least)
        value = int(tied[values.rows[tied].argmin()])
        row = int(values.rows[value])
        counts[row] += 1
        count -= 1
        for number, held in enumerate(tasks):
            held[values.codes[number, value]] += 1
        if coupling.apart is not None:
            values.prices[values.codes[-1] == values.codes[-1, value]] = math.inf
        else:
            _ask_again(values, value, row, counts[row], room, offer)
    return Picked(np.array(list(counts), dtype=np.int64), np.array(list(counts.values()), dtype=np.int64))


def _group(offer: Offer, coupling: Coupling) -> _Values:
    rows = np.flatnonzero(offer.prices < np.inf)
    codes = [each.code[rows] for each in coupling.evenness]
    if coupling.apart is not None:
        codes.append(coupling.apart[rows])
    distinct, value_of = np.unique(np.stack(codes), axis=1, return_inverse=True)
    heaps: list[list[tuple[float, int]]] = [[] for _ in range(distinct.shape[1])]
    for value, price, row in zip(value_of.ravel().tolist(), offer.prices[rows].tolist(), rows.tolist(), strict=True):
        heaps[value].append((price, row))
    for heap in heaps:
        heapq.heapify(heap)
    values = _Values(heaps, distinct, np.full(len(heaps), np.inf), np.zeros(len(heaps), dtype=np.int64))
    for value in range(len(heaps)):
        values.refresh(value)
    return values


def _weights(coupling: Coupling, values: _Values, tasks: list[IntArray]) -> FloatArray | float:
    """What the tasks that are there already weigh, by value."""
    weight: FloatArray | float = 0.0
    for number, each in enumerate(coupling.evenness):
        weight = weight + each.weight * tasks[number][values.codes[number]]
    return weight


def _ask_again(values: _Values, value: int, row: int, served: int, room: dict[int, int], offer: Offer) -> None:
    """The row that was served asks the price of one task more, or leaves if it is full."""
    heap, only = values.heaps[value], np.array([row])
    if row not in room:
        room[row] = int(offer.room(only)[0])
    if served < room[row]:
        heapq.heapreplace(heap, (float(offer.price(only, served)[0]), row))
    else:
        heapq.heappop(heap)
    values.refresh(value)
