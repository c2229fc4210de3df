"""What a transport may ask about users, API keys, sessions of browsers, its own caller, tenants, join tokens, secrets
and the audit log: the Protocols of the sub-gateways `identity`, `sign_in`, `tenants`, `join_tokens`, `secrets` and
`audit`.

Calls raise only the errors of `model.errors`. They return only committed state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from shunter.model.audit.records import RefusedRequests
from shunter.model.audit.views import AuditLines, AuditPage
from shunter.model.identity.roles import Role
from shunter.model.rest.identity_views import (
    EnrolmentView,
    JoinTokenPage,
    KeyPage,
    MeView,
    NewJoinTokenView,
    NewKeyView,
    SessionCodeView,
    SessionView,
    SignInOptionsView,
    TenantPage,
    TenantView,
    UserPage,
    UserView,
)
from shunter.model.rest.secret_views import KeyRotation, SecretPage, SecretView


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key to create. `user` None: of the caller. `lifetime_s` None: for ever."""

    roles: tuple[Role, ...]
    user: str | None = None
    note: str = ""
    lifetime_s: float | None = None
    tenant: str | None = None  # None: of the caller
    testbeds: tuple[str, ...] = ()  # NAME or NAMESPACE/NAME, to which it is bound; empty: all
    namespace: str | None = None  # to which it is bound
    queue: str | None = None


@dataclass(frozen=True, slots=True)
class TenantChange:
    """None leaves as it is; a quota of None is removed."""

    namespaces: tuple[str, ...] | None = None
    queues: tuple[str, ...] | None = None
    quotas: Mapping[str, int | None] | None = None


class TenantService(Protocol):
    async def page(self, limit: int, after: str | None) -> TenantPage:
        """By name."""
        ...

    async def get(self, name: str) -> TenantView: ...

    async def create(self, name: str, change: TenantChange) -> TenantView:
        """The tenant also owns a namespace and a queue of its name."""
        ...

    async def update(self, name: str, change: TenantChange) -> TenantView: ...

    async def delete(self, name: str) -> None:
        """Raises Conflict while anything is left of it."""
        ...


class IdentityService(Protocol):
    async def me(self) -> MeView: ...

    def default_namespace(self) -> str:
        """The namespace of requests that name none."""
        ...

    def sees_namespace(self, namespace: str) -> bool:
        """Whether the caller may know what is in it now."""
        ...

    async def users(self, limit: int, after: str | None) -> UserPage:
        """By name."""
        ...

    async def put_user(
        self, name: str, roles: tuple[Role, ...] | None, is_disabled: bool | None, tenant: str | None = None
    ) -> UserView:
        """Create a user or change it; None leaves as it is."""
        ...

    async def keys(self, limit: int, after: str | None) -> KeyPage:
        """By id."""
        ...

    async def create_key(self, new: NewKey) -> NewKeyView: ...

    async def rotate_key(self, id: str, overlap_s: float) -> NewKeyView:
        """Give the key another secret; the old one is accepted for `overlap_s` more."""
        ...

    async def revoke_key(self, id: str) -> None: ...


class JoinTokenService(Protocol):
    async def page(self, limit: int, after: str | None) -> JoinTokenPage:
        """By id."""
        ...

    async def create(self, node: str, lifetime_s: float) -> NewJoinTokenView: ...

    async def revoke(self, id: str) -> None: ...

    async def enrol(self, id: str, secret: str, request: bytes) -> EnrolmentView:
        """Sign the certificate request of a worker that has a join token. Raises Unauthorized."""
        ...


class SecretService(Protocol):
    """No call returns a value: values travel only in orders to workers."""

    async def list(self, namespace: str, limit: int, after: str | None) -> SecretPage:
        """By name."""
        ...

    async def set(self, namespace: str, name: str, value: bytes) -> SecretView: ...

    async def delete(self, namespace: str, name: str) -> None: ...

    async def rotate_key(self) -> KeyRotation:
        """Encrypt all secrets with the newest key; if all are already, make a new key first."""
        ...


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """`text` is the credential: it belongs into a cookie and nowhere else."""

    text: str = field(repr=False)
    cookie_name: str
    lifetime_s: int
    view: SessionView


class SignInService(Protocol):
    async def create_code(self) -> SessionCodeView:
        """A one-time code that opens a session of the caller."""
        ...

    async def open(self) -> OpenedSession:
        """A session that may do what the caller may."""
        ...

    async def redeem(self, code: str) -> OpenedSession:
        """Open a session with a one-time code. Raises Unauthorized."""
        ...

    async def end(self, session: str) -> None: ...

    def options(self) -> SignInOptionsView: ...

    async def begin_oidc(self, redirect_uri: str) -> tuple[str, str]:
        """Where to send a browser to sign in, and the state that it must bring back. Raises NotFound, Unavailable."""
        ...

    async def finish_oidc(self, code: str, state: str, kept_state: str, redirect_uri: str) -> OpenedSession:
        """Open a session of who has signed in. `state` is what came back, `kept_state` what the browser kept. Raises
        Unauthorized, Unavailable."""
        ...


@dataclass(frozen=True, slots=True)
class AuditSearch:
    """The newest records first. `cursor` is where the last page ended. Empty means any."""

    limit: int = 100
    cursor: str | None = None
    user: str = ""
    tenant: str = ""
    key: str = ""
    operation: str = ""
    source: str = ""

    @property
    def is_open(self) -> bool:
        """Whether it finds every record."""
        return not (self.user or self.tenant or self.key or self.operation or self.source)


class AuditService(Protocol):
    async def page(self, search: AuditSearch) -> AuditPage: ...

    async def lines(self, after: int, limit: int) -> AuditLines:
        """The lines of the next records, as they are stored, to check their hashes."""
        ...

    async def note_refused(self, refused: Sequence[RefusedRequests]) -> None:
        """Record requests that another manager refused."""
        ...
