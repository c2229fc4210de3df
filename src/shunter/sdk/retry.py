"""Decides whether to retry, and after how long. Pure: the caller passes in the clock and random numbers. Called by the
core."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from shunter.sdk.errors import (
    Busy,
    ConnectionLost,
    NoApi,
    NotLeader,
    NotReachable,
    ShunterError,
    StreamEnded,
    Unavailable,
)

PATIENCE_S = 30.0
DELAY_FIRST_S = 0.05
DELAY_MAX_S = 2.0
DOUBLINGS_MAX = 10
PASS_DELAY_MAX_S = 0.25  # after all managers of a cluster were asked: a fail-over takes 2 to 3 s

Clock = Callable[[], float]
Random = Callable[[], float]


@dataclass(slots=True)
class Patience:
    """One outage: it begins with the first failure, and `reset` ends it.

    If the cluster has several managers, the caller asks the next one after each failure. It asks all of them without a
    pause, and pauses briefly after each such pass."""

    clock: Clock
    random: Random
    limit_s: float = PATIENCE_S
    managers: int = 1
    _since: float | None = None
    _failures: int = 0
    _unreached: list[NotReachable] = field(default_factory=list)  # the last failures, while they are all of this kind

    def delay_s(self, error: ShunterError, reached: bool) -> float:
        """How long to wait before the next try; raises `error` where another try is of no use.

        `reached` says that the cluster has answered this client before: one that was never there is not waited for.
        """
        if not isinstance(error, Unavailable) or (isinstance(error, NoApi) and self.managers == 1):
            raise error
        self._unreached = [*self._unreached, error][-self.managers :] if isinstance(error, NotReachable) else []
        if len(self._unreached) == self.managers and not reached:
            raise self._last_error(error)
        now = self.clock()
        if self._since is None:
            self._since = now
        delay_s = self._next_delay_s(error)
        is_first_pass = self._failures + 1 < self.managers and delay_s == 0
        if now + delay_s > self._since + self.limit_s and not is_first_pass:
            raise self._last_error(error)
        self._failures += 1
        return delay_s

    def reset(self) -> None:
        self._since, self._failures, self._unreached = None, 0, []

    def _last_error(self, error: Unavailable) -> Unavailable:
        """The error to raise. If several managers cannot be reached, it names all of them."""
        if self.managers == 1 or len(self._unreached) < self.managers:
            return error
        each = ", ".join(sorted({unreached.detail for unreached in self._unreached}))
        return NotReachable(f"no manager of the cluster can be reached: {each}; check SHUNTER_URL")

    def _next_delay_s(self, error: Unavailable) -> float:
        if self.managers > 1 and not isinstance(error, Busy | StreamEnded):
            return self._next_pass_delay_s(error)
        if isinstance(error, ConnectionLost) and self._failures == 0:
            return 0.0  # most often an idle connection that the cluster had closed: a new one will do
        backoff_s = min(DELAY_MAX_S, DELAY_FIRST_S * 2.0 ** min(self._failures, DOUBLINGS_MAX))
        requested_s = 0.0 if isinstance(error, ConnectionLost | NotReachable) else error.retry_after_s
        return max(backoff_s * (0.5 + self.random() / 2), requested_s)

    def _next_pass_delay_s(self, error: Unavailable) -> float:
        """The time that a manager without a leader asks for does not count: the next leader may be there before."""
        passes, remaining = divmod(self._failures + 1, self.managers)
        if remaining:
            return 0.0
        backoff_s = min(PASS_DELAY_MAX_S, DELAY_FIRST_S * 2.0 ** min(passes - 1, DOUBLINGS_MAX))
        requested_s = 0.0 if isinstance(error, ConnectionLost | NotReachable | NotLeader) else error.retry_after_s
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
