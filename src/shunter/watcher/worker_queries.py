"""Sends queries to workers and matches the answers: ReadLog and ReadStats, over the stream of all other messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from shunter.log import Log
from shunter.model.errors import Busy, Unavailable
from shunter.model.protocol.worker_messages import LogData, ReadLog, ReadStats, StatsData
from shunter.ports.clock import Clock
from shunter.watcher.session import WorkerSession

log = Log(__name__)

A = TypeVar("A", LogData, StatsData)


@dataclass(slots=True)
class _PendingQuery:
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    answer: LogData | StatsData | None = None
    failure: str = ""


class WorkerQueries:
    def __init__(self, clock: Clock, timeout_s: float, per_worker_max: int) -> None:
        self._clock = clock
        self._timeout_s = timeout_s
        self._per_worker_max = per_worker_max
        self._pending: dict[WorkerSession, dict[int, _PendingQuery]] = {}
        self._last_request = 0

    async def query(
        self, session: WorkerSession, build_request: Callable[[int], ReadLog | ReadStats], kind: type[A]
    ) -> A:
        """Raises Unavailable without an answer in time, Busy with too many questions open."""
        open_queries = self._pending.setdefault(session, {})
        if len(open_queries) >= self._per_worker_max:
            raise Busy(f"node '{session.name}' has {len(open_queries)} unanswered requests")
        self._last_request += 1
        request, pending = self._last_request, _PendingQuery()
        open_queries[request] = pending
        try:
            session.link.send(build_request(request))
            await self._clock.wait(pending.answered, self._timeout_s)
        finally:
            open_queries.pop(request, None)
        if isinstance(pending.answer, kind):
            return pending.answer
        raise Unavailable(pending.failure or f"node '{session.name}' did not answer within {self._timeout_s:g} s")

    def answer(self, session: WorkerSession, answer: LogData | StatsData) -> None:
        pending = self._pending.get(session, {}).get(answer.request)
        if pending is None:
            log.debug("answer.unexpected", node=session.node, request=answer.request)
            return
        pending.answer = answer
        pending.failure = f"node '{session.name}' answered with {type(answer).__name__}"
        pending.answered.set()

    def fail(self, session: WorkerSession, reason: str) -> None:
        """The connection is gone, and with it all answers."""
        for pending in self._pending.pop(session, {}).values():
            pending.failure = f"node '{session.name}' is not connected: {reason}"
            pending.answered.set()
