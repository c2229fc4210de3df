"""Finds the testbeds whose slots hold what a task needs: slots reserve their resources even while nothing runs in them.
Called by `gateway.explain.why`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from shunter.engine.state.state import State
from shunter.gateway.explain.names import ALL_NAMES, Names
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.testbeds import Testbed
from shunter.planning.explain.start_estimate import Forecast
from shunter.planning.explain.suggest import without_licence_needs
from shunter.planning.filter.filters import RESOURCES, Filter, feasible, format_amount_short
from shunter.planning.filter.node_ledger import NodeLedger
from shunter.planning.score.gangs import gang_of
from shunter.planning.view import TaskClass


def describe_testbed_holds(
    state: State, task_class: TaskClass, filters: Sequence[Filter], only_node: int = 0, names: Names = ALL_NAMES
) -> Iterator[str]:
    """One text for each testbed without whose slots a task would fit on some node."""
    testbeds = state.objects.testbeds
    needs = without_licence_needs(task_class).needs
    if not testbeds or not needs:
        return
    ledger = NodeLedger()
    ledger.sync(state.nodes.view)
    if any(resource not in ledger.column for resource in needs):
        return
    missing = _missing_gang_tasks(state, task_class, filters)
    others = tuple(each for each in filters if each.name != RESOURCES)
    accepted = feasible(without_licence_needs(task_class), ledger, slice(0, ledger.count), others)
    for name, testbed in testbeds.items():
        nodes, held = 0, Counter[str]()
        for row, slots in _held_by_row(state, testbed):
            if accepted[row] and only_node in (0, row):
                decisive = _decisive_amounts(needs, _free_on(ledger, row, needs), slots, is_gang=missing > 0)
                nodes += bool(decisive)
                held.update(decisive)
        if nodes:
            amounts = {resource: held[resource] for resource in needs if held[resource]}
            yield _describe(name, names, nodes, amounts, missing)


def _free_on(ledger: NodeLedger, row: int, needs: Mapping[str, int]) -> dict[str, int]:
    return {resource: int(ledger.free[ledger.column[resource]][row]) for resource in needs}


def _decisive_amounts(
    needs: Mapping[str, int], free: Mapping[str, int], slots: Mapping[str, int], is_gang: bool
) -> dict[str, int]:
    """What the slots on a node hold of the resources that a task lacks there, if it would fit without them; else
    nothing. A gang may lack room on a node where one of its tasks fits: then all that the slots hold counts."""
    short = [resource for resource, need in needs.items() if free[resource] < need]
    if is_gang and not short:
        short = [resource for resource in needs if slots.get(resource)]
    if any(free[resource] + slots.get(resource, 0) < needs[resource] for resource in short):
        return {}
    return {resource: slots.get(resource, 0) for resource in short}


def _missing_gang_tasks(state: State, task_class: TaskClass, filters: Sequence[Filter]) -> int:
    """How many tasks of a gang have no room; 0 for other tasks."""
    record = state.classes.get(task_class.id) if gang_of(task_class) else None
    if record is None:
        return 0
    return record.queued - Forecast(task_class, state.nodes.view, filters).room(record.queued)


def _held_by_row(state: State, testbed: Testbed) -> Iterator[tuple[int, Mapping[str, int]]]:
    """What its slots hold on each node that is registered now."""
    held: dict[str, Counter[str]] = {}
    for slot in testbed.status.slots:
        held.setdefault(slot.place.node, Counter()).update(slot.size)
    for node, amounts in held.items():
        if node in state.nodes.by_name:
            yield state.nodes.by_name[node].id, amounts


def _describe(name: ObjectName, names: Names, nodes: int, held: dict[str, int], missing: int) -> str:
    amounts = ", ".join(f"{resource} {format_amount_short(resource, amount)}" for resource, amount in held.items())
    where = f"{nodes:,} node{'s' if nodes != 1 else ''}"
    space = "" if name.namespace == NAMESPACE_DEFAULT else f" -n {name.namespace}"
    hint = f" (shunter describe testbed {name.name}{space})" if names.sees(name.namespace) else ""
    what = "more tasks of the gang" if missing else "a task"
    return f"{names.testbed(name)} holds {amounts} for its slots on {where}, where {what} would fit otherwise{hint}"
