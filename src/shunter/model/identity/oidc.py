"""What a cluster knows of its OpenID Connect issuer, and whom the claims of a token stand for. Pure.

Used by `adapters.oidc`, which verifies tokens, and by `app`, which reads the settings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shunter.model.errors import Invalid, Problem, Unauthorized
from shunter.model.identity.roles import Role

USER_CLAIM_DEFAULT = "preferred_username"
GROUPS_CLAIM_DEFAULT = "groups"
CLOCK_SKEW_DEFAULT_S = 30.0
CLOCK_SKEW_MAX_S = 300.0
SCOPES_DEFAULT = ("openid", "profile")
URL_SIZE_MAX = 2_000
GRANTS_MAX = 1_000
USER_SIZE_MAX = 128
GROUPS_MAX = 10_000  # of one token
TOKEN_SIZE_MAX = 16_384  # of any credential: the tokens of an issuer list the groups of their user
RESERVED_USER = "admin"  # that of the admin token
LOOPBACK = ("127.0.0.1", "[::1]", "localhost")
GRANT_FIX = "write it as GROUP=ROLE or GROUP=ROLE@TENANT, like ops=operator"
_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[!$-;=?-Z_a-z~%]*)?(\?[!$-;=?-Z_a-z~%]*)?"
)


@dataclass(frozen=True, slots=True)
class Grant:
    """What the members of a group may do: in the whole cluster, or in one tenant."""

    group: str
    role: Role
    tenant: str = ""


@dataclass(frozen=True, slots=True)
class OidcSettings:
    issuer: str
    client_id: str
    audiences: tuple[str, ...]  # a token must be for one of them
    grants: tuple[Grant, ...]
    user_claim: str = USER_CLAIM_DEFAULT
    groups_claim: str = GROUPS_CLAIM_DEFAULT
    scopes: tuple[str, ...] = SCOPES_DEFAULT  # that sign-ins ask for
    clock_skew_s: float = CLOCK_SKEW_DEFAULT_S
    ca_file: str = ""  # whom to trust as the issuer; empty: the authorities of the system


@dataclass(frozen=True, slots=True)
class ExternalUser:
    """The user whom an issuer or a plugin has identified by a credential."""

    user: str
    roles: frozenset[Role]
    tenant: str = ""
    authority: str = field(default="oidc")  # who says so: `oidc`, or the name of a plugin


def parse_grant(text: str, path: str) -> Grant:
    """Raises Invalid. The name of a group may contain any character."""
    group, _, target = text.rpartition("=")
    role, at, tenant = target.partition("@")
    if not group or role not in tuple(Role) or (at and not tenant):
        fix = f"{GRANT_FIX}; the roles are {', '.join(Role)}"
        raise Invalid([Problem(path, "does not give a group a role", text, fix)])
    return Grant(group, Role(role), tenant)


def check_secure_url(url: str, path: str) -> str:
    """The same text. Raises Invalid for what is no URL, or would send tokens and keys through a network in clear."""
    found = _URL.fullmatch(url)
    if found is None or len(url) > URL_SIZE_MAX:
        raise Invalid([Problem(path, "is not a URL", url[:200], "write it like https://sso.example/realms/main")])
    if found["scheme"] == "http" and found["host"].lower() not in LOOPBACK:
        raise Invalid(
            [Problem(path, "must use https: keys and tokens must not travel unencrypted", url, "use https://")]
        )
    return url


def identify(claims: Mapping[str, Any], settings: OidcSettings) -> ExternalUser:
    """The user whom verified claims identify. Raises Unauthorized.

    The first grant of one of the groups decides between tenants: its tenant, or the whole cluster, is where the user
    acts, with all roles that the groups give there.
    """
    user = _user(claims, settings.user_claim)
    groups = _groups(claims, settings.groups_claim)
    found = [grant for grant in settings.grants if grant.group in groups]
    if not found:
        raise Unauthorized(f"no group of user '{user}' is mapped to a role; ask an administrator of the cluster")
    tenant = found[0].tenant
    return ExternalUser(user, frozenset(grant.role for grant in found if grant.tenant == tenant), tenant)


def check_user_name(user: object, source: str) -> str:
    """Raises Unauthorized."""
    if not isinstance(user, str) or not 0 < len(user) <= USER_SIZE_MAX or not user.isprintable():
        raise Unauthorized(f"{source} is not a user name of 1 to {USER_SIZE_MAX} printable characters")
    if user != user.strip():
        raise Unauthorized(f"{source} begins or ends with a space")
    if user == RESERVED_USER:
        raise Unauthorized(f"the user name '{RESERVED_USER}' belongs to the admin token; use another user")
    return user


def _user(claims: Mapping[str, Any], claim: str) -> str:
    if claim not in claims:
        raise Unauthorized(f"the token has no claim '{claim}' with the name of its user")
    return check_user_name(claims[claim], f"the claim '{claim}' of the token")


def _groups(claims: Mapping[str, Any], claim: str) -> frozenset[str]:
    """`realm_access.roles` is a claim within a claim. A claim that is named so itself comes first."""
    found: Any = claims.get(claim)
    if found is None:
        found = claims
        for name in claim.split("."):
            found = found.get(name) if isinstance(found, Mapping) else None
    if isinstance(found, str):
        found = [found]
    if not isinstance(found, Sequence) or len(found) > GROUPS_MAX:
        return frozenset()
    return frozenset(group for group in found if isinstance(group, str))
