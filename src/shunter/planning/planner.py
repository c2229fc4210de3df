"""The built-in planner: a policy made of stages. The engine calls `decide` once per round.

A stage can be replaced: `Planner(replace(stages, order=...))`. `POLICIES` has the variants that users choose by
name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from typing import Any

import numpy as np

from shunter.model.errors import Invalid, Problem
from shunter.model.protocol.scheduler_messages import WANTS_PLANNER
from shunter.planning.filter.filters import FILTERS, Filter
from shunter.planning.filter.node_ledger import NodeLedger
from shunter.planning.filter.rules import RuleSet
from shunter.planning.order.backlog import Backlog
from shunter.planning.order.fair_share import FairShare
from shunter.planning.order.pending_classes import PendingClass
from shunter.planning.order.queue_limits import QueueLimits
from shunter.planning.order.rank import RankFunction, by_urgency
from shunter.planning.order.turns import Turns
from shunter.planning.reserve.reserve_stage import PlannerMemory, ReserveStage
from shunter.planning.reserve.wait_thresholds import WAIT_THRESHOLDS, WaitThresholds
from shunter.planning.score.gangs import gang_of
from shunter.planning.score.pick import Candidates, Picked, pick
from shunter.planning.score.score_cache import ScoreCache
from shunter.planning.score.scores import SCORES, Score
from shunter.planning.score.workspace import Workspace
from shunter.planning.view import ClusterView, Decision, IntArray, Placement, Policy

POLICY_DEFAULT = "e-pvm"

# The work of one decision, so that none takes longer than about 50 ms on a busy machine: a unit is one score
# examined, about 10 ns.
WORK_MAX = 3_000_000
FILL_WORK = 3_000  # what any fill costs
PICK_WORK = 7_000  # and the extra cost of picking nodes for several tasks
MISS_WORK = 1_000  # the cost of a turn that examines nothing
TASK_WORK = 8  # each further task in a fill
RULED_WORK = 20  # the factor for a class with rules between tasks
FILL_TASKS_MIN = 1_000  # what one fill may always place
CLASS_WORK = 500  # to read a class that is new or changed
PLACING_SHARE = 4  # this fraction of the work is left for placement, however many classes are read
MISSES_MAX = 8  # unsuccessful turns after which hopeless classes are removed; doubles every time


@dataclass(frozen=True, slots=True)
class Stages:
    """The stages of a planner: which class comes first, which nodes it may use, which of them is best, and how long an
    item waits before room is made or reserved for it."""

    score: Score
    order: RankFunction = by_urgency
    filters: tuple[Filter, ...] = FILTERS
    wait_thresholds: WaitThresholds = WAIT_THRESHOLDS


@dataclass(slots=True)
class Budget:
    """What is left for this decision."""

    tasks: int
    work: int

    @property
    def is_spent(self) -> bool:
        return self.tasks <= 0 or self.work <= 0

    @property
    def fill_max(self) -> int:
        return min(self.tasks, max(self.work // TASK_WORK, FILL_TASKS_MIN))

    def spend_work(self, rows: int, tasks: int) -> None:
        pick = PICK_WORK + tasks * TASK_WORK if tasks > 1 else 0
        self.work -= FILL_WORK + rows + pick if rows else MISS_WORK


@dataclass(frozen=True, slots=True)
class DecisionContext:
    """The data of one decision, and what each class got."""

    budget: Budget
    queue_limits: QueueLimits
    fair_share: FairShare
    reserve_stage: ReserveStage
    fills: dict[int, list[Picked]] = field(default_factory=dict)

    def gang_exceeds_budget(self, pending_class: PendingClass) -> bool:
        """Whether a gang must wait for the next decision, because this one has already spent what the gang needs."""
        if not gang_of(pending_class.task_class) or not self.fills:
            return False
        return sum(each.queued.count for each in self.reserve_stage.members(pending_class)) > self.budget.tasks


class Planner:
    """Exact greedy by class: cost grows with the classes that have a turn and with changed nodes, not with tasks.

    A decision that runs out of its budget is partial. Classes that had a turn and found no room are remembered, so the
    next decision continues with the others."""

    fast = True
    wants = WANTS_PLANNER

    def __init__(self, stages: Stages, work_max: int = WORK_MAX) -> None:
        self.name = stages.score.name
        self._stages = stages
        self._work_max = work_max
        self._ledger = NodeLedger(stages.score.keep)
        self._score_cache = ScoreCache(stages.filters, stages.score)
        self._backlog = Backlog(stages.order, self._ledger)
        self._planner_memory = PlannerMemory()

    @property
    def filters(self) -> tuple[Filter, ...]:
        return self._stages.filters

    @property
    def is_built_in(self) -> bool:
        """Whether all of its stages are built in and need no guard."""
        built_in = SCORES.get(self._stages.score.name)
        return built_in is self._stages.score and self._stages.filters == FILTERS

    def fork(self) -> Planner:
        """A copy that would decide the same from here on. What this planner remembers only saves work."""
        clone = Planner(self._stages, self._work_max)
        clone._ledger.cursor = self._ledger.cursor
        clone._planner_memory = self._planner_memory.copy()
        return clone

    @property
    def memory(self) -> dict[str, Any]:
        """What a renewed planner must know: the position of the rotation."""
        return {"cursor": int(self._ledger.cursor)}

    @memory.setter
    def memory(self, memory: dict[str, Any]) -> None:
        self._ledger.cursor = memory.get("cursor", 0)

    @property
    def is_settled(self) -> bool:
        """Whether there are no reservations, and the last decision was complete."""
        planner_memory = self._planner_memory
        return not (
            planner_memory.is_partial
            or planner_memory.held
            or planner_memory.reservation_cache.planned_starts
            or planner_memory.reservation_cache.winners
        )

    def renew(self) -> Planner:
        clone = Planner(self._stages, self._work_max)
        clone.memory = self.memory
        return clone

    def decide(self, view: ClusterView, now: float, budget: int) -> Decision:
        """Place the most urgent classes first, at most `budget` tasks; a gang larger than that goes by itself."""
        backlog, decision = self._backlog, Decision(based_on=view.version)
        improved = self._ledger.sync(view.nodes)
        changed_count = backlog.sync(view.queued, view.licences)
        backlog.wake(improved)
        work = max(self._work_max - changed_count * CLASS_WORK, self._work_max // PLACING_SHARE, 1)
        context = self._open_context(view, now, Budget(budget, work))
        self._serve_winners(context)
        if self._serve_turns(context):
            backlog.end_pass()
        else:
            decision.is_partial = True
        context.reserve_stage.finish(decision)
        decision.placements = [Placement(class_id, *_merged(parts)) for class_id, parts in context.fills.items()]
        decision.left = backlog.left()
        return decision

    def _serve_turns(self, context: DecisionContext) -> bool:
        """Give each class its turn until none is left. False: the work of this decision was spent before that."""
        budget, reserve_stage = context.budget, context.reserve_stage
        turns = Turns(self._backlog, context.queue_limits, context.fair_share)
        misses, misses_max = 0, MISSES_MAX
        while (turn := turns.next()) is not None:
            pending_class, count = turn.pending_class, turn.pending_class.queued.count
            if budget.is_spent or context.gang_exceeds_budget(pending_class):
                return False
            reserve_stage.block_heads_before(pending_class)
            if is_gang := bool(gang_of(pending_class.task_class)):
                self._place_gang(pending_class, context)
            else:
                count_max = min(count, budget.fill_max, turn.quantum or count)
                wanted = reserve_stage.admissible_count(pending_class, count_max)
                placed = self._place(pending_class, wanted, context) if wanted else 0
            if reserve_stage.is_cut_short:
                return False
            if is_gang:
                turns.end_turn(has_to_wait=pending_class.queued.count > 0)
            elif not placed and (misses := misses + 1) == misses_max:
                misses, misses_max = 0, misses_max * 2
                self._backlog.reblock()
                turns.rebuild()
            elif placed < wanted or not wanted or placed == count:
                turns.end_turn(has_to_wait=placed < count)
        return True

    def _open_context(self, view: ClusterView, now: float, budget: Budget) -> DecisionContext:
        ledger, stages = self._ledger, self._stages
        wait_thresholds = stages.wait_thresholds.with_overrides(view)
        workspace = Workspace(ledger, RuleSet(view, ledger), stages.score, stages.filters, self._score_cache.scores)
        queue_limits = QueueLimits(self._backlog.pending_classes, view.queues, view.licences, view.quotas)
        return DecisionContext(
            budget=budget,
            queue_limits=queue_limits,
            fair_share=FairShare(view.usage, ledger.totals(), view.tenants),
            reserve_stage=ReserveStage(
                view, int(now * 1000), self._backlog, queue_limits, workspace, wait_thresholds, self._planner_memory
            ),
        )

    def _serve_winners(self, context: DecisionContext) -> None:
        """Classes that preempted others get the freed room, or have it reserved, before any other turn."""
        for pending_class, promised in context.reserve_stage.winners():
            wanted = context.reserve_stage.admissible_count(
                pending_class, min(pending_class.queued.count, promised, context.budget.fill_max)
            )
            if gang_of(pending_class.task_class):
                self._place_gang(pending_class, context)
            elif wanted:
                self._place(pending_class, wanted, context)

    def _place(self, pending_class: PendingClass, count: int, context: DecisionContext) -> int:
        """Place up to `count` tasks; if fewer are placed, there is no room left anywhere. Returns how many found a
        node."""
        picked = self._fill(pending_class, count, context)
        placed = len(picked.rows) if count == 1 else int(picked.counts.sum())
        if placed:
            self._record(pending_class, picked, placed, context)
        if placed < count and not context.reserve_stage.is_cut_short:
            self._backlog.block(pending_class)
            self._ledger.tighten()
            context.reserve_stage.block(pending_class)
        return placed

    def _place_gang(self, pending_class: PendingClass, context: DecisionContext) -> None:
        """Place the class's whole gang, or none of it. The first of its members brings the others."""
        if not pending_class.queued.count or self._backlog.is_blocked(pending_class):
            return
        members = context.reserve_stage.members(pending_class)
        if not context.reserve_stage.can_admit(members):
            context.budget.spend_work(0, 0)
            return  # no row holds it back, so none has to improve
        context.budget.spend_work(self._ledger.count * len(members), sum(each.queued.count for each in members))
        placed = context.reserve_stage.place_gang(members)
        if placed is not None:
            by_class = {each.task_class.id: each for each in members}
            for queued, picked in placed:
                self._record(by_class[queued.task_class.id], picked, int(picked.counts.sum()), context)
            return
        if context.reserve_stage.is_cut_short:
            return
        for each in members:
            self._backlog.block(each)
        context.reserve_stage.block(pending_class)

    def _record(self, pending_class: PendingClass, picked: Picked, placed: int, context: DecisionContext) -> None:
        """Record that this many tasks of the class have found their nodes; the ledger already knows."""
        context.budget.tasks -= placed
        context.fills.setdefault(pending_class.task_class.id, []).append(picked)
        context.queue_limits.place(pending_class, placed)
        context.fair_share.place(
            pending_class.task_class.namespace, pending_class.task_class.user, pending_class.needs, placed
        )
        self._backlog.place(pending_class, placed)

    def _fill(self, pending_class: PendingClass, count: int, context: DecisionContext) -> Picked:
        """Filter and score the nodes, pick, and update the ledger."""
        ledger, budget, reserve_stage = self._ledger, context.budget, context.reserve_stage
        if not ledger.may_fit(pending_class.queued.task_class):
            budget.spend_work(0, 0)
            return NO_NODES
        rows = self._backlog.improved_rows if self._backlog.checks_improved_rows(pending_class) else None
        if reserve_stage.constrains(pending_class.task_class):
            picked = reserve_stage.pick(pending_class, count)
            budget.spend_work(RULED_WORK * ledger.count, RULED_WORK * count)
        elif rows is not None and 2 * len(rows) < ledger.count:
            picked = self._pick_among(pending_class, rows, count)
            budget.spend_work(len(rows), count)
        else:
            picked = self._pick(pending_class, count)
            budget.spend_work(ledger.count, count)
        picked = reserve_stage.respect_reservations(pending_class, count, picked)
        reserve_stage.put(pending_class, picked)
        return picked

    def _pick(self, pending_class: PendingClass, count: int) -> Picked:
        """From all rows."""
        task_class, ledger, score = pending_class.queued.task_class, self._ledger, self._stages.score
        candidates = Candidates(
            scores=self._score_cache.scores(pending_class.queued, ledger),
            next_score=partial(score.cost, task_class, ledger),
            room=partial(ledger.room, task_class, most=count),
        )
        return pick(candidates, count, score.shape)

    def _pick_among(self, pending_class: PendingClass, rows: IntArray, count: int) -> Picked:
        """From a few rows, for a class that fits on no others."""
        task_class, ledger, score = pending_class.queued.task_class, self._ledger, self._stages.score
        candidates = Candidates(
            scores=self._score_cache.scores_of_rows(pending_class.queued, ledger, rows),
            next_score=lambda some, more: score.cost(task_class, ledger, rows[some], more),
            room=lambda some: ledger.room(task_class, rows[some], most=count),
        )
        picked = pick(candidates, count, score.shape)
        return Picked(rows[picked.rows], picked.counts)


NO_NODES = Picked(np.empty(0, np.int64), np.empty(0, np.int64))


def _merged(parts: list[Picked]) -> tuple[IntArray, IntArray]:
    """Everything a class got in its turns; no row occurs twice."""
    if len(parts) == 1:
        return parts[0].rows, parts[0].counts
    rows, part_of = np.unique(np.concatenate([part.rows for part in parts]), return_inverse=True)
    counts = np.zeros(len(rows), np.int64)
    np.add.at(counts, part_of, np.concatenate([part.counts for part in parts]))
    return rows, counts


POLICIES: dict[str, Callable[[], Policy]] = {
    name: partial(Planner, Stages(score=score)) for name, score in SCORES.items()
}


def build_policy(name: str) -> Policy:
    """Create a policy by its name; raises Invalid with the nearest known name."""
    if name in POLICIES:
        return POLICIES[name]()
    near = get_close_matches(name, POLICIES, n=1)
    known = f"known policies: {', '.join(POLICIES)}"
    raise Invalid([Problem("policy", "unknown policy", name, f"did you mean {near[0]}? {known}" if near else known)])
