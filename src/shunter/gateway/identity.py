"""The sub-gateways `identity`, with users, API keys and the caller itself, and `join_tokens`, which enrols the workers
that have one. Implement `ports.identity`."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable

import msgspec

from shunter.engine.engine import Engine
from shunter.engine.identity.join_tokens import JoinTokenDraft, find_join_token
from shunter.engine.identity.keys import KeyBounds, KeyDraft, ManagedKeys, find_key
from shunter.engine.identity.tenants import no_tenant
from shunter.engine.state.registries.identity import ApiKey, User, user_key
from shunter.engine.state.registries.join_tokens import JoinTokenRecord
from shunter.gateway.authentication import roles_of
from shunter.gateway.managers import Members
from shunter.gateway.scope import Scope
from shunter.model.errors import Conflict, Forbidden, Invalid, Problem
from shunter.model.identity.join_tokens import ADDRESSES_MAX, JoinToken, format_join_token
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
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.rest.identity_views import (
    EnrolmentView,
    JoinTokenPage,
    JoinTokenView,
    KeyPage,
    KeyView,
    MeView,
    NewJoinTokenView,
    NewKeyView,
    ReachedCluster,
    UserPage,
    UserView,
)
from shunter.model.timestamps import iso
from shunter.ports.clock import Clock
from shunter.ports.identity import NewKey
from shunter.ports.principals import Principal
from shunter.ports.security.certificate_authority import CertificateAuthority

VOUCHED_KEY_LIFETIME_S = 24 * 3600.0  # of a key that a user of an issuer or plugin makes for itself
NO_LISTENER = "no manager listens for workers of other machines; start one with --workers-listen"


class Identity:
    def __init__(
        self, caller: Principal, engine: Engine, clock: Clock, scope: Scope, reached: Callable[[], ReachedCluster]
    ) -> None:
        self._caller, self._engine, self._clock, self._scope = caller, engine, clock, scope
        self._reached = reached

    async def me(self) -> MeView:
        await self._engine.wait_committed()
        key = self._engine.state.identity.keys.get(self._caller.key)
        expires_at = None if key is None else iso(key.expires_ms / 1000)
        roles = [role for role in Role if role in self._caller.roles]
        caller = self._caller
        return MeView(
            user=caller.user,
            roles=list(roles),
            cluster=self._reached(),
            key=caller.key or None,
            expires_at=expires_at,
            tenant=caller.tenant or None,
            namespace=self.default_namespace(),
            namespaces=None if self._scope.sees_all else list(self._scope.namespaces()),
            testbeds=sorted(caller.testbeds),
            queue=caller.queue or None,
            authority=caller.authority or None,
        )

    def default_namespace(self) -> str:
        return self._scope.default_namespace or NAMESPACE_DEFAULT

    def sees_namespace(self, namespace: str) -> bool:
        return self._scope.sees(namespace)

    async def users(self, limit: int, after: str | None) -> UserPage:
        await self._engine.wait_committed()
        found = self._engine.state.identity.users
        users = {name: user for name, user in found.items() if self._manages(user.tenant)}
        names, following = _cut_page(users, limit, after)
        return UserPage([_user_view(users[name]) for name in names], following, len(users))

    async def put_user(
        self, name: str, roles: tuple[Role, ...] | None, is_disabled: bool | None, tenant: str | None = None
    ) -> UserView:
        if self._own_bounds != KeyBounds():
            raise Forbidden("your key is bound, and users have no bounds; change users with a key that is not bound")
        owner = self._tenant_to_manage(tenant)
        await self._engine.put_user(name, roles, is_disabled, self._caller.user, owner)
        return _user_view(self._engine.state.identity.users[user_key(owner, name)])

    async def keys(self, limit: int, after: str | None) -> KeyPage:
        await self._engine.wait_committed()
        found = self._engine.state.identity.keys
        managed = self._managed_keys
        keys = {id: key for id, key in found.items() if key in managed}
        ids, following = _cut_page(keys, limit, after)
        return KeyPage([self._view(keys[id]) for id in ids], following, len(keys))

    async def create_key(self, new: NewKey) -> NewKeyView:
        id, secret = _make_id(), _make_secret()
        draft = KeyDraft(
            id,
            _digest(secret),
            new.user or self._caller.user,
            new.roles,
            new.note,
            self._lifetime_of(new),
            self._tenant_to_manage(new.tenant),
            self._bounds(new),
        )
        await self._engine.create_key(draft, self._caller.user)
        return self._new_key(id, secret)

    def _lifetime_of(self, new: NewKey) -> float | None:
        """A key for the caller itself does not outlive what the caller has presented: otherwise users whom an issuer
        does not vouch for any more, and holders of a key that expires, could stay. Raises Invalid."""
        own_s = self._lifetime_max_s()
        if own_s is None or (new.user or self._caller.user) != self._caller.user:
            return new.lifetime_s
        if new.lifetime_s is not None and new.lifetime_s > own_s:
            fix = f"choose at most {own_s:.0f}s, or create a user for a service, and a key for it"
            raise Invalid([Problem("expires_in", "is longer than a key of your own may live", new.lifetime_s, fix)])
        return own_s if new.lifetime_s is None else new.lifetime_s

    def _lifetime_max_s(self) -> float | None:
        """Returns how long a key may live that the caller makes for itself; None: for ever."""
        if self._caller.authority:
            return VOUCHED_KEY_LIFETIME_S
        key = self._engine.state.identity.keys.get(self._caller.key)
        return None if key is None or not key.expires_ms else max(key.expires_ms / 1000 - self._clock.now(), 0.0)

    async def rotate_key(self, id: str, overlap_s: float) -> NewKeyView:
        secret = _make_secret()
        await self._engine.rotate_key(id, _digest(secret), overlap_s, self._caller.user, self._managed_keys)
        return self._new_key(id, secret)

    async def revoke_key(self, id: str) -> None:
        await self._engine.revoke_key(id, self._caller.user, self._managed_keys)

    @property
    def _only(self) -> str | None:
        """The tenant whose users and keys the caller manages; None: those of all. Without a tenant, a bound key
        manages none of any tenant."""
        return None if self._caller.is_cluster_wide else self._caller.tenant

    @property
    def _managed_keys(self) -> ManagedKeys:
        return ManagedKeys(self._only, self._own_bounds)

    @property
    def _own_bounds(self) -> KeyBounds:
        return KeyBounds(self._caller.testbeds, self._caller.namespace, self._caller.queue)

    def _manages(self, tenant: str) -> bool:
        return self._only in (None, tenant)

    def _tenant_to_manage(self, tenant: str | None) -> str:
        """Raises NotFound, in the words for a tenant that does not exist."""
        if not self._manages(tenant or self._caller.tenant):
            raise no_tenant(str(tenant))
        return tenant or self._caller.tenant

    def _bounds(self, new: NewKey) -> KeyBounds:
        """A key that somebody makes is bound at least as narrowly as theirs."""
        caller, default = self._caller, self._default_namespace_of(new)
        testbeds = frozenset(each if "/" in each else f"{default}/{each}" for each in new.testbeds)
        wanted = KeyBounds(testbeds or caller.testbeds, new.namespace or caller.namespace, new.queue or caller.queue)
        if not self._own_bounds.covers(wanted):
            raise Forbidden("your key is bound more narrowly than the key to create; see `shunter whoami`")
        return wanted

    def _default_namespace_of(self, new: NewKey) -> str:
        if new.namespace:
            return new.namespace
        tenant = self._engine.state.tenants.tenants.get(new.tenant or "")
        return self.default_namespace() if tenant is None else tenant.namespaces[0]

    def _new_key(self, id: str, secret: str) -> NewKeyView:
        key = find_key(self._engine.state.identity.keys, id)
        return NewKeyView(key=str(KeyText(id, secret)), **msgspec.structs.asdict(self._view(key)))

    def _view(self, key: ApiKey) -> KeyView:
        usable = roles_of(key, self._engine.state.identity.user_of(key))
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
            tenant=key.tenant or None,
            testbeds=sorted(key.testbeds),
            namespace=key.namespace or None,
            queue=key.queue or None,
        )


class JoinTokens:
    def __init__(
        self, caller: Principal, engine: Engine, clock: Clock, members: Members, authority: CertificateAuthority
    ) -> None:
        self._caller, self._engine, self._clock = caller, engine, clock
        self._members, self._authority = members, authority

    async def page(self, limit: int, after: str | None) -> JoinTokenPage:
        await self._engine.wait_committed()
        tokens = self._engine.state.join_tokens.tokens
        ids, following = _cut_page(tokens, limit, after)
        return JoinTokenPage([self._view(tokens[id]) for id in ids], following, len(tokens))

    async def create(self, node: str, lifetime_s: float) -> NewJoinTokenView:
        authorities = self._authority.bundle().decode()
        urls, managers = self._addresses()
        id, secret = _make_id(), _make_secret()
        await self._engine.create_join_token(JoinTokenDraft(id, node, _digest(secret), lifetime_s), self._caller.user)
        token = JoinToken(id=id, secret=secret, node=node, urls=urls, managers=managers, authorities=authorities)
        view = self._view(find_join_token(self._engine.state.join_tokens.tokens, id))
        return NewJoinTokenView(token=format_join_token(token), **msgspec.structs.asdict(view))

    async def revoke(self, id: str) -> None:
        await self._engine.revoke_join_token(id, self._caller.user)

    async def enrol(self, id: str, secret: str, request: bytes) -> EnrolmentView:
        """The token is used up before the certificate is made. If the answer is lost, the same worker asks again."""
        authorities, key = self._authority.bundle(), self._authority.key_of(request)
        node = await self._engine.use_join_token(id, secret, key)
        certificate = self._authority.issue(node, request)
        return EnrolmentView(node=node, certificate=certificate.decode(), authorities=authorities.decode())

    def _addresses(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The URLs of all managers, and their addresses for workers."""
        records = {each.name: each for each in (*self._members.coordination.managers(), self._members.own)}
        known = [records[name] for name in sorted(records)]
        managers = tuple(each.workers for each in known if each.workers)
        if not managers:
            raise Conflict(NO_LISTENER)
        return tuple(each.url for each in known if each.url)[:ADDRESSES_MAX], managers[:ADDRESSES_MAX]

    def _view(self, token: JoinTokenRecord) -> JoinTokenView:
        has_expired = token.expires_ms <= self._clock.now() * 1000
        return JoinTokenView(
            id=token.id,
            node=token.node,
            state="used" if token.used_ms else "expired" if has_expired else "valid",
            user=token.created_by,
            created_at=iso(token.created_ms / 1000) or "",
            expires_at=iso(token.expires_ms / 1000) or "",
            used_at=iso(token.used_ms / 1000),
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
        tenant=user.tenant or None,
        created_at=iso(user.created_ms / 1000) or "",
    )


def _make_id() -> str:
    return "".join(secrets.choice(ID_ALPHABET) for _ in range(ID_SIZE))


def _make_secret() -> str:
    return secrets.token_urlsafe(SECRET_BYTES)


def _digest(secret: str) -> SecretDigest:
    return digest_secret(secrets.token_bytes(SALT_BYTES), secret)
