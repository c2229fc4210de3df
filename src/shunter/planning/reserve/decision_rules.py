"""What a decision minds besides prices: rules that couple tasks, gangs, and room that is claimed.

Made by the planner for each decision. Classes that none of it concerns cost a few comparisons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from shunter.planning.order.backlog import Backlog
from shunter.planning.order.class_table import Seat
from shunter.planning.order.queue_limits import Gates
from shunter.planning.reserve.backfill import put_again
from shunter.planning.reserve.held_limits import Limits
from shunter.planning.reserve.reservations import Claims, Memory, Patience, key_of
from shunter.planning.score.gangs import Item, Placed, gang_of, place_gang, take_all_back
from shunter.planning.score.pick import Picked
from shunter.planning.score.workspace import NOWHERE, Site
from shunter.planning.view import ClusterView, Decision, Queued, TaskClass

HEADS_MAX = 16  # blocked classes of earlier decisions that are looked at; those of one gang count each
HELD_AGAIN_MS = 1_000  # after so long, whoever was held back looks at all rows again


@dataclass(slots=True)
class Recall:
    """What a planner remembers about claims between decisions. It is a hint: without it, only work is done twice."""

    memory: Memory = field(default_factory=Memory)
    held: set[int] = field(default_factory=set)  # classes that were held back by a claim
    heads: tuple[int, ...] = ()  # the blocked classes for whose sake
    held_at_ms: int = 0
    winners: tuple[int, ...] = ()  # for whose sake others were ending when the held ones last looked
    is_partial: bool = False

    def copy(self) -> Recall:
        return replace(self, memory=self.memory.copy(), held=set(self.held))


class Companions:
    def __init__(
        self,
        view: ClusterView,
        now_ms: int,
        backlog: Backlog,
        gates: Gates,
        site: Site,
        patience: Patience,
        recall: Recall,
    ) -> None:
        self._backlog = backlog
        self._gates = gates
        self._site = site
        self._recall = recall
        self._now_ms = now_ms
        self._gangs: dict[int, list[Seat]] | None = None
        self._longest_s = view.longest_s
        self._taken: Counter[int] = Counter()  # class id -> tasks that this decision placed
        self._claims = Claims(view, site, now_ms, patience, recall.memory) if view.running is not None else None
        self._limits = Limits(gates, self._claims, lambda class_id: backlog.seats.by_class[class_id])
        self._short: list[Seat] | None = None  # who may need more at once of a limit than is left, the most urgent last
        self._heads: list[Seat] = []  # blocked by earlier decisions, the most urgent last
        self._has_carried = False  # some are held back as an earlier decision left them
        if self._claims is not None:
            self._wake_held()
            self._has_carried = bool(recall.held)
            self._heads = backlog.first_blocked(HEADS_MAX)[::-1]

    @property
    def is_cut(self) -> bool:
        """Whether claims have had their share of this decision: who comes behind them has to wait for the next."""
        return self._claims is not None and self._claims.is_cut

    def winners(self) -> list[tuple[Seat, int]]:
        """Those for whose sake others are ending, and for how many tasks: they go before everybody.

        Otherwise whoever has waited longer would take the room, victims included, and others would end again and again.
        """
        by_class = self._backlog.seats.by_class
        winners = self._recall.memory.winners if self._claims is not None else {}
        self._backlog.look_again(winners)
        return [(by_class[each], count) for each, count in winners.items() if each in by_class]

    # ---- a class by itself ----

    def couples(self, task_class: TaskClass) -> bool:
        return self._site.couplings.couples(task_class)

    def pick(self, seat: Seat, count: int) -> Picked:
        """The nodes for a class that rules couple to others."""
        return self._site.pick(seat.queued, count)

    def leave_claims(self, seat: Seat, count: int, picked: Picked) -> Picked:
        """What of it may be had beside what items ahead have claimed."""
        if self._claims is None or not self._claims.has_items or not len(picked.rows):
            return picked
        asked = self._timed(seat, int(picked.counts.sum()))
        ceilings = self._claims.ceilings(asked)
        if self._claims.is_cut:
            return NOWHERE
        if ceilings:
            allowed = self._site.pick(asked, count, ceilings)
            if allowed.counts.sum() < picked.counts.sum():
                self._hold_back(seat, asked)
            picked = allowed
        return picked

    def put(self, seat: Seat, picked: Picked) -> None:
        self._site.put(seat.queued.task_class, picked)
        if self._claims is not None and len(picked.rows):
            if self._claims.has_items:
                self._claims.note(self._timed(seat, int(picked.counts.sum())), picked)
            self._taken[seat.task_class.id] += int(picked.counts.sum())

    def _timed(self, seat: Seat, count: int) -> Queued:
        """With the longest estimate of so many that would go next, after what was placed before."""
        if self._longest_s is None:
            return seat.queued
        next_ones = self._taken[seat.task_class.id] + count
        return replace(seat.queued, estimate_s=self._longest_s(seat.task_class.id, next_ones))

    def most(self, seat: Seat, count: int) -> int:
        """How many of `count` tasks queues and licences let through, beside what items ahead are to use of them."""
        return self._limits.most(seat, count)

    def pass_heads(self, seat: Seat) -> None:
        """Before the turn of a seat: whoever was blocked before and is more urgent has its claim."""
        while self._heads and self._rank(self._heads[-1]) < self._rank(seat):
            self.block(self._heads.pop())
        if self._short is None:
            short = self._gates.short() if self._claims is not None else []
            self._short = sorted(short, key=self._rank, reverse=True)[-HEADS_MAX:]
        while self._short and self._rank(self._short[-1]) < self._rank(seat):
            self._keep_limits(self._short.pop())

    def block(self, seat: Seat) -> None:
        """The seat found too little room. It has a claim to no more than its queue and its licences let through."""
        if self._claims is None or not seat.queued.count or seat.task_class.id in self._recall.held:
            return
        item = self._item(seat)
        if self._claims.knows(item):
            return
        if item.is_whole:
            may_start = self.admit(self.members(seat))
        else:
            item = Item((replace(seat.queued, count=self.most(seat, seat.queued.count)),))
            may_start = item.count > 0
        if may_start:
            self._claims.block(item)

    def _keep_limits(self, seat: Seat) -> None:
        """For an item that has waited long enough for more than is left of a queue or a licence. Its members come one
        by one, and count once."""
        assert self._claims is not None
        item, gang = self._item(seat), gang_of(seat.task_class)
        if seat.queued.count and not self._claims.knows(item) and self._claims.has_waited_long(item):
            members = self.members(seat) if gang else [seat]
            first = (each.queued.count if gang else 1 for each in members)
            self._limits.keep(item, list(zip(members, first, strict=True)))
        self._short = [each for each in self._short or () if not gang or gang_of(each.task_class) != gang]

    # ---- gangs ----

    def members(self, seat: Seat) -> list[Seat]:
        """All seats of the same gang with tasks to place, the most urgent first."""
        if self._gangs is None:
            self._gangs = {}
            for number in self._backlog.seats.coupled:
                each = self._backlog.seats.seat(number)
                if gang_of(each.task_class):
                    self._gangs.setdefault(gang_of(each.task_class), []).append(each)
        return sorted((each for each in self._gangs[gang_of(seat.task_class)] if each.queued.count), key=self._rank)

    def admit(self, members: Sequence[Seat]) -> bool:
        """Whether queues and licences let all of a gang through."""
        return self._limits.admit([(each, each.queued.count) for each in members])

    def place_gang(self, members: Sequence[Seat]) -> Placed | None:
        """Put all tasks of all members, or none: off the nodes that they are to avoid if that can be, else anywhere."""
        item = self._item(members[0])
        tries = [_avoiding(item, members), item] if any(each.queued.avoid for each in members) else [item]
        is_held = False
        for each in tries:
            placed, is_claimed = self._place_beside(each)
            if placed is not None or self.is_cut:
                return placed
            is_held |= is_claimed
        if is_held:
            for seat in members:
                self._hold_back(seat, seat.queued)
        return None

    def _place_beside(self, item: Item) -> tuple[Placed | None, bool]:
        """Beside what items ahead have claimed, which is worked out only if the gang fits; else whether that was it."""
        cursor = self._site.ledger.cursor
        placed = self._place_whole(item)
        if placed is None or self._claims is None or not self._claims.has_items:
            return placed, False
        take_all_back(placed, self._site, cursor)
        has_ceilings = any(self._claims.ceilings(each) for each in item.members)
        if self._claims.is_cut:
            return None, False
        if not has_ceilings:
            placed = self._place_whole(item)
        else:
            placed = place_gang(item.members, self._site, self._claims.ceilings)
            if placed is not None and not self._claims.admit(placed):
                take_all_back(placed, self._site, cursor)
                placed = None
        for queued, picked in placed or ():
            self._claims.note(queued, picked)
        return placed, placed is None

    def _place_whole(self, item: Item) -> Placed | None:
        """As it fits best; if at all possible, as it was once promised."""
        placed = place_gang(item.members, self._site)
        promise = self._recall.memory.promised.get(key_of(item))
        if placed is None and promise is not None and put_again(item, promise.placed, self._site):
            return promise.placed
        return placed

    # ---- the end ----

    def finish(self, decision: Decision) -> None:
        """Name the victims and the reasons. A decision that was cut short has not seen everybody, and names none; but
        where claims took its time, whoever they were found for is ahead of all who have not been seen."""
        if self._claims is None:
            return
        if not decision.is_partial:
            while self._heads:
                self.block(self._heads.pop())
            self._claims.finish()
        if not decision.is_partial or self._claims.is_cut:
            decision.preemptions, is_cut = self._claims.preemptions, self._claims.is_cut
            self._recall.memory.winners = (self._recall.memory.winners if is_cut else {}) | self._claims.winners
            decision.is_partial |= is_cut
        decision.reasons, decision.kept = self._claims.reasons, self._claims.kept
        decision.again_in_ms = self._again_in_ms()
        self._recall.is_partial = decision.is_partial

    def _again_in_ms(self) -> int | None:
        """Whoever was held back, or was looked for in vain a moment ago, must not wait for the next change to come."""
        assert self._claims is not None
        recall = self._recall
        if recall.held and tuple(recall.memory.winners) != recall.winners:
            return 0
        waits = [self._claims.again_in_ms] if self._claims.again_in_ms is not None else []
        if self._has_carried:
            waits.append(max(recall.held_at_ms + HELD_AGAIN_MS - self._now_ms, 1))
        return min(waits, default=None)

    def _wake_held(self) -> None:
        """Whoever was held back looks again when others are ahead of it, or after a while; never midway in a pass."""
        recall, winners = self._recall, tuple(self._recall.memory.winners)
        if recall.is_partial:
            return
        if recall.held:
            heads = tuple(seat.task_class.id for seat in self._backlog.first_blocked(HEADS_MAX))
            has_changed = heads != recall.heads or winners != recall.winners
            if has_changed or self._now_ms - recall.held_at_ms >= HELD_AGAIN_MS:
                self._backlog.look_again(recall.held)
                recall.held.clear()
            recall.heads = heads
        recall.winners = winners

    def _hold_back(self, seat: Seat, asked: Queued) -> None:
        assert self._claims is not None
        self._claims.hold_back(asked)
        if not self._recall.held:
            self._recall.held_at_ms = self._now_ms
        self._recall.held.add(seat.task_class.id)

    def _item(self, seat: Seat) -> Item:
        """A gang may go anywhere: elsewhere there may never be room for all of it."""
        gang = gang_of(seat.task_class)
        if not gang:
            return Item((replace(seat.queued),))
        members = [replace(each.queued, avoid=frozenset()) for each in self.members(seat)]
        if self._longest_s is not None:
            for each in members:
                each.estimate_s = self._longest_s(each.task_class.id, each.count)
        return Item(tuple(members), gang)

    def _rank(self, seat: Seat) -> tuple[int, int, int, int]:
        seats, number = self._backlog.seats, seat.number
        return (
            seats.urgency.item(number),
            seats.deadline.item(number),
            seats.since.item(number),
            seats.ids.item(number),
        )


def _avoiding(item: Item, members: Sequence[Seat]) -> Item:
    """As its members wish, which are in the same order."""
    wishes = zip(item.members, members, strict=True)
    return replace(item, members=tuple(replace(each, avoid=seat.queued.avoid) for each, seat in wishes))
