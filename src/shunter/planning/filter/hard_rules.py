"""Rules that hold for every policy: which nodes a class may use. Removes the placements that break them. Called by the
engine for policies of plugins; the built-in planner obeys these rules itself.

Free resources are checked later, when a placement is applied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shunter.planning.filter.colocation import is_first_of_domain
from shunter.planning.filter.filters import RESOURCES, Filter, feasible
from shunter.planning.filter.node_ledger import NodeLedger
from shunter.planning.filter.rules import PlacementRules, RuleSet
from shunter.planning.view import BoolArray, ClusterView, Placement, TaskClass


class HardRules:
    """The rules of one decision. Admitted placements count for later calls."""

    def __init__(self, view: ClusterView, ledger: NodeLedger, filters: Sequence[Filter]) -> None:
        self._ledger, self._count = ledger, view.nodes.count
        self._filters = tuple(each for each in filters if each.name != RESOURCES)
        self._rule_set = RuleSet(view, ledger)

    def accepts(self, task_class: TaskClass) -> BoolArray:
        """Which rows would take a task of the class, regardless of room."""
        accepted = feasible(task_class, self._ledger, slice(0, self._count), self._filters)
        if self._rule_set.constrains(task_class):
            accepted = accepted & self._rule_set.rules_for(task_class).allowed
        return accepted

    def admit(self, task_class: TaskClass, placement: Placement) -> Placement:
        """The part of a placement that the rules allow."""
        allowed = feasible(task_class, self._ledger, placement.nodes, self._filters)
        admitted = _select_rows(placement, allowed)
        if self._rule_set.constrains(task_class):
            placement_rules = self._rule_set.rules_for(task_class)
            admitted = _without_conflicts(
                _select_rows(admitted, placement_rules.allowed[admitted.nodes]), placement_rules
            )
        self._rule_set.record_placement(task_class, admitted.nodes, admitted.counts)
        return admitted


def _without_conflicts(placement: Placement, placement_rules: PlacementRules) -> Placement:
    """Drop tasks that other tasks of the same placement repel."""
    if placement_rules.is_colocated:
        placement = _select_rows(placement, np.arange(len(placement.nodes)) == 0)
    if placement_rules.distinct_domain is not None:
        placement = _select_rows(placement, is_first_of_domain(placement_rules.distinct_domain[placement.nodes]))
    most = 1 if placement_rules.distinct_domain is not None else placement_rules.per_node_max
    return placement if most is None else replace(placement, counts=np.minimum(placement.counts, most))


def _select_rows(placement: Placement, rows: BoolArray) -> Placement:
    return Placement(placement.class_id, placement.nodes[rows], placement.counts[rows])
