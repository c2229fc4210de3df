"""Finds the cheapest tasks on one node to preempt so that another task fits. Called by `node_search`, node by node.

A gang is preempted as a whole, so a part of it on the node costs all of it. The fewest victims win; then the least
important; then the youngest, which lose the least work. The search is exact: it goes through the choices and cuts off
those that cannot beat the best so far. When its effort is spent, it returns the best choice found, without superfluous
victims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SEARCH_STEPS_MAX = 10_000  # for all nodes that one class examines in a decision
NODE_STEPS_MAX = 1_000  # of these, for one node

Cost = tuple[int, int, int]  # tasks, the sum of their priorities, the sum of their ages
Chosen = dict[int, int]  # entry -> tasks of it that end


@dataclass(frozen=True, slots=True)
class VictimCandidate:
    """Tasks on the node that are equal and may be preempted. A gang is one candidate, which stands for all of it."""

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
class StepBudget:
    """Steps of the search that may still be made."""

    steps: int = SEARCH_STEPS_MAX


NO_VICTIMS = Victims({}, (0, 0, 0))


def choose_victims(
    candidates: Sequence[VictimCandidate], lacking: Sequence[int], step_budget: StepBudget
) -> Victims | None:
    """The cheapest of these tasks that together hold at least what is lacking of each resource; None if all of them do
    not."""
    lacking_columns = [number for number, amount in enumerate(lacking) if amount > 0]
    if not lacking_columns:
        return NO_VICTIMS
    deficit = tuple(lacking[number] for number in lacking_columns)
    groups = _group_candidates(candidates, lacking_columns)
    for number, amount in enumerate(deficit):
        if sum(each.amounts[number] * each.count for each in groups) < amount:
            return None
    sufficient = [each for each in groups if each.tasks == 1 and all(map(int.__ge__, each.amounts, deficit))]
    if sufficient:
        return sufficient[0].take(1)  # of the least important that suffices alone, the youngest
    search = _Search(groups, step_budget)
    search.consider(_greedy_counts(groups, deficit))
    search.walk(0, deficit, (0, 0, 0))
    assert search.best is not None, "all together are enough"
    return search.best


@dataclass(frozen=True, slots=True)
class _CandidateKind:
    """Candidates that differ only in age, the youngest first: a count means the first ones."""

    amounts: tuple[int, ...]  # of what is lacking
    priority: int
    tasks: int
    members: tuple[VictimCandidate, ...]
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
        preempted = sum(chosen.values()) * self.tasks
        return Victims(chosen, (preempted, preempted * self.priority, ages))

    def next_ms(self, taken: int) -> int:
        """The start time of the next candidate after this many."""
        for each in self.members:
            if taken < each.count:
                return each.started_ms
            taken -= each.count
        return -1


def _group_candidates(candidates: Sequence[VictimCandidate], lacking_columns: list[int]) -> list[_CandidateKind]:
    """The least important first, then the youngest."""
    by_group: dict[tuple[tuple[int, ...], int, int], list[VictimCandidate]] = {}
    for each in candidates:
        amounts = tuple(each.amounts[number] for number in lacking_columns)
        if each.count > 0 and max(amounts) > 0:
            by_group.setdefault((amounts, each.priority, each.tasks), []).append(each)
    groups = []
    for (amounts, priority, tasks), members in by_group.items():
        members.sort(key=lambda each: (-each.started_ms, each.entry))
        groups.append(_CandidateKind(amounts, priority, tasks, tuple(members), sum(each.count for each in members)))
    groups.sort(key=lambda group: (group.priority, -group.members[0].started_ms, group.members[0].entry))
    return groups


def cost_of(candidates: Sequence[VictimCandidate], chosen: Chosen) -> Cost:
    by_entry = {each.entry: each for each in candidates}
    return (
        sum(by_entry[entry].tasks * count for entry, count in chosen.items()),
        sum(by_entry[entry].tasks * by_entry[entry].priority * count for entry, count in chosen.items()),
        -sum(by_entry[entry].tasks * by_entry[entry].started_ms * count for entry, count in chosen.items()),
    )


class _Search:
    """Kind by kind, the cheapest first: how many of it to preempt."""

    def __init__(self, groups: list[_CandidateKind], step_budget: StepBudget) -> None:
        self._groups = groups
        self._step_budget = step_budget
        self._steps_floor = max(0, step_budget.steps - NODE_STEPS_MAX)  # of the effort that must be left
        self._taken = [0] * len(groups)
        self.best: Victims | None = None
        # from kind i on: the most of each resource that one task holds
        self._amounts_max = [tuple(0 for _ in groups[0].amounts)]
        for each in reversed(groups):
            self._amounts_max.append(tuple(map(max, self._amounts_max[-1], each.amounts)))
        self._amounts_max.reverse()

    def consider(self, counts: list[int]) -> None:
        parts = [group.take(count) for group, count in zip(self._groups, counts, strict=True) if count]
        tasks, priorities, ages = (sum(part.cost[number] for part in parts) for number in range(3))
        if self.best is None or (tasks, priorities, ages) < self.best.cost:
            chosen = {entry: count for part in parts for entry, count in part.chosen.items()}
            self.best = Victims(chosen, (tasks, priorities, ages))

    def walk(self, index: int, deficit: tuple[int, ...], cost: Cost) -> None:
        if max(deficit) <= 0:
            self.consider(self._taken)
            return
        self._step_budget.steps -= 1
        if (
            index == len(self._groups)
            or self._step_budget.steps < self._steps_floor
            or not self._can_improve(index, deficit, cost)
        ):
            return
        group = self._groups[index]
        for count in range(self._count_max(index, deficit), -1, -1):
            self._taken[index] = count
            left = tuple(amount - held * count for amount, held in zip(deficit, group.amounts, strict=True))
            preempted = count * group.tasks
            self.walk(index + 1, left, (cost[0] + preempted, cost[1] + group.priority * preempted, 0))
        self._taken[index] = 0

    def _count_max(self, index: int, deficit: tuple[int, ...]) -> int:
        """None while another kind is as cheap and holds at least as much: it would do as well."""
        group = self._groups[index]
        if any(self._dominates(other, group) for other in range(index)):
            return 0
        enough = max(_ceil(amount, held) for amount, held in zip(deficit, group.amounts, strict=True) if held)
        return min(max(enough, 0), group.count)

    def _dominates(self, index: int, group: _CandidateKind) -> bool:
        other, taken = self._groups[index], self._taken[index]
        if taken >= other.count or other.tasks > group.tasks:
            return False
        if not all(map(int.__ge__, other.amounts, group.amounts)):
            return False
        if other.priority < group.priority or other.tasks < group.tasks:
            return True
        return other.next_ms(taken) >= group.members[0].started_ms

    def _can_improve(self, index: int, deficit: tuple[int, ...], cost: Cost) -> bool:
        """Whether few enough tasks could cover what is still lacking, if all were as large as the largest."""
        assert self.best is not None
        fewest = 0
        for amount, most in zip(deficit, self._amounts_max[index], strict=True):
            if amount > 0 and most == 0:
                return False
            if amount > 0:
                fewest = max(fewest, _ceil(amount, most))
        # kinds are sorted by priority, so later ones are at least as important
        bound = (cost[0] + fewest, cost[1] + fewest * self._groups[index].priority)
        return bound <= self.best.cost[:2]


def _greedy_counts(groups: list[_CandidateKind], deficit: tuple[int, ...]) -> list[int]:
    """A good choice to start from: first those that cover the largest part of what is lacking."""
    counts, left = [0] * len(groups), deficit
    for index in sorted(range(len(groups)), key=lambda each: -_covered(groups[each], deficit) / groups[each].tasks):
        group = groups[index]
        enough = max((_ceil(amount, held) for amount, held in zip(left, group.amounts, strict=True) if held), default=0)
        counts[index] = min(max(enough, 0), group.count)
        left = tuple(amount - held * counts[index] for amount, held in zip(left, group.amounts, strict=True))
        if max(left) <= 0:
            break
    return _drop_unneeded(groups, counts, left)


def _drop_unneeded(groups: list[_CandidateKind], counts: list[int], left: tuple[int, ...]) -> list[int]:
    """Drop victims that are not needed, the most important first. A negative rest means room to spare."""
    spare = [-amount for amount in left]
    for index in reversed(range(len(groups))):
        amounts = groups[index].amounts
        while counts[index] and all(map(int.__ge__, spare, amounts)):
            counts[index] -= 1
            spare = [left_over - held for left_over, held in zip(spare, amounts, strict=True)]
    return counts


def _covered(group: _CandidateKind, deficit: tuple[int, ...]) -> float:
    return sum(min(held, amount) / amount for amount, held in zip(deficit, group.amounts, strict=True))


def _ceil(amount: int, held: int) -> int:
    return -(-amount // held)
