"""Which attempts this worker has: waiting in its own queues, given to a keeper, or ended and not yet acknowledged.

The worker acts once on each (job, group, index, attempt); this is where it looks. Nothing is kept per task, only per
span of contiguous indexes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from shunter.model.protocol.worker_messages import Ended, Order

if TYPE_CHECKING:
    from shunter.worker.process.keeper_client import Keeper

Key = tuple[int, int]  # job, group


class Span:
    """Contiguous attempts that this worker has not ended. `first` moves on as they end."""

    __slots__ = ("first", "keeper", "last", "order", "spec")

    def __init__(self, order: Order, first: int, last: int, spec: int | None) -> None:
        self.order = order
        self.first = first
        self.last = last
        self.spec = spec  # our own number of it; None for a span found in an older life's keeper
        self.keeper: Keeper | None = None  # None: in the worker's own queue

    def __len__(self) -> int:
        return self.last - self.first + 1

    def __repr__(self) -> str:
        order = self.order
        return f"Span({order.job}/{order.group}/{self.first}..{self.last} attempt {order.attempt})"

    @property
    def key(self) -> Key:
        return self.order.job, self.order.group

    def split(self, count: int) -> Span:
        """Cut off the first `count`; this span keeps the rest."""
        front = Span(self.order, self.first, self.first + count - 1, self.spec)
        front.keeper = self.keeper
        self.first += count
        return front


class Ledger:
    def __init__(self) -> None:
        self._spans: dict[Key, list[Span]] = {}
        self._ended: dict[Key, dict[tuple[int, int], Ended]] = {}  # by attempt and first index

    def add(self, span: Span) -> None:
        self._spans.setdefault(span.key, []).append(span)

    def remove(self, span: Span) -> None:
        spans = self._spans[span.key]
        spans.remove(span)
        if not spans:
            del self._spans[span.key]

    def spans(self) -> Iterator[Span]:
        for spans in self._spans.values():
            yield from spans

    def overlapping(self, job: int, group: int, first: int, last: int) -> list[Span]:
        return [span for span in self._spans.get((job, group), ()) if span.first <= last and span.last >= first]

    def add_ended(self, ended: Ended) -> None:
        self._ended.setdefault((ended.job, ended.group), {})[ended.attempt, ended.first] = ended

    def remove_ended(self, ended: Ended) -> None:
        key = ended.job, ended.group
        kept = self._ended.get(key, {})
        kept.pop((ended.attempt, ended.first), None)
        if not kept:
            self._ended.pop(key, None)

    def news(self, order: Order) -> list[tuple[int, int]]:
        """The parts of an order that this worker has not got yet, at this attempt or a later one."""
        key = order.job, order.group
        parts = [(order.first, order.last)]
        for span in self._spans.get(key, ()):
            if span.order.attempt >= order.attempt:
                parts = _without(parts, span.first, span.last)
        for ended in self._ended.get(key, {}).values():
            if ended.attempt >= order.attempt:
                parts = _without(parts, ended.first, ended.first + len(ended.ended_ms) - 1)
        return parts


def _without(parts: list[tuple[int, int]], first: int, last: int) -> list[tuple[int, int]]:
    left = []
    for low, high in parts:
        if low < first:
            left.append((low, min(high, first - 1)))
        if high > last:
            left.append((max(low, last + 1), high))
    return left
