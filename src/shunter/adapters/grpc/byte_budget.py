"""A limit on the bytes that several streams hold at a time. Used by the relay for workers.

How large a message is, is known when it was read. So streams wait for room before they read, and what they then read
may exceed the limit by these last messages."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class ByteBudget:
    def __init__(self, size_max: int) -> None:
        self._size_max = size_max
        self.size = 0
        self._changed = asyncio.Event()

    async def wait_for_room(self) -> None:
        while self.size >= self._size_max:
            await self._changed.wait()

    @contextmanager
    def hold(self, size: int) -> Iterator[None]:
        self.size += size
        try:
            yield
        finally:
            self.size -= size
            changed, self._changed = self._changed, asyncio.Event()
            changed.set()
