"""Says who calls, and from where: by the token in the metadata, with the limits of wrong tokens and of requests that
REST has. Used by `api.grpc.calls` and for external schedulers."""

from __future__ import annotations

from typing import Any

import grpc.aio

from shunter.api.http.request_limits import RequestLimiter
from shunter.api.limits.failed_attempts import FailedAttempts, source_of
from shunter.model.errors import ShunterError, Unauthorized
from shunter.model.identity.oidc import TOKEN_SIZE_MAX
from shunter.model.identity.sessions import PREFIX as SESSION_PREFIX
from shunter.model.identity.source_proofs import SOURCE, address_of_peer, proven_address
from shunter.ports.gateway import Gateway
from shunter.ports.principals import Principal

NO_TOKEN = "the token is missing or wrong; send the metadata authorization: Bearer TOKEN"
REVOKED = "the token is no longer valid: it was revoked or reset, or has expired"

Context = grpc.aio.ServicerContext[Any, Any]


class Callers:
    def __init__(self, gateway: Gateway, attempts: FailedAttempts, limiter: RequestLimiter | None) -> None:
        self._gateway, self._attempts, self._limiter = gateway, attempts, limiter

    def address(self, context: Context) -> str:
        """The address of the client; or of the manager that relays the call, if it does not prove where the call came
        from."""
        proven = self._proven_address(context)
        return address_of_peer(context.peer()) if proven is None else proven

    async def identify(self, context: Context) -> tuple[str, Principal]:
        """The token and whom it stands for. Raises Unauthorized, Busy, Unavailable."""
        metadata = _metadata(context)
        kind, _, token = metadata.get("authorization", "").partition(" ")
        token = token.strip()
        is_token = kind.lower() == "bearer" and 0 < len(token) <= TOKEN_SIZE_MAX and token.isascii()
        if not is_token or token.startswith(SESSION_PREFIX):
            raise Unauthorized(NO_TOKEN)
        source, is_shared = source_of(address_of_peer(context.peer()))
        is_shared = is_shared or self._proven_address(context) is not None  # many users have the address of a manager
        self._attempts.check(source, token, is_shared=is_shared)
        await self._gateway.prepare(token)
        caller = self._gateway.authenticate(token)
        if caller is None:
            self._attempts.failed(source)
            raise Unauthorized(self._gateway.explain_refusal(token) or NO_TOKEN)
        self._attempts.succeeded(source, token)
        return token, caller

    async def count(self, caller: Principal) -> None:
        """Raises Busy if the caller sends too many requests."""
        if self._limiter is not None:
            await self._limiter.take(caller)

    def is_still(self, token: str, caller: Principal) -> bool:
        """Whether the token stands for the same caller as when the call began."""
        try:
            return self._gateway.authenticate(token) == caller
        except ShunterError:
            return True  # nobody knows just now: the next check will tell

    def _proven_address(self, context: Context) -> str | None:
        told = _metadata(context).get(SOURCE)
        return None if told is None else proven_address(told, self._gateway.sign_source)


def _metadata(context: Context) -> dict[str, str]:
    return {
        key: value if isinstance(value, str) else value.decode("latin-1")
        for key, value in context.invocation_metadata() or ()
    }
