"""The parts of a decision beyond scores: rules between tasks, gangs, and reserved room.

Created by the planner for each decision. Classes without any of these cost a few comparisons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from shunter.planning.order.backlog import Backlog
from shunter.planning.order.pending_classes import PendingClass
from shunter.planning.order.queue_limits import QueueLimits
from shunter.planning.reserve.backfill import put_if_fits
from shunter.planning.reserve.held_limits import HeldLimits
from shunter.planning.reserve.reservation_cache import ReservationCache
from shunter.planning.reserve.reservations import Reservations, key_of
from shunter.planning.reserve.wait_thresholds import WaitThresholds
from shunter.planning.score.gangs import Item, ItemPlacement, gang_of, place_gang, undo_all
from shunter.planning.score.pick import Picked
from shunter.planning.score.workspace import NO_NODES, Workspace
from shunter.planning.view import ClusterView, Decision, Queued, TaskClass

HEADS_MAX = 16  # blocked classes of earlier decisions that are considered; those of one gang count each
HELD_RETRY_MS = 1_000  # after this time, held-back classes look at all rows again


@dataclass(slots=True)
class PlannerMemory:
    """What a planner remembers about reservations between decisions. It is a hint: without it, work is only
    repeated."""

    reservation_cache: ReservationCache = field(default_factory=ReservationCache)
    held: set[int] = field(default_factory=set)  # classes that were held back by a reservation
    heads: tuple[int, ...] = ()  # the blocked classes that held them back
    held_at_ms: int = 0
    winners: tuple[int, ...] = ()  # for which classes others were being preempted when the held-back ones last looked
    is_partial: bool = False

    def copy(self) -> PlannerMemory:
        return replace(self, reservation_cache=self.reservation_cache.copy(), held=set(self.held))


class ReserveStage:
    def __init__(
        self,
        view: ClusterView,
        now_ms: int,
        backlog: Backlog,
        queue_limits: QueueLimits,
        workspace: Workspace,
        wait_thresholds: WaitThresholds,
        planner_memory: PlannerMemory,
    ) -> None:
        self._backlog = backlog
        self._queue_limits = queue_limits
        self._workspace = workspace
        self._planner_memory = planner_memory
        self._now_ms = now_ms
        self._gangs: dict[int, list[PendingClass]] | None = None
        self._longest_s = view.longest_s
        self._placed_counts: Counter[int] = Counter()  # class id -> tasks that this decision placed
        self._reservations = (
            Reservations(view, workspace, now_ms, wait_thresholds, planner_memory.reservation_cache)
            if view.running is not None
            else None
        )
        self._held_limits = HeldLimits(
            queue_limits, self._reservations, lambda class_id: backlog.pending_classes.by_class[class_id]
        )
        # classes that may need more at once of a limit than is left, the most urgent last
        self._starvable: list[PendingClass] | None = None
        self._heads: list[PendingClass] = []  # blocked by earlier decisions, the most urgent last
        self._has_carried_over = False  # some are held back since an earlier decision
        if self._reservations is not None:
            self._wake_held()
            self._has_carried_over = bool(planner_memory.held)
            self._heads = backlog.first_blocked(HEADS_MAX)[::-1]

    @property
    def is_cut_short(self) -> bool:
        """Whether reservations have used their share of this decision: items behind them must wait for the next one."""
        return self._reservations is not None and self._reservations.is_cut_short

    def winners(self) -> list[tuple[PendingClass, int]]:
        """Classes for which others are being preempted, and for how many tasks: they go first.

        Otherwise a class that has waited longer would take the room, victims included, and others would be preempted
        again and again."""
        by_class = self._backlog.pending_classes.by_class
        winners = self._planner_memory.reservation_cache.winners if self._reservations is not None else {}
        self._backlog.recheck_all_rows(winners)
        return [(by_class[each], count) for each, count in winners.items() if each in by_class]

    # ---- a class by itself ----

    def constrains(self, task_class: TaskClass) -> bool:
        return self._workspace.rule_set.constrains(task_class)

    def pick(self, pending_class: PendingClass, count: int) -> Picked:
        """The nodes for a class with rules between tasks."""
        return self._workspace.pick(pending_class.queued, count)

    def respect_reservations(self, pending_class: PendingClass, count: int, picked: Picked) -> Picked:
        """The part of it that leaves reserved room for items ahead alone."""
        if self._reservations is None or not self._reservations.has_items or not len(picked.rows):
            return picked
        timed = self._with_longest_estimate(pending_class, int(picked.counts.sum()))
        ceilings = self._reservations.ceilings(timed)
        if self._reservations.is_cut_short:
            return NO_NODES
        if ceilings:
            allowed = self._workspace.pick(timed, count, ceilings)
            if allowed.counts.sum() < picked.counts.sum():
                self._hold_back(pending_class, timed)
            picked = allowed
        return picked

    def put(self, pending_class: PendingClass, picked: Picked) -> None:
        self._workspace.put(pending_class.queued.task_class, picked)
        if self._reservations is not None and len(picked.rows):
            if self._reservations.has_items:
                self._reservations.record_placement(
                    self._with_longest_estimate(pending_class, int(picked.counts.sum())), picked
                )
            self._placed_counts[pending_class.task_class.id] += int(picked.counts.sum())

    def _with_longest_estimate(self, pending_class: PendingClass, count: int) -> Queued:
        """The longest estimate of the next tasks, after those placed before."""
        if self._longest_s is None:
            return pending_class.queued
        count_so_far = self._placed_counts[pending_class.task_class.id] + count
        return replace(pending_class.queued, estimate_s=self._longest_s(pending_class.task_class.id, count_so_far))

    def admissible_count(self, pending_class: PendingClass, count: int) -> int:
        """How many of `count` tasks queues and licences admit, without what is held for items ahead."""
        return self._held_limits.admissible_count(pending_class, count)

    def block_heads_before(self, pending_class: PendingClass) -> None:
        """Before the turn of a class: blocked classes that are more urgent get their reservation."""
        while self._heads and self._rank(self._heads[-1]) < self._rank(pending_class):
            self.block(self._heads.pop())
        if self._starvable is None:
            starvable = self._queue_limits.starvable() if self._reservations is not None else []
            self._starvable = sorted(starvable, key=self._rank, reverse=True)[-HEADS_MAX:]
        while self._starvable and self._rank(self._starvable[-1]) < self._rank(pending_class):
            self._hold_limits(self._starvable.pop())

    def block(self, pending_class: PendingClass) -> None:
        """The class found too little room. No more is reserved for it than its queue and its licences admit."""
        if (
            self._reservations is None
            or not pending_class.queued.count
            or pending_class.task_class.id in self._planner_memory.held
        ):
            return
        item = self._item(pending_class)
        if self._reservations.has_item(item):
            return
        if item.is_all_or_nothing:
            may_start = self.can_admit(self.members(pending_class))
        else:
            item = Item(
                (replace(pending_class.queued, count=self.admissible_count(pending_class, pending_class.queued.count)),)
            )
            may_start = item.count > 0
        if may_start:
            self._reservations.block(item)

    def _hold_limits(self, pending_class: PendingClass) -> None:
        """For an item that has waited long enough for more than is left of a queue or a licence. Its members come one
        by one, and count once."""
        assert self._reservations is not None
        item, gang = self._item(pending_class), gang_of(pending_class.task_class)
        if (
            pending_class.queued.count
            and not self._reservations.has_item(item)
            and self._reservations.has_waited_long(item)
        ):
            members = self.members(pending_class) if gang else [pending_class]
            first = (each.queued.count if gang else 1 for each in members)
            self._held_limits.hold_for(item, list(zip(members, first, strict=True)))
        self._starvable = [each for each in self._starvable or () if not gang or gang_of(each.task_class) != gang]

    # ---- gangs ----

    def members(self, pending_class: PendingClass) -> list[PendingClass]:
        """All classes of the same gang with tasks to place, the most urgent first."""
        if self._gangs is None:
            self._gangs = {}
            for number in self._backlog.pending_classes.with_rules:
                each = self._backlog.pending_classes.pending_class(number)
                if gang_of(each.task_class):
                    self._gangs.setdefault(gang_of(each.task_class), []).append(each)
        return sorted(
            (each for each in self._gangs[gang_of(pending_class.task_class)] if each.queued.count), key=self._rank
        )

    def can_admit(self, members: Sequence[PendingClass]) -> bool:
        """Whether queues and licences admit the whole gang."""
        return self._held_limits.can_admit([(each, each.queued.count) for each in members])

    def place_gang(self, members: Sequence[PendingClass]) -> ItemPlacement | None:
        """Place all tasks of all members, or none: without the nodes they avoid if possible, else anywhere."""
        item = self._item(members[0])
        tries = [_with_avoided_nodes(item, members), item] if any(each.queued.avoid for each in members) else [item]
        is_held = False
        for each in tries:
            placed, is_reserved = self._place_with_reservations(each)
            if placed is not None or self.is_cut_short:
                return placed
            is_held |= is_reserved
        if is_held:
            for pending_class in members:
                self._hold_back(pending_class, pending_class.queued)
        return None

    def _place_with_reservations(self, item: Item) -> tuple[ItemPlacement | None, bool]:
        """Place it without touching room reserved for items ahead, which is computed only if the gang fits; if it gets
        no room, also return whether that was the reason."""
        cursor = self._workspace.ledger.cursor
        placed = self._place_whole(item)
        if placed is None or self._reservations is None or not self._reservations.has_items:
            return placed, False
        undo_all(placed, self._workspace, cursor)
        has_ceilings = any(self._reservations.ceilings(each) for each in item.members)
        if self._reservations.is_cut_short:
            return None, False
        if not has_ceilings:
            placed = self._place_whole(item)
        else:
            placed = place_gang(item.members, self._workspace, self._reservations.ceilings)
            if placed is not None and not self._reservations.can_admit(placed):
                undo_all(placed, self._workspace, cursor)
                placed = None
        for queued, picked in placed or ():
            self._reservations.record_placement(queued, picked)
        return placed, placed is None

    def _place_whole(self, item: Item) -> ItemPlacement | None:
        """Place it as it fits best; if possible, as in its reservation."""
        placed = place_gang(item.members, self._workspace)
        planned_start = self._planner_memory.reservation_cache.planned_starts.get(key_of(item))
        if placed is None and planned_start is not None and put_if_fits(item, planned_start.placed, self._workspace):
            return planned_start.placed
        return placed

    # ---- the end ----

    def finish(self, decision: Decision) -> None:
        """Set the victims and the reasons. A decision that was cut short has not considered every item, and chooses no
        victims. But if reservations used up its time, their items are ahead of all items not considered."""
        if self._reservations is None:
            return
        if not decision.is_partial:
            while self._heads:
                self.block(self._heads.pop())
            self._reservations.finish()
        if not decision.is_partial or self._reservations.is_cut_short:
            decision.preemptions, is_cut_short = self._reservations.preemptions, self._reservations.is_cut_short
            self._planner_memory.reservation_cache.winners = (
                self._planner_memory.reservation_cache.winners if is_cut_short else {}
            ) | self._reservations.winners
            decision.is_partial |= is_cut_short
        decision.reasons, decision.kept = self._reservations.reasons, self._reservations.held_rows
        decision.again_in_ms = self._again_in_ms()
        self._planner_memory.is_partial = decision.is_partial

    def _again_in_ms(self) -> int | None:
        """Items that were held back, or searched for without success a moment ago, must not wait for the next
        change."""
        assert self._reservations is not None
        planner_memory = self._planner_memory
        if planner_memory.held and tuple(planner_memory.reservation_cache.winners) != planner_memory.winners:
            return 0
        waits = [self._reservations.again_in_ms] if self._reservations.again_in_ms is not None else []
        if self._has_carried_over:
            waits.append(max(planner_memory.held_at_ms + HELD_RETRY_MS - self._now_ms, 1))
        return min(waits, default=None)

    def _wake_held(self) -> None:
        """Wake held-back classes when other items are ahead of them, or after a while; never in the middle of a
        pass."""
        planner_memory, winners = self._planner_memory, tuple(self._planner_memory.reservation_cache.winners)
        if planner_memory.is_partial:
            return
        if planner_memory.held:
            heads = tuple(pending_class.task_class.id for pending_class in self._backlog.first_blocked(HEADS_MAX))
            has_changed = heads != planner_memory.heads or winners != planner_memory.winners
            if has_changed or self._now_ms - planner_memory.held_at_ms >= HELD_RETRY_MS:
                self._backlog.recheck_all_rows(planner_memory.held)
                planner_memory.held.clear()
            planner_memory.heads = heads
        planner_memory.winners = winners

    def _hold_back(self, pending_class: PendingClass, timed: Queued) -> None:
        assert self._reservations is not None
        self._reservations.explain_held(timed)
        if not self._planner_memory.held:
            self._planner_memory.held_at_ms = self._now_ms
        self._planner_memory.held.add(pending_class.task_class.id)

    def _item(self, pending_class: PendingClass) -> Item:
        """A gang may use avoided nodes: otherwise there may never be room for all of it."""
        gang = gang_of(pending_class.task_class)
        if not gang:
            return Item((replace(pending_class.queued),))
        members = [replace(each.queued, avoid=frozenset()) for each in self.members(pending_class)]
        if self._longest_s is not None:
            for each in members:
                each.estimate_s = self._longest_s(each.task_class.id, each.count)
        return Item(tuple(members), gang)

    def _rank(self, pending_class: PendingClass) -> tuple[int, int, int, int]:
        pending_classes, number = self._backlog.pending_classes, pending_class.number
        return (
            pending_classes.urgency.item(number),
            pending_classes.deadline.item(number),
            pending_classes.since.item(number),
            pending_classes.ids.item(number),
        )


def _with_avoided_nodes(item: Item, members: Sequence[PendingClass]) -> Item:
    """Excludes the nodes that its members avoid; both are in the same order."""
    pairs = zip(item.members, members, strict=True)
    return replace(
        item, members=tuple(replace(each, avoid=pending_class.queued.avoid) for each, pending_class in pairs)
    )
