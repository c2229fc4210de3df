"""The watcher's ticker: one background loop that checks the deadlines of all nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from shunter.log import Log
from shunter.ports.clock import Clock
from shunter.watcher.timer_wheel import TICK_S

PAUSE_MIN_S = 0.5

log = Log(__name__)


class HasDeadlines(Protocol):
    def check(self, now: float) -> None:
        """Act on every deadline that has come up."""
        ...

    def extend_deadlines(self, seconds: float) -> None:
        """This process was suspended for this long and received nothing: move every deadline later."""
        ...


class Ticker:
    def __init__(self, clock: Clock, timed: Sequence[HasDeadlines]) -> None:
        self._clock = clock
        self._timed = timed

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            planned = self._clock.now() + TICK_S
            await self._clock.sleep(TICK_S)
            now = self._clock.now()
            if now - planned > PAUSE_MIN_S:
                log.warning("watcher.paused", seconds=round(now - planned, 3))
                self._extend_deadlines(now - planned)
            self._check_deadlines(now)

    def _extend_deadlines(self, seconds: float) -> None:
        for timed in self._timed:
            timed.extend_deadlines(seconds)

    def _check_deadlines(self, now: float) -> None:
        for timed in self._timed:
            try:
                timed.check(now)
            except Exception:
                log.exception("watcher.check_failed", of=type(timed).__name__)
