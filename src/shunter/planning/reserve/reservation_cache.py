"""Results that reservations reuse from one decision to the next. The cache may be dropped at any time. Written by
`reservations`, held by the planner."""

from __future__ import annotations

from dataclasses import dataclass, field

from shunter.planning.reserve.backfill import PlannedStart
from shunter.planning.reserve.preemption import SuspendedAttempt

FAILED_SEARCH_RETRY_MS = 1_000  # an item for which no victims were found is searched for again after this time


@dataclass(slots=True)
class ReservationCache:
    """Keys are those of `reservations.key_of`."""

    planned_starts: dict[int, PlannedStart] = field(default_factory=dict)  # of one item at most
    failed_searches: dict[int, int] = field(default_factory=dict)  # key -> when no victims were found
    nodes: int = 0  # nodes that accepted work then: results for these do not hold for more
    winners: dict[int, int] = field(default_factory=dict)  # class for which others are preempted -> how many tasks
    suspended: dict[int, SuspendedAttempt] = field(default_factory=dict)  # searches that the next decision continues

    def copy(self) -> ReservationCache:
        return ReservationCache(
            dict(self.planned_starts), dict(self.failed_searches), self.nodes, dict(self.winners), dict(self.suspended)
        )

    def sync_nodes(self, nodes: int) -> None:
        """This many nodes accept work now. Additional ones may have victims for every item."""
        if nodes > self.nodes:
            self.failed_searches.clear()
        self.nodes = nodes

    def retry_in_ms(self, key: int, now_ms: int) -> int:
        """How long an item waits for the next search; 0 or less: it may be searched for now."""
        failed_ms = self.failed_searches.get(key)
        return 0 if failed_ms is None else failed_ms + FAILED_SEARCH_RETRY_MS - now_ms

    def expire(self, now_ms: int) -> None:
        self.failed_searches = {
            key: failed_ms for key, failed_ms in self.failed_searches.items() if self.retry_in_ms(key, now_ms) > 0
        }
