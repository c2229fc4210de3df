"""Sessions of browsers as text: `shs_CLAIMS.SIGNATURE`. Used by the gateway, which signs them.

A session says which API key it stands for (none: the admin token), or whom an issuer or plugin vouched for, with which
roles; and how old it is. Nothing is stored: whoever knows
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
EXTERNAL_LIFETIME_S = 3600  # of users of an issuer or a plugin: then they must prove again that they may sign in
IDLE_S = 2 * 3600  # without any request
RENEWED_AFTER_S = 300  # a request after this time gets a session that was seen just now
TEXT_SIZE_MAX = 1536
CODE_LIFETIME_S = 60
CODE_BYTES = 32
OWN_FIELDS = 5  # of sessions of the cluster's own credentials
_OWN_TYPES = [str, str, str, int, int]
_EXTERNAL_TYPES = [*_OWN_TYPES, list, str, str]


@dataclass(frozen=True, slots=True)
class Session:
    key: str  # id of an API key; empty: the admin token
    user: str
    id: str
    opened_s: int
    seen_s: int
    roles: tuple[str, ...] = ()  # of this and what follows, nothing for keys and the admin token
    tenant: str = ""
    authority: str = ""  # who vouched for the user

    def has_expired(self, now_s: float) -> bool:
        return now_s >= self.expires_s or now_s >= self.seen_s + IDLE_S

    @property
    def expires_s(self) -> int:
        return self.opened_s + self.lifetime_s

    @property
    def lifetime_s(self) -> int:
        return EXTERNAL_LIFETIME_S if self.authority else LIFETIME_S


def sign_session(session: Session, signing_key: bytes) -> str:
    values = astuple(session) if session.authority else astuple(session)[:OWN_FIELDS]
    claims = json.dumps(values, separators=(",", ":"), ensure_ascii=False).encode()
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
    if not isinstance(values, list) or [type(value) for value in values] not in (_OWN_TYPES, _EXTERNAL_TYPES):
        return None
    if values[OWN_FIELDS:]:
        if not all(isinstance(role, str) for role in values[OWN_FIELDS]):
            return None
        values[OWN_FIELDS] = tuple(values[OWN_FIELDS])
    return Session(*values), claims, signature


def is_signed(claims: bytes, signature: bytes, signing_key: bytes) -> bool:
    """Takes the same time whether it is or not."""
    return hmac.compare_digest(signature, _signature(claims, signing_key))


def _signature(claims: bytes, signing_key: bytes) -> bytes:
    return hmac.digest(signing_key, claims, "sha256")


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
