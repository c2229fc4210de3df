"""Picks which nodes get how many tasks of a class with rules between tasks. Called by `workspace`; `pick` handles all
other classes.

The reference is the same greedy algorithm, one task at a time: the allowed node with the lowest score, in units of the
score range, plus its bias and the current weight of its spread labels; the lower row in a tie. A property test compares
them."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from shunter.planning.filter.rules import PlacementRules
from shunter.planning.score.pick import Candidates, Picked, pick
from shunter.planning.score.scores import More, Shape
from shunter.planning.view import FloatArray, IntArray


def pick_ruled(candidates: Candidates, count: int, shape: Shape, placement_rules: PlacementRules) -> Picked:
    """Pick nodes for `count` tasks, or for as many as the rules allow."""
    candidates = _restricted(candidates, placement_rules)
    if placement_rules.is_colocated and count > 1:
        return _pick_together(candidates, count, shape, placement_rules)
    if placement_rules.spread_states or placement_rules.distinct_domain is not None:
        return _pick_by_domain(_biased(candidates, placement_rules), count, placement_rules)
    if placement_rules.repeat_bias is not None:
        shape = Shape.ANY
    if placement_rules.bias is not None or placement_rules.repeat_bias is not None:
        candidates = _biased(candidates, placement_rules)
    return pick(candidates, count, shape)


def _restricted(candidates: Candidates, placement_rules: PlacementRules) -> Candidates:
    """An infinite score where the class may not go, and no more room than one node may give."""
    scores = np.where(placement_rules.allowed, candidates.scores, np.inf)
    most = placement_rules.per_node_max
    if most is None:
        return replace(candidates, scores=scores)
    return Candidates(scores, candidates.next_score, lambda rows: np.minimum(candidates.room(rows), most))


def _biased(candidates: Candidates, placement_rules: PlacementRules) -> Candidates:
    """Scores in units of the score range above the best one, with the bias of soft rules. A constant for each row
    preserves a rising or falling score."""
    finite = candidates.scores[candidates.scores < np.inf]
    low = float(finite.min()) if len(finite) else 0.0
    score_range = (float(finite.max()) - low if len(finite) else 0.0) or 1.0
    bias = np.zeros(len(candidates.scores)) if placement_rules.bias is None else placement_rules.bias
    repeat_bias = (
        np.zeros(len(candidates.scores)) if placement_rules.repeat_bias is None else placement_rules.repeat_bias
    )

    def next_score(rows: IntArray, more: More) -> FloatArray:
        return (
            (candidates.next_score(rows, more) - low) / score_range
            + bias[rows]
            + repeat_bias[rows] * np.greater(more, 0)
        )

    return Candidates((candidates.scores - low) / score_range + bias, next_score, candidates.room)


def _pick_together(candidates: Candidates, count: int, shape: Shape, placement_rules: PlacementRules) -> Picked:
    """The first task chooses; the others follow it, as far as there is room."""
    first = pick_ruled(candidates, 1, shape, replace(placement_rules, is_colocated=False))
    if not len(first.rows) or placement_rules.distinct_domain is not None:
        return first
    room = min(count, int(candidates.room(first.rows)[0]))
    return Picked(first.rows, np.full(1, room, dtype=np.int64))


@dataclass(slots=True)
class _DomainGroups:
    """Rows with the same values of every relevant label, cheapest first. A spread has the same weight for all of them,
    so one step of the greedy compares values, not rows."""

    heaps: list[list[tuple[float, int]]]
    domains: IntArray  # [labels, values]
    scores: FloatArray  # of each value's cheapest row
    rows: IntArray  # which one it is

    def refresh(self, group: int) -> None:
        heap = self.heaps[group]
        self.scores[group], self.rows[group] = heap[0] if heap else (math.inf, 0)


def _pick_by_domain(candidates: Candidates, count: int, placement_rules: PlacementRules) -> Picked:
    groups = _group_by_domain(candidates, placement_rules)
    tasks = [each.tasks.copy() for each in placement_rules.spread_states]
    counts: Counter[int] = Counter()
    room: dict[int, int] = {}
    while count and len(groups.scores):
        totals = groups.scores + _spread_penalties(placement_rules, groups, tasks)
        least = totals.min()
        if least == math.inf:
            break
        tied = np.flatnonzero(totals == least)
        group = int(tied[groups.rows[tied].argmin()])
        row = int(groups.rows[group])
        counts[row] += 1
        count -= 1
        for number, placed_in in enumerate(tasks):
            placed_in[groups.domains[number, group]] += 1
        if placement_rules.distinct_domain is not None:
            groups.scores[groups.domains[-1] == groups.domains[-1, group]] = math.inf
        else:
            _rescore_row(groups, group, row, counts[row], room, candidates)
    return Picked(np.array(list(counts), dtype=np.int64), np.array(list(counts.values()), dtype=np.int64))


def _group_by_domain(candidates: Candidates, placement_rules: PlacementRules) -> _DomainGroups:
    rows = np.flatnonzero(candidates.scores < np.inf)
    domains = [each.domain[rows] for each in placement_rules.spread_states]
    if placement_rules.distinct_domain is not None:
        domains.append(placement_rules.distinct_domain[rows])
    distinct, group_of = np.unique(np.stack(domains), axis=1, return_inverse=True)
    heaps: list[list[tuple[float, int]]] = [[] for _ in range(distinct.shape[1])]
    for group, next_score, row in zip(
        group_of.ravel().tolist(), candidates.scores[rows].tolist(), rows.tolist(), strict=True
    ):
        heaps[group].append((next_score, row))
    for heap in heaps:
        heapq.heapify(heap)
    groups = _DomainGroups(heaps, distinct, np.full(len(heaps), np.inf), np.zeros(len(heaps), dtype=np.int64))
    for group in range(len(heaps)):
        groups.refresh(group)
    return groups


def _spread_penalties(
    placement_rules: PlacementRules, groups: _DomainGroups, tasks: list[IntArray]
) -> FloatArray | float:
    """The weight of the tasks that are already there, by value."""
    weight: FloatArray | float = 0.0
    for number, each in enumerate(placement_rules.spread_states):
        weight = weight + each.weight * tasks[number][groups.domains[number]]
    return weight


def _rescore_row(
    groups: _DomainGroups, group: int, row: int, served: int, room: dict[int, int], candidates: Candidates
) -> None:
    """Compute the score of one more task on the chosen row, or remove the row if it is full."""
    heap, one_row = groups.heaps[group], np.array([row])
    if row not in room:
        room[row] = int(candidates.room(one_row)[0])
    if served < room[row]:
        heapq.heapreplace(heap, (float(candidates.next_score(one_row, served)[0]), row))
    else:
        heapq.heappop(heap)
    groups.refresh(group)
