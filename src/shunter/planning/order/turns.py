"""Decides whose turn it is and for how many tasks: the order stage. Created by the planner for each decision.

Ranks are served one after the other. Within a rank, parties (tenants, and namespaces without a tenant) take turns by
their share, the users of a party take turns by theirs, and the classes of a user are served by their wait. A turn lasts
until the next one would be due."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from shunter.planning.order.backlog import Backlog
from shunter.planning.order.fair_share import FairShare, Owner
from shunter.planning.order.pending_classes import PendingClass, PendingClassTable
from shunter.planning.order.queue_limits import QueueLimits
from shunter.planning.view import IntArray

Key = tuple[int, int, int, int, int]  # urgency, deadline, level of the share, since, class id: the least goes first


class Turn(NamedTuple):
    pending_class: PendingClass
    quantum: int | None  # tasks until another party goes first; None while no other party is in line


@dataclass(slots=True, eq=False)
class TurnGroup:
    """Classes of one user, or of one strict queue, that are served one after the other."""

    number: int  # negative for a strict queue
    remaining: list[int]  # numbers of classes; the first is at the end of the list
    pending_classes: PendingClassTable

    @property
    def first(self) -> PendingClass:
        return self.pending_classes.pending_class(self.remaining[-1])

    @property
    def user(self) -> Owner:
        task_class = self.first.task_class
        return task_class.namespace, task_class.user

    @property
    def namespace(self) -> Owner:
        return self.first.task_class.namespace, None

    def key(self, level: int) -> Key:
        """In a strict queue, a class behind the one that held it back may be more urgent than the others of the
        rank."""
        pending_class, number = self.first, self.remaining[-1]
        urgency, deadline = self.pending_classes.urgency.item(number), self.pending_classes.deadline.item(number)
        return urgency, deadline, level, pending_class.queued.since, pending_class.task_class.id


class Turns:
    """All classes that may go, sorted once. The planner reports by `end_turn` how a turn ended."""

    def __init__(self, backlog: Backlog, queue_limits: QueueLimits, fair_share: FairShare) -> None:
        self._backlog = backlog
        self._queue_limits = queue_limits
        self._fair_share = fair_share
        self.rebuild()

    def rebuild(self) -> None:
        """Build the order again, without classes that cannot go any more."""
        self._blocked_queues: set[int] = set()  # strict queues whose first class must wait
        self._all_rank_turns = self._sort_by_rank()
        self._rank_turns: RankTurns | None = None

    def next(self) -> Turn | None:
        while True:
            turn = self._rank_turns.next() if self._rank_turns is not None else None
            if turn is not None:
                return turn
            self._rank_turns = next(self._all_rank_turns, None)
            if self._rank_turns is None:
                return None

    def end_turn(self, has_to_wait: bool) -> None:
        """The class of the last turn is done for now: all its tasks are placed, or the rest must wait."""
        assert self._rank_turns is not None, "there must have been a turn"
        turn_group = self._rank_turns.turn_group
        if has_to_wait and turn_group.number < 0:
            self._blocked_queues.add(turn_group.number)
            turn_group.remaining.clear()
        else:
            turn_group.remaining.pop()

    def _sort_by_rank(self) -> Iterator[RankTurns]:
        """The turns of all ranks, the most urgent first."""
        pending_classes, ready = self._backlog.pending_classes, self._queue_limits.within_limits(self._backlog.ready())
        urgency, deadline, turn_group = pending_classes.urgency, pending_classes.deadline, pending_classes.turn_group
        strict_queues = self._queue_limits.strict_queue_order(ready)
        if strict_queues:
            ready = self._queue_limits.not_in_strict_queues(ready)
            urgency, deadline, turn_group = urgency.copy(), deadline.copy(), turn_group.copy()
            for number, remaining in enumerate(strict_queues):
                ready[remaining] = True
                turn_group[remaining] = -1 - number
                urgency[remaining], deadline[remaining] = _worst_so_far(urgency[remaining], deadline[remaining])
        numbers = np.flatnonzero(ready)
        keys = (pending_classes.ids, pending_classes.since, turn_group, deadline, urgency)
        numbers = numbers[np.lexsort([column[numbers] for column in keys])]
        is_new_rank = (np.diff(urgency[numbers]) != 0) | (np.diff(deadline[numbers]) != 0)
        for first, end in pairwise([0, *(np.flatnonzero(is_new_rank) + 1).tolist(), len(numbers)]):
            if first < end:
                yield RankTurns(self._turn_groups(numbers[first:end], turn_group[numbers[first:end]]), self._fair_share)

    def _turn_groups(self, numbers: IntArray, turn_group: IntArray) -> list[TurnGroup]:
        remaining, pending_classes = numbers.tolist(), self._backlog.pending_classes
        cuts = [0, *(np.flatnonzero(np.diff(turn_group)) + 1).tolist(), len(remaining)]
        turn_groups = [
            TurnGroup(int(turn_group[first]), remaining[first:end][::-1], pending_classes)
            for first, end in pairwise(cuts)
        ]
        return [each for each in turn_groups if each.number not in self._blocked_queues]


class RankTurns:
    """The parties of one rank. With a single one there is nothing to compare, and no share is computed.

    Shares only rise during a decision. So an earlier key can only be too low: the first party by such keys is asked for
    its true key, and goes only if that is still the least."""

    def __init__(self, turn_groups: list[TurnGroup], fair_share: FairShare) -> None:
        self._fair_share = fair_share
        self._only_group = turn_groups[0] if len(turn_groups) == 1 else None
        if turn_groups:
            self.turn_group = turn_groups[0]
        if self._only_group is not None:
            return
        by_party: dict[object, list[TurnGroup]] = {}
        for each in turn_groups:
            party = fair_share.party_of(each.first.task_class.namespace)
            by_party.setdefault(each.number if each.number < 0 else party, []).append(each)
        all_party_turns = [PartyTurns(members, fair_share) for members in by_party.values()]
        if len(all_party_turns) == 1:
            self._heap = [((0, 0, 0, 0, 0), all_party_turns[0])]
        else:
            self._heap = [(key, each) for each in all_party_turns if (key := each.key(is_alone=False)) is not None]
            heapq.heapify(self._heap)

    def next(self) -> Turn | None:
        if self._only_group is not None:
            return Turn(self._only_group.first, None) if self._only_group.remaining else None
        while self._heap:
            known, party_turns = self._heap[0]
            key = party_turns.key(is_alone=len(self._heap) == 1)
            if key is None:
                heapq.heappop(self._heap)
            elif key != known:
                heapq.heapreplace(self._heap, (key, party_turns))
            else:
                self.turn_group = party_turns.first
                return Turn(self.turn_group.first, self._quantum(party_turns, key))
        return None

    def _quantum(self, party_turns: PartyTurns, key: Key) -> int | None:
        quantum = party_turns.quantum()
        if len(self._heap) > 1:
            rival = min(self._heap[1:3])[0]
            most = _tasks_until(rival, key, self.turn_group.namespace, self.turn_group.first, self._fair_share)
            quantum = most if quantum is None or (most is not None and most < quantum) else quantum
        return quantum


class PartyTurns:
    """One party with its users, or one strict queue, which counts as its first class."""

    def __init__(self, turn_groups: list[TurnGroup], fair_share: FairShare) -> None:
        self._fair_share = fair_share
        self._heap = [(each.key(self._level(each, len(turn_groups))), each) for each in turn_groups]
        heapq.heapify(self._heap)

    @property
    def first(self) -> TurnGroup:
        return self._heap[0][1]

    def key(self, is_alone: bool) -> Key | None:
        """Its key among the parties; None if it has nothing left."""
        while self._heap:
            known, turn_group = self._heap[0]
            if not turn_group.remaining:
                heapq.heappop(self._heap)
                continue
            key = turn_group.key(self._level(turn_group, len(self._heap)))
            if key == known:
                return turn_group.key(0 if is_alone else self._fair_share.level(turn_group.namespace))
            heapq.heapreplace(self._heap, (key, turn_group))
        return None

    def quantum(self) -> int | None:
        """How many tasks its first user may place before the next one's turn."""
        if len(self._heap) == 1:
            return None
        key, turn_group = self._heap[0]
        return _tasks_until(min(self._heap[1:3])[0], key, turn_group.user, turn_group.first, self._fair_share)

    def _level(self, turn_group: TurnGroup, rival_count: int) -> int:
        return self._fair_share.level(turn_group.user) if rival_count > 1 else 0


def _tasks_until(rival: Key, mine: Key, owner: Owner, pending_class: PendingClass, fair_share: FairShare) -> int | None:
    """The number of tasks after which a rival's key is smaller; None while the rival is less urgent."""
    if mine[:2] < rival[:2]:
        return None
    level = rival[2] + 1 if mine[3:] < rival[3:] else rival[2]
    return fair_share.tasks_until_level(level, owner, pending_class.needs)


def _worst_so_far(urgency: IntArray, deadline: IntArray) -> tuple[IntArray, IntArray]:
    """For each position in a line, the rank of the least urgent class up to it."""
    order = np.lexsort((deadline, urgency))
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    worst = order[np.maximum.accumulate(position)]
    return urgency[worst], deadline[worst]
