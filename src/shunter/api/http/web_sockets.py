"""Checks who opens a WebSocket, and hands it to the STOMP server, which is loaded with the first one. Used by
`api.http.app`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from shunter.api.audit.refusals import RefusalCounter
from shunter.api.browser.session_cookies import check_origin, find_sessions
from shunter.api.http.credentials import EXTERNAL_CALLER, NO_TOKEN, bearer_token
from shunter.api.http.exchange import Receive, Scope, Send, find_header
from shunter.api.http.origins import check_local
from shunter.api.limits.failed_attempts import FailedAttempts, source_of
from shunter.model.errors import Busy, Forbidden, Unauthorized, Unavailable
from shunter.ports.gateway import Gateway
from shunter.ports.principals import Principal

if TYPE_CHECKING:
    from shunter.api.stomp.server import StompServer

SUBSCRIBE = "subscribe"  # the operation of STOMP sessions


class WebSockets:
    """Those of all listeners."""

    def __init__(self, gateway: Gateway, attempts: FailedAttempts, refusals: RefusalCounter) -> None:
        self._gateway, self._attempts, self._refusals = gateway, attempts, refusals
        self._server: StompServer | None = None

    async def serve(self, scope: Scope, receive: Receive, send: Send, *, is_open: bool) -> None:
        """The token is in the opening request or, since browsers cannot send it there, in the CONNECT frame."""
        from shunter.api.stomp.hub import Hub
        from shunter.api.stomp.server import StompServer, find_framing, refuse

        if find_framing(scope["path"]) is None:
            await receive()
            await refuse(send, 404, "this path is not a WebSocket; use /scheduler")
            return
        if is_open:
            try:
                check_local(scope)
            except Forbidden as error:
                await receive()
                await refuse(send, error.status, error.detail)
                return
        credential = ""
        has_token = find_header(scope, b"authorization") is not None
        source = source_of((scope.get("client") or ("",))[0])
        try:
            if has_token and not is_open:
                credential = await self._check_token(source, bearer_token(scope))
            elif not is_open:
                credential = self._find_session(scope)
        except (Unauthorized, Unavailable, Forbidden) as error:
            self._refusals.add((scope.get("client") or ("",))[0], error.status, SUBSCRIBE, is_write=False)
            await receive()
            await refuse(send, error.status, error.detail)
            return
        if self._server is None:
            self._server = StompServer(Hub(self._gateway.for_caller(EXTERNAL_CALLER, SUBSCRIBE).objects))
        is_authenticated = is_open or bool(credential)
        check = partial(self._is_admitted, source)
        await self._server.serve(scope, receive, send, check, is_authenticated=is_authenticated, credential=credential)

    def _find_session(self, scope: Scope) -> str:
        """The session of a browser that lets it in, or nothing. Raises Forbidden, also for a page of another site."""
        for _, text in find_sessions(scope):
            caller = self._gateway.authenticate(text)
            if caller is not None:
                check_origin(scope)
                self._check_permission(caller)
                return text
        return ""

    async def _check_token(self, source: tuple[str, bool], token: str) -> str:
        """The token of an opening request. Raises Unauthorized, Unavailable, Forbidden."""
        if token:
            self._attempts.check(source[0], token, is_shared=source[1])
            await self._gateway.prepare(token)
        if not self._is_valid_token(source, token):
            raise Unauthorized(self._gateway.explain_refusal(token) or NO_TOKEN)
        return token

    def _is_admitted(self, source: tuple[str, bool], token: str) -> bool:
        """Of a CONNECT frame, which has no other answer than yes and no."""
        try:
            is_valid, status = self._is_valid_token(source, token), Unauthorized.status
        except (Busy, Forbidden) as error:
            is_valid, status = False, error.status
        if not is_valid:
            self._refusals.add(source[0], status, SUBSCRIBE, is_write=False)
        return is_valid

    def _is_valid_token(self, source: tuple[str, bool], token: str) -> bool:
        """Raises Busy if too many wrong ones came from there, and Forbidden for one that may not see all objects."""
        if not token:
            return False
        address, is_shared = source
        self._attempts.check(address, token, is_shared=is_shared)
        caller = self._gateway.authenticate(token)
        if caller is None:
            self._attempts.failed(address)
            return False
        self._attempts.succeeded(address, token)
        self._check_permission(caller)
        return True

    def _check_permission(self, caller: Principal) -> None:
        """The topics have the objects of all namespaces, so they are for those who may see them all."""
        self._gateway.for_caller(caller, SUBSCRIBE)
