"""Remembers whom verified tokens stand for, so that a signature is checked once. Used by `adapters.oidc.issuer`.

Bounded in bytes: beyond the limit it forgets what came first. It knows digests of tokens, not the tokens."""

from __future__ import annotations

import hashlib

from shunter.model.identity.oidc import ExternalUser

BYTES_MAX = 8 * 2**20
ENTRY_BYTES = 700  # of the entry itself, its digest and its user, without texts


class VerifiedUsers:
    def __init__(self, bytes_max: int = BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._users: dict[bytes, tuple[ExternalUser, float]] = {}  # digest of a token -> whose, until when
        self.size_bytes = 0

    def find(self, token: str, now_s: float) -> ExternalUser | None:
        digest = _digest(token)
        user, expires_s = self._users.get(digest, (None, 0.0))
        if user is not None and now_s >= expires_s:
            self._remove(digest)
            return None
        return user

    def add(self, token: str, user: ExternalUser, expires_s: float) -> None:
        digest = _digest(token)
        self._remove(digest)
        self._users[digest] = user, expires_s
        self.size_bytes += _size_bytes(user)
        while self.size_bytes > self._bytes_max:
            self._remove(next(iter(self._users)))

    def clear(self) -> None:
        self._users.clear()
        self.size_bytes = 0

    def _remove(self, digest: bytes) -> None:
        user, _ = self._users.pop(digest, (None, 0.0))
        if user is not None:
            self.size_bytes -= _size_bytes(user)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _size_bytes(user: ExternalUser) -> int:
    return ENTRY_BYTES + 4 * (len(user.user) + len(user.tenant) + len(user.authority))
