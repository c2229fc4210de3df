"""Questions to workers and their answers: ReadLog and ReadStats over the same stream as everything else."""

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
class _Asked:
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    answer: LogData | StatsData | None = None
    failure: str = ""


class Requests:
    def __init__(self, clock: Clock, timeout_s: float, per_worker_max: int) -> None:
        self._clock = clock
        self._timeout_s = timeout_s
        self._per_worker_max = per_worker_max
        self._asked: dict[WorkerSession, dict[int, _Asked]] = {}
        self._last_request = 0

    async def ask(self, session: WorkerSession, question: Callable[[int], ReadLog | ReadStats], kind: type[A]) -> A:
        """Raises Unavailable without an answer in time, Busy with too many questions open."""
        open_questions = self._asked.setdefault(session, {})
        if len(open_questions) >= self._per_worker_max:
            raise Busy(f"node {session.name} has {len(open_questions)} unanswered requests")
        self._last_request += 1
        request, asked = self._last_request, _Asked()
        open_questions[request] = asked
        try:
            session.link.send(question(request))
            await self._clock.wait(asked.answered, self._timeout_s)
        finally:
            open_questions.pop(request, None)
        if isinstance(asked.answer, kind):
            return asked.answer
        raise Unavailable(asked.failure or f"node {session.name} did not answer within {self._timeout_s:g} s")

    def answer(self, session: WorkerSession, answer: LogData | StatsData) -> None:
        asked = self._asked.get(session, {}).get(answer.request)
        if asked is None:
            log.debug("answer.unexpected", node=session.node, request=answer.request)
            return
        asked.answer = answer
        asked.failure = f"node {session.name} answered with {type(answer).__name__}"
        asked.answered.set()

    def fail(self, session: WorkerSession, reason: str) -> None:
        """The connection is gone, and with it all answers."""
        for asked in self._asked.pop(session, {}).values():
            asked.failure = f"node {session.name} is not connected: {reason}"
            asked.answered.set()
