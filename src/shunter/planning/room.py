"""Help for those who write a policy of their own: how many tasks of a class each node would take, and taking room."""

from __future__ import annotations

import numpy as np

from shunter.planning.suggest import on_nodes
from shunter.planning.view import ClusterView, Decision, IntArray, Placement, Queued, TaskClass


class Room:
    """What is free on the nodes, less what was placed since. Made once for each decision."""

    def __init__(self, view: ClusterView) -> None:
        nodes = view.nodes
        self._view = view
        self._free: IntArray = (nodes.capacity - nodes.reserved)[: nodes.count]

    def of(self, task_class: TaskClass) -> IntArray:
        """How many tasks of the class fit on each row; 0 where the node would not take them at all."""
        view, needs = self._view, on_nodes(task_class).needs
        fitting = np.full(view.nodes.count, np.iinfo(np.int64).max // 2)
        for resource, need in needs.items():
            if resource not in view.nodes.resources:
                return np.zeros(view.nodes.count, np.int64)
            fitting = np.minimum(fitting, self._free[:, view.nodes.resources.index(resource)] // need)
        accepts = view.accepts(task_class) if view.accepts is not None else view.nodes.eligible[: view.nodes.count]
        found: IntArray = np.where(accepts, np.maximum(fitting, 0), 0)
        return found

    def fill(self, decision: Decision, queued: Queued, rows: IntArray, most: int | None = None) -> int:
        """Put as many of what waits on these rows as fit, in this order, `most` at most. Returns how many."""
        count = queued.count if most is None else min(queued.count, most)
        room = self.of(queued.task_class)[rows]
        if not len(room) or count <= 0:
            return 0
        counts = np.diff(np.minimum(np.cumsum(np.minimum(room, count)), count), prepend=0)
        self.place(decision, queued.task_class, np.asarray(rows), counts)
        return int(counts.sum())

    def place(self, decision: Decision, task_class: TaskClass, rows: IntArray, counts: IntArray) -> None:
        """Put `counts[i]` tasks on row `rows[i]` into the decision."""
        rows, counts = np.asarray(rows, np.int64), np.asarray(counts, np.int64)
        rows, counts = rows[counts > 0], counts[counts > 0]
        if not len(rows):
            return
        for resource, need in on_nodes(task_class).needs.items():
            self._free[rows, self._view.nodes.resources.index(resource)] -= need * counts
        decision.placements.append(Placement(task_class.id, rows, counts))
