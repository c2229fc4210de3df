"""The whole order in plain Python, one task at a time and without memory: what the planner must agree with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from shunter.planning.order.fair_share import STEPS
from shunter.planning.order.pending_classes import without_licences
from shunter.planning.order.rank import by_urgency
from shunter.planning.score.scores import Score
from shunter.planning.view import ClusterView, Queued, TaskClass
from tests.unit.planning.cluster_builder import Chosen, SlowGreedy


class SlowOrder:
    """Takes the rules by their word. `turns` is the order in which single tasks were placed."""

    def __init__(self, score: Score) -> None:
        self.greedy = SlowGreedy(score)
        self.turns: list[int] = []

    def decide(self, view: ClusterView, budget: int) -> Chosen:
        nodes = view.nodes
        reserved, tasks = nodes.reserved.copy(), nodes.tasks.copy()
        try:
            return self._decide(view, budget)
        finally:
            nodes.reserved[:], nodes.tasks[:] = reserved, tasks

    def _decide(self, view: ClusterView, budget: int) -> Chosen:
        self.turns = []
        self.view, self.stuck = view, set[int]()
        self.left = {each.task_class.id: each.count for each in view.queued}
        self.held = {owner: amounts.copy() for owner, amounts in view.usage.items()}
        self.running = Counter({name: rules.running for name, rules in view.queues.items()})
        self.used = Counter({name: used for name, (_, used) in view.licences.items()})
        found: Chosen = {}
        while len(self.turns) < budget and (queued := self._next()) is not None:
            task_class = queued.task_class
            row = self._best(queued)
            if row is None:
                self.stuck.add(task_class.id)
                continue
            self._take(task_class, row)
            counts = found.setdefault(task_class.id, {})
            counts[row] = counts.get(row, 0) + 1
            self.turns.append(task_class.id)
        return found

    def _best(self, queued: Queued) -> int | None:
        on_nodes = without_licences(queued.task_class, tuple(self.view.licences))
        return self.greedy.best(on_nodes, self.view.nodes, queued.avoid)

    def _take(self, task_class: TaskClass, row: int) -> None:
        nodes = self.view.nodes
        owner = (task_class.namespace, task_class.user)
        held = self.held.setdefault(owner, np.zeros(len(nodes.resources), np.int64))
        for resource, need in task_class.needs.items():
            if resource in self.view.licences:
                self.used[resource] += need
            else:
                nodes.reserved[row, nodes.resources.index(resource)] += need
                held[nodes.resources.index(resource)] += need
        nodes.tasks[row] += 1
        self.greedy.cursor = row
        self.left[task_class.id] -= 1
        self.running[task_class.queue] += 1

    def _next(self) -> Queued | None:
        """Whoever goes next: by rank, then by the namespace's share, the user's within it, and the wait."""
        heads = list(self._strict_heads())
        strict = {each.task_class.id for each in heads}
        ready = [each for each in self.view.queued if self._is_ready(each) and not self._is_strict(each)] + heads
        if not ready:
            return None
        first = min(by_urgency(each) for each in ready)
        ready = [each for each in ready if by_urgency(each) == first]
        namespaces: dict[object, list[Queued]] = {}
        for each in ready:
            of = each.task_class
            namespaces.setdefault(of.id if of.id in strict else of.namespace, []).append(each)
        fronts = [min(members, key=self._within_namespace) for members in namespaces.values()]
        return min(fronts, key=lambda each: (self.level(each.task_class.namespace), *age(each)))

    def _within_namespace(self, queued: Queued) -> tuple[int, int, int]:
        of = queued.task_class
        return self.level(of.namespace, of.user), *age(queued)

    def _strict_heads(self) -> Iterator[Queued]:
        for name, rules in self.view.queues.items():
            if rules.is_strict:
                line = [each for each in self.view.queued if each.task_class.queue == name]
                line = sorted((each for each in line if self.left[each.task_class.id]), key=age)
                if line and self._is_ready(line[0]):
                    yield line[0]

    def _is_strict(self, queued: Queued) -> bool:
        rules = self.view.queues.get(queued.task_class.queue)
        return rules is not None and rules.is_strict

    def _is_ready(self, queued: Queued) -> bool:
        of = queued.task_class
        rules = self.view.queues.get(of.queue)
        if not self.left[of.id] or of.id in self.stuck:
            return False
        if rules and (rules.is_paused or (rules.running_max and self.running[of.queue] >= rules.running_max)):
            return False
        return all(
            self.used[name] + need <= self.view.licences[name][0]
            for name, need in of.needs.items()
            if name in self.view.licences
        )

    def level(self, namespace: str, user: str | None = None) -> int:
        """The dominant share in whole steps."""
        mine = [amounts for owner, amounts in self.held.items() if owner[0] == namespace and user in (None, owner[1])]
        held: Sequence[int] = sum(mine, np.zeros(len(self.view.nodes.resources), np.int64)).tolist()
        totals = self.view.nodes.capacity[: self.view.nodes.count].sum(axis=0).tolist()
        return max((STEPS * amount // total for amount, total in zip(held, totals, strict=True) if total), default=0)


def age(queued: Queued) -> tuple[int, int]:
    return queued.since, queued.task_class.id
