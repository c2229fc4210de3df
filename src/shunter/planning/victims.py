"""The cheapest tasks on one node that must end so that another fits there. Called by `yielding`, node by node.

A gang ends as a whole, so a part of it on the node costs all of it. Fewest first; among those the least important;
among those the youngest, which lose the least work. The search is exact: it walks through the choices and cuts off
whatever cannot beat the best so far. When the effort is spent it keeps the best that it has seen, of which no task is
superfluous.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

SEARCH_STEPS_MAX = 10_000  # for all nodes that one class looks at in a decision
NODE_STEPS_MAX = 1_000  # of these, for one node

Cost = tuple[int, int, int]  # tasks, the sum of their priorities, the sum of their ages
Chosen = dict[int, int]  # entry -> tasks of it that end


@dataclass(frozen=True, slots=True)
class Tenant:
    """Tasks on the node that are alike, and may be ended. Of a gang there is one, which stands for all of it."""

    entry: int
    amounts: tuple[int, ...]  # what one of them holds here, by resource
    count: int
    priority: int
    started_ms: int
    tasks: int = 1  # that end with one of them


@dataclass(frozen=True, slots=True)
class Victims:
    chosen: Chosen
    cost: Cost


@dataclass(slots=True)
class Effort:
    """Steps of the search that may still be made."""

    steps: int = SEARCH_STEPS_MAX


NOBODY = Victims({}, (0, 0, 0))


def choose_victims(tenants: Sequence[Tenant], lacking: Sequence[int], effort: Effort) -> Victims | None:
    """The cheapest of these tasks that hold at least what is lacking of each resource; None if all together do not."""
    short = [number for number, amount in enumerate(lacking) if amount > 0]
    if not short:
        return NOBODY
    deficit = tuple(lacking[number] for number in short)
    useful = [
        replace(each, amounts=tuple(each.amounts[number] for number in short))
        for each in tenants
        if each.count > 0 and any(each.amounts[number] > 0 for number in short)
    ]
    useful.sort(key=lambda each: (each.priority, -each.started_ms, each.entry))
    for number, amount in enumerate(deficit):
        if sum(each.amounts[number] * each.count for each in useful) < amount:
            return None
    search = _Search(useful, effort)
    search.consider(_quick(useful, deficit))
    search.walk(0, deficit, (0, 0, 0))
    assert search.best is not None, "all together are enough"
    return search.best


def cost_of(tenants: Sequence[Tenant], chosen: Chosen) -> Cost:
    by_entry = {each.entry: each for each in tenants}
    return (
        sum(by_entry[entry].tasks * count for entry, count in chosen.items()),
        sum(by_entry[entry].tasks * by_entry[entry].priority * count for entry, count in chosen.items()),
        -sum(by_entry[entry].tasks * by_entry[entry].started_ms * count for entry, count in chosen.items()),
    )


class _Search:
    """Tenant by tenant, the cheapest first: how many of it end."""

    def __init__(self, tenants: list[Tenant], effort: Effort) -> None:
        self._tenants = tenants
        self._effort = effort
        self._least = max(0, effort.steps - NODE_STEPS_MAX)  # of the effort, that has to be left
        self._taken = [0] * len(tenants)
        self.best: Victims | None = None
        # from tenant i on: the most of each resource that one task holds
        self._most = [tuple(0 for _ in tenants[0].amounts)]
        for each in reversed(tenants):
            self._most.append(tuple(map(max, self._most[-1], each.amounts)))
        self._most.reverse()
        self._better = [
            [
                i
                for i in range(j)
                if tenants[i].tasks <= tenants[j].tasks and all(map(int.__ge__, tenants[i].amounts, tenants[j].amounts))
            ]
            for j in range(len(tenants))
        ]

    def consider(self, chosen: Chosen) -> None:
        cost = cost_of(self._tenants, chosen)
        if self.best is None or cost < self.best.cost:
            self.best = Victims(chosen, cost)

    def walk(self, index: int, deficit: tuple[int, ...], cost: Cost) -> None:
        if max(deficit) <= 0:
            self.consider({each.entry: n for each, n in zip(self._tenants, self._taken, strict=True) if n})
            return
        self._effort.steps -= 1
        if index == len(self._tenants) or self._effort.steps < self._least or not self._may_win(index, deficit, cost):
            return
        tenant = self._tenants[index]
        for count in range(self._most_of(index, deficit), -1, -1):
            self._taken[index] = count
            left = tuple(amount - held * count for amount, held in zip(deficit, tenant.amounts, strict=True))
            tasks, priorities, ages = cost
            ended = count * tenant.tasks
            more = (tasks + ended, priorities + tenant.priority * ended, ages - tenant.started_ms * ended)
            self.walk(index + 1, left, more)
        self._taken[index] = 0

    def _most_of(self, index: int, deficit: tuple[int, ...]) -> int:
        """None while there is another as cheap that holds at least as much: it would do as well in its place."""
        if any(self._taken[i] < self._tenants[i].count for i in self._better[index]):
            return 0
        tenant = self._tenants[index]
        enough = max(_ceil(amount, held) for amount, held in zip(deficit, tenant.amounts, strict=True) if held)
        return min(max(enough, 0), tenant.count)

    def _may_win(self, index: int, deficit: tuple[int, ...], cost: Cost) -> bool:
        """Whether what is still lacking could be covered by few enough tasks, if all were as large as the largest."""
        assert self.best is not None
        fewest = 0
        for amount, most in zip(deficit, self._most[index], strict=True):
            if amount > 0 and most == 0:
                return False
            if amount > 0:
                fewest = max(fewest, _ceil(amount, most))
        # tenants are sorted by priority, so none that comes is less important than this one
        bound = (cost[0] + fewest, cost[1] + fewest * self._tenants[index].priority)
        return bound <= self.best.cost[:2]


def _quick(tenants: list[Tenant], deficit: tuple[int, ...]) -> Chosen:
    """A good choice to start from: those first that cover the largest part of what lacks."""
    chosen: Chosen = {}
    left = deficit
    for each in sorted(tenants, key=lambda each: -_covered(each, deficit) / each.tasks):
        enough = max((_ceil(amount, held) for amount, held in zip(left, each.amounts, strict=True) if held), default=0)
        count = min(max(enough, 0), each.count)
        if count:
            chosen[each.entry] = count
            left = tuple(amount - held * count for amount, held in zip(left, each.amounts, strict=True))
        if max(left) <= 0:
            break
    return _without_idle(tenants, chosen, deficit)


def _covered(tenant: Tenant, deficit: tuple[int, ...]) -> float:
    return sum(min(held, amount) / amount for amount, held in zip(deficit, tenant.amounts, strict=True))


def _without_idle(tenants: list[Tenant], chosen: Chosen, deficit: tuple[int, ...]) -> Chosen:
    """Leave out who turned out not to be needed, the most important first."""
    for each in reversed(tenants):
        while chosen.get(each.entry, 0):
            fewer = {**chosen, each.entry: chosen[each.entry] - 1}
            if not _cover(tenants, fewer, deficit):
                break
            chosen = fewer
    return {entry: count for entry, count in chosen.items() if count}


def _cover(tenants: list[Tenant], chosen: Chosen, deficit: tuple[int, ...]) -> bool:
    return all(
        sum(each.amounts[number] * chosen.get(each.entry, 0) for each in tenants) >= amount
        for number, amount in enumerate(deficit)
    )


def _ceil(amount: int, held: int) -> int:
    return -(-amount // held)
