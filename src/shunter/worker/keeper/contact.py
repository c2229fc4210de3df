"""Decides when tasks with `stop_after_s` must stop although their worker has not stopped them: its process may be
paused or dead. Used by `keeper.lane` and `keeper.runner`.

The worker says when it was last in contact with a manager, by the clock of the machine since boot. Both read that
clock; changes of the date do not matter, and time in suspension counts."""

from __future__ import annotations

from time import CLOCK_BOOTTIME, clock_gettime

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

NO_CONTACT = "its worker had no contact with the manager for "
MARGIN_S = 2.0  # for the worker to stop them itself; with the grace period, less than the manager waits


def boot_time_s() -> float:
    return clock_gettime(CLOCK_BOOTTIME)


class Contact:
    def __init__(self, now_s: Callable[[], float] = boot_time_s) -> None:
        self._now_s = now_s
        self._at_s: float | None = None

    def note(self, at_s: float) -> None:
        """There was contact at that time. Messages of an earlier worker may arrive late."""
        self._at_s = at_s if self._at_s is None else max(self._at_s, at_s)

    def may_start(self, stop_after_s: float) -> bool:
        return not stop_after_s or self._at_s is None or self._now_s() - self._at_s < stop_after_s

    def left_s(self, stop_after_s: float) -> float:
        """Until the keeper must stop a task that runs, at the latest; a worker without this protocol says nothing."""
        if not stop_after_s or self._at_s is None:
            return float("inf")
        return self._at_s + stop_after_s + MARGIN_S - self._now_s()


def describe(stop_after_s: float) -> str:
    return f"{NO_CONTACT}{stop_after_s:g} s (disconnect.stop_after)"
