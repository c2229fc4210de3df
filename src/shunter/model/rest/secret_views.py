"""Secrets as REST answers show them. No answer contains a value."""

from __future__ import annotations

import msgspec


class SecretView(msgspec.Struct, kw_only=True):
    namespace: str
    name: str
    version: int  # rises with every new value
    key: str  # the id of the key that encrypts it
    set_by: str
    created_at: str
    updated_at: str


class SecretPage(msgspec.Struct):
    items: list[SecretView]
    next: str | None
    total: int


class KeyRotation(msgspec.Struct):
    key: str  # the id of the key that encrypts all secrets now
    resealed: int  # how many secrets were encrypted again
    added: bool  # whether a new key was made for it
