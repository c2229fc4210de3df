"""The public keys of an issuer, from its JWKS document. Used by `adapters.oidc.issuer`.

Each key is for one algorithm, which its own type decides and not the header of a token: so no token can have a public
key taken for an HMAC secret, or ask for no signature at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.exceptions import PyJWTError

KEYS_MAX = 64
KEY_ID_SIZE_MAX = 256
RSA_BITS_MIN, RSA_BITS_MAX = 2048, 8192  # larger ones take milliseconds for each token
ALGORITHMS = {"RSA": "RS256", "EC": "ES256"}  # by the type of a key
EC_CURVE = "P-256"

PublicKey = RSAPublicKey | EllipticCurvePublicKey


@dataclass(frozen=True, slots=True)
class SigningKey:
    id: str
    algorithm: str
    public: PublicKey


def parse_keys(document: object) -> dict[str, SigningKey]:
    """The keys by their id, without those for other purposes or algorithms. Raises ValueError for what is no JWKS
    document."""
    listed = document.get("keys") if isinstance(document, Mapping) else None
    if not isinstance(listed, list):
        raise ValueError("is not a JWKS document: it has no list `keys`")
    if len(listed) > KEYS_MAX:
        raise ValueError(f"has more than {KEYS_MAX} keys")
    found = [key for each in listed if isinstance(each, Mapping) and (key := _parse_key(each)) is not None]
    return {key.id: key for key in found}


def _parse_key(fields: Mapping[str, Any]) -> SigningKey | None:
    """Without an id, it is the key of tokens that name none."""
    id, algorithm = fields.get("kid", ""), ALGORITHMS.get(str(fields.get("kty")))
    if not isinstance(id, str) or len(id) > KEY_ID_SIZE_MAX or algorithm is None:
        return None
    if fields.get("use", "sig") != "sig" or fields.get("alg", algorithm) != algorithm or "d" in fields:
        return None
    if algorithm == "ES256" and fields.get("crv") != EC_CURVE:
        return None
    try:
        public = jwt.PyJWK({**fields, "alg": algorithm}).key
    except (PyJWTError, ValueError, TypeError, KeyError):
        return None
    if isinstance(public, RSAPublicKey) and not RSA_BITS_MIN <= public.key_size <= RSA_BITS_MAX:
        return None
    return SigningKey(id, algorithm, public) if isinstance(public, RSAPublicKey | EllipticCurvePublicKey) else None
