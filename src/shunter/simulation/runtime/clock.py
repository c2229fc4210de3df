"""Real time multiplied by a speed: the clock of `shunter up --simulate-nodes N --speed X`."""

from __future__ import annotations

import asyncio
import time

from shunter.simulation.runtime.loop import wait_for_event

SPEED_MAX = 100_000.0


class ScaledClock:
    """The clock port: it starts at the real time and from there runs `speed` times as fast."""

    def __init__(self, speed: float = 1.0) -> None:
        if not 0 < speed <= SPEED_MAX:
            raise ValueError(f"speed must be above 0 and at most {SPEED_MAX:.0f}, not {speed}")
        self.speed = speed
        self._started_s = time.time()
        self._started_monotonic_s = time.monotonic()

    def now(self) -> float:
        return self._started_s + (time.monotonic() - self._started_monotonic_s) * self.speed

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self.speed)

    async def wait(self, event: asyncio.Event, timeout_s: float | None) -> bool:
        return await wait_for_event(event, None if timeout_s is None else timeout_s / self.speed)
