"""Finds single changes of a class after which some node would accept it. Called when a user asks why it waits.

The results are only candidates, because they consider one task and the nodes. The caller verifies them: it lets the
planner decide on a copy of the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shunter.model.job.spec import LICENCE_PREFIX
from shunter.model.resources import CPU, DISK, MEMORY, STANDARD
from shunter.planning.filter.filters import FILTERS, Filter, feasible
from shunter.planning.filter.node_ledger import NodeLedger
from shunter.planning.view import BoolArray, Nodes, TaskClass

DATACENTERS_MAX = 3  # suggested ones, those with most room first
CUT_SHARE_MIN = 0.1  # a cut below this share of the request is not suggested


@dataclass(frozen=True, slots=True)
class ResourceCut:
    """With `amount` of a resource instead, `nodes` nodes would fit; 0 means without the resource."""

    resource: str
    amount: int
    nodes: int


@dataclass(frozen=True, slots=True)
class DroppedConstraint:
    """Without this constraint (by its index), some nodes would fit."""

    index: int
    nodes: int


@dataclass(frozen=True, slots=True)
class AddedDatacenter:
    """With this additional datacenter, some nodes would fit."""

    datacenter: str
    nodes: int


def without_licence_needs(task_class: TaskClass) -> TaskClass:
    """The needs of a class on nodes; licences are counted for the whole cluster."""
    needs = {name: need for name, need in task_class.needs.items() if not name.startswith(LICENCE_PREFIX)}
    return task_class if len(needs) == len(task_class.needs) else replace(task_class, needs=needs)


class FitChecker:
    """Finds, for variations of a class, which nodes could take one task."""

    def __init__(self, nodes: Nodes, filters: Sequence[Filter] = FILTERS) -> None:
        self._nodes = nodes
        self._filters = tuple(filters)
        self._ledger = NodeLedger()
        self._ledger.sync(nodes)

    def count(self, task_class: TaskClass) -> int:
        """How many nodes could take one task now."""
        return int(np.count_nonzero(self._accepted(task_class, self._filters)))

    def resource_cuts(self, task_class: TaskClass) -> Iterator[ResourceCut]:
        """For each resource, the largest amount below the need with which at least one node would fit."""
        task_class = without_licence_needs(task_class)
        for resource, need in task_class.needs.items():
            rest = replace(
                task_class, needs={name: amount for name, amount in task_class.needs.items() if name != resource}
            )
            accepted = self._accepted(rest, self._filters)
            if not accepted.any():
                continue
            amount = self._most_free(resource, accepted, need)
            if amount is None or (resource in STANDARD and amount < need * CUT_SHARE_MIN):
                continue
            reduced = replace(task_class, needs={**rest.needs, resource: amount}) if amount else rest
            yield ResourceCut(resource, amount, self.count(reduced))

    def droppable_constraints(self, task_class: TaskClass) -> Iterator[DroppedConstraint]:
        for index in range(len(task_class.constraints)):
            remaining = task_class.constraints[:index] + task_class.constraints[index + 1 :]
            nodes = self.count(replace(task_class, constraints=remaining))
            if nodes:
                yield DroppedConstraint(index, nodes)

    def added_datacenters(self, task_class: TaskClass) -> list[AddedDatacenter]:
        """Datacenters that would help, those with most nodes first."""
        if not task_class.datacenters:
            return []
        accepted = self._accepted(replace(task_class, datacenters=()), self._filters)
        found: dict[str, int] = {}
        for row in np.flatnonzero(accepted).tolist():
            datacenter = self._nodes.kinds[int(self._nodes.kind[row])].datacenter
            found[datacenter] = found.get(datacenter, 0) + 1
        widened = [AddedDatacenter(datacenter, nodes) for datacenter, nodes in found.items() if datacenter]
        return sorted(widened, key=lambda each: (-each.nodes, each.datacenter))[:DATACENTERS_MAX]

    def ineligible(self, task_class: TaskClass) -> list[int]:
        """Nodes that would fit if they were eligible."""
        other_filters = tuple(each for each in self._filters if each.name != "eligible")
        accepted = self._accepted(task_class, other_filters) & ~self._ledger.eligible[: self._ledger.count]
        accepted[0] = False
        return [int(row) for row in np.flatnonzero(accepted)]

    def _accepted(self, task_class: TaskClass, filters: tuple[Filter, ...]) -> BoolArray:
        return feasible(without_licence_needs(task_class), self._ledger, slice(0, self._ledger.count), filters)

    def _most_free(self, resource: str, accepted: BoolArray, need: int) -> int | None:
        """The most that any accepted node has free, as a round number; None if that is not less than the need."""
        if resource not in self._ledger.column:
            return 0
        most = int(self._ledger.free[self._ledger.column[resource]][: self._ledger.count][accepted].max())
        return round_down(resource, most) if most < need else None


def round_down(resource: str, amount: int) -> int:
    """A number that people would write: at most a sixteenth less than the amount, never more. 48.3Gi becomes 48Gi."""
    if amount <= 0:
        return 0
    if resource in (MEMORY, DISK):
        step = 1
        while step * 32 <= amount:
            step *= 2
    elif resource == CPU:
        step = next(step for step in (1000, 500, 100, 50, 10, 1) if step * 16 <= amount or step == 1)
    else:
        step = 1
    return amount // step * step
