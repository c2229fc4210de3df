"""Users and API keys. The gateway of every manager authenticates by them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from shunter.engine import changes as c
from shunter.model.identity.keys import SecretDigest
from shunter.model.identity.roles import Role

NO_OLD_SECRET = SecretDigest(b"", b"")


@dataclass(frozen=True, slots=True)
class User:
    name: str
    roles: tuple[Role, ...]  # what its keys may have at most
    is_disabled: bool
    created_ms: int


@dataclass(frozen=True, slots=True)
class ApiKey:
    id: str
    user: str
    roles: tuple[Role, ...]
    note: str
    secret: SecretDigest
    old_secret: SecretDigest  # of before the last rotation
    old_until_ms: int
    created_ms: int
    expires_ms: int  # 0: never
    used_ms: int  # to the hour; 0: never

    def has_expired(self, now_ms: int) -> bool:
        return 0 < self.expires_ms <= now_ms

    def matches(self, secret: str, now_ms: int) -> bool:
        is_new, is_old = self.secret.matches(secret), self.old_secret.matches(secret)
        return is_new or (is_old and now_ms < self.old_until_ms)


class IdentityRegistry:
    def __init__(self) -> None:
        self.users: dict[str, User] = {}
        self.keys: dict[str, ApiKey] = {}

    def appliers(self) -> Mapping[type, Callable[[Any], None]]:
        return {
            c.UserSet: self._set_user,
            c.KeySet: self._set_key,
            c.KeyRevoked: self._revoke_key,
            c.KeyUsed: self._use_key,
        }

    def dump(self) -> list[list[Any]]:
        """Written out: `astuple` copies what it finds, and takes thirty times as long."""
        return [
            [
                (user.name, user.roles, user.is_disabled, user.created_ms)
                for user in sorted(self.users.values(), key=lambda user: user.name)
            ],
            [_dump_key(key) for key in sorted(self.keys.values(), key=lambda key: key.id)],
        ]

    def load(self, dump: list[list[Any]]) -> None:
        users, keys = dump
        self.users = {
            name: User(name, tuple(map(Role, roles)), is_disabled, created_ms)
            for name, roles, is_disabled, created_ms in users
        }
        self.keys = {}
        for id, user, roles, note, secret, old_secret, *times in keys:
            digests = SecretDigest(*secret), SecretDigest(*old_secret)
            self.keys[id] = ApiKey(id, user, tuple(map(Role, roles)), note, *digests, *times)

    def _set_user(self, change: c.UserSet) -> None:
        known = self.users.get(change.name)
        roles = tuple(map(Role, change.roles))
        created_ms = change.at_ms if known is None else known.created_ms
        self.users[change.name] = User(change.name, roles, change.is_disabled, created_ms)

    def _set_key(self, change: c.KeySet) -> None:
        known = self.keys.get(change.id)
        self.keys[change.id] = ApiKey(
            id=change.id,
            user=change.user,
            roles=tuple(map(Role, change.roles)),
            note=change.note,
            secret=SecretDigest(change.salt, change.digest),
            old_secret=SecretDigest(change.old_salt, change.old_digest),
            old_until_ms=change.old_until_ms,
            created_ms=change.at_ms if known is None else known.created_ms,
            expires_ms=change.expires_ms,
            used_ms=0 if known is None else known.used_ms,
        )

    def _revoke_key(self, change: c.KeyRevoked) -> None:
        self.keys.pop(change.id, None)

    def _use_key(self, change: c.KeyUsed) -> None:
        if (key := self.keys.get(change.id)) is not None:
            self.keys[change.id] = replace(key, used_ms=change.at_ms)


def _dump_key(key: ApiKey) -> tuple[Any, ...]:
    secret, old = key.secret, key.old_secret
    digests = (secret.salt, secret.digest), (old.salt, old.digest)
    times = key.old_until_ms, key.created_ms, key.expires_ms, key.used_ms
    return (key.id, key.user, key.roles, key.note, *digests, *times)
