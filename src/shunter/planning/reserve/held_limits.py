"""Holds places in limited queues, and licences, for the items ahead of a class. Created by `reserve_stage` for each
decision.

`reservations` holds room on nodes. But an item that preempts others, or has reserved room, also needs its places in a
limited queue and its licences when that room is free. So nobody else gets them meanwhile, not even tasks that would end
in time; otherwise the item might be blocked when its room is free. And an item that needs several of them at once would
never get them while others take them one by one: after a while, those that become free are held for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shunter.planning.order.pending_classes import PendingClass
from shunter.planning.order.queue_limits import QueueLimits
from shunter.planning.reserve.reservations import Reservations
from shunter.planning.score.gangs import Item

Demand = Sequence[tuple[PendingClass, int]]  # this many tasks of each


@dataclass(frozen=True, slots=True)
class LimitHold:
    """Tasks of a class that get their places in queues and their licences before those behind them."""

    pending_class: PendingClass
    count: int
    item: Item


class HeldLimits:
    def __init__(
        self,
        queue_limits: QueueLimits,
        reservations: Reservations | None,
        pending_class_of: Callable[[int], PendingClass],
    ) -> None:
        self._queue_limits = queue_limits
        self._reservations = reservations
        self._pending_class_of = pending_class_of
        self._holds: list[LimitHold] = []

    def admissible_count(self, pending_class: PendingClass, count: int) -> int:
        """How many of `count` tasks may start."""
        self._charge_granted(pending_class)
        admissible_count = self._queue_limits.admissible_count(pending_class, count)
        if admissible_count < count:
            self._explain(pending_class)
        return admissible_count

    def can_admit(self, demand: Demand) -> bool:
        """Whether all of these may start together."""
        for pending_class, _ in demand:
            self._charge_granted(pending_class)
        is_admitted = self._queue_limits.can_admit(demand)
        if not is_admitted:
            for pending_class, _ in demand:
                self._explain(pending_class)
        return is_admitted

    def hold_for(self, item: Item, demand: Demand) -> None:
        """Hold what the item lacks as it becomes free, if the item could start then."""
        if (
            self._reservations is None
            or self._queue_limits.can_admit(demand)
            or not self._queue_limits.can_ever_admit(demand)
        ):
            return
        if self._reservations.could_start(item):
            self._add_holds([LimitHold(pending_class, count, item) for pending_class, count in demand])
            self._reservations.explain(item, "queue capacity and licences are reserved for it as they become free")

    def _charge_granted(self, pending_class: PendingClass) -> None:
        """Charge a class that shares a limit with an item ahead for what that item needs."""
        if (
            self._reservations is None
            or not self._reservations.has_items
            or not self._queue_limits.is_limited(pending_class)
        ):
            return
        pending = (each.task_class.id for item in self._reservations.pending for each in item.members)
        if any(self._queue_limits.shared_limit(pending_class, self._pending_class_of(each)) for each in pending):
            self._reservations.resolve()
        granted, self._reservations.granted = self._reservations.granted, []
        for item, placed in granted:
            self._add_holds(
                [
                    LimitHold(self._pending_class_of(each.task_class.id), int(at.counts.sum()), item)
                    for each, at in placed
                ]
            )

    def _add_holds(self, holds: list[LimitHold]) -> None:
        self._holds += holds
        for each in holds:
            self._queue_limits.place(each.pending_class, each.count)

    def _explain(self, pending_class: PendingClass) -> None:
        """Record for which item it waits."""
        for each in self._holds:
            if self._reservations is not None and (
                what := self._queue_limits.shared_limit(pending_class, each.pending_class)
            ):
                self._reservations.explain_limit(pending_class.task_class.id, each.item, what)
                return
