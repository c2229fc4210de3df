"""Wakes those who wait for a commit, within one process. The stores use it to implement `wait_for_commit`."""

from __future__ import annotations

import asyncio


class CommitSignal:
    """The newest version that was announced, and a wake-up for those who wait for a newer one."""

    def __init__(self) -> None:
        self._newest = 0
        self._announced: asyncio.Future[None] | None = None

    def announce(self, version: int) -> None:
        self._newest = max(self._newest, version)
        announced, self._announced = self._announced, None
        if announced is not None and not announced.done():
            announced.set_result(None)

    async def wait(self, after_version: int, timeout_s: float) -> None:
        """Returns when a version above `after_version` was announced, or after the time-out."""
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + timeout_s
        while self._newest <= after_version and (left_s := deadline_s - loop.time()) > 0:
            if self._announced is None:
                self._announced = loop.create_future()
            await asyncio.wait((self._announced,), timeout=left_s)
