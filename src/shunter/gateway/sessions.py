"""The sub-gateway `schedulers`: sessions of external schedulers. Implements `ports.schedulers.SchedulerService`.

Names of schedulers are those of whoever opens the session: a tenant's have the tenant's name in front, and those of a
bound key also that of its user. So nobody ends, uses or learns of the sessions of others."""

from __future__ import annotations

from collections.abc import Collection

from shunter.engine.engine import Engine
from shunter.engine.policy.scheduler_service import SchedulerService
from shunter.engine.policy.sessions import LEAD, SHADOW, UNKNOWN_TOKEN, Session
from shunter.model.errors import Busy, Conflict, Invalid, NotFound, Problem
from shunter.model.protocol.scheduler_messages import WANTS, DecisionAnswer, DecisionRow, Situation
from shunter.model.rest.external_views import SchedulerSessionView
from shunter.planning.policies import check_scheduler_name
from shunter.ports.principals import Principal

MODES = (LEAD, SHADOW)
SESSIONS_MAX = 100  # names of the cluster
OWNER_SESSIONS_MAX = 10  # names of each tenant, and of each user of bound keys
OWNERS_SESSIONS_MAX = 1_000  # names of all of these together


def owner_of(caller: Principal) -> str:
    """Whose names of schedulers the caller uses; empty for the cluster's."""
    if caller.is_cluster_wide:
        return ""
    is_bound = caller.testbeds or caller.namespace or caller.queue
    return f"{caller.tenant}@{caller.user}" if is_bound else caller.tenant


class SchedulerSessions:
    def __init__(self, engine: Engine, owner: str = "") -> None:
        self._service = engine.schedulers
        self._prefix = f"{owner}/" if owner else ""

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
        return self._view(self._service.open_rest(self._prefix + name, mode))

    async def renew_rest(self, name: str, token: str) -> SchedulerSessionView:
        return self._view(self._find(name, token))

    async def close_rest(self, name: str, token: str) -> None:
        self._service.close(self._find(name, token), "its scheduler has closed it")

    def saw(self, token: str, *, is_read: bool) -> None:
        self._check_own(token)
        self._service.saw(token) if is_read else self._service.renew(token)

    def _find(self, name: str, token: str) -> Session:
        """Renews its lease."""
        check_scheduler_name(name, "path.scheduler")
        self._check_own(token)
        session = self._service.renew(token)
        if session.name != self._prefix + name:
            raise NotFound(f"the token is not that of a session '{name}'")
        return session

    def _check_new(self, name: str, mode: str) -> None:
        check_scheduler_name(name, "name")
        if mode not in MODES:
            raise Invalid([Problem("mode", "is unknown", mode, f"choose {' or '.join(MODES)}")])
        names = {each.name for each in self._service.sessions()}
        own = {each for each in names if _prefix_of(each) == self._prefix}
        if self._prefix + name in names:
            return
        most = OWNER_SESSIONS_MAX if self._prefix else SESSIONS_MAX
        if len(own) >= most:
            raise Invalid([Problem("name", f"exceeds the limit of {most} schedulers", name)])
        if self._prefix and sum(bool(_prefix_of(each)) for each in names) >= OWNERS_SESSIONS_MAX:
            raise Busy(f"tenants have {OWNERS_SESSIONS_MAX:,} sessions of schedulers together, which is the limit")

    def _check_own(self, token: str) -> None:
        """The session of somebody else is as unknown as one that never was. Raises Conflict."""
        found = next((each for each in self._service.sessions() if each.token == token), None)
        if found is not None and _prefix_of(found.name) != self._prefix:
            raise Conflict(UNKNOWN_TOKEN)

    def _view(self, session: Session) -> SchedulerSessionView:
        name = session.name.removeprefix(self._prefix)
        return SchedulerSessionView(name, session.mode, session.token, session.lease_ms / 1000)


def _prefix_of(name: str) -> str:
    owner, slash, _ = name.rpartition("/")
    return owner + slash


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
