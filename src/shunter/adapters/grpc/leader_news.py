"""Tells workers who leads: the manager's side of `WatchLeader`. Used by the server for workers.

All streams share one wait for changes. Each repeats the answer from time to time, so that a worker notices a manager
that has stopped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

from shunter.adapters.grpc.channel import NEWS_EVERY_S
from shunter.log import Log
from shunter.model.protocol.worker_messages import Leader
from shunter.ports.workers import LeaderRoutes, WorkerAcceptor

RETRY_S = 1.0

log = Log(__name__)


class LeaderNews:
    """`routes` is None for the only manager."""

    def __init__(self, acceptor: WorkerAcceptor, routes: LeaderRoutes | None) -> None:
        self._acceptor, self._routes = acceptor, routes
        self._changed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._is_closed = False

    def start(self) -> None:
        waits = [self._acceptor.wait_lead_changed]
        if self._routes is not None:
            waits.append(self._routes.wait_changed)
        self._tasks = [asyncio.create_task(self._follow(wait)) for wait in waits]

    def close(self) -> None:
        """End every stream."""
        self._is_closed = True
        for task in self._tasks:
            task.cancel()
        self._wake()

    def current(self) -> Leader:
        """A manager that leads knows it best, so its own word counts."""
        term = self._acceptor.leading_term
        is_here = term is not None
        if self._routes is None:
            return Leader(term=term or 0, here=is_here)
        known_term = self._routes.term() if term is None else term
        if is_here:
            takes_workers = self._routes.refer_to() is None
            return Leader(self._routes.address(), known_term, here=takes_workers)
        relayed_to = self._routes.relay_to()
        if relayed_to is not None:
            return Leader(term=known_term, here=True, relayed=True) if relayed_to else Leader()
        return Leader(self._routes.address(), known_term)

    async def stream(self) -> AsyncIterator[Leader]:
        while not self._is_closed:
            changed = self._changed
            yield self.current()
            with suppress(TimeoutError):
                async with asyncio.timeout(NEWS_EVERY_S):
                    await changed.wait()

    async def _follow(self, wait: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await wait()
            except Exception:
                log.exception("leader.news_failed")
                await asyncio.sleep(RETRY_S)
            self._wake()

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
