"""Who looks on when a policy decides in a round: the flight recorder, and shadows, which decide on the very same view
and whose decisions are compared and not carried out. Owned by the engine.

Nothing leaves before the round is committed. While nobody looks on, it costs nothing.
"""

from __future__ import annotations

from msgspec.structs import replace

from shunter.engine.flight import FlightRecorder
from shunter.engine.schedulers import Schedulers, Session
from shunter.model.errors import Conflict
from shunter.model.flights import Shadowed, is_same
from shunter.model.situations import DecisionAnswer, DecisionRow, Situation
from shunter.planning.decision_rows import decision_row
from shunter.planning.limited_view import limit_view
from shunter.planning.view import ClusterView, Decision

BACKLOG_MAX = 1_000  # situations that wait for a slow shadow; past it the shadow is shown everything anew
ACTIVE_MAX = 2 * BACKLOG_MAX  # decisions of the active policy that a shadow may still be compared with


class Onlookers:
    def __init__(self, schedulers: Schedulers) -> None:
        self.flight: FlightRecorder | None = None
        self._schedulers = schedulers
        self._pending: list[tuple[Session, Situation]] = []

    @property
    def is_on(self) -> bool:
        return self.flight is not None or self._schedulers.has_shadows

    def look(self, view: ClusterView, now: float, budget: int) -> ClusterView:
        for session in self._schedulers.shadows():
            delta = session.writer.write(limit_view(view, session.writer.wants))
            self._pending.append((session, Situation(now, budget, delta)))
        return view if self.flight is None else self.flight.look(view, now, budget)

    def note(self, decision: Decision) -> None:
        if self._pending:
            row = decision_row(decision)
            self._pending = [(session, replace(situation, active=row)) for session, situation in self._pending]
        if self.flight is not None:
            self.flight.note(decision)

    def land(self) -> None:
        for session, situation in self._pending:
            _put(session, situation)
        self._pending.clear()
        if self.flight is not None:
            self.flight.land()

    def drop(self) -> None:
        for session, _ in self._pending:
            session.writer.forget()
        self._pending.clear()
        if self.flight is not None:
            self.flight.drop()

    def compare(self, session: Session, row: DecisionRow, version: int) -> DecisionAnswer:
        """What a shadow decided beside what was decided. Raises Conflict where that is not remembered any more."""
        active = session.actives.pop(row.number, None)
        if active is None:
            raise Conflict(f"situation {row.number} was not shown to shadow {session.name}, or too long ago")
        agrees = is_same(row, active)
        session.decisions += 1
        session.refused += not agrees
        if self.flight is not None:
            self.flight.append(Shadowed(session.name, row.number, row, agrees))
        return DecisionAnswer(version, agrees=agrees)


def _put(session: Session, situation: Situation) -> None:
    if len(session.backlog) >= BACKLOG_MAX:
        session.backlog.clear()
        session.writer.forget()
        return
    assert situation.active is not None, "it was noted"
    session.backlog.append(situation)
    session.actives[situation.delta.number] = situation.active
    while len(session.actives) > ACTIVE_MAX:
        del session.actives[next(iter(session.actives))]
    session.news.set()
