"""Filters nodes: which nodes can take a task of a class, and why the others cannot. Each filter is a plain function
that gives reasons. The planner calls `feasible`; `explain` asks for the reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shunter.model import secrets
from shunter.model.job.isolation import REQUIRED_BY_CONSTRAINT
from shunter.model.job.spec import PORT_PREFIX
from shunter.model.resources import DISK, MEMORY, format_amount
from shunter.planning.filter.node_kinds import RUNTIME_BUILT_IN
from shunter.planning.filter.node_ledger import NodeLedger, Rows
from shunter.planning.view import BoolArray, IntArray, TaskClass

ALL_ROWS = slice(None)
RESOURCES = "resources"  # the name of the filter that compares amounts

Accepts = Callable[[TaskClass, NodeLedger, Rows], BoolArray | None]  # None: this filter accepts every row
Refusal = tuple[str, IntArray]  # a reason and its rows
Reasons = Callable[[TaskClass, NodeLedger, IntArray], Iterator[Refusal]]


@dataclass(frozen=True, slots=True)
class Filter:
    """`accepts` returns the rows that pass. `reasons` groups the other rows by reason."""

    name: str
    accepts: Accepts
    reasons: Reasons


def feasible(task_class: TaskClass, ledger: NodeLedger, rows: Rows, filters: Sequence[Filter]) -> BoolArray:
    """The rows that every filter accepts."""
    accepted: BoolArray | None = None
    for each in filters:
        passing = each.accepts(task_class, ledger, rows)
        if passing is not None:
            accepted = passing if accepted is None else accepted & passing
    return np.ones_like(ledger.eligible[rows]) if accepted is None else accepted


def is_eligible(_: TaskClass, ledger: NodeLedger, rows: Rows) -> BoolArray:
    return ledger.eligible[rows]


def why_ineligible(_: TaskClass, ledger: NodeLedger, rows: IntArray) -> Iterator[Refusal]:
    texts = [ledger.ineligible_because(row) for row in rows.tolist()]
    for text in dict.fromkeys(texts):
        yield text, rows[[other == text for other in texts]]


def is_not_exclusive_to_other(task_class: TaskClass, ledger: NodeLedger, rows: Rows) -> BoolArray | None:
    """A node that one job has for itself is infeasible for all others."""
    if not ledger.has_owners:
        return None
    owner = ledger.owner[rows]
    free: BoolArray = owner == 0
    return free if task_class.rules is None else free | (owner == task_class.rules.job)


def why_exclusive_to_other(_: TaskClass, __: NodeLedger, rows: IntArray) -> Iterator[Refusal]:
    yield "another job uses the node exclusively", rows


def has_runtime(task_class: TaskClass, ledger: NodeLedger, rows: Rows) -> BoolArray | None:
    if task_class.runtime == RUNTIME_BUILT_IN:
        return None
    return ledger.kinds.run(task_class.runtime)[ledger.kind[rows]]


def why_no_runtime(task_class: TaskClass, _: NodeLedger, rows: IntArray) -> Iterator[Refusal]:
    yield f"has no {task_class.runtime} runtime", rows


def avoid_filter(avoid: frozenset[int]) -> Filter:
    """Refuse the nodes on which all queued tasks of the class have failed."""
    avoided_rows = np.array(sorted(avoid), dtype=np.int64)

    def accepts(_: TaskClass, ledger: NodeLedger, rows: Rows) -> BoolArray:
        accepted: BoolArray = ~np.isin(ledger.number[rows], avoided_rows)
        return accepted

    def reasons(_: TaskClass, __: NodeLedger, rows: IntArray) -> Iterator[Refusal]:
        yield "its tasks failed on this node before and must run on another one", rows

    return Filter("avoid", accepts, reasons)


def is_in_datacenter(task_class: TaskClass, ledger: NodeLedger, rows: Rows) -> BoolArray | None:
    if not task_class.datacenters:
        return None
    return ledger.kinds.lie_in(task_class.datacenters)[ledger.kind[rows]]


def why_wrong_datacenter(task_class: TaskClass, _: NodeLedger, rows: IntArray) -> Iterator[Refusal]:
    yield f"datacenter is not {' or '.join(task_class.datacenters)}", rows


def meets_constraints(task_class: TaskClass, ledger: NodeLedger, rows: Rows) -> BoolArray | None:
    if not task_class.constraints:
        return None
    met: BoolArray = np.logical_and.reduce([ledger.kinds.hold_on(text, rows) for text in task_class.constraints])
    return met


def why_constraints_unmet(task_class: TaskClass, ledger: NodeLedger, rows: IntArray) -> Iterator[Refusal]:
    for text in task_class.constraints:
        met = ledger.kinds.hold_on(text, rows)
        yield _why_unmet(text, any_met=bool(ledger.kinds.hold_on(text, ALL_ROWS)[1:].any())), rows[~met]
        rows = rows[met]


def _why_unmet(constraint: str, any_met: bool) -> str:
    if constraint == secrets.REQUIRED:
        return "its worker is older than 0.3.0 and cannot give secrets to tasks; upgrade it"
    isolation = REQUIRED_BY_CONSTRAINT.get(constraint)
    if isolation is None:
        return f"constraint is false: {constraint}"
    return f"does not offer isolation '{isolation}'" if any_met else f"no node offers isolation '{isolation}'"


def has_resources(task_class: TaskClass, ledger: NodeLedger, rows: Rows) -> BoolArray | None:
    fits: BoolArray | None = None
    for resource, need in task_class.needs.items():
        if resource not in ledger.column:
            return np.zeros_like(ledger.eligible[rows])
        enough = ledger.free[ledger.column[resource]][rows] >= need
        fits = enough if fits is None else fits & enough
    return fits


def why_insufficient_resources(task_class: TaskClass, ledger: NodeLedger, rows: IntArray) -> Iterator[Refusal]:
    """By the first missing resource; distinguishes nodes that are too small from nodes that are full now."""
    for resource, need in task_class.needs.items():
        if resource not in ledger.column:
            yield f"no node has {resource}", rows
            return
        column = ledger.column[resource]
        needs = f"{resource}: needs {format_amount_short(resource, need)}"
        free, size = ledger.free[column][rows], ledger.capacity(resource)[rows]
        small, full = size < need, (size >= need) & (free < need)
        if small.any():
            yield (
                f"{needs}, nodes have at most {format_amount_short(resource, int(size[small].max()))}",
                rows[small],
            )
        if full.any() and resource.startswith(PORT_PREFIX):
            yield f"port {resource.removeprefix(PORT_PREFIX)} is taken", rows[full]
        elif full.any():
            yield f"{needs}, at most {format_amount_short(resource, max(0, int(free[full].max())))} free", rows[full]
        rows = rows[~small & ~full]


def format_amount_short(resource: str, amount: int) -> str:
    """Like `format_amount` if that is short, otherwise rounded down to a tenth of a unit: `48.3Gi`."""
    exact = format_amount(resource, amount)
    if resource in (MEMORY, DISK) and len(exact) > len("1023Mi"):
        for power, suffix in ((40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")):
            if amount >= 2**power:
                return f"{amount * 10 // 2**power / 10:g}{suffix}"
    return exact


# The order matters only to `explain`: reasons that waiting cannot change come first.
FILTERS = (
    Filter("eligible", is_eligible, why_ineligible),
    Filter("datacenter", is_in_datacenter, why_wrong_datacenter),
    Filter("runtime", has_runtime, why_no_runtime),
    Filter("constraints", meets_constraints, why_constraints_unmet),
    Filter("owner", is_not_exclusive_to_other, why_exclusive_to_other),
    Filter(RESOURCES, has_resources, why_insufficient_resources),
)
_DYNAMIC_FILTERS = ("eligible", "owner", RESOURCES)  # a task can wait until an exclusive node is released
STATIC_FILTERS = tuple(each for each in FILTERS if each.name not in _DYNAMIC_FILTERS)
