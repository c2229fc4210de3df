"""The sub-gateway `identity`: users, API keys, and the caller itself. Implements `ports.identity.IdentityService`."""

from __future__ import annotations

import secrets
from collections.abc import Iterable

import msgspec

from shunter.engine.engine import Engine
from shunter.engine.identity.keys import KeyDraft, find_key
from shunter.engine.state.registries.identity import ApiKey, User
from shunter.gateway.authentication import roles_of
from shunter.model.identity.keys import (
    ID_ALPHABET,
    ID_SIZE,
    SALT_BYTES,
    SECRET_BYTES,
    KeyText,
    SecretDigest,
    digest_secret,
)
from shunter.model.identity.roles import Role
from shunter.model.rest.identity_views import KeyPage, KeyView, MeView, NewKeyView, UserPage, UserView
from shunter.model.timestamps import iso
from shunter.ports.callers import Caller
from shunter.ports.clock import Clock
from shunter.ports.identity import NewKey


class Identity:
    def __init__(self, caller: Caller, engine: Engine, clock: Clock) -> None:
        self._caller, self._engine, self._clock = caller, engine, clock

    async def me(self) -> MeView:
        await self._engine.wait_committed()
        key = self._engine.state.identity.keys.get(self._caller.key)
        expires_at = None if key is None else iso(key.expires_ms / 1000)
        roles = [role for role in Role if role in self._caller.roles]
        return MeView(user=self._caller.user, roles=list(roles), key=self._caller.key or None, expires_at=expires_at)

    async def users(self, limit: int, after: str | None) -> UserPage:
        await self._engine.wait_committed()
        users = self._engine.state.identity.users
        names, following = _cut_page(users, limit, after)
        return UserPage([_user_view(users[name]) for name in names], following, len(users))

    async def put_user(self, name: str, roles: tuple[Role, ...] | None, is_disabled: bool | None) -> UserView:
        await self._engine.put_user(name, roles, is_disabled, self._caller.user)
        return _user_view(self._engine.state.identity.users[name])

    async def keys(self, limit: int, after: str | None) -> KeyPage:
        await self._engine.wait_committed()
        keys = self._engine.state.identity.keys
        ids, following = _cut_page(keys, limit, after)
        return KeyPage([self._view(keys[id]) for id in ids], following, len(keys))

    async def create_key(self, new: NewKey) -> NewKeyView:
        id, secret = _make_id(), _make_secret()
        draft = KeyDraft(id, _digest(secret), new.user or self._caller.user, new.roles, new.note, new.lifetime_s)
        await self._engine.create_key(draft, self._caller.user)
        return self._new_key(id, secret)

    async def rotate_key(self, id: str, overlap_s: float) -> NewKeyView:
        secret = _make_secret()
        await self._engine.rotate_key(id, _digest(secret), overlap_s, self._caller.user)
        return self._new_key(id, secret)

    async def revoke_key(self, id: str) -> None:
        await self._engine.revoke_key(id, self._caller.user)

    def _new_key(self, id: str, secret: str) -> NewKeyView:
        key = find_key(self._engine.state.identity.keys, id)
        return NewKeyView(key=str(KeyText(id, secret)), **msgspec.structs.asdict(self._view(key)))

    def _view(self, key: ApiKey) -> KeyView:
        usable = roles_of(key, self._engine.state.identity.users.get(key.user))
        is_rotating = key.old_until_ms > self._clock.now() * 1000
        return KeyView(
            id=key.id,
            user=key.user,
            roles=[str(role) for role in key.roles if role in usable],
            note=key.note,
            created_at=iso(key.created_ms / 1000) or "",
            expires_at=iso(key.expires_ms / 1000),
            last_used_at=iso(key.used_ms / 1000),
            old_secret_until=iso(key.old_until_ms / 1000) if is_rotating else None,
        )


def _cut_page(names: Iterable[str], limit: int, after: str | None) -> tuple[list[str], str | None]:
    """The names of a page, and where the next one begins."""
    rest = sorted(name for name in names if after is None or name > after)
    return rest[:limit], rest[limit - 1] if len(rest) > limit else None


def _user_view(user: User) -> UserView:
    return UserView(
        name=user.name,
        roles=[str(role) for role in user.roles],
        disabled=user.is_disabled,
        created_at=iso(user.created_ms / 1000) or "",
    )


def _make_id() -> str:
    return "".join(secrets.choice(ID_ALPHABET) for _ in range(ID_SIZE))


def _make_secret() -> str:
    return secrets.token_urlsafe(SECRET_BYTES)


def _digest(secret: str) -> SecretDigest:
    return digest_secret(secrets.token_bytes(SALT_BYTES), secret)
