"""Places gangs: classes that start together or not at all, also across groups. The planner calls it when the first
class of a gang has its turn; preemption and backfill try gangs on scratch copies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from shunter.planning.filter.colocation import is_one_per_node
from shunter.planning.score.pick import Picked
from shunter.planning.score.workspace import Ceiling, Workspace
from shunter.planning.view import Queued, TaskClass

ItemPlacement = list[tuple[Queued, Picked]]
Ceilings = Callable[[Queued], Sequence[Ceiling]]  # room that a member must leave alone


@dataclass(frozen=True, slots=True)
class Item:
    """A unit of placement: a gang with all its classes, or a class of independent tasks."""

    members: tuple[Queued, ...]
    gang: int = 0

    @property
    def count(self) -> int:
        return sum(each.count for each in self.members)

    @property
    def priority(self) -> int:
        """The priority of the least important member, so that no task is preempted for a less important one."""
        return min(each.task_class.priority for each in self.members)

    @property
    def since_ms(self) -> int:
        return min(each.since_ms for each in self.members)

    @property
    def is_all_or_nothing(self) -> bool:
        """Whether it needs all of its tasks placed, or takes what it gets."""
        return self.gang > 0


def no_ceilings(_: Queued) -> Sequence[Ceiling]:
    return ()


def gang_of(task_class: TaskClass) -> int:
    """The number of its gang; 0 if it has none."""
    return task_class.rules.gang if task_class.rules is not None else 0


def place_gang(
    members: Sequence[Queued], workspace: Workspace, ceilings: Ceilings = no_ceilings
) -> ItemPlacement | None:
    """Place all tasks of all members in the workspace, or leave it unchanged and return None.

    First as the policy would, member by member. A policy that spreads tasks may leave no node with room for large ones,
    so the second try packs them, the largest first; the third one starts with those that have the least choice. A
    perfect packing is not attempted, because it takes too long."""
    if not may_fit(members, workspace):
        return None
    placed = _place_all(members, workspace, ceilings)
    if placed is None and (len(members) > 1 or workspace.score.name != "bin-pack"):
        largest = largest_first(members, workspace)
        placed = _place_all(largest, workspace.with_bin_packing(), ceilings)
        by_choice = least_choice_first(largest, workspace) if placed is None else largest
        if by_choice != largest:
            placed = _place_all(by_choice, workspace.with_bin_packing(), ceilings)
    return placed


def may_fit(members: Sequence[Queued], workspace: Workspace) -> bool:
    """Whether each class alone has enough room: a quick check that rejects most gangs that cannot start."""
    ledger = workspace.ledger
    rows = np.flatnonzero(ledger.eligible[: ledger.count])
    for each in members:
        if any(resource not in ledger.column for resource in each.task_class.needs):
            return False
        if int(np.maximum(ledger.room(each.task_class, rows, each.count), 0).sum()) < each.count:
            return False
    return True


def _place_all(members: Sequence[Queued], workspace: Workspace, ceilings: Ceilings) -> ItemPlacement | None:
    cursor = workspace.ledger.cursor
    placed: ItemPlacement = []
    for queued in members:
        picked = workspace.pick(queued, queued.count, ceilings(queued))
        if int(picked.counts.sum()) < queued.count:
            undo_all(placed, workspace, cursor)
            return None
        workspace.put(queued.task_class, picked)
        placed.append((queued, picked))
    return placed


def undo_all(placed: ItemPlacement, workspace: Workspace, cursor: int) -> None:
    """Undo everything placed since round-robin's cursor stood at that row."""
    for queued, picked in reversed(placed):
        workspace.undo_put(queued.task_class, picked)
    workspace.ledger.cursor = cursor
    workspace.ledger.tighten()


def largest_first(members: Sequence[Queued], workspace: Workspace) -> list[Queued]:
    """By the share of the largest node that one task takes."""
    return sorted(members, key=lambda each: -_size(each, workspace))


def least_choice_first(members: Sequence[Queued], workspace: Workspace) -> list[Queued]:
    """By how many more of them would have room alone. Of distinct tasks a node takes one."""
    ledger = workspace.ledger
    rows = np.flatnonzero(ledger.eligible[: ledger.count])

    def choice(queued: Queued) -> int:
        most = 1 if is_one_per_node(queued.task_class.rules) else queued.count
        return int(np.clip(ledger.room(queued.task_class, rows, most), 0, most).sum()) - queued.count

    return sorted(members, key=choice)


def _size(queued: Queued, workspace: Workspace) -> float:
    ledger, needs = workspace.ledger, queued.task_class.needs
    if any(resource not in ledger.column for resource in needs):
        return math.inf
    return max((need / max(int(ledger.capacity(resource).max()), 1) for resource, need in needs.items()), default=0.0)
