"""One HTTP connection: uvicorn's protocol with time-outs and limits, which it does not have. Used by `api.http.server`.

Time-outs apply to what the peer owes: headers that it began, a body that it announced, data that it does not read. They
do not apply while an answer is on its way, so streams last as long as they want. uvicorn itself closes connections that
are idle between two requests, and WebSockets whose peer answers no pings."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import msgspec
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from shunter.api.limits.connection_limits import ConnectionLimits
from shunter.log import Log

DRAINED_BYTES_MAX = 256 * 2**20  # of a body after its request was answered
HEALTH_PATH = b"/healthz"
RETRY_AFTER_S = 2
NEVER = float("inf")
log = Log(__name__)
_encode = msgspec.json.Encoder().encode


class Connection(HttpToolsProtocol):
    """One timer per connection looks at `_deadline`, which moves; no timer is set or cancelled per request."""

    def __init__(self, config: Any, state: Any, app_state: dict[str, Any], limits: ConnectionLimits) -> None:
        super().__init__(config, state, app_state)
        self._limits, self._timeouts = limits, limits.timeouts
        self._deadline = NEVER
        self._body_deadline = NEVER
        self._late, self._limit_s = "", 0.0  # what the peer owes, and within which time
        self._is_in_headers = self._is_in_body = False
        self._header_bytes = 0
        self._drained_bytes = 0  # of a body whose request is answered already
        self._closes_after_body = False
        self._timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._limits.on_open(self, transport.abort)
        if self._limits.is_exhausted:
            self._refuse(503, "too many connections", self._full_text())
            return
        self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._limits.on_close(self)
        self._cancel_timers()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._is_in_body:
            self._deadline = min(self.loop.time() + self._timeouts.body_pause_s, self._body_deadline)
        elif not self._is_in_headers:
            self._expect_headers()
        elif self._deadline == NEVER:  # they began while an answer was on its way
            self._set_header_deadline()
        was_in_headers = self._is_in_headers
        super().data_received(data)
        if was_in_headers and self._is_in_headers:
            self._header_bytes += len(data)
            if self._header_bytes > self._timeouts.header_bytes_max:
                detail = f"the headers of a request may have {self._timeouts.header_bytes_max:,} bytes"
                self._refuse(431, "headers too large", detail)

    def on_headers_complete(self) -> None:
        self._is_in_headers, self._is_in_body = False, True
        self._limits.on_request(self)
        now = self.loop.time()
        self._body_deadline = now + self._timeouts.body_s
        self._deadline = now + self._timeouts.body_pause_s
        self._late, self._limit_s = "body", self._timeouts.body_pause_s
        if self._limits.is_full and self.url != HEALTH_PATH:
            self._refuse(503, "too many connections", self._full_text())
            return
        if not self.url.startswith(b"/"):
            self._replace_host()
        if sum(name == b"host" for name, _ in self.headers) > 1:
            self._refuse(400, "invalid request", "the request has several Host headers; send one")
            return
        super().on_headers_complete()
        self._drained_bytes = 0
        if self.cycle is not None and not self.cycle.keep_alive:  # None: it asks for a WebSocket
            self.cycle.transport = _ClosingAfterBody(self.transport, self._close_after_body)  # type: ignore[assignment]

    def on_body(self, body: bytes) -> None:
        if self.transport.is_closing():
            return
        super().on_body(body)
        if self.cycle.response_complete:
            self._drained_bytes += len(body)
            if self._drained_bytes > DRAINED_BYTES_MAX:
                self.transport.close()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:  # else the next request has come already
            self._limits.on_answered(self, self.transport.abort)

    def on_message_complete(self) -> None:
        self._is_in_body = False
        self._deadline = NEVER
        if self._closes_after_body:
            self.transport.close()
        if not self.transport.is_closing():
            super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """The new protocol has its own time-outs; it reports the end of the connection."""
        self._cancel_timers()
        if not self.transport.is_closing():  # else it was refused
            self.ws_protocol_class = partial(cast("Any", self.ws_protocol_class), self)  # type: ignore[assignment]
            super().handle_websocket_upgrade()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_writing(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _close_after_body(self) -> None:
        """The request is answered. A socket that is closed before its peer has sent everything resets the connection,
        and the peer may never see the answer: that its body is too large, for example."""
        if self._is_in_body:
            self._closes_after_body = True
        else:
            self.transport.close()

    def _replace_host(self) -> None:
        """The host of a request for an absolute URI is the one in the URI (RFC 9112, 3.2.2)."""
        _, separator, rest = self.url.partition(b"://")
        if separator:
            authority = re.split(rb"[/?#]", rest, maxsplit=1)[0]
            self.headers[:] = [each for each in self.headers if each[0] != b"host"] + [(b"host", authority)]

    def _expect_headers(self) -> None:
        self._is_in_headers, self._header_bytes = True, 0
        self._late = "headers"
        self._set_header_deadline()

    def _set_header_deadline(self) -> None:
        """While an answer is on its way, a peer may take its time for the next request."""
        is_answering = self.cycle is not None and not self.cycle.response_complete
        self._limit_s = self._timeouts.reserve_header_s if self._limits.is_full else self._timeouts.header_s
        self._deadline = NEVER if is_answering else self.loop.time() + self._limit_s
        if self._timer is None:
            self._timer = self.loop.call_later(self._limit_s, self._check_deadline)

    def _check_deadline(self) -> None:
        self._timer = None
        now = self.loop.time()
        if now >= self._deadline:
            self._give_up()
        elif self._deadline != NEVER:
            self._timer = self.loop.call_later(max(self._deadline - now, 0.001), self._check_deadline)

    def _give_up(self) -> None:
        log.debug("connection.timed_out", waiting_for=self._late, peer=self.client)
        is_answered = self._late == "body" and self.cycle is not None and self.cycle.response_started
        if is_answered or (self._late == "headers" and not self._header_bytes):
            self.transport.abort()  # the peer has its answer already, or sent nothing at all
            return
        detail = f"the {self._late} of the request did not come within {self._limit_s:g} s"
        self._refuse(408, "request timed out", detail)

    def _watch_writing(self, size: int) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
        self._write_timer = self.loop.call_later(self._timeouts.write_s, self._check_writing, size)

    def _check_writing(self, size_before: int) -> None:
        size = self.transport.get_write_buffer_size()
        if size < size_before:
            self._watch_writing(size)
            return
        log.debug("connection.not_read", peer=self.client, waiting_bytes=size)
        self.transport.abort()

    def _refuse(self, status: int, title: str, detail: str) -> None:
        """Answer outside of a request, and close."""
        body = _encode({"type": "about:blank", "title": title, "status": status, "detail": detail})
        retry = f"retry-after: {RETRY_AFTER_S}\r\n" if status == 503 else ""
        head = (
            f"content-type: application/problem+json\r\ncontent-length: {len(body)}\r\n{retry}connection: close\r\n\r\n"
        )
        self.transport.write(STATUS_LINE[status] + head.encode() + body)
        self.transport.close()

    def _full_text(self) -> str:
        return f"more than {self._limits.connections_max:,} connections are open; close some, or try again later"

    def _cancel_timers(self) -> None:
        for timer in (self._timer, self._write_timer):
            if timer is not None:
                timer.cancel()
        self._timer = self._write_timer = None


class _ClosingAfterBody:
    """The transport of a request after which the connection ends: `close` takes the rest of its body first."""

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        self.write, self.is_closing = transport.write, transport.is_closing
        self.close = close
