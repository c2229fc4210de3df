"""Shows situations to schedulers outside of rounds, and applies their decisions. Owned by the engine; called by the
gateway for external schedulers and by `engine.policy.policy_loop` for slow policies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from functools import partial
from itertools import islice
from random import Random
from typing import Protocol, TypeVar

import numpy as np
from msgspec.structs import replace

from shunter.engine.placement.cluster_view import build_view, refresh_pending
from shunter.engine.placement.external_decision import DecisionSource, on_decision
from shunter.engine.policy.active_policy import ActivePolicy
from shunter.engine.policy.flight_recorder import FlightRecorder
from shunter.engine.policy.observers import Observers
from shunter.engine.policy.refusals import RefusalRecord, is_fruitful
from shunter.engine.policy.rest_decisions import RestDecision, ShadowDecisions, apply_recorded
from shunter.engine.policy.sessions import LEAD, SHADOW, Session, SessionRegistry
from shunter.engine.round import Round
from shunter.engine.settings import EngineSettings
from shunter.engine.state.state import State
from shunter.model.errors import Invalid, TooLarge, Unavailable
from shunter.model.protocol.scheduler_messages import OBJECTS, DecisionAnswer, DecisionRow, Situation
from shunter.planning.explain.suggest import without_licence_needs
from shunter.planning.explain.wait_reasons import limits_reached
from shunter.planning.filter.filters import feasible
from shunter.planning.filter.node_ledger import NodeLedger
from shunter.planning.remote.decision_rows import read_decision
from shunter.planning.remote.view_scope import limit_view, wants_of
from shunter.planning.view import ClusterView
from shunter.ports.clock import Clock
from shunter.ports.flight import FlightLog

SEND_INTERVAL_MIN_MS = 10  # no session gets situations more often
RETRY_S = 0.1  # while no state is loaded
SILENT_MAX_MS = 3_600_000  # how long a session over REST stays in the list of policies after its lease has ended
CLASSES_EXAMINED_MAX = 100  # to find out whether something fits
T = TypeVar("T")


class Host(Protocol):
    """What the service needs of the engine."""

    active_policy: ActivePolicy
    settings: EngineSettings

    @property
    def epoch(self) -> int: ...

    @property
    def state(self) -> State: ...

    async def ask(self, decide: Callable[[Round], T]) -> T: ...

    async def wait_committed(self) -> None: ...

    def wake(self) -> None: ...


class SchedulerService:
    def __init__(self, host: Host, clock: Clock, random: Random) -> None:
        self._host, self._clock = host, clock
        self._sessions = SessionRegistry(lambda: f"{host.epoch}-{random.getrandbits(64):016x}")
        self.observers = Observers(self._sessions, lambda: wants_of(host.active_policy.round_policy))
        self._validation_ledger = NodeLedger()
        self._shadows: dict[str, ShadowDecisions] = {}  # over REST, by the token of their session

    # ---- called by schedulers ----

    def open(self, name: str, wants: Collection[str], mode: str = LEAD, is_local: bool = False) -> Session:
        if self.observers.flight is not None:
            self.observers.flight.forget_session(name)
        return self._sessions.open(name, wants, mode, self._now_ms(), is_local)

    async def next(self, session: Session) -> Situation | None:
        """Return the next situation once it differs from the last one; None when the session is over. A shadow gets
        every situation and decision of the active policy."""
        if session.mode == SHADOW:
            return await self._next_for_shadow(session)
        while not session.is_closed:
            is_decision_due = await self._wait(session)
            session.wakeup.clear()
            try:
                await self._host.wait_committed()
            except Unavailable:
                await self._clock.sleep(RETRY_S)
                session.wakeup.set()
                continue
            state = self._host.state
            refresh_pending(state)  # the end of a back-off changes the pending tasks and commits nothing
            versions = state.version, state.nodes.view.tick, state.pending_queue.tick
            if not session.is_closed and (versions != session.sent_versions or is_decision_due):
                return self._send_situation(session, versions)
        return None

    async def _next_for_shadow(self, session: Session) -> Situation | None:
        while not session.is_closed:
            if session.backlog and session.backlog[0].is_settled(self._now_ms()):
                return session.backlog.popleft().situation
            session.wakeup.clear()
            await session.wakeup.wait()
        return None

    def renew(self, token: str) -> Session:
        session = self._sessions.find(token, self._now_ms())
        self._sessions.renew(session, self._now_ms())
        return session

    def close(self, session: Session, reason: str) -> None:
        self._sessions.close(session, reason)
        self._host.wake()  # another policy has to decide

    async def decide(self, token: str, row: DecisionRow) -> DecisionAnswer:
        """Raises Conflict for an invalid token, Busy or TooLarge beyond the budget."""
        session = self.renew(token)
        if session.mode == SHADOW:
            return self.observers.compare(session, row, self._host.state.version)
        session.consume_credit(self._now_ms())
        tasks, budget = sum(sum(each.counts) for each in row.placements), self._host.settings.round_placements_max
        if tasks > budget and not self._is_one_gang(row):
            fault = f"the decision places {tasks} tasks, more than its budget of {budget}"
            self._record_failed_decision(session, fault)
            raise TooLarge(fault)
        if row.error:
            self._record_failed_decision(session, f"the policy failed: {row.error}")
            return DecisionAnswer(self._host.state.version, is_overruled=session.refusals.is_overruled(self._now_ms()))
        try:
            answer = await self._host.ask(partial(self._on_decision, session=session, row=row))
        except Invalid as error:
            self._record_failed_decision(session, error.detail)
            raise
        again_in_ms = 0 if row.is_partial else row.again_in_ms
        if is_fruitful(row, answer) is False and self._leads(session):
            again_in_ms = session.refusals.retry_ms(self._now_ms())
        session.next_decision_ms = None if again_in_ms is None else self._now_ms() + again_in_ms
        session.reasons = row.reasons
        session.decisions += 1
        session.refused += bool(answer.refusals)
        session.wakeup.set()
        if self.observers.flight is not None:
            self.observers.flight.record_decision(session.name, row, answer)
        if self._leads(session):
            self.observers.record_decision(session, row)
        return answer

    def _on_decision(self, round: Round, session: Session, row: DecisionRow) -> DecisionAnswer:
        self._sessions.find(session.token, round.now_ms)  # another session may have taken over since
        refusal = "" if self._leads(session) else _not_leading_reason(session, self._host.active_policy.name)
        source = DecisionSource(session.name, refusal)
        filters, refusals = self._host.active_policy.filters, session.refusals
        answer = on_decision(round, read_decision(row), source, filters, self._validation_ledger)
        refusals.refuse_items(answer.refusals)
        fruitful = is_fruitful(row, answer)
        if fruitful is not None and not refusal:
            refusals.record_decision(fruitful, round.now_ms, self._fits_somewhere)
        elif not answer.refusals:
            refusals.record_wait()
        return replace(answer, is_overruled=refusals.is_overruled(round.now_ms))

    def _record_failed_decision(self, session: Session, reason: str) -> None:
        """There is no decision to apply. The scheduler is asked again soon."""
        session.refusals.refuse(reason)
        session.refusals.record_decision(False, self._now_ms(), self._fits_somewhere)
        session.decisions += 1
        session.next_decision_ms = self._now_ms() + session.refusals.retry_ms(self._now_ms())
        session.wakeup.set()
        self._host.wake()  # if it is overruled now, the fallback policy decides

    def _fits_somewhere(self) -> bool:
        """Whether some pending task fits on a node, and may start by its queue, licences and quotas. Looks at some
        classes only: that is enough to tell."""
        view, filters = build_view(self._host.state), self._host.active_policy.filters
        self._validation_ledger.sync(view.nodes)
        rows = np.arange(1, view.nodes.count)
        pending = (each.task_class for each in islice(view.queued, CLASSES_EXAMINED_MAX))
        return any(
            feasible(without_licence_needs(each), self._validation_ledger, rows, filters).any()
            for each in pending
            if next(limits_reached(each, view), None) is None
        )

    # ---- called for schedulers over REST ----

    def open_rest(self, name: str, mode: str) -> Session:
        self._sessions.drop_silent(self._now_ms() - SILENT_MAX_MS)
        if self.observers.flight is not None:
            self.observers.flight.forget_session(name)
        return self._sessions.open(name, (OBJECTS,), mode, self._now_ms(), is_rest=True)

    def saw(self, token: str) -> Session:
        """It reads what is committed now. Renews the lease. Raises Conflict."""
        session = self.renew(token)
        session.seen_version = self._host.state.version
        return session

    async def decide_over_rest(self, token: str, decision: RestDecision, apply: Callable[[], Awaitable[T]]) -> T | None:
        """`apply` it and record it; for a shadow, only compare it and return None. Raises Conflict for a token that
        is no longer valid, Busy, and what `apply` raises."""
        session = self.renew(token)
        session.consume_credit(self._now_ms())
        if session.mode == SHADOW:
            self._shadows.setdefault(session.token, ShadowDecisions()).add(decision, session.seen_version)
            self._settle(session)
            return None
        situation = self._situation(session, build_view(self._host.state))
        record = partial(self._record_rest_decision, session)
        return await apply_recorded(session, decision, situation, apply, record)

    def _record_rest_decision(
        self, session: Session, situation: Situation, row: DecisionRow, answer: DecisionAnswer
    ) -> None:
        if self.observers.flight is not None:
            self.observers.flight.record_situation(session.name, situation, session.writer.wants)
            self.observers.flight.record_decision(session.name, row, answer)

    def _settle(self, session: Session) -> None:
        for shadowed in self._shadows[session.token].settle(session, self._host.state.objects):
            if self.observers.flight is not None:
                self.observers.flight.append(shadowed)

    # ---- called by the engine ----

    def has_leader(self, now_ms: int) -> bool:
        self._sessions.leader = self._host.active_policy.leader_session
        has_leader = self._sessions.has_leader(now_ms)
        if has_leader:
            self._host.active_policy.reset_fallback()
        return has_leader

    def live_leader(self, now_ms: int) -> Session | None:
        """The session that currently decides about tasks outside of rounds."""
        return self._sessions.live_leader(now_ms)

    def state_of(self, session: Session) -> str:
        return session.state(self._now_ms())

    @property
    def leader_refusals(self) -> RefusalRecord:
        """What was refused of the session that leads, or led last under its name."""
        return self._sessions.refusals_of(self._host.active_policy.leader_session)

    def lease_end_ms(self) -> int | None:
        return self._sessions.lease_end_ms()

    def notify(self) -> None:
        self._sessions.notify()
        if self._shadows:
            open_sessions = {each.token: each for each in self._sessions.sessions()}
            self._shadows = {token: each for token, each in self._shadows.items() if token in open_sessions}
            for token in self._shadows:
                self._settle(open_sessions[token])

    def resend_all(self) -> None:
        self._sessions.resend_all()

    def end(self, reason: str) -> None:
        self._sessions.end(reason)

    @property
    def is_closed(self) -> bool:
        return self._sessions.is_closed

    def sessions(self) -> list[Session]:
        return self._sessions.sessions()

    def record_to(self, log: FlightLog | None, is_running: bool = False) -> None:
        """Start or stop recording decisions. `is_running`: some decisions were already made."""
        active_policy = self._host.active_policy
        last_policy = active_policy.round_policy if is_running else None
        on_new_segment = self._sessions.resend_all
        self.observers.flight = None if log is None else FlightRecorder(log, active_policy, on_new_segment, last_policy)

    def set_lease(self, lease_s: float) -> None:
        """Applies to sessions that are opened from now on."""
        self._sessions.lease_s = lease_s

    # ---- situations ----

    async def _wait(self, session: Session) -> bool:
        """Wait until there may be something new, or until the policy wants to decide again; return whether it is the
        latter."""
        session.is_waiting = True
        try:
            timeout_s = (
                None if session.next_decision_ms is None else max(session.next_decision_ms - self._now_ms(), 0) / 1000
            )
            is_new = await self._clock.wait(session.wakeup, timeout_s)
        finally:
            session.is_waiting = False
        throttle_ms = session.sent_ms + SEND_INTERVAL_MIN_MS - self._now_ms()
        if is_new and throttle_ms > 0 and not session.is_closed:
            await self._clock.sleep(throttle_ms / 1000)
        return session.next_decision_ms is not None and self._now_ms() >= session.next_decision_ms

    def _send_situation(self, session: Session, versions: tuple[int, int, int]) -> Situation:
        session.sent_versions, session.sent_ms, session.next_decision_ms = versions, self._now_ms(), None
        if session.is_local:
            self._sessions.renew(session, self._now_ms())
            self._host.wake()  # to check the clock when it takes too long
        view = build_view(self._host.state)
        situation = self._situation(session, view)
        if self._leads(session) and self._sessions.has_shadows:
            self.observers.observe_situation(session, situation, view)
        if self.observers.flight is not None:
            self.observers.flight.record_situation(session.name, situation, session.writer.wants)
        return situation

    def _situation(self, session: Session, view: ClusterView) -> Situation:
        delta = session.writer.write(limit_view(view, session.writer.wants))
        return Situation(self._clock.now(), self._host.settings.round_placements_max, delta)

    def _is_one_gang(self, row: DecisionRow) -> bool:
        """A gang cannot be split: one that is larger than the budget is sent by itself."""
        classes = self._host.state.classes
        rules = [record.key.rules if (record := classes.get(each.class_id)) else None for each in row.placements]
        gangs = {each.gang if each is not None else 0 for each in rules}
        return len(gangs) == 1 and gangs != {0}

    def _leads(self, session: Session) -> bool:
        return session.mode == LEAD and session.name == self._host.active_policy.leader_session

    def _now_ms(self) -> int:
        return int(self._clock.now() * 1000)


def _not_leading_reason(session: Session, policy: str) -> str:
    fix = f"shunter policies use remote:{session.name}"
    return f"scheduler '{session.name}' does not place tasks: the active policy is {policy}; change it with `{fix}`"
