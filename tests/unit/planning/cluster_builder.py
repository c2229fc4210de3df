"""Small clusters for planner tests, changed as the engine would change them, and a slow greedy to compare with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from shunter.planning.filter.node_ledger import NodeLedger
from shunter.planning.score.scores import Score
from shunter.planning.view import ClusterView, Decision, NodeKind, Nodes, Queued, TaskClass

GI = 2**30
Chosen = dict[int, dict[int, int]]  # class id -> row -> tasks


class Cluster:
    """Node columns with the engine's habits: spare rows, one tick a change, arrays that move when they grow."""

    def __init__(self, resources: Sequence[str] = ("cpu", "memory", "disk")) -> None:
        rows, width = 2, len(resources)
        self.nodes = Nodes(
            resources=list(resources),
            capacity=np.zeros((rows, width), np.int64),
            reserved=np.zeros((rows, width), np.int64),
            busy=np.zeros(rows),
            tasks=np.zeros(rows, np.int64),
            eligible=np.zeros(rows, np.bool_),
            owner=np.zeros(rows, np.int64),
            kind=np.zeros(rows, np.int32),
            changed=np.zeros(rows, np.int64),
            kinds=[NodeKind("", {}, {})],
            names=[""],
        )

    def add(
        self,
        capacity: Mapping[str, int],
        *,
        busy: float = 0.0,
        datacenter: str = "dc1",
        labels: Mapping[str, str] | None = None,
        attributes: Mapping[str, str] | None = None,
    ) -> int:
        nodes, row = self.nodes, self.nodes.count
        if row == len(nodes.changed):
            for name in ("capacity", "reserved", "busy", "tasks", "eligible", "owner", "kind", "changed"):
                old = getattr(nodes, name)
                setattr(nodes, name, np.concatenate([old, np.zeros_like(old)]))
        for resource in capacity:
            self.add_resource(resource)
        nodes.count += 1
        nodes.names.append(f"n{row}")
        nodes.capacity[row] = [capacity.get(resource, 0) for resource in nodes.resources]
        nodes.busy[row] = busy
        nodes.eligible[row] = True
        self.label(row, datacenter, labels or {}, attributes or {})
        return row

    def add_resource(self, name: str) -> None:
        if name in self.nodes.resources:
            return
        self.nodes.resources.append(name)
        empty = np.zeros((len(self.nodes.changed), 1), np.int64)
        self.nodes.capacity = np.hstack([self.nodes.capacity, empty])
        self.nodes.reserved = np.hstack([self.nodes.reserved, empty])

    def label(
        self, row: int, datacenter: str, labels: Mapping[str, str], attributes: Mapping[str, str] | None = None
    ) -> None:
        self.nodes.kinds.append(NodeKind(datacenter, labels, attributes or {}))
        self.nodes.kind[row] = len(self.nodes.kinds) - 1
        self.touch(row)

    def set_eligible(self, row: int, eligible: bool, because: str = "down: no heartbeat for 5 s") -> None:
        self.nodes.eligible[row] = eligible
        self.nodes.ineligible_because[row] = because
        self.touch(row)

    def set_busy(self, row: int, busy: float) -> None:
        self.nodes.busy[row] = busy
        self.touch(row)

    def reserve(self, row: int, needs: Mapping[str, int], tasks: int = 1) -> None:
        """Also gives back, with a negative number of tasks."""
        for resource, need in needs.items():
            self.nodes.reserved[row, self.nodes.resources.index(resource)] += need * tasks
        self.nodes.tasks[row] += tasks
        self.touch(row)

    def touch(self, row: int) -> None:
        self.nodes.tick += 1
        self.nodes.changed[row] = self.nodes.tick

    def view(self, queued: Sequence[Queued], version: int = 1) -> ClusterView:
        return ClusterView(version, self.nodes, queued)


def task_class(
    id: int = 1,
    priority: int = 50,
    datacenters: tuple[str, ...] = (),
    constraints: tuple[str, ...] = (),
    **needs: int,
) -> TaskClass:
    return TaskClass(id, needs, "default", "tester", priority, datacenters, constraints)


def chosen(decision: Decision) -> Chosen:
    found: Chosen = {}
    for placement in decision.placements:
        assert placement.class_id not in found
        found[placement.class_id] = dict(zip(placement.nodes.tolist(), placement.counts.tolist(), strict=True))
        assert len(found[placement.class_id]) == len(placement.nodes), "a row is named twice"
    return found


class SlowGreedy:
    """One task at a time, one node at a time, nothing remembered but the place where the rotation stands."""

    def __init__(self, score: Score) -> None:
        self.score = score
        self.cursor = 0

    def decide(self, view: ClusterView, budget: int) -> Chosen:
        nodes = view.nodes
        reserved, tasks = nodes.reserved.copy(), nodes.tasks.copy()
        try:
            return self._decide(view, budget)
        finally:
            nodes.reserved[:], nodes.tasks[:] = reserved, tasks

    def _decide(self, view: ClusterView, budget: int) -> Chosen:
        found: Chosen = {}
        for queued in sorted(view.queued, key=lambda each: (-each.task_class.priority, each.since, each.task_class.id)):
            needs = queued.task_class.needs
            for _ in range(queued.count):
                row = self.best(queued.task_class, view.nodes) if budget else None
                if row is None:
                    break
                for resource, need in needs.items():
                    view.nodes.reserved[row, view.nodes.resources.index(resource)] += need
                view.nodes.tasks[row] += 1
                counts = found.setdefault(queued.task_class.id, {})
                counts[row] = counts.get(row, 0) + 1
                self.cursor = row
                budget -= 1
        return found

    def best(self, task_class: TaskClass, nodes: Nodes, avoid: frozenset[int] = frozenset()) -> int | None:
        ledger = NodeLedger(self.score.keep)
        ledger.sync(nodes)
        ledger.cursor = self.cursor
        best, least = None, math.inf
        for row in range(1, nodes.count):
            if row in avoid or not admits(task_class, nodes, row):
                continue
            cost = float(self.score.cost(task_class, ledger, np.array([row]), 0)[0])
            if cost < least:
                best, least = row, cost
        return best


def admits(task_class: TaskClass, nodes: Nodes, row: int) -> bool:
    """The filters once more, in plain Python; constraints here are only `node.labels.KEY == 'VALUE'`."""
    kind = nodes.kinds[nodes.kind[row]]
    if task_class.runtime != "process" and f"runtime.{task_class.runtime}" not in kind.attributes:
        return False
    if nodes.owner[row] and (task_class.rules is None or task_class.rules.job != nodes.owner[row]):
        return False
    if not nodes.eligible[row] or (task_class.datacenters and kind.datacenter not in task_class.datacenters):
        return False
    for constraint in task_class.constraints:
        key, value = constraint.removeprefix("node.labels.").split(" == ")
        if kind.labels.get(key) != value.strip("'"):
            return False
    for resource, need in task_class.needs.items():
        if resource not in nodes.resources:
            return False
        column = nodes.resources.index(resource)
        if nodes.capacity[row, column] - nodes.reserved[row, column] < need:
            return False
    return True
