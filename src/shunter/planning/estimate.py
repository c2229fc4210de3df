"""When a task of a class will find room, judged by what is expected to end. Called when someone asks why it waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shunter.planning.candidates import FILTERS, Filter, feasible
from shunter.planning.ledger import Ledger
from shunter.planning.suggest import RESOURCES
from shunter.planning.view import Nodes, TaskClass


@dataclass(frozen=True, slots=True)
class Ending:
    """A task that runs is expected to end, and what it holds comes free."""

    at_ms: int
    node: int
    needs: Mapping[str, int]
    source: int = 0  # whatever the asker wants to know it by


def first_room(
    task_class: TaskClass, nodes: Nodes, endings: Sequence[Ending], filters: Sequence[Filter] = FILTERS
) -> Ending | None:
    """The ending after which some node has room for one task. None: not even when all of them have ended.

    One sweep through the endings in the order of time; the room of a node only grows on the way.
    """
    ledger = Ledger()
    ledger.sync(nodes)
    others = tuple(each for each in filters if each.name != RESOURCES)
    accepted = feasible(task_class, ledger, slice(0, ledger.count), others).tolist()
    missing: dict[int, dict[str, int]] = {}
    for ending in sorted(endings, key=lambda ending: ending.at_ms):
        row = ending.node
        if not accepted[row]:
            continue
        lacks = missing.get(row)
        if lacks is None:
            lacks = missing[row] = _lacks(task_class, ledger, row)
        for resource in lacks:
            lacks[resource] -= ending.needs.get(resource, 0)
        if all(amount <= 0 for amount in lacks.values()):
            return ending
    return None


def _lacks(task_class: TaskClass, ledger: Ledger, row: int) -> dict[str, int]:
    """How much of each resource is not free on a node; none of it ever comes where the node has none."""
    return {
        resource: need - int(ledger.free[ledger.column[resource]][row]) if resource in ledger.column else need
        for resource, need in task_class.needs.items()
    }
