"""Decides whether to retry, and after how long. Pure: the caller passes in the clock and random numbers. Called by the
core."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shunter.sdk.errors import ConnectionLost, NotReachable, ShunterError, Unavailable

PATIENCE_S = 30.0
DELAY_FIRST_S = 0.05
DELAY_MAX_S = 2.0
DOUBLINGS_MAX = 10

Clock = Callable[[], float]
Random = Callable[[], float]


@dataclass(slots=True)
class Patience:
    """One outage: it begins with the first failure, and `reset` ends it."""

    clock: Clock
    random: Random
    limit_s: float = PATIENCE_S
    _since: float | None = None
    _failures: int = 0

    def delay_s(self, error: ShunterError, reached: bool) -> float:
        """How long to wait before the next try; raises `error` where another try is of no use.

        `reached` says that the cluster has answered this client before: one that was never there is not waited for.
        """
        if not isinstance(error, Unavailable) or (isinstance(error, NotReachable) and not reached):
            raise error
        now = self.clock()
        if self._since is None:
            self._since = now
        delay_s = self._next_delay_s(error)
        if now + delay_s > self._since + self.limit_s:
            raise error
        self._failures += 1
        return delay_s

    def reset(self) -> None:
        self._since, self._failures = None, 0

    def _next_delay_s(self, error: Unavailable) -> float:
        if isinstance(error, ConnectionLost) and self._failures == 0:
            return 0.0  # most often an idle connection that the cluster had closed: a new one will do
        backoff_s = min(DELAY_MAX_S, DELAY_FIRST_S * 2.0 ** min(self._failures, DOUBLINGS_MAX))
        requested_s = 0.0 if isinstance(error, ConnectionLost | NotReachable) else error.retry_after_s
        return max(backoff_s * (0.5 + self.random() / 2), requested_s)


@dataclass(frozen=True, slots=True)
class Deadline:
    """The end of a caller's own time, by the same clock; `at` None: there is none."""

    clock: Clock
    at: float | None = None

    @staticmethod
    def after(clock: Clock, timeout_s: float | None) -> Deadline:
        return Deadline(clock, None if timeout_s is None else clock() + timeout_s)

    def left_s(self, at_most_s: float | None = None) -> float | None:
        """The time that is left, None without a deadline and a limit. Raises TimeoutError when it is over."""
        if self.at is None:
            return at_most_s
        left_s = self.at - self.clock()
        if left_s <= 0:
            raise TimeoutError("timed out")
        return left_s if at_most_s is None else min(left_s, at_most_s)
