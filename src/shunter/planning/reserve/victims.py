"""The cheapest tasks on one node that must end so that another fits there. Called by `yielding`, node by node.

A gang ends as a whole, so a part of it on the node costs all of it. Fewest first; among those the least important;
among those the youngest, which lose the least work. The search is exact: it walks through the choices and cuts off
whatever cannot beat the best so far. When the effort is spent it keeps the best that it has seen, of which no task is
superfluous.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    kinds = _kinds_of(tenants, short)
    for number, amount in enumerate(deficit):
        if sum(each.amounts[number] * each.count for each in kinds) < amount:
            return None
    alone = [each for each in kinds if each.tasks == 1 and all(map(int.__ge__, each.amounts, deficit))]
    if alone:
        return alone[0].take(1)  # of the least important that is enough by itself, the youngest
    search = _Search(kinds, effort)
    search.consider(_quick(kinds, deficit))
    search.walk(0, deficit, (0, 0, 0))
    assert search.best is not None, "all together are enough"
    return search.best


@dataclass(frozen=True, slots=True)
class _Kind:
    """Tenants that differ in their age alone, the youngest first: so many of them means the first ones."""

    amounts: tuple[int, ...]  # of what lacks
    priority: int
    tasks: int
    members: tuple[Tenant, ...]
    count: int

    def take(self, count: int) -> Victims:
        chosen: Chosen = {}
        ages = 0
        for each in self.members:
            if count <= 0:
                break
            chosen[each.entry] = min(count, each.count)
            ages -= chosen[each.entry] * each.started_ms * self.tasks
            count -= each.count
        ended = sum(chosen.values()) * self.tasks
        return Victims(chosen, (ended, ended * self.priority, ages))

    def next_ms(self, taken: int) -> int:
        """When the one started that is next after so many."""
        for each in self.members:
            if taken < each.count:
                return each.started_ms
            taken -= each.count
        return -1


def _kinds_of(tenants: Sequence[Tenant], short: list[int]) -> list[_Kind]:
    """The least important first, then the youngest."""
    alike: dict[tuple[tuple[int, ...], int, int], list[Tenant]] = {}
    for each in tenants:
        amounts = tuple(each.amounts[number] for number in short)
        if each.count > 0 and max(amounts) > 0:
            alike.setdefault((amounts, each.priority, each.tasks), []).append(each)
    kinds = []
    for (amounts, priority, tasks), members in alike.items():
        members.sort(key=lambda each: (-each.started_ms, each.entry))
        kinds.append(_Kind(amounts, priority, tasks, tuple(members), sum(each.count for each in members)))
    kinds.sort(key=lambda kind: (kind.priority, -kind.members[0].started_ms, kind.members[0].entry))
    return kinds


def cost_of(tenants: Sequence[Tenant], chosen: Chosen) -> Cost:
    by_entry = {each.entry: each for each in tenants}
    return (
        sum(by_entry[entry].tasks * count for entry, count in chosen.items()),
        sum(by_entry[entry].tasks * by_entry[entry].priority * count for entry, count in chosen.items()),
        -sum(by_entry[entry].tasks * by_entry[entry].started_ms * count for entry, count in chosen.items()),
    )


class _Search:
    """Kind by kind, the cheapest first: how many of it end."""

    def __init__(self, kinds: list[_Kind], effort: Effort) -> None:
        self._kinds = kinds
        self._effort = effort
        self._least = max(0, effort.steps - NODE_STEPS_MAX)  # of the effort, that has to be left
        self._taken = [0] * len(kinds)
        self.best: Victims | None = None
        # from kind i on: the most of each resource that one task holds
        self._most = [tuple(0 for _ in kinds[0].amounts)]
        for each in reversed(kinds):
            self._most.append(tuple(map(max, self._most[-1], each.amounts)))
        self._most.reverse()

    def consider(self, counts: list[int]) -> None:
        parts = [kind.take(count) for kind, count in zip(self._kinds, counts, strict=True) if count]
        tasks, priorities, ages = (sum(part.cost[number] for part in parts) for number in range(3))
        if self.best is None or (tasks, priorities, ages) < self.best.cost:
            chosen = {entry: count for part in parts for entry, count in part.chosen.items()}
            self.best = Victims(chosen, (tasks, priorities, ages))

    def walk(self, index: int, deficit: tuple[int, ...], cost: Cost) -> None:
        if max(deficit) <= 0:
            self.consider(self._taken)
            return
        self._effort.steps -= 1
        if index == len(self._kinds) or self._effort.steps < self._least or not self._may_win(index, deficit, cost):
            return
        kind = self._kinds[index]
        for count in range(self._most_of(index, deficit), -1, -1):
            self._taken[index] = count
            left = tuple(amount - held * count for amount, held in zip(deficit, kind.amounts, strict=True))
            ended = count * kind.tasks
            self.walk(index + 1, left, (cost[0] + ended, cost[1] + kind.priority * ended, 0))
        self._taken[index] = 0

    def _most_of(self, index: int, deficit: tuple[int, ...]) -> int:
        """None while there is another as cheap that holds at least as much: it would do as well in its place."""
        kind = self._kinds[index]
        if any(self._does_as_well(other, kind) for other in range(index)):
            return 0
        enough = max(_ceil(amount, held) for amount, held in zip(deficit, kind.amounts, strict=True) if held)
        return min(max(enough, 0), kind.count)

    def _does_as_well(self, index: int, kind: _Kind) -> bool:
        other, taken = self._kinds[index], self._taken[index]
        if taken >= other.count or other.tasks > kind.tasks:
            return False
        if not all(map(int.__ge__, other.amounts, kind.amounts)):
            return False
        if other.priority < kind.priority or other.tasks < kind.tasks:
            return True
        return other.next_ms(taken) >= kind.members[0].started_ms

    def _may_win(self, index: int, deficit: tuple[int, ...], cost: Cost) -> bool:
        """Whether what is still lacking could be covered by few enough tasks, if all were as large as the largest."""
        assert self.best is not None
        fewest = 0
        for amount, most in zip(deficit, self._most[index], strict=True):
            if amount > 0 and most == 0:
                return False
            if amount > 0:
                fewest = max(fewest, _ceil(amount, most))
        # kinds are sorted by priority, so none that comes is less important than this one
        bound = (cost[0] + fewest, cost[1] + fewest * self._kinds[index].priority)
        return bound <= self.best.cost[:2]


def _quick(kinds: list[_Kind], deficit: tuple[int, ...]) -> list[int]:
    """A good choice to start from: those first that cover the largest part of what lacks."""
    counts, left = [0] * len(kinds), deficit
    for index in sorted(range(len(kinds)), key=lambda each: -_covered(kinds[each], deficit) / kinds[each].tasks):
        kind = kinds[index]
        enough = max((_ceil(amount, held) for amount, held in zip(left, kind.amounts, strict=True) if held), default=0)
        counts[index] = min(max(enough, 0), kind.count)
        left = tuple(amount - held * counts[index] for amount, held in zip(left, kind.amounts, strict=True))
        if max(left) <= 0:
            break
    return _without_idle(kinds, counts, left)


def _without_idle(kinds: list[_Kind], counts: list[int], left: tuple[int, ...]) -> list[int]:
    """Leave out who turned out not to be needed, the most important first. What is left is below zero: to spare."""
    spare = [-amount for amount in left]
    for index in reversed(range(len(kinds))):
        amounts = kinds[index].amounts
        while counts[index] and all(map(int.__ge__, spare, amounts)):
            counts[index] -= 1
            spare = [has - held for has, held in zip(spare, amounts, strict=True)]
    return counts


def _covered(kind: _Kind, deficit: tuple[int, ...]) -> float:
    return sum(min(held, amount) / amount for amount, held in zip(deficit, kind.amounts, strict=True))


def _ceil(amount: int, held: int) -> int:
    return -(-amount // held)
