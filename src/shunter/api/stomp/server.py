"""STOMP over WebSocket, at /scheduler: plain, and in SockJS's framing. Called by `api.http.app`, which imports it at
the first WebSocket request.

Each connection has a reader (the request's own task) and a writer, with an outbox between the hub and the writer. So a
peer that does not read fills only its own outbox."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from shunter.api.http.exchange import Receive, Scope, Send
from shunter.api.http.server import ABORT
from shunter.api.stomp import sockjs
from shunter.api.stomp.frames import Frame, encode
from shunter.api.stomp.hub import Hub
from shunter.api.stomp.outbox import Outbox, OutboxLimits
from shunter.api.stomp.session import (
    Close,
    Reader,
    Session,
    Step,
    Subscribe,
    Subscription,
    TokenCheck,
    Unsubscribe,
    Write,
)
from shunter.log import Log

ENDPOINT = "/scheduler"
SUBPROTOCOLS = ("v12.stomp", "v11.stomp", "v10.stomp")
CHECK_EVERY_S = 1.0  # whether clients are still permitted
REVOKED = "its token is no longer valid: it was revoked or reset, or has expired"
HEARTBEAT_TOLERANCE = 2.0  # heart-beats may be late this many times
NORMAL, PROTOCOL_ERROR, TRY_LATER = 1000, 1002, 1013
log = Log(__name__)


@dataclass(frozen=True, slots=True)
class StompSettings:
    connections_max: int = 5_000
    connect_s: float = 15.0  # from the WebSocket's opening to the CONNECT frame
    disconnect_grace_s: float = 5.0  # for a disconnected peer to read the reason
    outbox: OutboxLimits = field(default_factory=OutboxLimits)


class StompServer:
    def __init__(self, hub: Hub, settings: StompSettings | None = None) -> None:
        self._hub = hub
        self._settings = settings or StompSettings()
        self._connections = 0
        self._last_connection_id = 0

    async def serve(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        find_reader: TokenCheck,
        reader: Reader | None = None,
        credential: str = "",
    ) -> None:
        """One WebSocket, from its handshake to its end. The path is one that `find_framing` knows."""
        await receive()  # websocket.connect
        if self._connections >= self._settings.connections_max:
            await refuse(send, 503, "too many connections are open")
            return
        self._connections += 1
        self._last_connection_id += 1
        connection_id = self._last_connection_id
        try:
            await self._hub.attach()
            try:
                wanted = [each for each in SUBPROTOCOLS if each in scope.get("subprotocols", ())]
                await send({"type": "websocket.accept", "subprotocol": wanted[0] if wanted else None})
                session = Session(find_reader, reader, credential)
                abort: Callable[[], None] | None = scope.get("extensions", {}).get(ABORT, {}).get("abort")
                is_framed = bool(find_framing(scope["path"]))
                connection = _Connection(connection_id, session, self._hub, self._settings, is_framed)
                await connection.run(receive, send, abort)
            finally:
                self._hub.detach()
        finally:
            self._connections -= 1


def find_framing(path: str) -> bool | None:
    """Whether the WebSocket at this path has SockJS's frames around those of STOMP; None: there is none."""
    if path in (ENDPOINT, f"{ENDPOINT}/", f"{ENDPOINT}/websocket"):
        return False
    segments = path.removeprefix(f"{ENDPOINT}/").split("/")
    is_sockjs = path.startswith(f"{ENDPOINT}/") and len(segments) == 3 and segments[2] == "websocket" and all(segments)
    return True if is_sockjs and "." not in segments[0] + segments[1] else None


async def refuse(send: Send, status: int, reason: str) -> None:
    """Refuse the WebSocket instead of completing the handshake."""
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(reason)).encode())]
    await send({"type": "websocket.http.response.start", "status": status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": reason.encode()})


class _Connection:
    def __init__(self, number: int, session: Session, hub: Hub, settings: StompSettings, is_framed: bool) -> None:
        self._number, self._session, self._hub, self._settings = number, session, hub, settings
        self._is_framed = is_framed
        self._outbox = Outbox(settings.outbox)
        self._subscriptions: dict[str, Subscription] = {}
        self._loop = asyncio.get_running_loop()
        self._last_received_at = self._last_sent_at = self._loop.time()
        self._connected = asyncio.Event()
        self._close_code = NORMAL
        self._disconnect_timer: asyncio.TimerHandle | None = None
        self._abort: Callable[[], None] | None = None

    async def run(self, receive: Receive, send: Send, abort: Callable[[], None] | None) -> None:
        self._abort = abort
        writer = self._loop.create_task(self._write(send))
        heartbeats = self._loop.create_task(self._run_heartbeats(send))
        permission = self._loop.create_task(self._check_permission())
        reader = self._loop.create_task(self._read(receive))
        try:
            await asyncio.wait((reader, writer), return_when=asyncio.FIRST_COMPLETED)
            if self._session.is_closed and not writer.done():  # what the peer shall read is still to be written
                await asyncio.wait((writer,), timeout=self._settings.disconnect_grace_s)
                if not writer.done():
                    self._abort_connection()
        finally:
            for subscription in self._subscriptions.values():
                self._hub.unsubscribe(self._number, subscription)
            if self._disconnect_timer is not None:
                self._disconnect_timer.cancel()
            tasks = reader, writer, heartbeats, permission
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            for error in ended:
                if isinstance(error, Exception) and type(error).__name__ != "ClientDisconnected":
                    log.warning("stomp.failed", error=repr(error))

    # ---- reading ----

    async def _read(self, receive: Receive) -> None:
        """Read until the peer disconnects, or the session ends."""
        while not self._session.is_closed:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                return
            self._last_received_at = self._loop.time()
            try:
                data = self._unwrap(message)
            except sockjs.BadMessage as error:
                self._execute(self._session.refuse("malformed message", str(error)))
                return
            self._execute(self._session.receive(data))
            if self._session.is_connected:
                self._connected.set()

    def _unwrap(self, message: Any) -> bytes:
        text, data = message.get("text"), message.get("bytes")
        if self._is_framed:
            return sockjs.unwrap(text if text is not None else data.decode("utf-8", "replace")).encode()
        return bytes(data) if text is None else text.encode()

    def _execute(self, steps: list[Step]) -> None:
        for step in steps:
            match step:
                case Write(data):
                    self._put(data)
                case Subscribe(subscription):
                    self._subscriptions[subscription.id] = subscription
                    self._hub.subscribe(self._number, subscription, self._put)
                case Unsubscribe(subscription):
                    del self._subscriptions[subscription.id]
                    self._hub.unsubscribe(self._number, subscription)
                case Close(is_error):
                    self._close_code = PROTOCOL_ERROR if is_error else NORMAL
                    self._outbox.finish()

    # ---- writing ----

    def _put(self, text: str) -> None:
        if self._outbox.put(text) or self._disconnect_timer is not None or not self._outbox.has_overflowed:
            return
        detail = f"more than {self._settings.outbox.messages_max:,} messages are unread"
        error = Frame("ERROR", {"message": "too slow", "content-type": "text/plain"}, detail.encode())
        self._close_code = TRY_LATER
        self._outbox.finish(encode(error, self._session.version).decode())
        self._disconnect_timer = self._loop.call_later(self._settings.disconnect_grace_s, self._abort_connection)
        log.warning("stomp.cut_off", waiting_max=self._settings.outbox.messages_max)

    def _abort_connection(self) -> None:
        """Abort the connection of a peer that does not even read why it is disconnected."""
        if self._abort is not None:
            self._abort()

    async def _write(self, send: Send) -> None:
        if self._is_framed:
            await send({"type": "websocket.send", "text": sockjs.OPEN})
        while texts := await self._outbox.next_batch():
            await send({"type": "websocket.send", "text": sockjs.wrap(texts) if self._is_framed else "".join(texts)})
            self._last_sent_at = self._loop.time()
        if self._is_framed:
            await send({"type": "websocket.send", "text": sockjs.close()})
        await send({"type": "websocket.close", "code": self._close_code})

    # ---- heart-beats ----

    async def _run_heartbeats(self, send: Send) -> None:
        """Send heart-beats in time, and close connections that are silent."""
        try:
            await asyncio.wait_for(self._connected.wait(), self._settings.connect_s)
        except TimeoutError:
            self._end("no CONNECT", f"no CONNECT frame came within {self._settings.connect_s:g} s")
            return
        send_interval_s, receive_interval_s = (
            self._session.send_interval_ms / 1000,
            self._session.receive_interval_ms / 1000,
        )
        check_interval_s = min(
            [each for each in (send_interval_s / 2, receive_interval_s) if each] or [sockjs.HEARTBEAT_EVERY_S]
        )
        last_frame_at = self._loop.time()
        while not self._session.is_closed:
            now = self._loop.time()
            if receive_interval_s and now - self._last_received_at > receive_interval_s * (1 + HEARTBEAT_TOLERANCE):
                self._end(
                    "no heart-beat", f"the client was silent for {receive_interval_s * (1 + HEARTBEAT_TOLERANCE):g} s"
                )
                return
            if send_interval_s and now - self._last_sent_at >= send_interval_s / 2:
                self._put("\n")
            if self._is_framed and now - last_frame_at >= sockjs.HEARTBEAT_EVERY_S:
                last_frame_at = now
                await send({"type": "websocket.send", "text": sockjs.HEARTBEAT})
            await asyncio.sleep(check_interval_s)

    async def _check_permission(self) -> None:
        while not self._session.is_closed:
            await asyncio.sleep(CHECK_EVERY_S)
            if not self._session.is_permitted:
                self._end("unauthorized", REVOKED)

    def _end(self, message: str, detail: str) -> None:
        """Tell why, and stop reading; a peer that does not take it is cut off."""
        self._execute(self._session.refuse(message, detail))
        if self._disconnect_timer is None:
            self._disconnect_timer = self._loop.call_later(self._settings.disconnect_grace_s, self._abort_connection)
