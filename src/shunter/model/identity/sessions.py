"""Sessions of browsers as text: `shs_CLAIMS.SIGNATURE`. Used by the gateway, which signs them.

A session says which API key it stands for (none: the admin token) and how old it is. Nothing is stored: whoever knows
the signing key can check it, so each manager of a cluster can. The signing key depends on the secret of the API key, so
a session ends when that key is revoked or rotated. See ADR 19."""

from __future__ import annotations

import binascii
import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import astuple, dataclass

PREFIX = "shs_"
LIFETIME_S = 12 * 3600  # from the sign-in on, whatever happens
IDLE_S = 2 * 3600  # without any request
RENEWED_AFTER_S = 300  # a request after this time gets a session that was seen just now
TEXT_SIZE_MAX = 512
CODE_LIFETIME_S = 60
CODE_BYTES = 32


@dataclass(frozen=True, slots=True)
class Session:
    key: str  # id of an API key; empty: the admin token
    user: str
    id: str
    opened_s: int
    seen_s: int

    def has_expired(self, now_s: float) -> bool:
        return now_s >= self.expires_s or now_s >= self.seen_s + IDLE_S

    @property
    def expires_s(self) -> int:
        return self.opened_s + LIFETIME_S


def sign_session(session: Session, signing_key: bytes) -> str:
    claims = json.dumps(astuple(session), separators=(",", ":")).encode()
    return f"{PREFIX}{_text(claims)}.{_text(_signature(claims, signing_key))}"


def parse_session(text: str) -> tuple[Session, bytes, bytes] | None:
    """The session, its claims as bytes and their signature, which is not checked yet. None for anything else."""
    claims_text, dot, signature_text = text.removeprefix(PREFIX).partition(".")
    if not text.startswith(PREFIX) or not dot or len(text) > TEXT_SIZE_MAX:
        return None
    try:
        claims, signature = _bytes(claims_text), _bytes(signature_text)
        values = json.loads(claims)
    except (binascii.Error, ValueError, RecursionError):
        return None
    is_session = isinstance(values, list) and [type(value) for value in values] == [str, str, str, int, int]
    return (Session(*values), claims, signature) if is_session else None


def is_signed(claims: bytes, signature: bytes, signing_key: bytes) -> bool:
    """Takes the same time whether it is or not."""
    return hmac.compare_digest(signature, _signature(claims, signing_key))


def _signature(claims: bytes, signing_key: bytes) -> bytes:
    return hmac.digest(signing_key, claims, "sha256")


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
