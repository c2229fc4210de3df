"""What schedulers outside of rounds ask of the engine: to be shown the situation, and to have their decisions carried
out. Owned by the engine; called by the gateway for external schedulers and by `engine.policy.policy_loop` for slow
policies."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from random import Random
from typing import Protocol, TypeVar

from shunter.engine.placement.cluster_view import build_view, note_changes
from shunter.engine.placement.external_decision import Decider, on_decision
from shunter.engine.policy.active_policy import ActivePolicy
from shunter.engine.policy.flight_recorder import FlightRecorder
from shunter.engine.policy.observers import Onlookers
from shunter.engine.policy.sessions import LEAD, SHADOW, Schedulers, Session
from shunter.engine.round import Round
from shunter.engine.settings import EngineSettings
from shunter.engine.state.state import State
from shunter.model.errors import TooLarge, Unavailable
from shunter.model.protocol.scheduler_messages import DecisionAnswer, DecisionRow, Situation
from shunter.planning.filter.node_ledger import Ledger
from shunter.planning.remote.decision_rows import read_decision
from shunter.planning.remote.view_scope import limit_view, wants_of
from shunter.ports.clock import Clock
from shunter.ports.flight import FlightLog

SHOWN_EVERY_MS = 10  # no session is shown the situation more often
RETRY_S = 0.1  # while there is no state to look at
T = TypeVar("T")


class Host(Protocol):
    """What the desk needs of the engine."""

    state: State
    active_policy: ActivePolicy
    epoch: int
    settings: EngineSettings

    async def ask(self, decide: Callable[[Round], T]) -> T: ...

    async def wait_committed(self) -> None: ...

    def wake(self) -> None: ...


class SchedulerDesk:
    def __init__(self, host: Host, clock: Clock, random: Random) -> None:
        self._host, self._clock = host, clock
        self._schedulers = Schedulers(lambda: f"{host.epoch}-{random.getrandbits(64):016x}")
        self.observers = Onlookers(self._schedulers, lambda: wants_of(host.active_policy.in_rounds))
        self._checking = Ledger()

    # ---- what schedulers ask ----

    def open(self, name: str, wants: Collection[str], mode: str = LEAD, is_local: bool = False) -> Session:
        if self.observers.flight is not None:
            self.observers.flight.closed(name)
        return self._schedulers.open(name, wants, mode, self._now_ms(), is_local)

    async def next(self, session: Session) -> Situation | None:
        """The situation as soon as it is another one than was shown last; None when the session is over. A shadow is
        shown every situation that the active policy was shown, and what it decided."""
        if session.mode == SHADOW:
            return await self._next_decided(session)
        while not session.is_over:
            is_asked_again = await self._wait(session)
            session.news.clear()
            try:
                await self._host.wait_committed()
            except Unavailable:
                await self._clock.sleep(RETRY_S)
                session.news.set()
                continue
            state = self._host.state
            note_changes(state)  # a back-off that is over changes what waits, and commits nothing
            seen = state.version, state.nodes.view.tick, state.pending_queue.tick
            if not session.is_over and (seen != session.shown or is_asked_again):
                return self._show(session, seen)
        return None

    async def _next_decided(self, session: Session) -> Situation | None:
        while not session.is_over:
            if session.backlog and session.backlog[0].is_settled(self._now_ms()):
                return session.backlog.popleft().situation
            session.news.clear()
            await session.news.wait()
        return None

    def renew(self, token: str) -> Session:
        session = self._schedulers.find(token, self._now_ms())
        self._schedulers.renew(session, self._now_ms())
        return session

    def close(self, session: Session, reason: str) -> None:
        self._schedulers.close(session, reason)
        self._host.wake()  # somebody else has to decide

    async def decide(self, token: str, row: DecisionRow) -> DecisionAnswer:
        """Raises Conflict where the token is void, Busy or TooLarge beyond the budget."""
        session = self.renew(token)
        if session.mode == SHADOW:
            return self.observers.compare(session, row, self._host.state.version)
        session.spend(self._now_ms())
        tasks, most = sum(sum(each.counts) for each in row.placements), self._host.settings.round_placements_max
        if tasks > most and not self._is_one_gang(row):
            raise TooLarge(f"the decision places {tasks} tasks; a decision places {most} at most (its budget)")
        answer = await self._host.ask(partial(self._on_decision, session=session, row=row))
        session.again_ms = None if row.again_in_ms is None else self._now_ms() + row.again_in_ms
        if row.is_partial:
            session.again_ms = self._now_ms()
        session.reasons = row.reasons
        session.decisions += 1
        session.refused += bool(answer.refusals)
        session.news.set()
        if self.observers.flight is not None:
            self.observers.flight.decided(session.name, row, answer)
        if self._leads(session):
            self.observers.decided(session, row)
        return answer

    def _on_decision(self, round: Round, session: Session, row: DecisionRow) -> DecisionAnswer:
        self._schedulers.find(session.token, round.now_ms)  # another one may have taken over since
        unless = "" if self._leads(session) else _not_leading(session, self._host.active_policy.name)
        decider = Decider(session.name, unless)
        return on_decision(round, read_decision(row), decider, self._host.active_policy.filters, self._checking)

    # ---- what the engine asks ----

    def is_led(self, now_ms: int) -> bool:
        self._schedulers.leader = self._host.active_policy.outside
        is_led = self._schedulers.is_led(now_ms)
        if is_led:
            self._host.active_policy.rest()
        return is_led

    def leading(self, now_ms: int) -> Session | None:
        """Who decides about tasks outside of rounds now."""
        return self._schedulers.leading(now_ms)

    def ends_ms(self) -> int | None:
        return self._schedulers.ends_ms()

    def tell(self) -> None:
        self._schedulers.tell()

    def begin_anew(self) -> None:
        self._schedulers.begin_anew()

    def end(self, reason: str) -> None:
        self._schedulers.end(reason)

    @property
    def is_over(self) -> bool:
        return self._schedulers.is_over

    def sessions(self) -> list[Session]:
        return self._schedulers.sessions()

    def record_to(self, log: FlightLog | None, is_running: bool = False) -> None:
        """Note down every decision from now on, or no more. `is_running`: some were made already."""
        active_policy = self._host.active_policy
        known = active_policy.in_rounds if is_running else None
        anew = self._schedulers.begin_anew
        self.observers.flight = None if log is None else FlightRecorder(log, active_policy, anew, known)

    def set_lease(self, lease_s: float) -> None:
        """Of sessions that are opened from now on."""
        self._schedulers.lease_s = lease_s

    # ---- showing ----

    async def _wait(self, session: Session) -> bool:
        """Until there may be something new, or it wants to decide again anyhow; says whether it is the latter."""
        session.is_waiting = True
        try:
            timeout_s = None if session.again_ms is None else max(session.again_ms - self._now_ms(), 0) / 1000
            is_new = await self._clock.wait(session.news, timeout_s)
        finally:
            session.is_waiting = False
        too_early_ms = session.shown_ms + SHOWN_EVERY_MS - self._now_ms()
        if is_new and too_early_ms > 0 and not session.is_over:
            await self._clock.sleep(too_early_ms / 1000)
        return session.again_ms is not None and self._now_ms() >= session.again_ms

    def _show(self, session: Session, seen: tuple[int, int, int]) -> Situation:
        now = self._clock.now()
        session.shown, session.shown_ms, session.again_ms = seen, self._now_ms(), None
        if session.is_local:
            self._schedulers.renew(session, self._now_ms())
            self._host.wake()  # to look at the clock when it thinks too long
        view = build_view(self._host.state)
        delta = session.writer.write(limit_view(view, session.writer.wants))
        situation = Situation(now, self._host.settings.round_placements_max, delta)
        if self._leads(session) and self._schedulers.has_shadows:
            self.observers.look_on(session, situation, view)
        if self.observers.flight is not None:
            self.observers.flight.shown(session.name, situation, session.writer.wants)
        return situation

    def _is_one_gang(self, row: DecisionRow) -> bool:
        """A gang cannot be cut: one that is larger than the budget goes by itself."""
        classes = self._host.state.classes
        rules = [record.key.rules if (record := classes.get(each.class_id)) else None for each in row.placements]
        gangs = {each.gang if each is not None else 0 for each in rules}
        return len(gangs) == 1 and gangs != {0}

    def _leads(self, session: Session) -> bool:
        return session.mode == LEAD and session.name == self._host.active_policy.outside

    def _now_ms(self) -> int:
        return int(self._clock.now() * 1000)


def _not_leading(session: Session, policy: str) -> str:
    fix = f"shunter policies use remote:{session.name}"
    return f"{session.name} does not place tasks: {policy} decides; change that by `{fix}`"
