"""Sessions of external schedulers and slow policies, each with a lease. Owned by the engine. Nothing is committed, so
all sessions start anew after a restart.

A token fences each session: a newer session of the same name, or the end of the lease, invalidates it. The session that
holds the lease of the active policy leads. While none does, or while it is overruled (`engine.policy.refusals`), the
fallback policy decides in the rounds."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from shunter.engine.policy.refusals import RefusalRecord
from shunter.log import Log
from shunter.model.errors import Busy, Conflict, Unavailable
from shunter.model.protocol.scheduler_messages import TASKS, DecisionRow, Situation
from shunter.planning.remote.view_writer import ViewWriter

LEASE_DEFAULT_S = 5.0
DECISIONS_PER_S = 100.0  # of one session, on average
DECISIONS_BURST = 100.0
LEAD, SHADOW = "lead", "shadow"
CONNECTED, SILENT, OVERRULED = "connected", "silent", "overruled"  # how a session is doing
UNKNOWN_TOKEN = (
    "this token is no longer valid: another session took over, or the manager restarted; watch again, or open another "
    "session"
)
log = Log(__name__)


@dataclass(slots=True, eq=False)
class Session:
    """One scheduler session. `expires_ms` is when its lease ends unless it is renewed; a `local` session is alive while
    it waits for a situation."""

    name: str
    token: str
    mode: str
    writer: ViewWriter
    lease_ms: int
    expires_ms: int
    is_local: bool = False
    is_rest: bool = False  # it asks for what it wants to see, and is shown no situations
    seen_version: int = 0  # of the last answer that it read over REST
    is_closed: bool = False
    close_reason: str = ""
    is_waiting: bool = False  # for a situation
    next_decision_ms: int | None = None  # when the policy wants to decide again, even without changes
    sent_versions: tuple[int, int, int] = (-1, -1, -1)  # version of the state, ticks of nodes and of pending classes
    sent_ms: int = 0
    reasons: dict[int, str] = field(default_factory=dict)  # its last reasons why classes wait
    decisions: int = 0
    refused: int = 0
    refusals: RefusalRecord = field(default_factory=RefusalRecord)
    credit: float = DECISIONS_BURST
    credit_ms: int = 0
    wakeup: asyncio.Event = field(default_factory=asyncio.Event)
    # For shadows: situations that others decide on, and their decisions by number. `refused` counts differences.
    backlog: deque[ShadowSituation] = field(default_factory=deque)
    active_decisions: dict[int, DecisionRow] = field(default_factory=dict)

    def is_alive(self, now_ms: int) -> bool:
        return not self.is_closed and (self.expires_ms > now_ms or (self.is_local and self.is_waiting))

    def state(self, now_ms: int) -> str:
        if not self.is_alive(now_ms):
            return SILENT
        return OVERRULED if self.refusals.is_overruled(now_ms) else CONNECTED

    def end(self, reason: str) -> None:
        if not self.is_closed:
            self.is_closed, self.close_reason = True, reason
            self.wakeup.set()

    def consume_credit(self, now_ms: int) -> None:
        """Raises Busy if decisions come faster than the budget allows."""
        earned = (now_ms - self.credit_ms) / 1000 * DECISIONS_PER_S
        self.credit, self.credit_ms = min(self.credit + earned, DECISIONS_BURST), now_ms
        if self.credit < 1:
            fault = f"scheduler {self.name} sends more than {DECISIONS_PER_S:g} decisions per second"
            raise Busy(fault, (1 - self.credit) / DECISIONS_PER_S)
        self.credit -= 1


@dataclass(slots=True)
class ShadowSituation:
    """A situation to show to a shadow. `leader` got it as its situation `number` and may still decide on it."""

    situation: Situation
    leader: Session | None = None
    number: int = 0

    def is_settled(self, now_ms: int) -> bool:
        return self.leader is None or not self.leader.is_alive(now_ms)


class SessionRegistry:
    """All sessions by name."""

    def __init__(self, make_token: Callable[[], str]) -> None:
        self._make_token = make_token
        self._sessions: dict[str, Session] = {}
        self.leader = ""  # the name of the session whose decisions count, if any
        self.lease_s = LEASE_DEFAULT_S
        self._had_leader = False
        self._last_refusals = "", RefusalRecord()  # of the last session that led: its name, and the record
        self.is_closed = False  # the manager stops

    def open(
        self, name: str, wants: Collection[str], mode: str, now_ms: int, is_local: bool = False, is_rest: bool = False
    ) -> Session:
        """Open a session. An earlier session of the same name becomes invalid: its scheduler has ended, or gets an
        error."""
        if self.is_closed:
            raise Unavailable("the manager is stopping; try again")
        before = self._sessions.get(name)
        if before is not None:
            self._remember_refusals(before)
            before.end("another session with the same name took over; give each scheduler a unique name")
        lease_ms = int(self.lease_s * 1000)
        session = Session(
            name, self._make_token(), mode, ViewWriter(wants), lease_ms, now_ms + lease_ms, is_local, is_rest,
            credit_ms=now_ms,
            refusals=self._last_refusals[1].renewed(now_ms) if self._last_refusals[0] == name else RefusalRecord(),
        )  # fmt: skip
        session.wakeup.set()
        self._sessions[name] = session
        log.info("scheduler.opened", scheduler=name, mode=mode)
        return session

    def find(self, token: str, now_ms: int) -> Session:
        """The session of a token with a valid lease. Raises Conflict."""
        session = next((each for each in self._sessions.values() if each.token == token), None)
        if session is None:
            raise Conflict(UNKNOWN_TOKEN)
        if not session.is_alive(now_ms):
            reason = session.close_reason or "its lease expired"
            if session.is_rest and not session.is_closed:  # it stays in the list of policies as silent for a while
                raise Conflict(f"the session of scheduler '{session.name}' has ended: {reason}; open another one")
            self.close(session, reason)
            raise Conflict(f"the session of scheduler '{session.name}' has ended: {session.close_reason}; watch again")
        return session

    def renew(self, session: Session, now_ms: int) -> None:
        session.expires_ms = now_ms + session.lease_ms

    def close(self, session: Session, reason: str) -> None:
        session.end(reason)
        if self._sessions.get(session.name) is session:
            self._remember_refusals(session)
            del self._sessions[session.name]
            log.info("scheduler.closed", scheduler=session.name, reason=reason)

    def has_leader(self, now_ms: int) -> bool:
        """Whether a session outside of rounds decides about tasks now: a session that does not want to see tasks leaves
        them to the fallback. Logs every change."""
        has_leader = self.live_leader(now_ms) is not None
        if has_leader != self._had_leader:
            self._had_leader = has_leader
            if has_leader:
                log.info("scheduler.leads", scheduler=self.leader)
            elif self.leader:
                self._log_loss(now_ms)
        return has_leader

    def _log_loss(self, now_ms: int) -> None:
        """The scheduler decides no more about tasks."""
        refusals = self.refusals_of(self.leader)
        if refusals.is_overruled(now_ms):
            log.warning("scheduler.overruled", scheduler=self.leader, reason=refusals.last_reason)
        else:
            log.info("scheduler.silent", scheduler=self.leader)

    def refusals_of(self, leader: str) -> RefusalRecord:
        """The refusals of the session with this name, or of its last session if that led last."""
        found = self._sessions.get(leader)
        if found is not None:
            return found.refusals
        name, refusals = self._last_refusals
        return refusals if name == leader else RefusalRecord()

    def _remember_refusals(self, session: Session) -> None:
        if session.name == self.leader and session.mode == LEAD:
            self._last_refusals = session.name, session.refusals

    def live_leader(self, now_ms: int) -> Session | None:
        found = self._sessions.get(self.leader) if self.leader else None
        if found is None or found.mode != LEAD or TASKS not in found.writer.wants:
            return None
        return found if found.is_alive(now_ms) and not found.refusals.is_overruled(now_ms) else None

    def lease_end_ms(self) -> int | None:
        """When the leader's lease ends unless it is renewed: the engine must then wake up to take over."""
        session = self._sessions.get(self.leader) if self._had_leader else None
        if session is None or (session.is_local and session.is_waiting):
            return None
        return session.expires_ms

    def drop_silent(self, before_ms: int) -> None:
        """Close those over REST whose lease ended before. (Others close with their stream.)"""
        for session in self.sessions():
            if session.is_rest and session.expires_ms < before_ms:
                self.close(session, "its lease expired")

    def sessions(self) -> list[Session]:
        return list(self._sessions.values())

    @property
    def has_shadows(self) -> bool:
        return bool(self.shadows())

    def shadows(self) -> list[Session]:
        """Returns those that are shown the situations of others."""
        return [session for session in self._sessions.values() if session.mode == SHADOW and not session.is_rest]

    def notify(self) -> None:
        """A round has ended: wake the sessions. Shadows wait for decisions instead, which are announced separately."""
        for session in self._sessions.values():
            if session.mode == LEAD:
                session.wakeup.set()

    def resend_all(self) -> None:
        """The state was replaced: send every session the whole view."""
        for session in self._sessions.values():
            session.writer.reset()
            session.wakeup.set()

    def end(self, reason: str) -> None:
        self.is_closed = True
        for session in self.sessions():
            self.close(session, reason)
