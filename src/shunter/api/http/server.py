"""Serves an ASGI application over HTTP/1.1 in an event loop that is already running. Used by `app/`.

It uses uvicorn's protocol without uvicorn's server, which installs its own signal handlers and wakes up ten times per
second."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from shunter.api.http.exchange import Receive, Scope, Send
from shunter.api.limits.connection_limits import ConnectionLimits

if TYPE_CHECKING:
    from ssl import SSLContext

    from uvicorn.server import ServerState

    from shunter.api.http.tls_listener import TlsListener

KEEP_ALIVE_S = 75
BACKLOG_MAX = 1024
WEBSOCKET_MESSAGE_SIZE_MAX = 256 * 2**10
ABORT = "shunter.abort"  # in the extensions of a WebSocket's scope: ends the connection without another word

Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class HttpServer:
    """A server that listens. Made by `serve`."""

    def __init__(
        self,
        listener: asyncio.Server | TlsListener,
        state: ServerState,
        host: str,
        port: int,
    ) -> None:
        self.host = host
        self.port = port
        self._listener = listener
        self._state = state

    async def stop(self, grace_s: float = 2.0) -> None:
        """Accept no more connections, let requests end for `grace_s`, then cancel the rest (mostly streams)."""
        self._listener.close()
        for connection in list(self._state.connections):
            connection.shutdown()
        if self._state.tasks:
            await asyncio.wait(list(self._state.tasks), timeout=grace_s)
        unfinished = list(self._state.tasks)
        for task in unfinished:
            task.cancel()
        if unfinished:
            await asyncio.wait(unfinished, timeout=grace_s)
        for connection in list(self._state.connections):
            connection.transport.close()
        await self._listener.wait_closed()


async def serve(
    app: Application,
    host: str = "127.0.0.1",
    port: int = 0,
    limits: ConnectionLimits | None = None,
    tls: SSLContext | None = None,
) -> HttpServer:
    """Listen on an address; port 0 means a free one, told by the result's `port`. Raises OSError if it is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return await serve_socket(app, socket.create_server((host, port), family=family, backlog=BACKLOG_MAX), limits, tls)


async def serve_socket(
    app: Application,
    listen_socket: socket.socket,
    limits: ConnectionLimits | None = None,
    tls: SSLContext | None = None,
) -> HttpServer:
    """Serve on a socket that is bound already, and owned by the server from now on. Listeners may share `limits`."""
    from uvicorn.config import Config
    from uvicorn.server import ServerState

    from shunter.api.http.connection import Connection
    from shunter.api.http.tls_listener import TlsListener

    limits = limits or ConnectionLimits()
    _detect_dead_peers(listen_socket)

    config = Config(
        app,
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        ws_max_size=WEBSOCKET_MESSAGE_SIZE_MAX,
        ws_per_message_deflate=False,  # messages are small and many: compressing them costs more than it saves
    )
    config.load()
    config.ws_protocol_class = partial(_websocket_protocol, limits)  # type: ignore[assignment]
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # the application says itself what went wrong
    state = ServerState()
    app_state: dict[str, Any] = {}
    loop = asyncio.get_running_loop()

    def connection() -> Connection:
        return Connection(config, state, app_state, limits)

    listener: asyncio.Server | TlsListener
    if tls is None:
        listener = await loop.create_server(connection, sock=listen_socket, backlog=BACKLOG_MAX)
    else:
        listener = TlsListener(listen_socket, tls, connection, limits)
    host, port = listen_socket.getsockname()[:2]
    return HttpServer(listener, state, host, port)


def _detect_dead_peers(listen_socket: socket.socket) -> None:
    """Connections inherit it: the kernel finds peers that vanished without a word, even under a silent stream."""
    listen_socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        for option, value in ((socket.TCP_KEEPIDLE, 60), (socket.TCP_KEEPINTVL, 15), (socket.TCP_KEEPCNT, 4)):
            listen_socket.setsockopt(socket.IPPROTO_TCP, option, value)


def _websocket_protocol(limits: ConnectionLimits, connection: object, **arguments: Any) -> Any:
    """The protocol for a connection that becomes a WebSocket."""
    protocol = _websocket_protocol_class()(**arguments)
    protocol.limits, protocol.connection = limits, connection
    return protocol


@cache
def _websocket_protocol_class() -> Any:
    """Loaded with the first one, because most clusters see none.

    To close a connection means to write first what still waits; with a peer that does not read, that takes forever. So
    the application is handed a way to abort it."""
    from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

    class AbortableProtocol(WebSocketsSansIOProtocol):
        limits: ConnectionLimits
        connection: object  # as which it is counted

        def connection_lost(self, exc: Exception | None) -> None:
            self.limits.on_close(self.connection)
            super().connection_lost(exc)

        def handle_connect(self, event: Any) -> None:
            super().handle_connect(event)
            if not self.close_sent:  # else the handshake was refused
                self.scope["extensions"][ABORT] = {"abort": self.transport.abort}

    return AbortableProtocol
