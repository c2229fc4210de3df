"""Observers of the active policy: the flight recorder and the shadow policies. Shadows decide on the same view; their
decisions are compared but not applied. Owned by the engine.

Observers see a round only after its commit. A situation shown to a session waits for that session's decision; a
situation that the session skips is shown to its shadows without one. Without observers this costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection

from msgspec.structs import replace

from shunter.engine.policy.flight_recorder import FlightRecorder
from shunter.engine.policy.sessions import Session, SessionRegistry, ShadowSituation
from shunter.model.errors import Conflict
from shunter.model.protocol.flight_records import Shadowed, is_same
from shunter.model.protocol.scheduler_messages import OBJECTS, TASKS, DecisionAnswer, DecisionRow, Situation
from shunter.planning.remote.decision_rows import decision_row
from shunter.planning.remote.view_scope import limit_view
from shunter.planning.view import ClusterView, Decision

BACKLOG_MAX = 1_000  # situations queued for a slow shadow; beyond it the shadow gets the whole view again
ACTIVE_MAX = 2 * BACKLOG_MAX  # decisions of the active policy that a shadow can still be compared with


class Observers:
    def __init__(self, sessions: SessionRegistry, wants: Callable[[], Collection[str]]) -> None:
        """`wants` is what the policy in rounds wants to see."""
        self.flight: FlightRecorder | None = None
        self._sessions, self._wants = sessions, wants
        self._pending: list[tuple[Session, Situation]] = []

    @property
    def is_enabled(self) -> bool:
        return self.flight is not None or self._sessions.has_shadows

    def before_decision(self, view: ClusterView, now: float, budget: int) -> ClusterView:
        for session in self._shadows_of(self._wants()):
            delta = session.writer.write(limit_view(view, session.writer.wants))
            self._pending.append((session, Situation(now, budget, delta)))
        return view if self.flight is None else self.flight.before_decision(view, now, budget)

    def after_decision(self, decision: Decision) -> None:
        if self._pending:
            row = decision_row(decision)
            self._pending = [(session, replace(situation, active=row)) for session, situation in self._pending]
        if self.flight is not None:
            self.flight.after_decision(decision)

    def on_commit(self) -> None:
        for session, situation in self._pending:
            assert situation.active is not None, "recorded"
            _enqueue(session, ShadowSituation(situation))
            _remember(session, situation, situation.active)
        self._pending.clear()
        if self.flight is not None:
            self.flight.on_commit()

    def on_abort(self) -> None:
        for session, _ in self._pending:
            session.writer.reset()
        self._pending.clear()
        if self.flight is not None:
            self.flight.on_abort()

    def observe_situation(self, leader: Session, situation: Situation, view: ClusterView) -> None:
        """The leader was shown this situation outside of rounds; `view` is the whole view."""
        for session in self._shadows_of(leader.writer.wants):
            delta = session.writer.write(limit_view(view, session.writer.wants))
            _enqueue(session, ShadowSituation(replace(situation, delta=delta), leader, situation.delta.number))

    def record_decision(self, leader: Session, row: DecisionRow) -> None:
        """The leader has decided, and skipped the situations before."""
        for session in self._sessions.shadows():
            for each in session.backlog:
                if each.leader is leader and each.number <= row.number:
                    each.leader = None
                    if each.number == row.number:
                        each.situation = replace(each.situation, active=row)
                        _remember(session, each.situation, row)
            session.wakeup.set()

    def _shadows_of(self, wants: Collection[str]) -> list[Session]:
        """The shadows that may decide about the same subjects as the active policy."""
        common = [each for each in (TASKS, OBJECTS) if each in wants]
        return [each for each in self._sessions.shadows() if not set(common).isdisjoint(each.writer.wants)]

    def compare(self, session: Session, row: DecisionRow, version: int) -> DecisionAnswer:
        """Compare a shadow's decision with the actual one. Raises Conflict if that is no longer remembered."""
        active = session.active_decisions.pop(row.number, None)
        if active is None:
            raise Conflict(f"situation {row.number} was never sent to shadow '{session.name}', or has expired")
        agrees = is_same(row, _scoped_decision(active, session.writer.wants))
        session.decisions += 1
        session.refused += not agrees
        if self.flight is not None:
            self.flight.append(Shadowed(session.name, row.number, row, agrees))
        return DecisionAnswer(version, agrees=agrees)


def _enqueue(session: Session, shadow_situation: ShadowSituation) -> None:
    if len(session.backlog) >= BACKLOG_MAX:
        session.backlog.clear()
        session.writer.reset()
        return
    session.backlog.append(shadow_situation)
    session.wakeup.set()


def _remember(session: Session, situation: Situation, active: DecisionRow) -> None:
    session.active_decisions[situation.delta.number] = active
    while len(session.active_decisions) > ACTIVE_MAX:
        del session.active_decisions[next(iter(session.active_decisions))]


def _scoped_decision(row: DecisionRow, wants: Collection[str]) -> DecisionRow:
    """The part of a decision that a policy with this scope could have made."""
    if TASKS not in wants:
        row = replace(row, placements=[], preemptions=[])
    return row if OBJECTS in wants else replace(row, schedulings=[], withdrawals=[])
