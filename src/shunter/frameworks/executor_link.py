"""A TCP connection between the driver's launcher and each executor's launcher, open while the application runs.

The driver announces when its master is ready and when the application has ended. An executor that loses the connection
without notice knows that the driver is gone. So no part of an application outlives it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable

READY, ENDED = "ready", "ended"
CONNECT_MAX_S = 60.0  # the driver listens before anything else; its node may be busy
CONNECT_EVERY_S = 0.2
CLOSE_WAIT_MAX_S = 5.0
MESSAGE_MAX_BYTES = 256
PEERS_MAX = 10_000
KEEP_ALIVE_S = 10


class DriverServer:
    """The driver's end."""

    def __init__(self, host: str, port: int) -> None:
        self._server = socket.create_server((host, port), backlog=128)
        self._lock = threading.Lock()
        self._peers: list[socket.socket] = []
        self._sent_messages: list[str] = []  # to later executors, too
        threading.Thread(target=self._accept, daemon=True).start()

    def broadcast(self, message: str) -> None:
        with self._lock:
            self._sent_messages.append(message)
            for peer in self._peers:
                _send(peer, message)

    def broadcast_and_close(self, message: str) -> None:
        """The last words; returns when every executor has ended, or takes too long about it."""
        self.broadcast(message)
        deadline_s = time.monotonic() + CLOSE_WAIT_MAX_S
        for peer in list(self._peers):
            peer.settimeout(max(0.01, deadline_s - time.monotonic()))
            try:
                peer.recv(1)  # they say nothing: this ends with the connection
            except OSError:
                pass
        self.close()

    def close(self) -> None:
        with self._lock:
            self._server.close()
            for peer in self._peers:
                peer.close()
            self._peers.clear()

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._server.accept()
            except OSError:
                return  # closed
            peer.settimeout(CONNECT_MAX_S)
            with self._lock:
                if len(self._peers) >= PEERS_MAX:
                    peer.close()
                    continue
                self._peers.append(peer)
                for message in self._sent_messages:
                    _send(peer, message)


class DriverConnection:
    """An executor's end. `on_message` is called with each word, from a thread; with nothing when the line is lost."""

    def __init__(self, host: str, port: int, on_message: Callable[[str], None]) -> None:
        self._connection = _connect(host, port)
        self._on_message = on_message
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        try:
            with self._connection.makefile("r", encoding="utf-8") as file:
                while message := file.readline(MESSAGE_MAX_BYTES):
                    self._on_message(message.strip())
        except OSError:
            pass
        self._on_message("")


def _connect(host: str, port: int) -> socket.socket:
    """Raises OSError if there is no answer for long."""
    deadline_s = time.monotonic() + CONNECT_MAX_S
    while True:
        try:
            connection = socket.create_connection((host, port), timeout=5.0)
        except OSError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(CONNECT_EVERY_S)
            continue
        connection.settimeout(None)
        # The machine at the other end may vanish without a word.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEP_ALIVE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEP_ALIVE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
        return connection


def _send(peer: socket.socket, message: str) -> None:
    try:
        peer.sendall(f"{message}\n".encode())
    except OSError:
        pass  # it has ended
