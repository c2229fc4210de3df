"""Verifies a signed token (JWT): its signature, issuer, audience and times. Used by `adapters.oidc.issuer`.

PyJWT checks the signature; the claims are checked here, by the clock that we are given."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jwt
from jwt.exceptions import PyJWTError

from shunter.adapters.oidc.signing_keys import KEY_ID_SIZE_MAX, SigningKey
from shunter.model.errors import Unauthorized
from shunter.model.identity.oidc import TOKEN_SIZE_MAX

TIME_MAX = 2**53  # beyond it, a number is no time

_signatures = jwt.PyJWS()


@dataclass(frozen=True, slots=True)
class Expectations:
    """What a token must say."""

    issuer: str
    audiences: tuple[str, ...]
    clock_skew_s: float


@dataclass(frozen=True, slots=True)
class VerifiedToken:
    claims: Mapping[str, Any]
    expires_s: float  # with the clock skew that is allowed


def read_key_id(token: str) -> str:
    """Which key the token says that signed it; nothing of it is verified. Raises Unauthorized."""
    if len(token) > TOKEN_SIZE_MAX:
        raise Unauthorized(f"the token has more than {TOKEN_SIZE_MAX:,} bytes")
    try:
        header = _signatures.get_unverified_header(token)
    except (PyJWTError, ValueError, RecursionError):
        raise Unauthorized("the token is not a signed token (JWT)") from None
    id = header.get("kid", "")
    if not isinstance(id, str) or len(id) > KEY_ID_SIZE_MAX:
        raise Unauthorized("the header of the token has no proper `kid`")
    if "crit" in header:
        raise Unauthorized("the header of the token has `crit`, and no extension is supported")
    return id


def verify(token: str, key: SigningKey, expected: Expectations, now_s: float) -> VerifiedToken:
    """Raises Unauthorized, with the reason."""
    try:
        payload = _signatures.decode(token, key.public, algorithms=[key.algorithm])
    except jwt.InvalidAlgorithmError:
        raise Unauthorized(f"the token is not signed with {key.algorithm}, as its key demands") from None
    except (PyJWTError, ValueError, RecursionError):
        raise Unauthorized("the signature of the token is wrong") from None
    try:
        claims = json.loads(payload)
    except (ValueError, RecursionError):
        claims = None
    if not isinstance(claims, dict):
        raise Unauthorized("the token has no claims")
    if claims.get("iss") != expected.issuer:
        raise Unauthorized("the token is from another issuer")
    if not _is_for(claims.get("aud"), expected.audiences):
        raise Unauthorized(f"the token is not for this cluster: its audience must be {' or '.join(expected.audiences)}")
    return VerifiedToken(claims, _check_times(claims, expected.clock_skew_s, now_s))


def _is_for(audience: object, audiences: tuple[str, ...]) -> bool:
    listed = audience if isinstance(audience, list) else [audience]
    return any(isinstance(each, str) and each in audiences for each in listed)


def _check_times(claims: Mapping[str, Any], clock_skew_s: float, now_s: float) -> float:
    """Until when the token is accepted. Raises Unauthorized."""
    expires_s = _time(claims, "exp")
    if expires_s is None:
        raise Unauthorized("the token never expires; it must have a claim 'exp'")
    if now_s >= expires_s + clock_skew_s:
        raise Unauthorized("the token has expired; sign in again")
    for claim in ("nbf", "iat"):
        begins_s = _time(claims, claim)
        if begins_s is not None and begins_s > now_s + clock_skew_s:
            raise Unauthorized(f"the token is not valid yet ('{claim}'); compare the clocks of issuer and manager")
    return expires_s + clock_skew_s


def _time(claims: Mapping[str, Any], claim: str) -> float | None:
    """Raises Unauthorized."""
    value = claims.get(claim)
    if value is None:
        return None
    if type(value) not in (int, float) or not 0 <= value <= TIME_MAX:  # NaN is not within either
        raise Unauthorized(f"the claim '{claim}' of the token is not a time")
    return float(value)
