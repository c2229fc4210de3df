"""The send buffer of one direction of one connection: encoded messages, in order, with a limit.

Used by both ends. A full buffer means that the peer does not read. The connection is then closed, and the inventory
that opens the next one makes up for dropped messages."""

from __future__ import annotations

import asyncio
from collections import deque

SEND_BUFFER_BYTES_MAX = 16 * 2**20
MESSAGE_OVERHEAD_BYTES = 1024  # the cost of a message besides its own bytes, so that small ones are limited too


class SendBuffer:
    def __init__(self, size_max: int = SEND_BUFFER_BYTES_MAX) -> None:
        self._size_max = size_max
        self._size = 0
        self._pending: deque[bytes] = deque()
        self._changed = asyncio.Event()
        self.closed = False

    def put(self, data: bytes) -> bool:
        """False, and nothing is taken, where the buffer is full. An empty buffer takes a message of any size."""
        cost = len(data) + MESSAGE_OVERHEAD_BYTES
        if self._pending and self._size + cost > self._size_max:
            return False
        self._pending.append(data)
        self._size += cost
        self._changed.set()
        return True

    async def get(self) -> bytes | None:
        """The next message; None when the buffer is closed and empty."""
        while not self._pending:
            if self.closed:
                return None
            self._changed.clear()
            await self._changed.wait()
        data = self._pending.popleft()
        self._size -= len(data) + MESSAGE_OVERHEAD_BYTES
        return data

    def close(self) -> None:
        """Accept nothing more; queued messages can still be taken."""
        self.closed = True
        self._changed.set()

    def abandon(self) -> None:
        """Close, and drop queued messages."""
        self._pending.clear()
        self._size = 0
        self.close()
