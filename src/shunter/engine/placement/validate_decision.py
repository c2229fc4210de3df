"""Checks the items of a decision against the current state, one by one, and says why an item does not hold. Changes
nothing.

Items admitted earlier count: of two items for the last free core, the second is refused. Called by
`engine.placement.external_decision` for decisions that were made on a possibly outdated view."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from shunter.engine.round import Round
from shunter.engine.state.records import ClassRecord
from shunter.engine.state.tenant_quotas import quota_of
from shunter.model.identity.quotas import PLACED
from shunter.model.protocol.scheduler_messages import ItemRefusal
from shunter.planning.explain.suggest import without_licence_needs
from shunter.planning.explain.wait_reasons import limits_reached
from shunter.planning.filter.filters import RESOURCES, Filter, avoid_filter, feasible
from shunter.planning.filter.node_ledger import NodeLedger
from shunter.planning.filter.rules import RuleSet
from shunter.planning.reserve.wait_thresholds import WAIT_THRESHOLDS
from shunter.planning.view import ClusterView, IntArray, Placement, Preemption, TaskClass

NO_ROWS: IntArray = np.empty(0, np.int64)
REFUSALS_MAX = 200  # reported one by one; further refusals are only counted


class DecisionValidator:
    """Created for one decision, on its own ledger."""

    def __init__(self, round: Round, view: ClusterView, filters: tuple[Filter, ...], ledger: NodeLedger) -> None:
        self._round, self._view, self._ledger = round, view, ledger
        self._filters = filters
        self._hard_filters = tuple(each for each in filters if each.name != RESOURCES)
        self._rule_set = RuleSet(view, ledger)
        self._admitted_by_class: Counter[int] = Counter()  # class id -> tasks
        self._admitted_by_queue: Counter[str] = Counter()
        self._admitted_licences: Counter[str] = Counter()
        self._admitted_quotas: Counter[tuple[str, int]] = Counter()  # by tenant and position in PLACED
        self._unlisted_count = 0
        self._refusals: list[ItemRefusal] = []

    @property
    def refusals(self) -> list[ItemRefusal]:
        if not self._unlisted_count:
            return self._refusals
        more = ItemRefusal("placements", "more refusals, which are only counted", "", self._unlisted_count)
        return [*self._refusals, more]

    def admit(self, placement: Placement, item: str) -> Placement:
        """The part of the placement that holds; the rest is added to the refusals, by node."""
        nothing_admitted = Placement(placement.class_id, NO_ROWS, NO_ROWS)
        record = self._round.state.classes.get(placement.class_id)
        if record is None or not record.queued or record.key.node:
            fault = f"class {placement.class_id} has no pending tasks"
            self.refuse(item, fault, count=int(np.sum(placement.counts)))
            return nothing_admitted
        rows, counts = placement.nodes, placement.counts
        is_valid = (rows > 0) & (rows < self._view.nodes.count) & (counts > 0)
        if not is_valid.all() or len(rows) != len(np.unique(rows)):
            fault = f"must name each node row once (1 to {self._view.nodes.count - 1}), with at least one task"
            self.refuse(item, fault, count=int(np.sum(counts)))
            return nothing_admitted
        if self._rule_set.constrains(record.task_class):
            pairs = zip(rows.tolist(), counts.tolist(), strict=True)
            admitted = np.array([self._admit_one(record, row, count) for row, count in pairs])
        else:
            admitted = self._admit_many(record, rows, counts)
        self._report_refusals(record, rows, counts - admitted, item)
        return Placement(placement.class_id, rows[admitted > 0], admitted[admitted > 0])

    def _admit_many(self, record: ClassRecord, rows: IntArray, counts: IntArray) -> IntArray:
        """For a class without rules between tasks: all rows at once."""
        on_node, (max_count, _) = without_licence_needs(record.task_class), self._max_count(record)
        accepted = feasible(on_node, self._ledger, rows, (*self._hard_filters, *self._avoid_filters(record.task_class)))
        headroom = np.where(accepted, self._ledger.room(on_node, rows, max_count), 0)
        admitted: IntArray = np.minimum(counts, np.maximum(headroom, 0))
        capped: IntArray = np.clip(admitted - np.maximum(np.cumsum(admitted) - max_count, 0), 0, None)
        self._reserve(record, rows[capped > 0], capped[capped > 0])
        return capped

    def _admit_one(self, record: ClassRecord, row: int, count: int) -> int:
        """For a class with rules between tasks: admitted tasks may change what the next row can take."""
        task_class, rows = record.task_class, np.array([row])
        if self._refusal_reason(task_class, row):
            return 0
        alone = self._rule_set.rules_for(task_class).per_node_max
        max_count, _ = self._max_count(record)
        headroom = int(self._ledger.room(without_licence_needs(task_class), rows, max_count)[0])
        admitted = min(count, max_count, headroom, count if alone is None else alone)
        if admitted > 0:
            self._reserve(record, rows, np.array([admitted]))
        return max(admitted, 0)

    def _report_refusals(self, record: ClassRecord, rows: IntArray, refused: IntArray, item: str) -> None:
        """Record why this many tasks were refused on these rows."""
        max_count, limit = self._max_count(record)
        for row, count in zip(rows[refused > 0].tolist(), refused[refused > 0].tolist(), strict=True):
            if len(self._refusals) >= REFUSALS_MAX:
                self._unlisted_count += count
                continue
            reason = self._refusal_reason(record.task_class, row) or self._limit_or_room(record, row, max_count, limit)
            self.refuse(item, reason, self._view.nodes.names[row], count)

    def _limit_or_room(self, record: ClassRecord, row: int, max_count: int, limit: str) -> str:
        """What kept another task from a node that accepts its class."""
        has_room = self._ledger.room(without_licence_needs(record.task_class), np.array([row]), 1)[0] > 0
        return limit if not max_count or has_room else "the node has no room for more tasks of this class"

    def refuse_gang(self, members: list[Placement], item: str) -> None:
        placed = sum(each.tasks for each in members)
        self.refuse(item, f"a gang starts as a whole, but only {placed} of its tasks can be placed", count=placed)

    def may_preempt(self, preemption: Preemption, item: str) -> bool:
        state, nodes = self._round.state, self._view.nodes
        victim, winner = state.classes.get(preemption.victim), state.classes.get(preemption.winner)
        name = nodes.names[preemption.node] if 0 < preemption.node < nodes.count else ""
        if not name or victim is None or preemption.node not in victim.lanes:
            self.refuse(item, f"class {preemption.victim} has no running tasks on this node", name, preemption.count)
        elif victim.key.node:
            self.refuse(item, f"tasks of class {preemption.victim} are bound to this node", name, preemption.count)
        elif winner is None or not winner.queued:
            self.refuse(item, f"class {preemption.winner}, which needs the room, has no pending tasks", name)
        elif winner.key.priority - victim.key.priority < (
            gap := WAIT_THRESHOLDS.with_overrides(self._view).preempt_gap
        ):
            fault = (
                f"priority {winner.key.priority} must not preempt {victim.key.priority}: the gap must be at least {gap}"
            )
            self.refuse(item, f"{fault} (cluster setting preemption)", name, preemption.count)
        else:
            return True
        return False

    def _refusal_reason(self, task_class: TaskClass, row: int) -> str:
        """Why no task of the class may go there now, or nothing."""
        rows = np.array([row])
        on_node = without_licence_needs(task_class)
        for each in (*self._filters, *self._avoid_filters(task_class)):
            passing = each.accepts(on_node, self._ledger, rows)
            if passing is not None and not passing[0]:
                return next((text for text, refused in each.reasons(on_node, self._ledger, rows) if len(refused)), "")
        if self._rule_set.constrains(task_class):
            for text, refused in self._rule_set.refusals(task_class):
                if refused[row]:
                    return text
        return ""

    def _avoid_filters(self, task_class: TaskClass) -> tuple[Filter, ...]:
        """Refuses the nodes that all of its pending tasks avoid. A gang uses them if it must."""
        queued = self._round.state.pending_queue.get(task_class.id)
        is_gang = task_class.rules is not None and task_class.rules.gang
        return (avoid_filter(queued.avoid),) if queued is not None and queued.avoid and not is_gang else ()

    def _max_count(self, record: ClassRecord) -> tuple[int, str]:
        """How many more tasks of the class may start regardless of room, and what limits it."""
        state, key = self._round.state, record.key
        waiting = record.queued - self._admitted_by_class[record.id]
        limits = [(waiting, f"only {record.queued} tasks of class {record.id} are pending")]
        first = record.first_ready()
        if key.dedicated_to is not None and first is not None:
            lanes = first.spec.parallel_max - record.width - self._admitted_by_class[record.id]
            limits.append((lanes, f"parallel_max is {first.spec.parallel_max}"))
        queue, limit_reason = state.queues.get(key.queue), next(limits_reached(record.task_class, self._view), "")
        if missing := state.secrets.problem_of_class(key):
            limits.append((0, missing))
        if queue.is_paused:
            limits.append((0, limit_reason))
        elif queue.running_max:
            free = queue.running_max - state.queue_lanes[key.queue] - self._admitted_by_queue[key.queue]
            limits.append((free, limit_reason or f"queue {key.queue} has a running_max of {queue.running_max}"))
        for resource, need in record.licences:
            total, used = state.cluster.licences().get(resource, 0), state.licences_used[resource]
            free = (total - used - self._admitted_licences[resource]) // need
            limits.append(
                (free, limit_reason or f"{resource}: needs {need}, {max(total - used, 0)} of {total} are free")
            )
        limits += self._quota_limits(record, limit_reason)
        max_count, reason = min(limits, key=lambda limit: limit[0])
        return max(max_count, 0), reason

    def _quota_limits(self, record: ClassRecord, limit_reason: str) -> Iterator[tuple[int, str]]:
        quota = quota_of(self._round.state, record)
        if quota is not None:
            for position, need in enumerate(record.quota_needs):
                free = quota.limits[position] - quota.used[position] - self._admitted_quotas[quota.tenant, position]
                if need:
                    yield free // need, limit_reason or f"tenant {quota.tenant} has no more {PLACED[position]} left"

    def _reserve(self, record: ClassRecord, rows: IntArray, counts: IntArray) -> None:
        if not len(rows):
            return
        self._ledger.place(without_licence_needs(record.task_class), rows, counts)
        self._rule_set.record_placement(record.task_class, rows, counts)
        rules, tasks = record.key.rules, int(counts.sum())
        if rules is not None and rules.exclusive:
            self._ledger.own(rows, rules.job)
        self._admitted_by_class[record.id] += tasks
        self._admitted_by_queue[record.key.queue] += tasks
        for resource, need in record.licences:
            self._admitted_licences[resource] += need * tasks
        for position, need in enumerate(record.quota_needs if record.tenant else ()):
            self._admitted_quotas[record.tenant, position] += need * tasks

    def refuse(self, item: str, reason: str, node: str = "", count: int = 0) -> None:
        self._refusals.append(ItemRefusal(item, reason, node, count))
