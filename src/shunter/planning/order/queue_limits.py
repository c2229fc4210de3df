"""Limits that hold classes back even where nodes have room: paused, full and strict queues, licences, and the quotas of
tenants. Created by the planner for each decision.

A strict queue is first in, first out: if its first class cannot be placed, all classes behind it wait. No class there
ranks above the ones ahead of it, because it cannot start before them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from shunter.model.identity.quotas import NOTHING_PLACED, PLACED, placed_needs
from shunter.planning.order.pending_classes import PendingClass, PendingClassTable
from shunter.planning.score.gangs import gang_of
from shunter.planning.view import NEVER, BoolArray, IntArray, QueueRules, TenantQuota

NO_QUOTAS: Mapping[str, TenantQuota] = {}


class QueueLimits:
    """How many tasks of a class may still start, and which classes must wait for their turn in a strict queue."""

    def __init__(
        self,
        pending_classes: PendingClassTable,
        queues: Mapping[str, QueueRules],
        licences: Mapping[str, tuple[int, int]],
        quotas: Mapping[str, TenantQuota] = NO_QUOTAS,
    ) -> None:
        self._pending_classes = pending_classes
        self._queues = {
            name: rules for name, rules in queues.items() if rules != QueueRules(name, running=rules.running)
        }
        self._queue_capacity = {
            name: 0 if rules.is_paused else max(0, rules.running_max - rules.running)
            for name, rules in self._queues.items()
            if rules.is_paused or rules.running_max
        }
        self._totals = {name: total for name, (total, _) in licences.items()}
        self._licences = {name: max(0, total - used) for name, (total, used) in licences.items()}
        self._quotas = quotas
        self._quota_left = {
            quota.tenant: [max(0, limit - used) for limit, used in zip(quota.limits, quota.used, strict=True)]
            for quota in quotas.values()
        }

    def admissible_count(self, pending_class: PendingClass, count: int) -> int:
        """How many of `count` tasks its queue, its licences and the quotas of its tenant admit. All may be exceeded,
        because limits can be lowered below what is in use."""
        if pending_class.task_class.queue in self._queue_capacity:
            count = min(count, self._queue_capacity[pending_class.task_class.queue])
        for name, need in pending_class.licences:
            count = min(count, self._licences[name] // need)
        if (quota := self._quotas.get(pending_class.task_class.namespace)) is not None:
            needs = placed_needs(pending_class.task_class.needs)
            left = self._quota_left[quota.tenant]
            count = min(count, *(each // need for each, need in zip(left, needs, strict=True) if need))
        return max(count, 0)

    def place(self, pending_class: PendingClass, count: int) -> None:
        if pending_class.task_class.queue in self._queue_capacity:
            self._queue_capacity[pending_class.task_class.queue] -= count
        for name, need in pending_class.licences:
            self._licences[name] -= need * count
        if (quota := self._quotas.get(pending_class.task_class.namespace)) is not None:
            left = self._quota_left[quota.tenant]
            for position, need in enumerate(placed_needs(pending_class.task_class.needs)):
                left[position] -= need * count

    def is_limited(self, pending_class: PendingClass) -> bool:
        """Whether its queue, a licence or a quota may hold it back."""
        task_class = pending_class.task_class
        is_limited = task_class.queue in self._queue_capacity or task_class.namespace in self._quotas
        return is_limited or bool(pending_class.licences)

    def shared_limit(self, pending_class: PendingClass, other: PendingClass) -> str:
        """The limit that both share, so that one takes from the other: a limited queue, quotas or a licence; empty if
        there is none."""
        if (
            pending_class.task_class.queue in self._queue_capacity
            and pending_class.task_class.queue == other.task_class.queue
        ):
            return f"queue {pending_class.task_class.queue}"
        quotas = [self._quotas.get(each.task_class.namespace) for each in (pending_class, other)]
        if quotas[0] is not None and quotas[1] is not None and quotas[0].tenant == quotas[1].tenant:
            return f"quotas of tenant {quotas[0].tenant}"
        names = {name for name, _ in other.licences}
        return next((name for name, _ in pending_class.licences if name in names), "")

    def can_admit(self, demand: Sequence[tuple[PendingClass, int]]) -> bool:
        """Whether queues, licences and quotas admit all of these together."""
        admitted: list[tuple[PendingClass, int]] = []
        for pending_class, count in demand:
            if self.admissible_count(pending_class, count) < count:
                break
            self.place(pending_class, count)
            admitted.append((pending_class, count))
        for pending_class, count in admitted:
            self.place(pending_class, -count)
        return len(admitted) == len(demand)

    def can_ever_admit(self, demand: Sequence[tuple[PendingClass, int]]) -> bool:
        """Whether they would, if nothing else used these queues, licences and quotas."""
        return QueueLimits(
            self._pending_classes,
            {
                name: QueueRules(name, rules.is_paused, rules.is_strict, rules.running_max)
                for name, rules in self._queues.items()
            },
            {name: (total, 0) for name, total in self._totals.items()},
            {name: replace(quota, used=NOTHING_PLACED) for name, quota in self._quotas.items()},
        ).can_admit(demand)

    def starvable(self) -> list[PendingClass]:
        """The classes that may need more at once than is left, while others could take the rest one by one."""
        pending_classes = self._pending_classes
        if not self._queue_capacity and not self._licences and not self._quotas:
            return []
        left = np.array([max(self._licences[name], 0) for name in pending_classes.licences], np.int64)
        lacks: BoolArray = np.asarray(((pending_classes.licence_needs > left) & (left > 0)).any(axis=1))
        if self._quotas:
            quota_left = self._quota_left_by_class()
            lacks |= ((pending_classes.quota_needs > quota_left) & (quota_left > 0)).any(axis=1)
        for number in pending_classes.with_rules:
            pending_class = pending_classes.pending_class(number)
            if gang_of(pending_class.task_class) and (
                pending_class.licences
                or self._queue_capacity.get(pending_class.task_class.queue, 0) > 0
                or pending_class.task_class.namespace in self._quotas
            ):
                lacks[number] = True
        return [
            pending_classes.pending_class(number)
            for number in np.flatnonzero(lacks & (pending_classes.counts > 0)).tolist()
        ]

    def within_limits(self, ready: BoolArray) -> BoolArray:
        """The ready classes that no queue, no licence and no quota holds back."""
        pending_classes = self._pending_classes
        for name, room in self._queue_capacity.items():
            if room <= 0:
                ready = ready & (pending_classes.queue != pending_classes.queue_number(name))
        if self._licences:
            left = np.array([max(self._licences[name], 0) for name in pending_classes.licences], np.int64)
            ready = ready & (pending_classes.licence_needs <= left).all(axis=1)
        if self._quotas:
            ready = ready & (pending_classes.quota_needs <= self._quota_left_by_class()).all(axis=1)
        return ready

    def _quota_left_by_class(self) -> IntArray:
        """What the tenant of each class has left of its quotas."""
        pending_classes, left = self._pending_classes, self._quota_left
        by_namespace = {
            pending_classes.namespace_number(name): left[quota.tenant] for name, quota in self._quotas.items()
        }
        table: IntArray = np.full((len(pending_classes.names) + 1, len(PLACED)), NEVER, np.int64)
        for number, amounts in by_namespace.items():
            table[number] = amounts
        return table[pending_classes.namespace]

    def not_in_strict_queues(self, ready: BoolArray) -> BoolArray:
        """The ready classes that are in no strict queue."""
        strict = [self._pending_classes.queue_number(name) for name, rules in self._queues.items() if rules.is_strict]
        return ready & ~np.isin(self._pending_classes.queue, strict)

    def strict_queue_order(self, ready: BoolArray) -> list[IntArray]:
        """For each strict queue: its classes that may go, in order, up to the first that must wait."""
        strict_queues = []
        for name, rules in self._queues.items():
            if rules.is_strict:
                members = np.flatnonzero(
                    (self._pending_classes.queue == self._pending_classes.queue_number(name))
                    & (self._pending_classes.counts > 0)
                )
                members = members[
                    np.lexsort((self._pending_classes.ids[members], self._pending_classes.since[members]))
                ]
                blocked = np.flatnonzero(~ready[members])
                strict_queues.append(members[: blocked[0]] if len(blocked) else members)
        return strict_queues
