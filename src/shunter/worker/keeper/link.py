"""The keeper's socket, with one worker at a time, the newest. Used by `keeper.lane`.

It uses `_socket` directly, because `socket` would add a megabyte and a hundredth of a second to every keeper."""

from __future__ import annotations

import _socket
import os
import select

from .json_lines import LINE_MAX_BYTES, decode

TYPE_CHECKING = False  # the real one, in `typing`, would cost every keeper a megabyte
if TYPE_CHECKING:
    from typing import Any

RECEIVE_BYTES = 64 * 2**10  # little enough for memory that is at hand: more is asked of the kernel, each time anew


class Link:
    """Listens, and holds the connection of the worker if there is one."""

    def __init__(self, listener_fd: int, poll: select.poll) -> None:
        self._poll = poll
        os.set_inheritable(listener_fd, False)
        self._listener = _socket.socket(fileno=listener_fd)
        self._listener.setblocking(False)
        self._connection: _socket.socket | None = None
        self._received = b""
        self._unsent = bytearray()
        poll.register(self._listener.fileno(), select.POLLIN)

    @property
    def connected(self) -> bool:
        return self._connection is not None

    def send(self, line: bytes) -> None:
        """Never blocks. A report that a lost worker did not get is sent again to the next one."""
        if self._connection is None:
            return
        if not self._unsent:
            try:
                sent = self._connection.send(line)
            except BlockingIOError:
                sent = 0
            except OSError:
                self._disconnect()
                return
            if sent == len(line):
                return
            line = line[sent:]
            self._poll.modify(self._connection.fileno(), select.POLLIN | select.POLLOUT)
        self._unsent += line

    def handle(self, fd: int, event: int) -> list[Any]:
        """React to the poll's event; returns the messages that came."""
        if fd == self._listener.fileno():
            old_messages = self._receive() if self._connection is not None else []
            if not old_messages:  # else the new worker would wait until the old connection is drained
                self._accept()
            return old_messages
        if self._connection is None or fd != self._connection.fileno():
            return []
        if event & select.POLLOUT:
            self._send_unsent()
        if event & (select.POLLIN | select.POLLHUP | select.POLLERR):
            return self._receive()
        return []

    def _accept(self) -> None:
        try:
            fd, _ = self._listener._accept()  # type: ignore[attr-defined]
        except OSError:
            return
        self._disconnect()
        self._connection = _socket.socket(fileno=fd)
        self._connection.setblocking(False)
        self._poll.register(fd, select.POLLIN)

    def _receive(self) -> list[Any]:
        assert self._connection is not None
        data = b""
        try:
            while len(more := self._connection.recv(RECEIVE_BYTES)) == RECEIVE_BYTES:
                data += more
            data += more
            ended = not more
        except BlockingIOError:
            ended = False
        except OSError:
            ended = True
        if (ended and not data) or len(self._received) > LINE_MAX_BYTES:
            self._disconnect()
            return []
        *lines, self._received = (self._received + data).split(b"\n")
        try:
            return [decode(line) for line in lines]
        except ValueError:  # not one of our workers
            self._disconnect()
            return []

    def _send_unsent(self) -> None:
        assert self._connection is not None
        try:
            del self._unsent[: self._connection.send(self._unsent)]
        except BlockingIOError:
            return
        except OSError:
            self._disconnect()
            return
        if not self._unsent:
            self._poll.modify(self._connection.fileno(), select.POLLIN)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._poll.unregister(self._connection.fileno())
            self._connection.close()
        self._connection = None
        self._received = b""
        self._unsent.clear()
