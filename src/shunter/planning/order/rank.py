"""Ranks classes: priority with ageing, then the earlier deadline. Called by the backlog.

Every pending class gains one point of priority per age step, without limit, so that none starves: a class that has
waited for a hundred steps goes before any newcomer. Points are whole numbers. Within one point, deadlines and then
shares decide. All classes gain points at the same pace, so the order of two classes never changes while they wait, and
nothing is sorted again. For this, a step counts when the clock passes it, not one step after the class arrived."""

from __future__ import annotations

from collections.abc import Callable

from shunter.planning.view import Queued

AGE_STEP_MS = 30_000  # of waiting, for one point of priority
NO_DEADLINE = 2**62

Rank = tuple[int, int]  # the lower one goes first; for equal ones fair share decides, then the longer wait
RankFunction = Callable[[Queued], Rank]


def by_urgency(queued: Queued) -> Rank:
    """The built-in order."""
    points = queued.task_class.priority - queued.since_ms // AGE_STEP_MS
    return -points, queued.task_class.deadline_ms or NO_DEADLINE
