"""Tracks how long a worker has been without contact with a manager, and which of its tasks must stop because of that.
Used by real and by simulated workers. Pure: callers pass in the time of a clock that never jumps.

The last contact is the time at which the worker *sent* the last Ping that a manager has answered. A manager declares a
node down later than that, so it may count `stop_after_s` from that moment. For the same reason a worker carries out
orders of such tasks only after recent contact: an order may have been under way for a long time."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from shunter.model.protocol.worker_messages import Orders, Ping, Pong

PINGS_PER_STOP_AFTER = 4
PING_EVERY_MAX_S = 1.0
UNANSWERED_MAX = 100

TaskKey = tuple[int, int]  # job and group


class Contact:
    """`stop_after_s` has the tasks that this worker has, or may have, with their limits."""

    def __init__(self) -> None:
        self.at_s: float | None = None
        self.stop_after_s: dict[TaskKey, float] = {}
        self._number = 0
        self._sent_at_s: dict[int, float] = {}  # by number, of pings on the present connection

    def accept(self, orders: Orders, now_s: float) -> bool:
        """Whether the orders may be carried out now; if so, their limits are noted."""
        limits = {
            (order.job, order.group): stop_after_s
            for order in orders.orders
            if (stop_after_s := orders.specs[order.spec].stop_after_s)
        }
        if not limits:
            return True
        if self.at_s is None or now_s - self.at_s > min(limits.values()) / 2:
            return False
        self.stop_after_s.update(limits)
        return True

    def ping(self, now_s: float) -> Ping:
        self._number += 1
        self._sent_at_s[self._number] = now_s
        if len(self._sent_at_s) > UNANSWERED_MAX:
            del self._sent_at_s[next(iter(self._sent_at_s))]
        return Ping(self._number)

    def answered(self, pong: Pong) -> bool:
        """Whether there was contact."""
        sent_at_s = self._sent_at_s.pop(pong.number, None)
        if sent_at_s is None:
            return False
        self.at_s = sent_at_s if self.at_s is None else max(self.at_s, sent_at_s)
        return True

    def disconnected(self) -> None:
        self._sent_at_s.clear()

    def overdue(self, now_s: float) -> list[TaskKey]:
        """Tasks that must not run any longer."""
        if self.at_s is None:
            return []
        return [key for key, stop_after_s in self.stop_after_s.items() if now_s - self.at_s >= stop_after_s]

    def forget_all_but(self, held: Collection[TaskKey]) -> None:
        """Tasks that the worker does not have any more need no contact."""
        for key in [key for key in self.stop_after_s if key not in held]:
            del self.stop_after_s[key]

    @property
    def ping_every_s(self) -> float:
        return ping_every_s(self.stop_after_s.values())


def ping_every_s(limits_s: Iterable[float]) -> float:
    return min([PING_EVERY_MAX_S, *(limit_s / PINGS_PER_STOP_AFTER for limit_s in limits_s)])
