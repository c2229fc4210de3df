"""Measures how late the event loop runs a timer: what blocks the loop makes every caller wait. Implements
`ports.telemetry.Probe`. Started by every process with a loop."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass

from shunter.model.metrics import catalogue as m
from shunter.model.metrics.exposition import Exposition
from shunter.model.metrics.metric import Histogram

TICK_S = 0.25
STALL_MIN_S = 0.5
STALLS_MAX = 100  # that are remembered for `shunter debug bundle`


@dataclass(frozen=True, slots=True)
class Stall:
    at_s: float
    duration_s: float


class LoopProbe:
    def __init__(self) -> None:
        self.stalls: deque[Stall] = deque(maxlen=STALLS_MAX)
        self._lag = Histogram(m.LOOP_LAG.buckets)
        self._count = 0

    async def run(self) -> None:
        """Until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due_s = loop.time() + TICK_S
            await asyncio.sleep(TICK_S)
            self._note(max(loop.time() - due_s, 0.0))

    def put(self, exposition: Exposition) -> None:
        exposition.put_histogram(m.LOOP_LAG, self._lag)
        exposition.put(m.LOOP_STALLS, self._count)

    def _note(self, lag_s: float) -> None:
        self._lag.observe(lag_s)
        if lag_s >= STALL_MIN_S:
            self._count += 1
            self.stalls.append(Stall(time.time(), lag_s))
