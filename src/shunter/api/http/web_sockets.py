"""Checks who opens a WebSocket, and hands it to the STOMP server, which is loaded with the first one. Used by
`api.http.app`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from shunter.api.audit.refusals import RefusalCounter
from shunter.api.browser.session_cookies import check_origin, find_sessions
from shunter.api.http.credentials import EXTERNAL_CALLER, NO_TOKEN, bearer_token
from shunter.api.http.exchange import Receive, Scope, Send, find_header
from shunter.api.http.origins import check_local
from shunter.api.limits.failed_attempts import FailedAttempts, source_of
from shunter.model.errors import Busy, Forbidden, ShunterError, Unauthorized, Unavailable
from shunter.ports.gateway import Gateway
from shunter.ports.identity import IdentityService
from shunter.ports.principals import Principal

if TYPE_CHECKING:
    from shunter.api.stomp.server import StompServer
    from shunter.api.stomp.session import Reader

SUBSCRIBE = "subscribe"  # the operation of STOMP sessions


class WebSockets:
    """The WebSockets of all listeners."""

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
        credential, reader = "", None
        has_token = find_header(scope, b"authorization") is not None
        source = source_of((scope.get("client") or ("",))[0])
        try:
            if is_open:
                reader = self._reader_for(EXTERNAL_CALLER)
            elif has_token:
                credential = bearer_token(scope)
                reader = await self._check_token(source, credential)
            else:
                credential, reader = self._find_session(scope)
        except (Unauthorized, Unavailable, Forbidden) as error:
            self._refusals.add((scope.get("client") or ("",))[0], error.status, SUBSCRIBE, is_write=False)
            await receive()
            await refuse(send, error.status, error.detail)
            return
        if self._server is None:
            self._server = StompServer(Hub(self._gateway.for_caller(EXTERNAL_CALLER, SUBSCRIBE).objects))
        await self._server.serve(scope, receive, send, partial(self._admit, source), reader, credential)

    def _find_session(self, scope: Scope) -> tuple[str, Reader | None]:
        """The session of a browser that lets it in, or nothing. Raises Forbidden, also for a page of another site."""
        for _, text in find_sessions(scope):
            caller = self._gateway.authenticate(text)
            if caller is not None:
                check_origin(scope)
                return text, self._reader_for(caller)
        return "", None

    async def _check_token(self, source: tuple[str, bool], token: str) -> Reader:
        """The token of an opening request. Raises Unauthorized, Unavailable, Forbidden."""
        if token:
            self._attempts.check(source[0], token, is_shared=source[1])
            await self._gateway.prepare(token)
        reader = self._find_reader(source, token)
        if reader is None:
            raise Unauthorized(self._gateway.explain_refusal(token) or NO_TOKEN)
        return reader

    def _admit(self, source: tuple[str, bool], token: str) -> Reader | None:
        """The reader that the token of a CONNECT frame identifies. None refuses the frame, for whatever reason."""
        try:
            reader, status = self._find_reader(source, token), Unauthorized.status
        except (Busy, Forbidden) as error:
            reader, status = None, error.status
        if reader is None:
            self._refusals.add(source[0], status, SUBSCRIBE, is_write=False)
        return reader

    def _find_reader(self, source: tuple[str, bool], token: str) -> Reader | None:
        """Raises Busy if too many wrong ones came from there, and Forbidden for one that may not subscribe."""
        if not token:
            return None
        address, is_shared = source
        self._attempts.check(address, token, is_shared=is_shared)
        caller = self._gateway.authenticate(token)
        if caller is None:
            self._attempts.failed(address)
            return None
        self._attempts.succeeded(address, token)
        return self._reader_for(caller)

    def _reader_for(self, caller: Principal) -> Reader:
        """The hub knows the objects of all namespaces; the reader says which the caller sees. Raises Forbidden."""
        identity = self._gateway.for_caller(caller, SUBSCRIBE).identity
        return TopicReader(identity, caller, self._gateway.authenticate)


@dataclass(frozen=True, slots=True)
class TopicReader:
    """What the caller of a session may read, as of now. Implements `api.stomp.session.Reader`."""

    identity: IdentityService
    caller: Principal
    authenticate: Callable[[str], Principal | None]

    def is_permitted(self, token: str) -> bool:
        """Not counted as an attempt: a source that has used up its attempts must not keep its topics for that."""
        try:
            return self.authenticate(token) == self.caller
        except ShunterError:
            return True  # nobody knows just now: the next check will tell

    @property
    def default_namespace(self) -> str:
        return self.identity.default_namespace()

    def sees(self, namespace: str) -> bool:
        return self.identity.sees_namespace(namespace)
