"""The built-in planner: a policy made of stages. The engine calls `decide` once a round.

A stage can be replaced: `Planner(replace(stages, order=...))`. What can be chosen by name is in `POLICIES`.
"""

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
from shunter.planning.filter.node_ledger import Ledger
from shunter.planning.filter.rules import Couplings
from shunter.planning.order.backlog import Backlog
from shunter.planning.order.class_table import Seat
from shunter.planning.order.fair_share import Shares
from shunter.planning.order.queue_limits import Gates
from shunter.planning.order.rank import Order, by_urgency
from shunter.planning.order.turns import Lineup
from shunter.planning.reserve.decision_rules import Companions, Recall
from shunter.planning.reserve.reservations import PATIENCE, Patience
from shunter.planning.score.gangs import gang_of
from shunter.planning.score.pick import Offer, Picked, pick
from shunter.planning.score.score_cache import PriceBook
from shunter.planning.score.scores import SCORES, Score
from shunter.planning.score.workspace import Site
from shunter.planning.view import ClusterView, Decision, IntArray, Placement, Policy

POLICY_DEFAULT = "e-pvm"

# The work of one decision, so that none takes longer than about 50 ms on a machine with other work: a unit is a price
# looked at, some 10 ns.
WORK_MAX = 3_000_000
FILL_WORK = 3_000  # what any fill costs
PICK_WORK = 7_000  # and what it costs beside that to pick nodes for several tasks
MISS_WORK = 1_000  # what a turn costs for which nothing needs to be looked at
TASK_WORK = 8  # a task more in a fill
COUPLED_WORK = 20  # how much more a class costs that rules couple
FILL_TASKS_MIN = 1_000  # what one fill may always place
CLASS_WORK = 500  # to take in a class that is new or changed
FIRST_SHARE = 4  # one part in so many of the work is left for placing, however many classes are taken in
MISSES_MAX = 8  # turns in vain, after which those are sorted out for whom nothing is left; doubles every time


@dataclass(frozen=True, slots=True)
class Stages:
    """What a planner is made of: which class comes first, which nodes it may use, which of them is best, and how long
    somebody waits before room is made or kept for it."""

    score: Score
    order: Order = by_urgency
    filters: tuple[Filter, ...] = FILTERS
    patience: Patience = PATIENCE


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
class Sitting:
    """What one decision works with, and what each class got."""

    left: Budget
    gates: Gates
    shares: Shares
    companions: Companions
    fills: dict[int, list[Picked]] = field(default_factory=dict)

    def is_too_much(self, seat: Seat) -> bool:
        """Whether a gang has to wait for the next decision, since this one has already spent what it needs."""
        if not gang_of(seat.task_class) or not self.fills:
            return False
        return sum(each.queued.count for each in self.companions.members(seat)) > self.left.tasks


class Planner:
    """Exact greedy by class: cost grows with the classes that have a turn and with changed nodes, not with tasks.

    A decision that runs out of its budget is partial. Whoever had a turn and found no room is remembered, so the next
    decision goes on with the others.
    """

    fast = True
    wants = WANTS_PLANNER

    def __init__(self, stages: Stages, work_max: int = WORK_MAX) -> None:
        self.name = stages.score.name
        self._stages = stages
        self._work_max = work_max
        self._ledger = Ledger(stages.score.keep)
        self._prices = PriceBook(stages.filters, stages.score)
        self._backlog = Backlog(stages.order, self._ledger)
        self._recall = Recall()

    @property
    def filters(self) -> tuple[Filter, ...]:
        return self._stages.filters

    @property
    def is_built_in(self) -> bool:
        """Whether all of its stages are ours, and need no guard."""
        ours = SCORES.get(self._stages.score.name)
        return ours is self._stages.score and self._stages.filters == FILTERS

    def fork(self) -> Planner:
        """One that would decide alike from here on. What this one remembers only spares it work."""
        twin = Planner(self._stages, self._work_max)
        twin._ledger.cursor = self._ledger.cursor
        twin._recall = self._recall.copy()
        return twin

    @property
    def memory(self) -> dict[str, Any]:
        """What a renewed one has to know: where the rotation stands."""
        return {"cursor": int(self._ledger.cursor)}

    @memory.setter
    def memory(self, memory: dict[str, Any]) -> None:
        self._ledger.cursor = memory.get("cursor", 0)

    @property
    def is_settled(self) -> bool:
        """Whether nobody was promised anything, and the last decision was whole."""
        recall = self._recall
        return not (recall.is_partial or recall.held or recall.memory.promised or recall.memory.winners)

    def renew(self) -> Planner:
        twin = Planner(self._stages, self._work_max)
        twin.memory = self.memory
        return twin

    def decide(self, view: ClusterView, now: float, budget: int) -> Decision:
        """Place the most urgent classes first, `budget` tasks at most; a gang larger than that goes by itself."""
        backlog, decision = self._backlog, Decision(based_on=view.version)
        improved = self._ledger.sync(view.nodes)
        taken_in = backlog.take_in(view.queued, view.licences)
        backlog.wake(improved)
        work = max(self._work_max - taken_in * CLASS_WORK, self._work_max // FIRST_SHARE, 1)
        sitting = self._open(view, now, Budget(budget, work))
        self._serve_winners(sitting)
        lineup = Lineup(backlog, sitting.gates, sitting.shares)
        misses, patience = 0, MISSES_MAX
        while (turn := lineup.next()) is not None:
            seat, count = turn.seat, turn.seat.queued.count
            if sitting.left.is_spent or sitting.is_too_much(seat):
                decision.is_partial = True
                break
            sitting.companions.pass_heads(seat)
            if gang_of(seat.task_class):
                self._place_gang(seat, sitting)
                if sitting.companions.is_cut:
                    decision.is_partial = True
                    break
                lineup.settle(has_to_wait=seat.queued.count > 0)
                continue
            wanted = sitting.companions.most(seat, min(count, sitting.left.fill_max, turn.quantum or count))
            placed = self._place(seat, wanted, sitting) if wanted else 0
            if sitting.companions.is_cut:
                decision.is_partial = True
                break
            if not placed and (misses := misses + 1) == patience:
                misses, patience = 0, patience * 2
                backlog.sober()
                lineup.rebuild()
                continue
            if placed < wanted or not wanted or placed == count:
                lineup.settle(has_to_wait=placed < count)
        else:
            backlog.rest()
        sitting.companions.finish(decision)
        decision.placements = [Placement(class_id, *_merged(parts)) for class_id, parts in sitting.fills.items()]
        decision.left = backlog.left()
        return decision

    def _open(self, view: ClusterView, now: float, budget: Budget) -> Sitting:
        ledger, stages = self._ledger, self._stages
        patience = stages.patience.asked_for(view)
        site = Site(ledger, Couplings(view, ledger), stages.score, stages.filters, self._prices.prices)
        gates = Gates(self._backlog.seats, view.queues, view.licences)
        return Sitting(
            left=budget,
            gates=gates,
            shares=Shares(view.usage, ledger.totals()),
            companions=Companions(view, int(now * 1000), self._backlog, gates, site, patience, self._recall),
        )

    def _serve_winners(self, sitting: Sitting) -> None:
        """Whoever made others end gets their room, or has it kept, before anybody has a turn."""
        for seat, promised in sitting.companions.winners():
            wanted = sitting.companions.most(seat, min(seat.queued.count, promised, sitting.left.fill_max))
            if gang_of(seat.task_class):
                self._place_gang(seat, sitting)
            elif wanted:
                self._place(seat, wanted, sitting)

    def _place(self, seat: Seat, count: int, sitting: Sitting) -> int:
        """Place up to `count` tasks; whoever gets fewer has no room left anywhere. Returns how many found a node."""
        picked = self._fill(seat, count, sitting)
        placed = len(picked.rows) if count == 1 else int(picked.counts.sum())
        if placed:
            self._record(seat, picked, placed, sitting)
        if placed < count and not sitting.companions.is_cut:
            self._backlog.block(seat)
            self._ledger.tighten()
            sitting.companions.block(seat)
        return placed

    def _place_gang(self, seat: Seat, sitting: Sitting) -> None:
        """Place the seat's whole gang, or none of it. Whoever came first among its members brought the others."""
        if not seat.queued.count or self._backlog.is_blocked(seat):
            return
        members = sitting.companions.members(seat)
        if not sitting.companions.admit(members):
            sitting.left.spend_work(0, 0)
            return  # no row keeps it waiting, so none has to improve
        sitting.left.spend_work(self._ledger.count * len(members), sum(each.queued.count for each in members))
        placed = sitting.companions.place_gang(members)
        if placed is not None:
            by_class = {each.task_class.id: each for each in members}
            for queued, picked in placed:
                self._record(by_class[queued.task_class.id], picked, int(picked.counts.sum()), sitting)
            return
        if sitting.companions.is_cut:
            return
        for each in members:
            self._backlog.block(each)
        sitting.companions.block(seat)

    def _record(self, seat: Seat, picked: Picked, placed: int, sitting: Sitting) -> None:
        """So many tasks of the seat have found their nodes, and the ledger knows."""
        sitting.left.tasks -= placed
        sitting.fills.setdefault(seat.task_class.id, []).append(picked)
        sitting.gates.place(seat, placed)
        sitting.shares.place(seat.task_class.namespace, seat.task_class.user, seat.needs, placed)
        self._backlog.place(seat, placed)

    def _fill(self, seat: Seat, count: int, sitting: Sitting) -> Picked:
        """Candidates and score give prices, pick spends, and the ledger is told."""
        ledger, left, companions = self._ledger, sitting.left, sitting.companions
        if not ledger.may_fit(seat.queued.task_class):
            left.spend_work(0, 0)
            return NOTHING
        rows = self._backlog.hope if self._backlog.is_hopeful(seat) else None
        if companions.couples(seat.task_class):
            picked = companions.pick(seat, count)
            left.spend_work(COUPLED_WORK * ledger.count, COUPLED_WORK * count)
        elif rows is not None and 2 * len(rows) < ledger.count:
            picked = self._pick_among(seat, rows, count)
            left.spend_work(len(rows), count)
        else:
            picked = self._pick(seat, count)
            left.spend_work(ledger.count, count)
        picked = companions.leave_claims(seat, count, picked)
        companions.put(seat, picked)
        return picked

    def _pick(self, seat: Seat, count: int) -> Picked:
        """From all rows."""
        task_class, ledger, score = seat.queued.task_class, self._ledger, self._stages.score
        offer = Offer(
            prices=self._prices.prices(seat.queued, ledger),
            price=partial(score.cost, task_class, ledger),
            room=partial(ledger.room, task_class, most=count),
        )
        return pick(offer, count, score.shape)

    def _pick_among(self, seat: Seat, rows: IntArray, count: int) -> Picked:
        """From a few rows, for a class that fits on no others."""
        task_class, ledger, score = seat.queued.task_class, self._ledger, self._stages.score
        offer = Offer(
            prices=self._prices.prices_of(seat.queued, ledger, rows),
            price=lambda some, more: score.cost(task_class, ledger, rows[some], more),
            room=lambda some: ledger.room(task_class, rows[some], most=count),
        )
        picked = pick(offer, count, score.shape)
        return Picked(rows[picked.rows], picked.counts)


NOTHING = Picked(np.empty(0, np.int64), np.empty(0, np.int64))


def _merged(parts: list[Picked]) -> tuple[IntArray, IntArray]:
    """All that a class got in its turns; no row is named twice."""
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
    """A fresh policy by its name; raises Invalid with the nearest known one."""
    if name in POLICIES:
        return POLICIES[name]()
    near = get_close_matches(name, POLICIES, n=1)
    known = f"the known ones are {', '.join(POLICIES)}"
    raise Invalid([Problem("policy", "unknown policy", name, f"did you mean {near[0]}? {known}" if near else known)])
