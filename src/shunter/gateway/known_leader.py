"""Tells everybody in this process who leads, and when that changes. `app.manager` runs it; requests that are forwarded
and the listeners for workers and schedulers wait for it."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from shunter.ports.coordination import Coordination, ManagerRecord

CHECK_EVERY_S = 0.25  # a leader that was not heard of for the time of a lease is forgotten without a message


class KnownLeader:
    def __init__(self, coordination: Coordination) -> None:
        self._coordination = coordination
        self._known: tuple[int, ManagerRecord | None] = (0, None)
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            self._notice()
            with suppress(TimeoutError):  # wait_for could swallow a cancellation that comes with the change
                async with asyncio.timeout(CHECK_EVERY_S):
                    await self._coordination.wait_changed()

    def leader(self) -> ManagerRecord | None:
        return self._coordination.leader()

    def term(self) -> int:
        """The term of the election that the leader won."""
        return self._coordination.leader_term()

    async def wait_changed(self) -> None:
        """Return when another manager leads, or the leader has changed what it announces. Whoever looks, and then waits
        at once, misses nothing."""
        await self._changed.wait()

    def _notice(self) -> None:
        known = self._coordination.leader_term(), self._coordination.leader()
        if known != self._known:
            self._known = known
            changed, self._changed = self._changed, asyncio.Event()
            changed.set()
