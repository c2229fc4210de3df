"""What holds whoever decides: which nodes a class may go to, and placements cut to that. Called by the engine for the
policies of plugins; the built-in planner keeps these rules by itself.

Room is not looked at here: that is checked when a placement is applied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shunter.planning.explain.suggest import RESOURCES
from shunter.planning.filter.filters import Filter, feasible
from shunter.planning.filter.node_ledger import Ledger
from shunter.planning.filter.rules import Coupling, Couplings
from shunter.planning.view import BoolArray, ClusterView, Placement, TaskClass


class Law:
    """The rules of one decision. What it admitted counts for what is asked afterwards."""

    def __init__(self, view: ClusterView, ledger: Ledger, filters: Sequence[Filter]) -> None:
        self._ledger, self._count = ledger, view.nodes.count
        self._filters = tuple(each for each in filters if each.name != RESOURCES)
        self._couplings = Couplings(view, ledger)

    def accepts(self, task_class: TaskClass) -> BoolArray:
        """Which rows would take a task of the class, whatever room they have."""
        accepted = feasible(task_class, self._ledger, slice(0, self._count), self._filters)
        if self._couplings.couples(task_class):
            accepted = accepted & self._couplings.of(task_class).allowed
        return accepted

    def admit(self, task_class: TaskClass, placement: Placement) -> Placement:
        """What of a placement may be."""
        allowed = feasible(task_class, self._ledger, placement.nodes, self._filters)
        admitted = _only(placement, allowed)
        if self._couplings.couples(task_class):
            coupling = self._couplings.of(task_class)
            admitted = _apart(_only(admitted, coupling.allowed[admitted.nodes]), coupling)
        self._couplings.note(task_class, admitted.nodes, admitted.counts)
        return admitted


def _apart(placement: Placement, coupling: Coupling) -> Placement:
    """Without what the tasks of one placement have against each other."""
    if coupling.together:
        placement = _only(placement, np.arange(len(placement.nodes)) == 0)
    if coupling.apart is not None:
        _, first = np.unique(coupling.apart[placement.nodes], return_index=True)
        placement = _only(placement, np.isin(np.arange(len(placement.nodes)), first))
    most = 1 if coupling.apart is not None else coupling.a_node_max
    return placement if most is None else replace(placement, counts=np.minimum(placement.counts, most))


def _only(placement: Placement, rows: BoolArray) -> Placement:
    return Placement(placement.class_id, placement.nodes[rows], placement.counts[rows])
