"""Connections that have not sent their inventory yet, with a deadline for it. Driven by `ticker`."""

from __future__ import annotations

from shunter.model.protocol.refusals import RefusalCode
from shunter.watcher.session import SessionState, WorkerSession
from shunter.watcher.timer_wheel import TimerWheel


class Handshakes:
    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._wheel: TimerWheel[WorkerSession] = TimerWheel()

    def watch(self, session: WorkerSession) -> None:
        self._wheel.schedule(session, session.opened_at + self._timeout_s)

    def cancel(self, session: WorkerSession) -> None:
        self._wheel.cancel(session)

    def check(self, now: float) -> None:
        for session in self._wheel.pop_due(now):
            if session.busy:
                session.opened_at = now  # the engine takes its time, not the worker
            if session.state in (SessionState.LIVE, SessionState.ENDED):
                continue
            if now < session.opened_at + self._timeout_s:
                self.watch(session)
            else:
                session.refuse(RefusalCode.SILENT, f"no inventory within {self._timeout_s:g} s of connecting")

    def extend_deadlines(self, seconds: float) -> None:
        for session in self._wheel:
            session.opened_at += seconds
