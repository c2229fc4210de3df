"""What a transport may ask about users, API keys and its own caller: the Protocol of the sub-gateway `identity`.

Calls raise only the errors of `model.errors`. They return only committed state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from shunter.model.identity.roles import Role
from shunter.model.rest.identity_views import KeyPage, MeView, NewKeyView, UserPage, UserView


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key to create. `user` None: of the caller. `lifetime_s` None: for ever."""

    roles: tuple[Role, ...]
    user: str | None = None
    note: str = ""
    lifetime_s: float | None = None


class IdentityService(Protocol):
    async def me(self) -> MeView: ...

    async def users(self, limit: int, after: str | None) -> UserPage:
        """By name."""
        ...

    async def put_user(self, name: str, roles: tuple[Role, ...] | None, is_disabled: bool | None) -> UserView:
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
