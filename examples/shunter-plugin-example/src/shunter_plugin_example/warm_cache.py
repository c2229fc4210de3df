"""A score: nodes with the label `cache=warm` first, among them and among all others the emptiest."""

from __future__ import annotations

from shunter.plugins import FloatArray, Ledger, More, Rows, Score, Shape, TaskClass, spread

COLD = 100.0  # dearer than any node can be by being full


def cost(task_class: TaskClass, ledger: Ledger, rows: Rows, more: More = 0) -> FloatArray:
    """The price of one task more on each row; the lowest wins. It rises with every task that a node gets."""
    is_cold = ~ledger.kinds.hold_on("node.labels.cache == 'warm'", rows)
    return spread(task_class, ledger, rows, more) + COLD * is_cold


WARM_CACHE = Score("warm-cache", Shape.RISING, cost)
