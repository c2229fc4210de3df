"""Whether the items of a decision hold now, one by one, and why not. Nothing is changed here.

What was admitted before counts: two items for the last free core are one too many. Used by
`engine.placement.external_decision` for decisions that were made elsewhere, on a view that may be old."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from shunter.engine.round import Round
from shunter.engine.state.records import ClassRecord
from shunter.model.protocol.scheduler_messages import ItemRefusal
from shunter.planning.explain.explain import limits_reached
from shunter.planning.explain.suggest import RESOURCES, on_nodes
from shunter.planning.filter.filters import Filter, feasible
from shunter.planning.filter.node_ledger import Ledger
from shunter.planning.filter.rules import Couplings
from shunter.planning.reserve.reservations import PATIENCE
from shunter.planning.view import ClusterView, IntArray, Placement, Preemption, TaskClass

NO_ROWS: IntArray = np.empty(0, np.int64)
REFUSALS_MAX = 200  # told one by one; what is refused beyond that is counted together


@dataclass(slots=True)
class Admitted:
    """What of a placement holds. No row is named twice."""

    class_id: int
    rows: IntArray
    counts: IntArray

    @property
    def tasks(self) -> int:
        return int(self.counts.sum())


class ItemChecks:
    """Made for one decision, on a ledger that nobody else uses."""

    def __init__(self, round: Round, view: ClusterView, filters: tuple[Filter, ...], ledger: Ledger) -> None:
        self._round, self._view, self._ledger = round, view, ledger
        self._filters = filters
        self._hard = tuple(each for each in filters if each.name != RESOURCES)
        self._couplings = Couplings(view, ledger)
        self._given: Counter[int] = Counter()  # class id -> tasks
        self._by_queue: Counter[str] = Counter()
        self._licences: Counter[str] = Counter()
        self._untold = 0
        self._refusals: list[ItemRefusal] = []

    @property
    def refusals(self) -> list[ItemRefusal]:
        if not self._untold:
            return self._refusals
        more = ItemRefusal("placements", "and others, of which only the number is told", "", self._untold)
        return [*self._refusals, more]

    def admit(self, placement: Placement, item: str) -> Admitted:
        """What of it holds; the rest is among the refusals, by node."""
        nothing = Admitted(placement.class_id, NO_ROWS, NO_ROWS)
        record = self._round.state.classes.get(placement.class_id)
        if record is None or not record.queued or record.key.node:
            fault = f"no tasks of class {placement.class_id} wait for a policy any more"
            self.refuse(item, fault, count=int(np.sum(placement.counts)))
            return nothing
        rows, counts = placement.nodes, placement.counts
        is_sensible = (rows > 0) & (rows < self._view.nodes.count) & (counts > 0)
        if not is_sensible.all() or len(rows) != len(np.unique(rows)):
            fault = f"names a row that is no node (rows are 1 to {self._view.nodes.count - 1}), one twice, or no tasks"
            self.refuse(item, fault, count=int(np.sum(counts)))
            return nothing
        if self._couplings.couples(record.task_class):
            pairs = zip(rows.tolist(), counts.tolist(), strict=True)
            given = np.array([self._admit_one(record, row, count) for row, count in pairs])
        else:
            given = self._admit_many(record, rows, counts)
        self._tell(record, rows, counts - given, item)
        return Admitted(placement.class_id, rows[given > 0], given[given > 0])

    def _admit_many(self, record: ClassRecord, rows: IntArray, counts: IntArray) -> IntArray:
        """Of a class that no rule couples: all rows at once."""
        on_node, (most, _) = on_nodes(record.task_class), self._most(record)
        accepted = feasible(on_node, self._ledger, rows, self._hard)
        room = np.where(accepted, self._ledger.room(on_node, rows, most), 0)
        given: IntArray = np.minimum(counts, np.maximum(room, 0))
        kept: IntArray = np.clip(given - np.maximum(np.cumsum(given) - most, 0), 0, None)
        self._take(record, rows[kept > 0], kept[kept > 0])
        return kept

    def _admit_one(self, record: ClassRecord, row: int, count: int) -> int:
        """Of a class that rules couple: what is admitted may change what the next row may take."""
        task_class, rows = record.task_class, np.array([row])
        if self._refusal(task_class, row):
            return 0
        alone = self._couplings.of(task_class).a_node_max
        most, _ = self._most(record)
        room = int(self._ledger.room(on_nodes(task_class), rows, most)[0])
        given = min(count, most, room, count if alone is None else alone)
        if given > 0:
            self._take(record, rows, np.array([given]))
        return max(given, 0)

    def _tell(self, record: ClassRecord, rows: IntArray, refused: IntArray, item: str) -> None:
        """Why so many tasks were refused on these rows."""
        most, limit = self._most(record)
        for row, count in zip(rows[refused > 0].tolist(), refused[refused > 0].tolist(), strict=True):
            if len(self._refusals) >= REFUSALS_MAX:
                self._untold += count
                continue
            reason = self._refusal(record.task_class, row) or (limit if not most else "no more of them may be there")
            self.refuse(item, reason, self._view.nodes.names[row], count)

    def refuse_gang(self, members: list[Admitted], item: str) -> None:
        placed = sum(each.tasks for each in members)
        self.refuse(item, f"a gang starts whole, and only {placed} of its tasks can be placed so", count=placed)

    def may_preempt(self, preemption: Preemption, item: str) -> bool:
        state, nodes = self._round.state, self._view.nodes
        victim, winner = state.classes.get(preemption.victim), state.classes.get(preemption.winner)
        name = nodes.names[preemption.node] if 0 < preemption.node < nodes.count else ""
        if not name or victim is None or preemption.node not in victim.lanes:
            self.refuse(item, f"no tasks of class {preemption.victim} run there any more", name, preemption.count)
        elif victim.key.node:
            self.refuse(item, f"tasks of class {preemption.victim} belong on that node", name, preemption.count)
        elif winner is None or not winner.queued:
            self.refuse(item, f"class {preemption.winner}, for whose sake it is, does not wait any more", name)
        elif winner.key.priority - victim.key.priority < (gap := PATIENCE.asked_for(self._view).preempt_gap):
            fault = f"priority {winner.key.priority} may not end {victim.key.priority}: {gap} more are needed"
            self.refuse(item, f"{fault} (the cluster's setting preemption)", name, preemption.count)
        else:
            return True
        return False

    def _refusal(self, task_class: TaskClass, row: int) -> str:
        """Why not one task of the class may go there now, or nothing."""
        rows = np.array([row])
        on_node = on_nodes(task_class)
        for each in self._filters:
            passing = each.accepts(on_node, self._ledger, rows)
            if passing is not None and not passing[0]:
                return next((text for text, refused in each.reasons(on_node, self._ledger, rows) if len(refused)), "")
        if self._couplings.couples(task_class):
            for text, refused in self._couplings.refusals(task_class):
                if refused[row]:
                    return text
        return ""

    def _most(self, record: ClassRecord) -> tuple[int, str]:
        """How many more of the class may start whatever room there is, and what limits it."""
        state, key = self._round.state, record.key
        waiting = record.queued - self._given[record.id]
        limits = [(waiting, f"only {record.queued} tasks of class {record.id} wait")]
        first = record.first_ready()
        if key.dedicated_to is not None and first is not None:
            lanes = first.spec.parallel_max - record.width - self._given[record.id]
            limits.append((lanes, f"parallel_max is {first.spec.parallel_max}"))
        queue, full = state.queues.get(key.queue), next(limits_reached(record.task_class, self._view), "")
        if queue.is_paused:
            limits.append((0, full))
        elif queue.running_max:
            free = queue.running_max - state.queue_lanes[key.queue] - self._by_queue[key.queue]
            limits.append((free, full or f"queue {key.queue} has a running_max of {queue.running_max}"))
        for resource, need in record.licences:
            total, used = state.cluster.licences().get(resource, 0), state.licences_used[resource]
            free = (total - used - self._licences[resource]) // need
            limits.append((free, full or f"{resource}: needs {need}, {max(total - used, 0)} of {total} are free"))
        most, reason = min(limits, key=lambda limit: limit[0])
        return max(most, 0), reason

    def _take(self, record: ClassRecord, rows: IntArray, counts: IntArray) -> None:
        if not len(rows):
            return
        self._ledger.place(on_nodes(record.task_class), rows, counts)
        self._couplings.note(record.task_class, rows, counts)
        rules, tasks = record.key.rules, int(counts.sum())
        if rules is not None and rules.exclusive:
            self._ledger.own(rows, rules.job)
        self._given[record.id] += tasks
        self._by_queue[record.key.queue] += tasks
        for resource, need in record.licences:
            self._licences[resource] += need * tasks

    def refuse(self, item: str, reason: str, node: str = "", count: int = 0) -> None:
        self._refusals.append(ItemRefusal(item, reason, node, count))
