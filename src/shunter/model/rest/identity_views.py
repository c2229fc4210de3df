"""Users, API keys and the caller as REST answers show them. Only the answer that makes a key contains its secret."""

from __future__ import annotations

import msgspec


class UserView(msgspec.Struct, kw_only=True):
    name: str
    roles: list[str]  # what its keys may have at most
    disabled: bool  # all its keys are refused
    created_at: str


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


class KeyPage(msgspec.Struct):
    items: list[KeyView]
    next: str | None
    total: int


class NewKeyView(KeyView, kw_only=True):
    """The only answer that contains the key itself."""

    key: str


class MeView(msgspec.Struct, kw_only=True):
    """Who the caller is to the cluster."""

    user: str
    roles: list[str]
    key: str | None = None  # the id of the API key; null for the admin token
    expires_at: str | None = None
