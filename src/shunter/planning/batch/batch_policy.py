"""Policies of batch schedulers: an order of jobs, and a strategy that starts them. `BATCH_POLICIES` has them by name,
and `planning.policies` lists them.

EASY: Lifka, "The ANL/IBM SP Scheduling System", JSSPP 1995; Mu'alem and Feitelson, IEEE TPDS 12(6), 2001. The first job
that does not fit gets a reservation at the earliest time at which enough running jobs will have ended, by their
estimates. A later job may start at once if it ends before that time, or uses only what the first job will leave free.
EASY-SJBF, which tries the shortest later jobs first: Tsafrir, Etsion and Feitelson, IEEE TPDS 18(6), 2007."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import numpy as np

from shunter.model.protocol.scheduler_messages import RULES, RUNNING, TASKS
from shunter.planning.batch import orders
from shunter.planning.batch.acceptance import Acceptance
from shunter.planning.batch.by_node import ByNode
from shunter.planning.batch.conservative import Conservative
from shunter.planning.batch.decision_pass import DecisionPass
from shunter.planning.batch.node_choice import FullestNode, LeastFragmented, RandomNode
from shunter.planning.batch.orders import Order
from shunter.planning.batch.pending_jobs import PendingJobs
from shunter.planning.batch.strategies import DominantShares, EasyBackfill, Strategy, StrictOrder
from shunter.planning.filter.filters import FILTERS, Filter
from shunter.planning.filter.node_ledger import NodeLedger
from shunter.planning.view import ClusterView, Decision


class BatchPolicy:
    """Starts jobs in the order `order`, in the way of its strategy."""

    fast = True
    wants = (TASKS, RUNNING, RULES)

    def __init__(
        self,
        name: str,
        order: Order,
        backfill_order: Order | None = None,
        strategy: Callable[[], Strategy] = StrictOrder,
        *,
        filters: tuple[Filter, ...] = FILTERS,
    ) -> None:
        self.name = name
        self.filters = filters
        self._order, self._backfill_order, self._make_strategy = order, backfill_order, strategy
        self._strategy = strategy()
        self._pending = PendingJobs(order, backfill_order or order)
        self._ledger = NodeLedger()
        self._last: _LastDecision | None = None

    @property
    def is_built_in(self) -> bool:
        """Whether all of its parts are built in and need no guard."""
        return self.filters == FILTERS

    @property
    def is_settled(self) -> bool:
        """Whether it made no promises that a renewed one would have to know."""
        return not self._strategy.memory

    @property
    def memory(self) -> dict[str, Any]:
        """What a renewed policy must know: the time from which ages count, and what its strategy remembers."""
        return {"start_ms": self._pending.start_ms, **self._strategy.memory}

    @memory.setter
    def memory(self, memory: dict[str, Any]) -> None:
        self._pending.start_ms = memory.get("start_ms")
        self._strategy.memory = {name: value for name, value in memory.items() if name != "start_ms"}

    def renew(self) -> BatchPolicy:
        clone = BatchPolicy(self.name, self._order, self._backfill_order, self._make_strategy, filters=self.filters)
        clone.memory = self.memory
        return clone

    def fork(self) -> BatchPolicy:
        """A copy that would decide the same from here on."""
        return self.renew()

    def decide(self, view: ClusterView, now: float, budget: int) -> Decision:
        """Place at most `budget` tasks; a gang larger than that goes by itself."""
        changed, now_ms = self._pending.sync(view.queued, view.nodes.resources), int(now * 1000)
        if self._last is not None and self._last.is_all_that_happened(view, now_ms, changed, self._pending):
            return Decision(view.version, kept=self._last.decision.kept)
        decision = self._decide(view, now_ms, budget)
        self._last = _LastDecision(decision, now_ms, view)
        return decision

    def _decide(self, view: ClusterView, now_ms: int, budget: int) -> Decision:
        acceptance = Acceptance(view, self.filters, self._ledger)
        decision_pass = DecisionPass(view, now_ms, budget, self._pending, acceptance)
        self._strategy.run(decision_pass)
        return decision_pass.decision


class _LastDecision:
    """The last decision, to recognise that nothing else has happened since: workers report at once that the tasks have
    started, and a second look at the same state would find nothing to start."""

    def __init__(self, decision: Decision, now_ms: int, view: ClusterView) -> None:
        self.decision, self._now_ms = decision, now_ms
        self._classes = {placement.class_id for placement in decision.placements}
        nodes = view.nodes
        self._reserved, self._eligible = nodes.reserved[: nodes.count].copy(), nodes.eligible[: nodes.count].copy()
        assert view.classes is not None
        for placement in decision.placements:
            for resource, need in view.classes(placement.class_id).needs.items():
                if resource in nodes.resources:
                    self._reserved[placement.nodes, nodes.resources.index(resource)] += need * placement.counts

    def is_all_that_happened(
        self, view: ClusterView, now_ms: int, changed: Collection[int] | None, pending: PendingJobs
    ) -> bool:
        nodes = view.nodes
        return (
            now_ms == self._now_ms
            and not self.decision.is_partial
            and changed is not None
            and self._classes.issuperset(changed)
            and not any(pending.is_pending(class_id) for class_id in self._classes)
            and np.array_equal(nodes.reserved[: nodes.count], self._reserved)
            and np.array_equal(nodes.eligible[: nodes.count], self._eligible)
        )


BATCH_POLICIES: dict[str, Callable[..., BatchPolicy]] = {
    "fcfs": partial(BatchPolicy, "fcfs", orders.first_come),
    "sjf": partial(BatchPolicy, "sjf", orders.shortest_first),
    "easy": partial(BatchPolicy, "easy", orders.first_come, orders.first_come, EasyBackfill),
    "easy-sjbf": partial(BatchPolicy, "easy-sjbf", orders.first_come, orders.shortest_first, EasyBackfill),
    "conservative": partial(BatchPolicy, "conservative", orders.first_come, strategy=Conservative),
    "f1": partial(BatchPolicy, "f1", orders.f1),
    "f2": partial(BatchPolicy, "f2", orders.f2),
    "f3": partial(BatchPolicy, "f3", orders.f3),
    "f4": partial(BatchPolicy, "f4", orders.f4),
    "drf": partial(BatchPolicy, "drf", orders.first_come, strategy=DominantShares),
    "random-fit": partial(BatchPolicy, "random-fit", orders.first_come, strategy=lambda: ByNode(RandomNode())),
    "best-fit": partial(BatchPolicy, "best-fit", orders.first_come, strategy=lambda: ByNode(FullestNode())),
    "fgd": partial(BatchPolicy, "fgd", orders.first_come, strategy=lambda: ByNode(LeastFragmented())),
}
