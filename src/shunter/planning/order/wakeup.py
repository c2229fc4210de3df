"""Finds the classes that might fit on a few rows: a bound, computed for all classes at once. Called by the backlog.

It compares free amounts and kinds of nodes. The bound is optimistic, because many rows are considered together. The
filters reject the classes that do not fit after all."""

from __future__ import annotations

import numpy as np

from shunter.planning.filter.node_ledger import NodeLedger
from shunter.planning.order.pending_classes import PendingClassTable
from shunter.planning.view import BoolArray, IntArray

GROUPS_MAX = 64  # of rows: beyond it, rows of similar size are grouped, and only their best values count
NODE_DEMANDS_MAX = 256  # distinct sets of requirements on the kind of node; beyond it kinds are ignored
CELLS_MAX = 1_000_000  # classes x rows compared at a time


def may_fit(pending_classes: PendingClassTable, numbers: IntArray, rows: IntArray, ledger: NodeLedger) -> BoolArray:
    """For each of these classes: whether some row, or group of rows, has enough of everything that one task needs."""
    rows = rows[ledger.eligible[rows]]
    if not len(rows) or not len(numbers):
        return np.zeros(len(numbers), np.bool_)
    rows = rows[np.argsort(ledger.free[0][rows], kind="stable")] if len(rows) > GROUPS_MAX else rows
    starts = np.linspace(0, len(rows), min(len(rows), GROUPS_MAX) + 1).astype(np.int64)[:-1]
    # negative room counts as none: a class that does not need the resource may still start
    free = np.maximum.reduceat(np.maximum(ledger.free[:, rows], 0), starts, axis=1)
    suits = _suits(pending_classes, rows, starts, ledger)
    found = np.empty(len(numbers), np.bool_)
    batch = max(1, CELLS_MAX // len(starts))
    for first in range(0, len(numbers), batch):
        some = numbers[first : first + batch]
        fits = np.ones((len(some), len(starts)), np.bool_)
        for column in range(len(free)):
            need = pending_classes.needs[some, column]
            if need.any():
                fits &= need[:, np.newaxis] <= free[column]
        if suits is not None:
            fits &= suits[pending_classes.node_demand[some]]
        found[first : first + batch] = fits.any(axis=1)
    return found


def _suits(
    pending_classes: PendingClassTable, rows: IntArray, starts: IntArray, ledger: NodeLedger
) -> BoolArray | None:
    """By set of requirements and group of rows: whether some row in it has a suitable kind."""
    if len(pending_classes.example_classes) > NODE_DEMANDS_MAX:
        return None
    for node_demand in range(len(pending_classes.example_classes)):
        if node_demand == len(pending_classes.suitable):
            pending_classes.suitable.append(ledger.kinds.suit(pending_classes.example_classes[node_demand]))
        elif len(pending_classes.suitable[node_demand]) < len(ledger.kinds):
            pending_classes.suitable[node_demand] = ledger.kinds.suit(pending_classes.example_classes[node_demand])
    by_row: BoolArray = np.array(pending_classes.suitable)[:, ledger.kind[rows]]
    suits: BoolArray = np.logical_or.reduceat(by_row, starts, axis=1)
    return suits
