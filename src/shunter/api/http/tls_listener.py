"""Accepts connections with TLS, before HTTP begins on them. Used by `api.http.server`.

It is not left to the event loop's own server, because that counts no connection before its handshake is over: whoever
connects and says nothing would take open files without limit."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from shunter.api.limits.connection_limits import ConnectionLimits
from shunter.log import Log

ACCEPT_AGAIN_S = 0.5  # after a failure: this process may have no file left for a connection

log = Log(__name__)


class TlsListener:
    """`make_protocol` is called for each connection whose handshake succeeded."""

    def __init__(
        self,
        listen_socket: socket.socket,
        context: ssl.SSLContext,
        make_protocol: Callable[[], asyncio.Protocol],
        limits: ConnectionLimits,
    ) -> None:
        self._socket, self._context, self._limits = listen_socket, context, limits
        self._make_protocol = make_protocol
        self._loop = asyncio.get_running_loop()
        self._handshakes: set[asyncio.Task[None]] = set()
        listen_socket.setblocking(False)
        self._accepting = self._loop.create_task(self._accept())

    def close(self) -> None:
        for task in (self._accepting, *self._handshakes):
            task.cancel()

    async def wait_closed(self) -> None:
        await asyncio.gather(self._accepting, *self._handshakes, return_exceptions=True)
        self._socket.close()

    async def _accept(self) -> None:
        while True:
            try:
                accepted, _ = await self._loop.sock_accept(self._socket)
            except OSError as error:
                log.warning("connection.not_accepted", error=error)
                await asyncio.sleep(ACCEPT_AGAIN_S)
                continue
            protocol = self._make_protocol()
            self._limits.on_open(protocol, partial(_shut_down, accepted))
            if self._limits.is_exhausted:
                self._limits.on_close(protocol)
                accepted.close()
                continue
            handshake = self._loop.create_task(self._shake_hands(accepted, protocol))
            self._handshakes.add(handshake)
            handshake.add_done_callback(self._handshakes.discard)

    async def _shake_hands(self, accepted: socket.socket, protocol: asyncio.Protocol) -> None:
        timeouts = self._limits.timeouts
        timeout_s = timeouts.reserve_header_s if self._limits.is_full else timeouts.header_s
        try:
            await self._loop.connect_accepted_socket(
                lambda: protocol, accepted, ssl=self._context, ssl_handshake_timeout=timeout_s
            )
        except OSError as error:  # wrong versions, plain HTTP, nothing at all
            log.debug("connection.no_tls", error=error)
            self._limits.on_close(protocol)
            accepted.close()


def _shut_down(accepted: socket.socket) -> None:
    """Its handshake fails."""
    with suppress(OSError):  # the peer has gone
        accepted.shutdown(socket.SHUT_RDWR)
