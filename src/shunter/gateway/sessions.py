"""The sub-gateway `schedulers`: sessions of external schedulers. Implements `ports.schedulers.SchedulerService`."""

from __future__ import annotations

from collections.abc import Collection

from shunter.engine.engine import Engine
from shunter.engine.policy.scheduler_service import SchedulerService
from shunter.engine.policy.sessions import LEAD, SHADOW, Session
from shunter.model.errors import Invalid, NotFound, Problem
from shunter.model.protocol.scheduler_messages import WANTS, DecisionAnswer, DecisionRow, Situation
from shunter.model.rest.external_views import SchedulerSessionView
from shunter.planning.policies import check_scheduler_name

MODES = (LEAD, SHADOW)
SESSIONS_MAX = 100


class SchedulerSessions:
    def __init__(self, engine: Engine) -> None:
        self._service = engine.schedulers

    async def open(self, name: str, wants: Collection[str], mode: str) -> OpenSession:
        unknown = [each for each in wants if each not in WANTS]
        if unknown or not wants:
            fix = f"choose from {', '.join(WANTS)}"
            raise Invalid([Problem("wants", "contains an unknown value", unknown, fix)])
        self._check_new(name, mode)
        return OpenSession(self._service.open(name, frozenset(wants), mode), self._service)

    async def decide(self, token: str, row: DecisionRow) -> DecisionAnswer:
        return await self._service.decide(token, row)

    async def renew(self, token: str) -> float:
        return self._service.renew(token).lease_ms / 1000

    async def open_rest(self, name: str, mode: str) -> SchedulerSessionView:
        self._check_new(name, mode)
        return _view(self._service.open_rest(name, mode))

    async def renew_rest(self, name: str, token: str) -> SchedulerSessionView:
        return _view(self._find(name, token))

    async def close_rest(self, name: str, token: str) -> None:
        self._service.close(self._find(name, token), "its scheduler has closed it")

    def saw(self, token: str, *, is_read: bool) -> None:
        self._service.saw(token) if is_read else self._service.renew(token)

    def _find(self, name: str, token: str) -> Session:
        """Renews its lease."""
        check_scheduler_name(name, "path.scheduler")
        session = self._service.renew(token)
        if session.name != name:
            raise NotFound(f"the token is not that of a session '{name}'")
        return session

    def _check_new(self, name: str, mode: str) -> None:
        check_scheduler_name(name, "name")
        if mode not in MODES:
            raise Invalid([Problem("mode", "is unknown", mode, f"choose {' or '.join(MODES)}")])
        names = {each.name for each in self._service.sessions()}
        if len(names) >= SESSIONS_MAX and name not in names:
            raise Invalid([Problem("name", f"exceeds the limit of {SESSIONS_MAX} schedulers", name)])


def _view(session: Session) -> SchedulerSessionView:
    return SchedulerSessionView(session.name, session.mode, session.token, session.lease_ms / 1000)


class OpenSession:
    def __init__(self, session: Session, service: SchedulerService) -> None:
        self._session, self._service = session, service

    @property
    def name(self) -> str:
        return self._session.name

    @property
    def token(self) -> str:
        return self._session.token

    @property
    def lease_s(self) -> float:
        return self._session.lease_ms / 1000

    @property
    def close_reason(self) -> str:
        return self._session.close_reason

    async def next(self) -> Situation | None:
        return await self._service.next(self._session)

    def close(self, reason: str) -> None:
        self._service.close(self._session, reason)
