"""Users, API keys, and sessions that were signed out. The gateway of every manager authenticates by them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from shunter.engine import changes as c
from shunter.model.identity.keys import SecretDigest
from shunter.model.identity.roles import Role

NO_OLD_SECRET = SecretDigest(b"", b"")
ENDED_SESSIONS_MAX = 10_000  # beyond it, the oldest are forgotten


@dataclass(frozen=True, slots=True)
class User:
    name: str
    roles: tuple[Role, ...]  # what its keys may have at most
    is_disabled: bool
    created_ms: int
    tenant: str = ""  # empty for users of the cluster


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
    tenant: str = ""  # empty for keys of the whole cluster
    testbeds: frozenset[str] = frozenset()  # NAMESPACE/NAME, to which the key is bound; empty: all
    namespace: str = ""  # to which the key is bound; empty: all
    queue: str = ""

    def has_expired(self, now_ms: int) -> bool:
        return 0 < self.expires_ms <= now_ms

    def matches(self, secret: str, now_ms: int) -> bool:
        is_new, is_old = self.secret.matches(secret), self.old_secret.matches(secret)
        return is_new or (is_old and now_ms < self.old_until_ms)


def user_key(tenant: str, name: str) -> str:
    """Names of users are unique within a tenant, so that none learns the names of others."""
    return f"{tenant}/{name}" if tenant else name


class IdentityRegistry:
    def __init__(self) -> None:
        self.users: dict[str, User] = {}  # by `user_key`
        self.keys: dict[str, ApiKey] = {}
        self.ended_sessions: dict[str, int] = {}  # by id: when they would have expired

    def user_of(self, key: ApiKey) -> User | None:
        return self.users.get(user_key(key.tenant, key.user))

    def appliers(self) -> Mapping[type, Callable[[Any], None]]:
        return {
            c.UserSet: self._set_user,
            c.UserDeleted: self._delete_user,
            c.KeySet: self._set_key,
            c.KeyRevoked: self._revoke_key,
            c.KeyUsed: self._use_key,
            c.SessionEnded: self._end_session,
        }

    def dump(self) -> list[list[Any]]:
        """Written out: `astuple` copies what it finds, and takes thirty times as long."""
        return [
            [
                (user.name, user.roles, user.is_disabled, user.created_ms, user.tenant)
                for _, user in sorted(self.users.items())
            ],
            [_dump_key(key) for key in sorted(self.keys.values(), key=lambda key: key.id)],
            list(self.ended_sessions.items()),
        ]

    def load(self, dump: list[list[Any]]) -> None:
        users, keys, *rest = dump  # the sessions came later
        self.ended_sessions = dict(rest[0]) if rest else {}
        self.users = {
            user_key(tenant, name): User(name, tuple(map(Role, roles)), is_disabled, created_ms, tenant)
            for name, roles, is_disabled, created_ms, tenant in users
        }
        self.keys = {}
        for id, user, roles, note, secret, old_secret, times, tenant, testbeds, namespace, queue in keys:
            old_until_ms, created_ms, expires_ms, used_ms = times
            self.keys[id] = ApiKey(
                id=id,
                user=user,
                roles=tuple(map(Role, roles)),
                note=note,
                secret=SecretDigest(*secret),
                old_secret=SecretDigest(*old_secret),
                old_until_ms=old_until_ms,
                created_ms=created_ms,
                expires_ms=expires_ms,
                used_ms=used_ms,
                tenant=tenant,
                testbeds=frozenset(testbeds),
                namespace=namespace,
                queue=queue,
            )

    def _set_user(self, change: c.UserSet) -> None:
        known = self.users.get(user_key(change.tenant, change.name))
        roles = tuple(map(Role, change.roles))
        created_ms = change.at_ms if known is None else known.created_ms
        user = User(change.name, roles, change.is_disabled, created_ms, change.tenant)
        self.users[user_key(change.tenant, change.name)] = user

    def _delete_user(self, change: c.UserDeleted) -> None:
        self.users.pop(user_key(change.tenant, change.name), None)

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
            tenant=change.tenant,
            testbeds=frozenset(change.testbeds),
            namespace=change.namespace,
            queue=change.queue,
        )

    def _revoke_key(self, change: c.KeyRevoked) -> None:
        self.keys.pop(change.id, None)

    def _use_key(self, change: c.KeyUsed) -> None:
        if (key := self.keys.get(change.id)) is not None:
            self.keys[change.id] = replace(key, used_ms=change.at_ms)

    def _end_session(self, change: c.SessionEnded) -> None:
        kept = {id: expires_ms for id, expires_ms in self.ended_sessions.items() if expires_ms > change.at_ms}
        kept[change.id] = change.expires_ms
        while len(kept) > ENDED_SESSIONS_MAX:
            del kept[next(iter(kept))]
        self.ended_sessions = kept


def _dump_key(key: ApiKey) -> tuple[Any, ...]:
    secret, old = key.secret, key.old_secret
    digests = (secret.salt, secret.digest), (old.salt, old.digest)
    times = key.old_until_ms, key.created_ms, key.expires_ms, key.used_ms
    bounds = key.tenant, sorted(key.testbeds), key.namespace, key.queue
    return (key.id, key.user, key.roles, key.note, *digests, times, *bounds)
