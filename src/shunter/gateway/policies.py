"""The sub-gateway `policies`: lists policies and changes the active one while the cluster runs. Implements
`ports.admin.PolicyService`."""

from __future__ import annotations

from collections.abc import Callable

from shunter.engine.engine import Engine
from shunter.engine.policy.sessions import CONNECTED, LEAD, LEASE_DEFAULT_S, SILENT, Session
from shunter.engine.state.registries.cluster import FALLBACK_SETTING, LEASE_SETTING, POLICY_SETTING
from shunter.log import Log
from shunter.model.errors import Invalid
from shunter.model.rest.cluster_views import PolicyPage, PolicyView
from shunter.planning.planner import POLICY_DEFAULT
from shunter.planning.policies import REMOTE_PREFIX, Catalogue, CatalogueEntry
from shunter.planning.view import Policy

log = Log(__name__)


class Policies:
    """Calls `on_activate` with every policy that becomes active."""

    def __init__(
        self, engine: Engine, catalogue: Catalogue, on_activate: Callable[[Policy], None] = lambda _: None
    ) -> None:
        self._engine, self._catalogue, self._on_activate = engine, catalogue, on_activate

    async def page(self) -> PolicyPage:
        await self._engine.wait_committed()
        return self._page()

    async def use(self, name: str) -> PolicyPage:
        policy = self._catalogue.build(name)
        await self._engine.set_settings({POLICY_SETTING: name})
        self._engine.use_policy(policy)
        self._on_activate(policy)
        log.info("policy.changed", policy=name)
        return self._page()

    def check(self, name: str) -> None:
        """Raises Invalid for a policy that cannot be used."""
        self._catalogue.build(name)

    def apply_settings(self) -> None:
        """Apply the stored settings for external schedulers: fallback policy and lease."""
        stored, catalogue = self._engine.state.cluster, self._catalogue
        fallback = stored.get(FALLBACK_SETTING, POLICY_DEFAULT)
        try:
            catalogue.build(fallback)
        except Invalid as error:  # its plugin was removed
            log.error("fallback.not_installed", policy=fallback, error=error.detail)
            fallback = POLICY_DEFAULT
        self._engine.active_policy.set_fallback(lambda: catalogue.build(fallback))
        self._engine.schedulers.set_lease(float(stored.get(LEASE_SETTING, str(LEASE_DEFAULT_S))))

    def _page(self) -> PolicyPage:
        views = [self._view(entry) for entry in self._catalogue.entries()]
        views += self._schedulers()
        return PolicyPage(views, None, len(views))

    def _schedulers(self) -> list[PolicyView]:
        """The connected schedulers, and the active one even if it is not connected."""
        active_policy, sessions = self._engine.active_policy, self._engine.schedulers.sessions()
        remote = [each for each in sessions if not each.is_local]
        views = [self._session_view(each) for each in remote]
        if active_policy.name.startswith(REMOTE_PREFIX) and all(
            each.name != active_policy.leader_session for each in remote
        ):
            refusals = self._engine.schedulers.leader_refusals
            views.append(
                PolicyView(
                    name=active_policy.name,
                    kind="remote",
                    source="not connected",
                    active=True,
                    state=SILENT,
                    error=self._fallback_note(SILENT),
                    refusals=refusals.count,
                    last_refusal=refusals.last_reason or None,
                )
            )
        return views

    def _session_view(self, session: Session) -> PolicyView:
        refusals, state = session.refusals, self._engine.schedulers.state_of(session)
        if session.mode != LEAD:
            agreed = session.decisions - session.refused
            source = f"agrees with {agreed:,} of {session.decisions:,} decisions"
            if session.is_rest:
                source = f"{state}, {source}"
            return PolicyView(name=session.name, kind="shadow", source=source, active=False, state=state)
        is_active = session.name == self._engine.active_policy.leader_session
        decisions = f"{session.decisions:,} decision{'' if session.decisions == 1 else 's'}"
        return PolicyView(
            name=f"{REMOTE_PREFIX}{session.name}", kind="remote", source=f"{state}, {decisions}",
            active=is_active, state=state, refusals=refusals.count, last_refusal=refusals.last_reason or None,
            error=self._fallback_note(state) if is_active and state != CONNECTED else None,
        )  # fmt: skip

    def _fallback_note(self, state: str) -> str:
        return f"{state}: fallback {self._engine.active_policy.round_policy.name} is active"

    def _view(self, entry: CatalogueEntry) -> PolicyView:
        if entry.error:
            return PolicyView(name=entry.name, kind=entry.kind, source=entry.source, active=False, error=entry.error)
        if entry.kind == "filter":
            return PolicyView(name=entry.name, kind=entry.kind, source=entry.source, active=True)
        if entry.name != self._engine.active_policy.name:
            return PolicyView(name=entry.name, kind=entry.kind, source=entry.source, active=False)
        return self._active_view(entry)

    def _active_view(self, entry: CatalogueEntry) -> PolicyView:
        active_policy, session = self._engine.active_policy, self._local_session()
        state = None if session is None else self._engine.schedulers.state_of(session)
        note = "" if state in (None, CONNECTED) else self._fallback_note(str(state))
        refusals = active_policy.refusals if session is None else session.refusals
        return PolicyView(
            name=entry.name,
            kind=entry.kind,
            source=entry.source,
            active=True,
            error="; ".join(filter(None, [note, active_policy.last_error])) or None,
            failures=active_policy.failures,
            state=state,
            refusals=refusals.count,
            last_refusal=refusals.last_reason or None,
        )

    def _local_session(self) -> Session | None:
        """The session of an active policy that decides in this process, outside of rounds."""
        leader = self._engine.active_policy.leader_session
        return next(
            (each for each in self._engine.schedulers.sessions() if each.is_local and each.name == leader), None
        )


def choose_policy(catalogue: Catalogue, stored: str, configured: str | None) -> str:
    """The policy that is active at the start: the one that was set while the cluster ran, else the configured one, else
    the default. A plugin that was removed must not keep the cluster from starting."""
    for name in (stored, configured):
        if name:
            try:
                catalogue.build(name)
                return name
            except Invalid as error:
                if name == configured:
                    raise
                log.error("policy.not_installed", policy=name, error=error.detail)
    return POLICY_DEFAULT
