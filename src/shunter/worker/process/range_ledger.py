"""The attempts that this worker has: queued here, given to a keeper, or ended and not yet acknowledged.

The worker uses it to act only once on each (job, task set, index, attempt). It stores ranges of contiguous indexes,
never single tasks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from shunter.model.protocol.worker_messages import Ended, Order

if TYPE_CHECKING:
    from shunter.worker.process.keeper_client import Keeper

Key = tuple[int, int]  # job, number of the task set


class TaskRange:
    """Contiguous attempts that this worker has not ended. `first` moves on as they end."""

    __slots__ = ("first", "keeper", "last", "order", "spec")

    def __init__(self, order: Order, first: int, last: int, spec: int | None) -> None:
        self.order = order
        self.first = first
        self.last = last
        self.spec = spec  # our own number of it; None for a range found in an earlier process's keeper
        self.keeper: Keeper | None = None  # None: in the worker's own queue

    def __len__(self) -> int:
        return self.last - self.first + 1

    def __repr__(self) -> str:
        order = self.order
        return f"TaskRange({order.job}/{order.group}/{self.first}..{self.last} attempt {order.attempt})"

    @property
    def key(self) -> Key:
        return self.order.job, self.order.group

    def split(self, count: int) -> TaskRange:
        """Cut off the first `count`; this range keeps the rest."""
        front = TaskRange(self.order, self.first, self.first + count - 1, self.spec)
        front.keeper = self.keeper
        self.first += count
        return front


class TaskRangeLedger:
    def __init__(self) -> None:
        self._task_ranges: dict[Key, list[TaskRange]] = {}
        self._ended: dict[Key, dict[tuple[int, int], Ended]] = {}  # by attempt and first index

    def add(self, task_range: TaskRange) -> None:
        self._task_ranges.setdefault(task_range.key, []).append(task_range)

    def remove(self, task_range: TaskRange) -> None:
        task_ranges = self._task_ranges[task_range.key]
        task_ranges.remove(task_range)
        if not task_ranges:
            del self._task_ranges[task_range.key]

    def task_ranges(self) -> Iterator[TaskRange]:
        for task_ranges in self._task_ranges.values():
            yield from task_ranges

    def overlapping(self, job: int, group: int, first: int, last: int) -> list[TaskRange]:
        return [
            task_range
            for task_range in self._task_ranges.get((job, group), ())
            if task_range.first <= last and task_range.last >= first
        ]

    def add_ended(self, ended: Ended) -> None:
        self._ended.setdefault((ended.job, ended.group), {})[ended.attempt, ended.first] = ended

    def remove_ended(self, ended: Ended) -> None:
        key = ended.job, ended.group
        ended_ranges = self._ended.get(key, {})
        ended_ranges.pop((ended.attempt, ended.first), None)
        if not ended_ranges:
            self._ended.pop(key, None)

    def new_parts(self, order: Order) -> list[tuple[int, int]]:
        """The parts of an order that this worker does not have yet, at this attempt or a later one."""
        key = order.job, order.group
        parts = [(order.first, order.last)]
        for task_range in self._task_ranges.get(key, ()):
            if task_range.order.attempt >= order.attempt:
                parts = _subtract(parts, task_range.first, task_range.last)
        for ended in self._ended.get(key, {}).values():
            if ended.attempt >= order.attempt:
                parts = _subtract(parts, ended.first, ended.first + len(ended.ended_ms) - 1)
        return parts


def _subtract(parts: list[tuple[int, int]], first: int, last: int) -> list[tuple[int, int]]:
    remaining = []
    for low, high in parts:
        if low < first:
            remaining.append((low, min(high, first - 1)))
        if high > last:
            remaining.append((max(low, last + 1), high))
    return remaining
