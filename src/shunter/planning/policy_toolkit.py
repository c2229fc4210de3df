"""Tools for authors of policies: count how many tasks of a class each node can take, and subtract placed tasks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shunter.planning.explain.suggest import without_licence_needs
from shunter.planning.filter.colocation import (
    HOST,
    UNLABELLED,
    domain_by_kind,
    is_first_of_domain,
    is_one_per_node,
)
from shunter.planning.view import ClusterView, Decision, IntArray, Placement, Queued, TaskClass


class Room:
    """The free room on the nodes, minus what was placed since. Create one per decision."""

    def __init__(self, view: ClusterView) -> None:
        nodes = view.nodes
        self._view = view
        self._free: IntArray = (nodes.capacity - nodes.reserved)[: nodes.count]
        self._gangs: set[int] = set()  # that were tried

    def of(self, task_class: TaskClass) -> IntArray:
        """How many tasks of the class fit on each row; 0 where the node would not take them at all."""
        view, needs = self._view, without_licence_needs(task_class).needs
        fit_counts = np.full(view.nodes.count, np.iinfo(np.int64).max // 2)
        for resource, need in needs.items():
            if resource not in view.nodes.resources:
                return np.zeros(view.nodes.count, np.int64)
            fit_counts = np.minimum(fit_counts, self._free[:, view.nodes.resources.index(resource)] // need)
        if is_one_per_node(task_class.rules):
            fit_counts = np.minimum(fit_counts, 1)
        accepts = view.accepts(task_class) if view.accepts is not None else view.nodes.eligible[: view.nodes.count]
        found: IntArray = np.where(accepts, np.maximum(fit_counts, 0), 0)
        return found

    def fill(self, decision: Decision, queued: Queued, rows: IntArray, most: int | None = None) -> int:
        """Place as many of these pending tasks on these rows as fit, in this order, at most `most`. Returns how many.
        Tasks do not return to rows on which all of them failed, if they are to run elsewhere. A gang is placed as a
        whole, with all its classes, or not at all; one that is larger than `most` only if nothing was placed yet. It
        returns to such rows if it finds no room without them."""
        rules = queued.task_class.rules
        if rules is not None and rules.gang:
            return self._fill_gang(decision, rules.gang, rows, most)
        return self._fill(decision, queued, rows, queued.count if most is None else min(queued.count, most))

    def _fill(self, decision: Decision, queued: Queued, rows: IntArray, count: int) -> int:
        rows = np.asarray(rows)
        if queued.avoid:
            rows = rows[~np.isin(rows, list(queued.avoid))]
        rows = self._first_of_each_domain(queued.task_class, rows)
        room = self.of(queued.task_class)[rows]
        if not len(room) or count <= 0:
            return 0
        counts = np.diff(np.minimum(np.cumsum(np.minimum(room, count)), count), prepend=0)
        self.place(decision, queued.task_class, rows, counts)
        return int(counts.sum())

    def _fill_gang(self, decision: Decision, gang: int, rows: IntArray, most: int | None) -> int:
        if gang in self._gangs:
            return 0
        self._gangs.add(gang)
        members = [each for each in self._view.queued if each.task_class.rules and each.task_class.rules.gang == gang]
        total = sum(each.count for each in members)
        if most is not None and total > most and (most <= 0 or decision.placements):
            return 0
        tries = [members]
        if any(each.avoid for each in members):
            tries.append([replace(each, avoid=frozenset()) for each in members])
        return total if any(self._fill_all(decision, each, rows) for each in tries) else 0

    def _fill_all(self, decision: Decision, members: list[Queued], rows: IntArray) -> bool:
        """Place all tasks of all members, or none."""
        free, draft = self._free.copy(), Decision(decision.based_on)
        if any(self._fill(draft, each, rows, each.count) < each.count for each in members):
            self._free = free
            return False
        decision.placements += draft.placements
        return True

    def _first_of_each_domain(self, task_class: TaskClass, rows: IntArray) -> IntArray:
        """The first row that would take a task, for each value of a `distinct` label."""
        label = task_class.rules.distinct if task_class.rules is not None else ""
        if label in ("", HOST):
            return rows
        nodes, room = self._view.nodes, self.of(task_class)
        domain = domain_by_kind(nodes.kinds, label)[nodes.kind[rows]]
        is_open = (room[rows] > 0) & (domain != UNLABELLED)
        found: IntArray = rows[is_open][is_first_of_domain(domain[is_open])]
        return found

    def place(self, decision: Decision, task_class: TaskClass, rows: IntArray, counts: IntArray) -> None:
        """Add `counts[i]` tasks on row `rows[i]` to the decision."""
        rows, counts = np.asarray(rows, np.int64), np.asarray(counts, np.int64)
        rows, counts = rows[counts > 0], counts[counts > 0]
        if not len(rows):
            return
        for resource, need in without_licence_needs(task_class).needs.items():
            self._free[rows, self._view.nodes.resources.index(resource)] -= need * counts
        decision.placements.append(Placement(task_class.id, rows, counts))
