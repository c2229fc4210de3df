"""A workspace for placement: a ledger, the rules between tasks on it, and the scores of its nodes.

Used by the planner for classes with rules, and on scratch copies by gangs, preemption and backfill."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from shunter.planning.filter.filters import Filter, feasible
from shunter.planning.filter.node_ledger import NodeLedger
from shunter.planning.filter.rules import RuleSet
from shunter.planning.score.pick import Candidates, Picked, pick
from shunter.planning.score.pick_ruled import pick_ruled
from shunter.planning.score.scores import SCORES, Score
from shunter.planning.view import FloatArray, IntArray, Queued, TaskClass

ScoreNodes = Callable[[Queued, NodeLedger], FloatArray]
Ceiling = Callable[[TaskClass, int], IntArray | None]  # how many more tasks each row may get at most; None: no limit

NO_NODES = Picked(np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass(frozen=True, slots=True)
class Workspace:
    """Placements can be put on it and taken back."""

    ledger: NodeLedger
    rule_set: RuleSet
    score: Score
    filters: tuple[Filter, ...]
    scores: ScoreNodes

    def pick(self, queued: Queued, count: int, ceilings: Sequence[Ceiling] = ()) -> Picked:
        """Pick nodes for up to `count` tasks; nothing is placed yet."""
        task_class, ledger = queued.task_class, self.ledger
        if any(resource not in ledger.column for resource in task_class.needs):
            return NO_NODES
        room = partial(ledger.room, task_class, most=count)
        candidates = Candidates(self.scores(queued, ledger), partial(self.score.cost, task_class, ledger), room)
        if queued.avoid:
            candidates = replace(candidates, scores=_excluding(candidates.scores, queued.avoid))
        for each in ceilings:
            candidates = _capped(candidates, each(task_class, count))
        if self.rule_set.constrains(task_class):
            return pick_ruled(candidates, count, self.score.shape, self.rule_set.rules_for(task_class))
        return pick(candidates, count, self.score.shape)

    def put(self, task_class: TaskClass, picked: Picked) -> None:
        if not len(picked.rows):
            return
        if self.score.settle is not None:
            self.score.settle(task_class, self.ledger, picked.rows, picked.counts)
        self.ledger.place(task_class, picked.rows, picked.counts)
        if task_class.rules is not None and task_class.rules.exclusive:
            self.ledger.own(picked.rows, task_class.rules.job)
        self.rule_set.record_placement(task_class, picked.rows, picked.counts)

    def undo_put(self, task_class: TaskClass, picked: Picked) -> None:
        """Undo `put`. A caller that undoes several also resets the ledger's cursor and tightens its bound."""
        self.ledger.place(task_class, picked.rows, -picked.counts)
        if task_class.rules is not None and task_class.rules.exclusive:
            self.ledger.own(picked.rows[self.ledger.tasks[picked.rows] == 0], 0)
        self.rule_set.record_placement(task_class, picked.rows, -picked.counts)

    def scratch(self) -> Workspace:
        """A copy for trials, with its own memory and with scores computed on request."""
        ledger = self.ledger.scratch()
        return replace(
            self,
            ledger=ledger,
            rule_set=self.rule_set.copy_for(ledger),
            scores=partial(compute_scores, self.filters, self.score),
        )

    def with_bin_packing(self) -> Workspace:
        """The same workspace with bin packing: the fullest node with room comes first."""
        score = SCORES["bin-pack"]
        return replace(self, score=score, scores=partial(compute_scores, self.filters, score))


def compute_scores(filters: tuple[Filter, ...], score: Score, queued: Queued, ledger: NodeLedger) -> FloatArray:
    rows = slice(0, ledger.count)
    accepted = feasible(queued.task_class, ledger, rows, filters)
    if not accepted.any():
        return np.full(ledger.count, np.inf)
    return np.where(accepted, score.cost(queued.task_class, ledger, rows, 0), np.inf)


def _excluding(scores: FloatArray, avoided: frozenset[int]) -> FloatArray:
    scores = scores.copy()
    scores[[row for row in avoided if row < len(scores)]] = np.inf
    return scores


def _capped(candidates: Candidates, ceiling: IntArray | None) -> Candidates:
    """The offer, with the room of each row limited by the ceilings."""
    if ceiling is None:
        return candidates
    scores = np.where(ceiling > 0, candidates.scores, np.inf)
    return Candidates(scores, candidates.next_score, lambda rows: np.minimum(candidates.room(rows), ceiling[rows]))
