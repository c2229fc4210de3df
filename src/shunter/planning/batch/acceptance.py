"""Which nodes take tasks of a class, regardless of room. Created by `planning.batch.decision_pass` for each decision.

Most classes have no constraints and no rules between tasks: for them, every eligible node that nobody uses exclusively
is fine, and neither the filters nor a ledger are needed."""

from __future__ import annotations

from shunter.planning.filter.filters import FILTERS, Filter
from shunter.planning.filter.hard_rules import HardRules
from shunter.planning.filter.node_kinds import RUNTIME_BUILT_IN
from shunter.planning.filter.node_ledger import NodeLedger
from shunter.planning.view import BoolArray, ClusterView, Placement, TaskClass


class Acceptance:
    def __init__(self, view: ClusterView, filters: tuple[Filter, ...], ledger: NodeLedger) -> None:
        nodes = view.nodes
        self._view, self._filters, self._ledger = view, filters, ledger
        self._hard_rules: HardRules | None = None
        self._has_plain_nodes = filters == FILTERS and view.repels is None
        self._plain_rows: BoolArray = nodes.eligible[: nodes.count] & (nodes.owner[: nodes.count] == 0)

    def rows(self, task_class: TaskClass) -> BoolArray:
        """Which rows would take a task of the class."""
        return self._plain_rows if self._is_plain(task_class) else self._rules().accepts(task_class)

    def admit(self, task_class: TaskClass, placement: Placement) -> Placement:
        """The part of a placement that the rules between its own tasks allow, too."""
        return placement if self._is_plain(task_class) else self._rules().admit(task_class, placement)

    def _is_plain(self, task_class: TaskClass) -> bool:
        rules = task_class.rules
        return (
            self._has_plain_nodes
            and not (task_class.constraints or task_class.datacenters)
            and task_class.runtime == RUNTIME_BUILT_IN
            and (rules is None or not (rules.exclusive or rules.distinct or rules.affinity))
        )

    def _rules(self) -> HardRules:
        if self._hard_rules is None:
            self._ledger.sync(self._view.nodes)
            self._hard_rules = HardRules(self._view, self._ledger, self._filters)
        return self._hard_rules
