"""Rules between the tasks of one decision: distinct, spread, affinity, exclusive. Called by `workspace`, by
`hard_rules`, and by the engine when it validates decisions.

A `RuleSet` lasts for one decision and records what that decision placed, because the view shows only what ran before.
Hard rules exclude rows, each with a reason; soft rules add a bias to scores.

The unit of a weight is the range between the best and the worst node's score. A spread of weight 1 evens out tasks
before it looks for cheap nodes; a spread of weight 0.1 lets ten tasks pile up before it takes an expensive node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from shunter.model.job.spec import Affinity
from shunter.planning.filter.colocation import (
    HOST,
    UNLABELLED,
    domain_by_kind,
    is_any_of,
    is_required_anti_affinity,
    is_required_job_affinity,
    is_same_group,
    shares_domain,
)
from shunter.planning.filter.filters import Filter, Refusal
from shunter.planning.filter.node_ledger import NodeLedger, Rows
from shunter.planning.view import BoolArray, ClusterView, FloatArray, IntArray, TaskClass


@dataclass(frozen=True, slots=True)
class SpreadState:
    """One `spread` of a class: the code of each row's value, and the number of tasks on nodes with each code."""

    weight: float
    domain: IntArray
    tasks: IntArray


@dataclass(frozen=True, slots=True)
class PlacementRules:
    """The rules for the next tasks of one class, by row."""

    allowed: BoolArray
    per_node_max: int | None = None  # tasks of the class that one node may get now
    bias: FloatArray | None = None  # added to a score, in units of the score range
    repeat_bias: FloatArray | None = None  # added once a task of the class has gone to the row
    spread_states: tuple[SpreadState, ...] = ()
    distinct_domain: IntArray | None = None  # codes of values that no two tasks may share
    is_colocated: bool = False  # the first task may go anywhere, and all others must follow it


@dataclass(slots=True)
class PlacedTasks:
    """The reported placements of a class in one decision; negative counts undo placements."""

    task_class: TaskClass
    parts: list[tuple[IntArray, IntArray]] = field(default_factory=list)

    def tally(self) -> Counter[int]:
        tally: Counter[int] = Counter()
        for rows, counts in self.parts:
            tally.update(dict(zip(rows.tolist(), counts.tolist(), strict=True)))
        return tally


class RuleSet:
    """The rules of all classes of one decision. `record_placement` must be called for every placement, also of classes
    without rules, because others may have to avoid them."""

    def __init__(self, view: ClusterView, ledger: NodeLedger) -> None:
        self._view = view
        self._ledger = ledger
        self._placed: dict[int, PlacedTasks] = {}
        self._domains: dict[str, IntArray] = {}
        self._anti_affine_classes = 0  # placed classes with a hard anti-affinity to jobs

    def constrains(self, task_class: TaskClass) -> bool:
        """False if `rules_for` would allow everything; costs nothing."""
        return task_class.rules is not None or self._anti_affine_classes > 0 or self._view.repels is not None

    def record_placement(self, task_class: TaskClass, rows: IntArray, counts: IntArray) -> None:
        """Tasks of the class were placed; negative counts undo placements."""
        placed = self._placed.get(task_class.id)
        if placed is None:
            placed = self._placed[task_class.id] = PlacedTasks(task_class)
            if task_class.rules is not None:
                self._anti_affine_classes += any(is_required_anti_affinity(each) for each in _affinities(task_class))
        placed.parts.append((rows, counts))

    def copy_for(self, ledger: NodeLedger) -> RuleSet:
        """A copy for another ledger of the same nodes."""
        copy = RuleSet(self._view, ledger)
        copy._placed = {id: PlacedTasks(placed.task_class, placed.parts.copy()) for id, placed in self._placed.items()}
        copy._domains, copy._anti_affine_classes = self._domains, self._anti_affine_classes
        return copy

    def rules_for(self, task_class: TaskClass) -> PlacementRules:
        allowed = np.ones(self._ledger.count, dtype=np.bool_)
        for _, refused in self.refusals(task_class):
            allowed &= ~refused
        rules = task_class.rules
        if rules is None:
            return PlacementRules(allowed)
        tally = self._tally_without_leaving(task_class) if rules.spread else Counter()
        spread_states = tuple(
            self._spread_state(each.label, each.weight, tally) for each in rules.spread if each.weight
        )
        bias, repeat_bias = self._soft_biases(task_class)
        is_one_per_node = rules.distinct == HOST or any(
            is_required_anti_affinity(each) and self._matches_itself(each, task_class) for each in rules.affinity
        )
        return PlacementRules(
            allowed=allowed,
            per_node_max=1 if is_one_per_node else None,
            bias=bias,
            repeat_bias=repeat_bias,
            spread_states=spread_states,
            distinct_domain=self._domain(rules.distinct) if rules.distinct not in ("", HOST) else None,
            is_colocated=any(self._is_first_for_affinity(each, task_class) for each in rules.affinity),
        )

    def refusals(self, task_class: TaskClass) -> Iterator[tuple[str, BoolArray]]:
        """Every hard rule that refuses a row: the reason, and the refused rows."""
        if self._view.repels is not None:
            repelled = self._view.repels(task_class.id)
            if repelled is not None:
                yield (
                    "a job that runs there excludes this one by its anti-affinity",
                    repelled[: self._ledger.count] > 0,
                )
        if self._anti_affine_classes:
            yield from self._refusals_by_placed(task_class)
        if task_class.rules is None:
            return
        if task_class.rules.exclusive:
            yield "exclusive: the node is in use", ~self._is_empty(task_class.rules.job)
        for each in task_class.rules.affinity:
            if each.require:
                yield from self._affinity_refusals(each, task_class)
        if task_class.rules.distinct:
            yield from self._distinct_refusals(task_class, task_class.rules.distinct)

    # ---- hard rules ----

    def _affinity_refusals(self, rule: Affinity, task_class: TaskClass) -> Iterator[tuple[str, BoolArray]]:
        if rule.to == "node":
            holds = self._matching_nodes(rule)
            refused = holds if rule.anti else ~holds
            yield why_affinity_refuses(rule), refused
        elif rule.anti:
            present = self._presence(rule.match) > 0
            for placed in self._placed.values():
                if self.holds(rule.match, placed.task_class.id):
                    present[_rows_of(placed.tally())] = True
            yield f"anti-affinity: a job on the node matches {rule.match}", present
        elif not self._is_first_for_affinity(rule, task_class):
            yield f"affinity: no job on the node matches {rule.match}", ~self._rows_with_jobs(rule)

    def _refusals_by_placed(self, task_class: TaskClass) -> Iterator[tuple[str, BoolArray]]:
        for placed in self._placed.values():
            if placed.task_class.id == task_class.id:
                continue
            if any(
                is_required_anti_affinity(each) and self.holds(each.match, task_class.id)
                for each in _affinities(placed.task_class)
            ):
                refused = is_any_of(_rows_of(placed.tally()), self._ledger.count)
                yield "a job that starts there excludes this one by its anti-affinity", refused

    def _distinct_refusals(self, task_class: TaskClass, distinct: str) -> Iterator[tuple[str, BoolArray]]:
        rows = _rows_of(self._tally(task_class))
        if distinct == HOST:
            yield "distinct host: the node already has a task of this group", is_any_of(rows, self._ledger.count)
        else:
            domain = self._domain(distinct)
            yield f"distinct {distinct}: the node has no such label", domain == UNLABELLED
            yield (
                f"distinct {distinct}: a node with the same value already has a task of this group",
                shares_domain(domain, rows),
            )

    def _is_empty(self, job: int) -> BoolArray:
        """Nodes without tasks, or that the job already has for itself."""
        ledger, count = self._ledger, self._ledger.count
        unused = (ledger.free[:, :count] == self._view.nodes.capacity[:count].T).all(axis=0)
        unused = unused & (ledger.tasks[:count] == 0) & (ledger.owner[:count] == 0)
        empty: BoolArray = unused | (ledger.owner[:count] == job)
        return empty

    def _rows_with_jobs(self, rule: Affinity) -> BoolArray:
        """Rows with jobs for which the rule's match certainly holds. A class without rules may belong to several jobs,
        so its placements of this decision count only in the next view."""
        present = self._presence(rule.match) > 0
        for placed in self._placed.values():
            if placed.task_class.rules is not None and self.holds(rule.match, placed.task_class.id):
                present[_rows_of(placed.tally())] = True
        return present

    def _is_first_for_affinity(self, rule: Affinity, task_class: TaskClass) -> bool:
        """Whether the class has an affinity to its own job, of which nothing runs yet."""
        if not is_required_job_affinity(rule) or not self._matches_itself(rule, task_class):
            return False
        return not self._rows_with_jobs(rule).any()

    # ---- soft rules ----

    def _soft_biases(self, task_class: TaskClass) -> tuple[FloatArray | None, FloatArray | None]:
        """Attraction (negative) and repulsion (positive), and what changes with the first task on a row."""
        assert task_class.rules is not None
        soft = [each for each in task_class.rules.affinity if each.weight and not each.require]
        if not soft:
            return None, None
        bias, repeat_bias = np.zeros(self._ledger.count), np.zeros(self._ledger.count)
        for each in soft:
            holds = self._matching_nodes(each) if each.to == "node" else self._rows_with_jobs(each)
            weight = each.weight if each.anti else -each.weight
            bias[holds] += weight
            if self._matches_itself(each, task_class):
                repeat_bias[~holds] += weight
        return bias, repeat_bias if repeat_bias.any() else None

    def _spread_state(self, label: str, weight: float, tally: Counter[int]) -> SpreadState:
        domain = self._domain(label)
        rows = _rows_of(tally)
        tasks = np.bincount(
            domain[rows], weights=[tally[row] for row in rows.tolist()], minlength=int(domain.max()) + 1
        )
        return SpreadState(weight, domain, tasks.astype(np.int64))

    # ---- what runs where ----

    def _tally(self, task_class: TaskClass) -> Counter[int]:
        """Tasks of the class's job and group by row, in any version: those of the view, and those of this decision."""
        tally: Counter[int] = Counter()
        if self._view.tally is not None:
            tally.update(self._view.tally(task_class.id))
        for placed in self._placed.values():
            if is_same_group(placed.task_class.rules, task_class.rules):
                tally.update(placed.tally())
        return tally

    def _tally_without_leaving(self, task_class: TaskClass) -> Counter[int]:
        """The same without leaving tasks: a spread counts what remains after they have ended. A rule that must always
        hold counts them."""
        tally = self._tally(task_class)
        if self._view.leaving is not None:
            tally.subtract(self._view.leaving(task_class.id))
        return tally

    def _presence(self, match: str) -> IntArray:
        count = self._ledger.count
        if self._view.presence is None:
            return np.zeros(count, dtype=np.int64)
        return self._view.presence(match)[:count]

    def _matching_nodes(self, rule: Affinity) -> BoolArray:
        return self._ledger.kinds.hold_on(rule.match, slice(0, self._ledger.count))

    def holds(self, match: str, class_id: int) -> bool:
        """Whether a match over jobs holds for any job with tasks of the class."""
        return self._view.matches is not None and self._view.matches(match, class_id)

    def _matches_itself(self, rule: Affinity, task_class: TaskClass) -> bool:
        return rule.to == "job" and self.holds(rule.match, task_class.id)

    def _domain(self, label: str) -> IntArray:
        """The domain of each row."""
        if label == HOST:
            return self._ledger.number[: self._ledger.count]
        if label not in self._domains:
            self._domains[label] = domain_by_kind(self._view.nodes.kinds, label)
        return self._domains[label][self._ledger.kind[: self._ledger.count]]


def is_required_node_affinity(rule: Affinity) -> bool:
    """Whether it excludes nodes regardless of what runs there."""
    return rule.to == "node" and rule.require


def why_affinity_refuses(rule: Affinity) -> str:
    """Why a rule about nodes refuses a node."""
    return (
        f"anti-affinity: the node matches {rule.match}"
        if rule.anti
        else f"affinity: the node does not match {rule.match}"
    )


def rules_filter(rule_set: RuleSet) -> Filter:
    """The hard rules as a filter, for `explain`."""

    def accepts(task_class: TaskClass, _: NodeLedger, rows: Rows) -> BoolArray | None:
        return rule_set.rules_for(task_class).allowed[rows] if rule_set.constrains(task_class) else None

    def reasons(task_class: TaskClass, _: NodeLedger, rows: IntArray) -> Iterator[Refusal]:
        for text, refused in rule_set.refusals(task_class):
            yield text, rows[refused[rows]]
            rows = rows[~refused[rows]]

    return Filter("rules", accepts, reasons)


def _affinities(task_class: TaskClass) -> tuple[Affinity, ...]:
    return task_class.rules.affinity if task_class.rules is not None else ()


def _rows_of(tally: Counter[int]) -> IntArray:
    return np.array([row for row, count in tally.items() if count > 0], dtype=np.int64)
