"""A policy: places every task on the cheapest node with room, by the label `price`."""

from __future__ import annotations

import numpy as np

from shunter.plugins import ClusterView, Decision, Nodes, Placement, TaskClass

PRICE_UNKNOWN = float("inf")


class Cheapest:
    """A policy needs only `decide`. `view.accepts` says which nodes accept a class; the engine drops placements on
    other nodes, and cuts counts to what fits."""

    def decide(self, view: ClusterView, now: float, budget: int) -> Decision:  # noqa: ARG002
        decision = Decision(based_on=view.version)
        free = view.nodes.capacity - view.nodes.reserved
        by_price = sorted(range(1, view.nodes.count), key=lambda row: price(view.nodes, row))
        for queued in sorted(view.queued, key=lambda queued: (-queued.task_class.priority, queued.since)):
            left = min(queued.count, budget)
            accepted = view.accepts(queued.task_class)
            for row in by_price:
                count = min(left, room(queued.task_class, view.nodes, free, row)) if accepted[row] else 0
                if count:
                    placement = Placement(queued.task_class.id, np.array([row]), np.array([count]))
                    decision.placements.append(placement)
                    for resource, need in queued.task_class.needs.items():
                        free[row, view.nodes.resources.index(resource)] -= need * count
                    left -= count
                    budget -= count
        return decision


def price(nodes: Nodes, row: int) -> float:
    try:
        return float(nodes.kinds[nodes.kind[row]].labels["price"])
    except (KeyError, ValueError):
        return PRICE_UNKNOWN


def room(task_class: TaskClass, nodes: Nodes, free: np.ndarray, row: int) -> int:
    """How many tasks fit."""
    if any(resource not in nodes.resources for resource in task_class.needs):
        return 0
    amounts = [free[row, nodes.resources.index(name)] // need for name, need in task_class.needs.items()]
    return int(min(amounts, default=1))
