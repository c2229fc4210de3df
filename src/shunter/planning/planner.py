"""The built-in planner: a policy made of stages. The engine calls `decide` once a round.

A stage can be replaced: `Planner(replace(stages, order=...))`. What can be chosen by name is in `POLICIES`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial

from shunter.model.errors import Invalid, Problem
from shunter.planning.candidates import FILTERS, Filter
from shunter.planning.ledger import Ledger
from shunter.planning.pick import Offer, Picked, pick
from shunter.planning.prices import PriceBook
from shunter.planning.scores import SCORES, Score
from shunter.planning.view import ClusterView, Decision, Left, Placement, Policy, Queued, TaskClass

POLICY_DEFAULT = "e-pvm"

Order = Callable[[Sequence[Queued], float], Sequence[Queued]]


def by_priority(queued: Sequence[Queued], _: float) -> Sequence[Queued]:
    """The most important class first; among equals the one that waits longest."""
    return sorted(queued, key=lambda each: (-each.task_class.priority, each.since))


@dataclass(frozen=True, slots=True)
class Stages:
    """What a planner is made of: which class comes first, which nodes it may use, and which of them is best."""

    score: Score
    order: Order = by_priority
    filters: tuple[Filter, ...] = FILTERS


class Planner:
    """Exact greedy by class: cost grows with classes and changed nodes, not with tasks."""

    fast = True

    def __init__(self, stages: Stages) -> None:
        self.name = stages.score.name
        self._stages = stages
        self._ledger = Ledger(stages.score.keep)
        self._prices = PriceBook(stages.filters, stages.score)

    @property
    def is_built_in(self) -> bool:
        """Whether all of its stages are ours, and need no guard."""
        ours = SCORES.get(self._stages.score.name)
        return ours is self._stages.score and self._stages.filters == FILTERS

    def fork(self) -> Planner:
        """One that would decide alike from here on."""
        twin = Planner(self._stages)
        twin._ledger.cursor = self._ledger.cursor
        return twin

    def decide(self, view: ClusterView, now: float, budget: int) -> Decision:
        """Place the most urgent classes first, `budget` tasks at most."""
        decision = Decision(based_on=view.version)
        self._ledger.sync(view.nodes)
        for queued in self._stages.order(view.queued, now):
            task_class = queued.task_class
            placed = self._place(task_class, min(queued.count, budget), decision)
            if placed < queued.count:
                decision.left.append(Left(task_class.id, queued.count - placed))
            budget -= placed
        return decision

    def _place(self, task_class: TaskClass, count: int, decision: Decision) -> int:
        """Place up to `count` tasks: candidates and score give prices, pick spends; returns how many found a node."""
        if count <= 0 or not self._ledger.may_fit(task_class):
            return 0
        picked = self._pick(task_class, count)
        if not len(picked.rows):
            self._ledger.tighten()
            return 0
        if self._stages.score.settle is not None:
            self._stages.score.settle(task_class, self._ledger, picked.rows, picked.counts)
        self._ledger.place(task_class, picked.rows, picked.counts)
        decision.placements.append(Placement(task_class.id, picked.rows, picked.counts))
        return int(picked.counts.sum())

    def _pick(self, task_class: TaskClass, count: int) -> Picked:
        offer = Offer(
            prices=self._prices.prices(task_class, self._ledger),
            price=partial(self._stages.score.cost, task_class, self._ledger),
            room=partial(self._ledger.room, task_class, most=count),
        )
        return pick(offer, count, self._stages.score.shape)


POLICIES: dict[str, Callable[[], Policy]] = {
    name: partial(Planner, Stages(score=score)) for name, score in SCORES.items()
}


def build_policy(name: str) -> Policy:
    """A fresh policy by its name; raises Invalid with the nearest known one."""
    if name in POLICIES:
        return POLICIES[name]()
    near = get_close_matches(name, POLICIES, n=1)
    known = f"the known ones are {', '.join(POLICIES)}"
    raise Invalid([Problem("policy", "unknown policy", name, f"did you mean {near[0]}? {known}" if near else known)])
