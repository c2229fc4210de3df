"""The credential in an HTTP request, and the callers that need none. Used by `app` and `web_sockets`."""

from __future__ import annotations

from shunter.api.http.exchange import Scope, find_header
from shunter.model.identity.oidc import TOKEN_SIZE_MAX
from shunter.model.identity.roles import Role
from shunter.model.identity.sessions import PREFIX as SESSION_PREFIX
from shunter.ports.principals import Principal

NO_TOKEN = "the token is missing or wrong (header `Authorization: Bearer TOKEN`)"
# Of listeners that ask for no token, and of the STOMP hub.
EXTERNAL_CALLER = Principal("external", frozenset((Role.SCHEDULER,)))


def bearer_token(scope: Scope) -> str:
    """The token of a request; empty if there is none, or if it cannot be one. Sessions belong into cookies."""
    kind, _, token = (find_header(scope, b"authorization") or "").partition(" ")
    token = token.strip()
    is_token = kind.lower() == "bearer" and len(token) <= TOKEN_SIZE_MAX and token.isascii()
    return token if is_token and not token.startswith(SESSION_PREFIX) else ""
