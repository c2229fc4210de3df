"""A filter: rejects nodes with the label `maintenance=yes`, with a reason for `shunter why`."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.plugins import BoolArray, Filter, IntArray, Ledger, Refusal, Rows, TaskClass


def is_open(_: TaskClass, ledger: Ledger, rows: Rows) -> BoolArray:
    """Check all rows at once. The expression is evaluated once per kind of node, and cached."""
    return ~ledger.kinds.hold_on("node.labels.maintenance == 'yes'", rows)


def why_closed(_: TaskClass, __: Ledger, rows: IntArray) -> Iterator[Refusal]:
    yield "in maintenance", rows


MAINTENANCE = Filter("maintenance", is_open, why_closed)
