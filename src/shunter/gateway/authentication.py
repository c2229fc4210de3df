"""Finds out who presents a credential: the admin token of the first start, an API key, the session of a browser, or
what an issuer or a plugin vouches for. Used by the gateway.

Keys are in the committed state, so every manager knows them, and forgets a revoked one, with the next round."""

from __future__ import annotations

import hmac
from functools import partial

from shunter.engine.engine import Engine
from shunter.engine.identity.keys import KEYS_MAX, is_use_to_be_noted, on_key_used
from shunter.engine.state.registries.identity import ApiKey, User, user_key
from shunter.gateway.browser_sessions import BrowserSessions
from shunter.gateway.sign_in.external_users import ExternalUsers
from shunter.gateway.tokens import TokenFile, Tokens
from shunter.model.errors import Unauthorized
from shunter.model.identity.keys import DUMMY_SECRET, KeyText, parse_key
from shunter.model.identity.oidc import ExternalUser
from shunter.model.identity.roles import Role
from shunter.model.identity.sessions import PREFIX as SESSION_PREFIX
from shunter.model.identity.sessions import Session
from shunter.ports.clock import Clock
from shunter.ports.principals import Principal

NOTE_AGAIN_MS = 60_000  # a use that the engine has been told of may get lost


class Authentication:
    def __init__(self, tokens: Tokens | TokenFile, engine: Engine, clock: Clock, external: ExternalUsers) -> None:
        self._tokens, self._engine, self._clock, self._external = tokens, engine, clock, external
        self._noted_ms: dict[str, int] = {}  # when the engine was last told of a key's use
        self.sessions = BrowserSessions(tokens, engine, clock, self._find_principal, external.fingerprint)

    def authenticate(self, token: str) -> Principal | None:
        if token.startswith(SESSION_PREFIX):
            return self.sessions.find(token)
        key = parse_key(token)
        if key is not None:
            return self._authenticate_key(key)
        found = self._tokens.authenticate(token)
        if found is not None or self._external.is_empty:
            return found
        try:
            return self._authenticate_externally(token)
        except Unauthorized:
            return None

    async def prepare(self, token: str) -> None:
        """Ask the issuer or plugins about a credential that is none of the cluster's own. Raises Unavailable, Busy."""
        if not self._external.is_empty and not self._is_own(token):
            await self._external.prepare(token)

    def explain_refusal(self, token: str) -> str:
        """Why the credential of an external user is refused; empty where its sender must not learn more."""
        if self._external.is_empty or self._is_own(token):
            return ""
        try:
            self._authenticate_externally(token)
        except Unauthorized as error:
            return error.detail
        return ""

    def _is_own(self, token: str) -> bool:
        """Nobody else may see a token or a key of the cluster."""
        if not token or token.startswith(SESSION_PREFIX) or parse_key(token) is not None:
            return True
        return self._tokens.authenticate(token) is not None

    def _authenticate_externally(self, token: str) -> Principal | None:
        """Raises Unauthorized."""
        user = self._external.find(token)
        return None if user is None else self.admit(user)

    def admit(self, user: ExternalUser) -> Principal:
        """Raises Unauthorized for a user whom the cluster itself has disabled, or whose tenant does not exist."""
        state = self._engine.state
        known = state.identity.users.get(user_key(user.tenant, user.user))
        if known is not None and known.is_disabled:
            raise Unauthorized(f"the user '{user.user}' is disabled in this cluster")
        if user.tenant and user.tenant not in state.tenants.tenants:
            raise Unauthorized(f"your group belongs to tenant '{user.tenant}', which does not exist")
        return Principal(user.user, user.roles, tenant=user.tenant, authority=user.authority)

    def sign_source(self, address: str) -> str:
        """All managers of a cluster share the admin token, so a client without it cannot make the proof."""
        return hmac.digest(self._tokens.secret(), b"source\0" + address.encode(), "sha256").hex()

    def _authenticate_key(self, presented: KeyText) -> Principal | None:
        identity = self._engine.state.identity
        now_ms = int(self._clock.now() * 1000)
        key = identity.keys.get(presented.id)
        if key is None:
            DUMMY_SECRET.matches(presented.secret)
            return None
        return self._principal_of(key, now_ms) if key.matches(presented.secret, now_ms) else None

    def _find_principal(self, session: Session) -> Principal | None:
        """The caller that a session identifies. The session's key must still be valid."""
        if session.authority:
            try:
                roles = frozenset(map(Role, session.roles))
                return self.admit(ExternalUser(session.user, roles, session.tenant, session.authority))
            except Unauthorized:
                return None
        if not session.key:
            return self._tokens.principal_of(session.user)
        key = self._engine.state.identity.keys.get(session.key)
        return None if key is None else self._principal_of(key, int(self._clock.now() * 1000))

    def _principal_of(self, key: ApiKey, now_ms: int) -> Principal | None:
        roles = roles_of(key, self._engine.state.identity.user_of(key))
        if key.has_expired(now_ms) or not roles:
            return None
        self._note_use(key, now_ms)
        return Principal(key.user, roles, key.id, key.tenant, key.testbeds, key.namespace, key.queue)

    def _note_use(self, key: ApiKey, now_ms: int) -> None:
        """At most once in a while, and only if it can be committed: a full disk keeps nobody from reading."""
        if not is_use_to_be_noted(key, now_ms) or self._engine.is_following or self._engine.commit_problem:
            return
        if now_ms - self._noted_ms.get(key.id, 0) < NOTE_AGAIN_MS:
            return
        if len(self._noted_ms) >= KEYS_MAX:
            self._noted_ms.clear()
        self._noted_ms[key.id] = now_ms
        self._engine.tell(partial(on_key_used, id=key.id))


def roles_of(key: ApiKey, user: User | None) -> frozenset[Role]:
    """The roles of a key that its user has as well; none if the user is disabled. The admin token's user may
    have keys without a user record; these keep all their roles."""
    if user is None:
        return frozenset(key.roles)
    if user.is_disabled:
        return frozenset()
    return frozenset(key.roles) if Role.ADMIN in user.roles else frozenset(key.roles) & frozenset(user.roles)
