"""The clock, passed as an argument: real, scaled or virtual."""

from __future__ import annotations

import asyncio
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since 1970; never goes back."""
        ...

    async def sleep(self, seconds: float) -> None: ...

    async def wait(self, event: asyncio.Event, timeout_s: float | None) -> bool:
        """Wait until the event is set or the time has passed; returns whether it is set."""
        ...
