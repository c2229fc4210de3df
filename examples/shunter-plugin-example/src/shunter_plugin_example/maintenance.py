"""A filter: nodes with the label `maintenance=yes` take no new tasks. It says why, for `shunter why`."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.plugins import BoolArray, Filter, IntArray, Ledger, Refusal, Rows, TaskClass


def is_open(_: TaskClass, ledger: Ledger, rows: Rows) -> BoolArray:
    """For all rows at once: the question is asked once for each kind of node, and remembered."""
    return ~ledger.kinds.hold_on("node.labels.maintenance == 'yes'", rows)


def why_closed(_: TaskClass, __: Ledger, rows: IntArray) -> Iterator[Refusal]:
    yield "in maintenance", rows


MAINTENANCE = Filter("maintenance", is_open, why_closed)
