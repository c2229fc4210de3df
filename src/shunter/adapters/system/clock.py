"""The system clock. Implements `ports.clock`."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """Wall time at the start, and from there monotonic: a clock set back does not reach the engine."""

    def __init__(self) -> None:
        self._offset_s = time.time() - time.monotonic()

    def now(self) -> float:
        return self._offset_s + time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def wait(self, event: asyncio.Event, timeout_s: float | None) -> bool:
        """Runs before every round, so it does without `asyncio.wait_for`, which makes a task each time."""
        if event.is_set():
            return True
        if timeout_s is None:
            return await event.wait()
        if timeout_s <= 0:
            return False
        has_timed_out = False

        def wake() -> None:
            nonlocal has_timed_out
            if not event.is_set():
                has_timed_out = True
                event.set()

        timer = asyncio.get_running_loop().call_later(timeout_s, wake)
        try:
            await event.wait()
        finally:
            timer.cancel()
        if has_timed_out:
            event.clear()
        return not has_timed_out
