"""Forwards requests from a follower to the leader, as streams in both directions. Used by the ASGI application.

A follower forwards what only the leader can do or knows, and reads for which its state is too old."""

from __future__ import annotations

import asyncio
import time

from shunter.api.audit.http_origin import SOURCE_HEADER, source_header
from shunter.api.browser.session_cookies import FORWARDED_PROTO, is_secure
from shunter.api.http.exchange import FORWARDED_HEADER, SESSION_HEADER, Exchange
from shunter.api.http.routing import AnsweredBy, Route
from shunter.api.http.streams import cancel_on_disconnect
from shunter.model.errors import Busy, Invalid, NotLeader, Problem, Unavailable
from shunter.model.identity.source_proofs import Sign
from shunter.ports.managers import ForwardedRequest, Headers, ManagerClient, Replication

MIN_VERSION_HEADER = b"shunter-min-version"  # the newest version that the client has seen
VERSION_DIGITS_MAX = 18
UNKNOWN_CALLERS_PER_S_MAX = 50  # requests with a key that is not known here, which the leader may know
# Headers that belong to one connection, not to the request or answer.
HOP_BY_HOP = frozenset((b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade", b"expect"))


class Forwarder:
    def __init__(self, replication: Replication, client: ManagerClient, sign: Sign) -> None:
        self._replication, self._client, self._sign = replication, client, sign
        self._unknown_since_s, self._unknown_callers = 0, 0

    async def forward(self, exchange: Exchange, route: Route, min_version: int) -> bool:
        """Whether the request was forwarded, and so is answered. Raises NotLeader if nobody leads."""
        if not self._replication.is_following:
            return False
        is_in_session = exchange.header(SESSION_HEADER) is not None  # which only the leader knows
        if not is_in_session and not await self._needs_leader(route, min_version):
            return False
        await self._forward_once(exchange)
        return True

    async def forward_unknown(self, exchange: Exchange) -> bool:
        """The same for a request with a key that is not known here: the leader may know it since just now. Raises Busy
        if there are many of them."""
        if not self._replication.is_following:
            return False
        self._check_unknown_callers()
        await self._forward_once(exchange)
        return True

    async def _forward_once(self, exchange: Exchange) -> None:
        if exchange.is_forwarded:
            raise NotLeader(
                "the manager that got the forwarded request is not the leader; nothing was accepted, try again"
            )
        await self._forward_to(self._replication.leader_url(), exchange)

    def _check_unknown_callers(self) -> None:
        """Invented keys must not keep the leader busy. Raises Busy."""
        now_s = int(time.monotonic())
        if now_s != self._unknown_since_s:
            self._unknown_since_s, self._unknown_callers = now_s, 0
        self._unknown_callers += 1
        if self._unknown_callers > UNKNOWN_CALLERS_PER_S_MAX:
            raise Busy("too many requests with keys that this manager does not know", 1.0)

    async def _needs_leader(self, route: Route, min_version: int) -> bool:
        if route.needs_leader or route.answered_by is AnsweredBy.RECEIVER:
            return route.needs_leader
        try:
            await self._replication.wait_for_version(min_version)
        except NotLeader:
            return True
        return False

    async def _forward_to(self, url: str, exchange: Exchange) -> None:
        """Returns when the leader has answered or the client has gone. A leader that does not lead any more may never
        answer, so its answers are cut short: clients continue with the next one."""
        exchange.is_relayed = True
        relay = asyncio.create_task(self._relay(url, exchange))
        replaced = asyncio.create_task(self._replication.wait_leader_changed(url))
        try:
            await asyncio.wait((relay, replaced), return_when=asyncio.FIRST_COMPLETED)
            if relay.done():
                relay.result()
            elif not exchange.started:
                raise Unavailable("the leader was replaced before it answered; the outcome is unknown, try again")
        finally:
            for task in (relay, replaced):
                task.cancel()
            await asyncio.wait((relay, replaced))

    async def _relay(self, url: str, exchange: Exchange) -> None:
        """What is cut short has no proper end, so that no client takes it for complete."""
        async with self._client.send(url, _request_of(exchange, self._sign)) as response:
            await exchange.start_raw(response.status, _end_to_end(response.headers))
            is_complete = exchange.is_head
            if not is_complete:
                async with cancel_on_disconnect(exchange):
                    async for chunk in response.chunks():
                        await exchange.write(chunk)
                    is_complete = True
            if is_complete:
                await exchange.end()


def read_min_version(exchange: Exchange) -> int:
    """Raises Invalid."""
    text = exchange.header(MIN_VERSION_HEADER)
    if text is None:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) <= VERSION_DIGITS_MAX):
        fix = "send back the number of an answer's Shunter-Version"
        raise Invalid([Problem("header.shunter-min-version", "is not a version", text[:80], fix)])
    return int(text)


def _request_of(exchange: Exchange, sign: Sign) -> ForwardedRequest:
    scope = exchange.scope
    path, query = scope["raw_path"].decode("ascii"), scope["query_string"].decode("ascii")
    headers = [header for header in _end_to_end(scope["headers"]) if header[0] not in (b"host", SOURCE_HEADER)]
    has_body = any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])
    return ForwardedRequest(
        scope["method"],
        f"{path}?{query}" if query else path,
        [*headers, *_of_browsers(exchange), source_header(exchange, sign), (FORWARDED_HEADER, b"1")],
        exchange.body_chunks() if has_body else None,
    )


def _of_browsers(exchange: Exchange) -> list[tuple[bytes, bytes]]:
    """What the leader cannot see, and needs for the cookie of a session."""
    has_told = exchange.header(FORWARDED_PROTO) is not None
    return [] if has_told or not is_secure(exchange.scope) else [(FORWARDED_PROTO, b"https")]


def _end_to_end(headers: Headers) -> list[tuple[bytes, bytes]]:
    return [(name.lower(), value) for name, value in headers if name.lower() not in HOP_BY_HOP]
