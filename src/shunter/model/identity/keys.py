"""API keys as text, and their digests. Used by the gateway that authenticates, and by whoever makes a key.

A key is `shk_ID_SECRET`. The id is public: lists and logs show it. The secret has 256 bits and is shown once; the store
has its HMAC-SHA256 under a salt of its own."""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass

PREFIX = "shk"
ID_SIZE = 10
SECRET_BYTES = 32
SALT_BYTES = 16
ID_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"  # without letters that look like others
_KEY = re.compile(rf"{PREFIX}_([{ID_ALPHABET}]{{{ID_SIZE}}})_([A-Za-z0-9_-]{{43}})")


@dataclass(frozen=True, slots=True)
class KeyText:
    """The two parts of a key that somebody presents."""

    id: str
    secret: str

    def __str__(self) -> str:
        return f"{PREFIX}_{self.id}_{self.secret}"

    def __repr__(self) -> str:
        return f"KeyText({self.id!r}, ...)"  # a secret must not get into a log


@dataclass(frozen=True, slots=True)
class SecretDigest:
    """All that is stored of a secret."""

    salt: bytes
    digest: bytes

    def matches(self, secret: str) -> bool:
        """Takes the same time whether it does or not."""
        return hmac.compare_digest(self.digest, _digest(self.salt, secret))


# A dummy. It is compared when a key does not exist, so that the refusal takes the same time.
DUMMY_SECRET = SecretDigest(bytes(SALT_BYTES), bytes(32))


def parse_key(text: str) -> KeyText | None:
    """None for what is not a key, such as the token of the first start."""
    found = _KEY.fullmatch(text)
    return None if found is None else KeyText(*found.groups())


def digest_secret(salt: bytes, secret: str) -> SecretDigest:
    return SecretDigest(salt, _digest(salt, secret))


def _digest(salt: bytes, secret: str) -> bytes:
    return hmac.digest(salt, secret.encode(), "sha256")
