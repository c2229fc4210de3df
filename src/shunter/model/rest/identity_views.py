"""Users, API keys, tenants, join tokens and the caller as REST answers show them. Only the answer that makes a key or a
join token contains its secret."""

from __future__ import annotations

import msgspec

from shunter.model.job.spec import NAMESPACE_DEFAULT


class UserView(msgspec.Struct, kw_only=True):
    name: str
    roles: list[str]  # what its keys may have at most
    disabled: bool  # all its keys are refused
    created_at: str
    tenant: str | None = None  # null for users of the cluster


class UserPage(msgspec.Struct):
    items: list[UserView]
    next: str | None
    total: int


class KeyView(msgspec.Struct, kw_only=True):
    id: str
    user: str
    roles: list[str]
    note: str
    created_at: str
    expires_at: str | None = None
    last_used_at: str | None = None  # to the hour
    old_secret_until: str | None = None  # after a rotation; null if only one secret is accepted
    tenant: str | None = None  # null for a key of the whole cluster
    testbeds: list[str] = []  # NAMESPACE/NAME, to which it is bound; empty: all
    namespace: str | None = None  # to which it is bound
    queue: str | None = None  # to which it is bound


class KeyPage(msgspec.Struct):
    items: list[KeyView]
    next: str | None
    total: int


class NewKeyView(KeyView, kw_only=True):
    """The only answer that contains the key itself."""

    key: str


class ReachedCluster(msgspec.Struct, kw_only=True):
    """What every page of the web UI says about the cluster."""

    name: str
    policy: str
    simulated: bool


class MeView(msgspec.Struct, kw_only=True):
    """Who the caller is to the cluster, and what it sees."""

    user: str
    roles: list[str]
    cluster: ReachedCluster | None = None  # null: an older manager answered
    key: str | None = None  # the id of the API key; null for the admin token
    expires_at: str | None = None
    tenant: str | None = None  # null: not restricted to one
    namespace: str = NAMESPACE_DEFAULT  # that requests without a namespace mean
    namespaces: list[str] | None = None  # that the caller sees; null: the whole cluster
    testbeds: list[str] = []  # NAMESPACE/NAME, to which the key is bound; empty: all
    queue: str | None = None  # to which the key is bound
    authority: str | None = None  # who vouches for the user: `oidc`, or the name of a plugin; null: the cluster itself


class TenantView(msgspec.Struct, kw_only=True):
    name: str
    namespaces: list[str]  # the first is the default of its keys
    queues: list[str]
    quotas: dict[str, str]  # one that is missing is unlimited
    used: dict[str, str]  # of each of its quotas
    created_at: str


class TenantPage(msgspec.Struct):
    items: list[TenantView]
    next: str | None
    total: int


class SessionView(msgspec.Struct, kw_only=True):
    """A session of a browser. The session itself is in a cookie."""

    user: str
    expires_at: str  # at the latest; earlier if no request comes for two hours


class OidcView(msgspec.Struct, kw_only=True):
    """What a client needs to sign a user in at the issuer."""

    issuer: str
    client_id: str
    audiences: list[str]  # a token is accepted if it is for one of them
    scopes: list[str]  # to ask for


class SignInOptionsView(msgspec.Struct, kw_only=True):
    """How users sign in, besides with tokens and keys."""

    oidc: OidcView | None = None  # null if the cluster has no issuer


class SessionCodeView(msgspec.Struct, kw_only=True):
    """The only answer that contains the code."""

    code: str
    expires_at: str
    has_ui: bool = False  # whether the manager serves the web UI


class JoinTokenView(msgspec.Struct, kw_only=True):
    id: str
    node: str  # as which a worker may enrol
    state: str  # valid, used or expired
    user: str  # who created it
    created_at: str
    expires_at: str
    used_at: str | None = None


class JoinTokenPage(msgspec.Struct):
    items: list[JoinTokenView]
    next: str | None
    total: int


class NewJoinTokenView(JoinTokenView, kw_only=True):
    """The only answer that contains the token itself."""

    token: str


class EnrolmentView(msgspec.Struct, kw_only=True):
    node: str
    certificate: str  # and the chain behind it, as PEM text
    authorities: str  # to trust, as PEM text
