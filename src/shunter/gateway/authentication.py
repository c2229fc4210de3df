"""Finds out who presents a token: the admin token of the first start, or an API key. Used by the gateway.

Keys are in the committed state, so every manager knows them, and forgets a revoked one, with the next round."""

from __future__ import annotations

from functools import partial

from shunter.engine.engine import Engine
from shunter.engine.identity.keys import is_use_to_be_noted, on_key_used
from shunter.engine.state.registries.identity import ApiKey, User
from shunter.gateway.tokens import TokenFile, Tokens
from shunter.model.identity.keys import NO_SECRET, KeyText, parse_key
from shunter.model.identity.roles import Role
from shunter.ports.callers import Caller
from shunter.ports.clock import Clock


class Authentication:
    def __init__(self, tokens: Tokens | TokenFile, engine: Engine, clock: Clock) -> None:
        self._tokens, self._engine, self._clock = tokens, engine, clock

    def authenticate(self, token: str) -> Caller | None:
        key = parse_key(token)
        return self._tokens.authenticate(token) if key is None else self._authenticate_key(key)

    def _authenticate_key(self, presented: KeyText) -> Caller | None:
        identity = self._engine.state.identity
        now_ms = int(self._clock.now() * 1000)
        key = identity.keys.get(presented.id)
        if key is None:
            NO_SECRET.matches(presented.secret)
            return None
        roles = roles_of(key, identity.users.get(key.user))
        if not key.matches(presented.secret, now_ms) or key.has_expired(now_ms) or not roles:
            return None
        self._note_use(key, now_ms)
        return Caller(key.user, roles, key.id)

    def _note_use(self, key: ApiKey, now_ms: int) -> None:
        if is_use_to_be_noted(key, now_ms) and not self._engine.is_following:
            self._engine.tell(partial(on_key_used, id=key.id))


def roles_of(key: ApiKey, user: User | None) -> frozenset[Role]:
    """The roles of a key that its user has as well; none if the user is disabled. The user of the admin token has no
    record, and may have keys."""
    if user is None:
        return frozenset(key.roles)
    if user.is_disabled:
        return frozenset()
    return frozenset(key.roles) if Role.ADMIN in user.roles else frozenset(key.roles) & frozenset(user.roles)
