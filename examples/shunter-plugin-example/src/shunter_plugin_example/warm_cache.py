"""A score: prefers nodes with the label `cache=warm`, and among equals the emptiest."""

from __future__ import annotations

from shunter.plugins import FloatArray, Ledger, More, Rows, Score, Shape, TaskClass, spread

COLD = 100.0  # more than the score of a full node


def cost(task_class: TaskClass, ledger: Ledger, rows: Rows, more: More = 0) -> FloatArray:
    """The score of one more task on each row; the lowest wins. It rises with every task on a node."""
    is_cold = ~ledger.kinds.hold_on("node.labels.cache == 'warm'", rows)
    return spread(task_class, ledger, rows, more) + COLD * is_cold


WARM_CACHE = Score("warm-cache", Shape.RISING, cost)
