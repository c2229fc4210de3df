"""The bounded send queue of one subscriber. A subscriber that stops reading is disconnected and slows nobody else
down."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OutboxLimits:
    messages_max: int = 2_000
    size_max: int = 8 * 2**20  # characters
    batch_size_max: int = 256 * 2**10  # characters in one WebSocket message


class Outbox:
    """Filled by the hub and by the session, emptied by one writer. Texts are whole frames, in order."""

    def __init__(self, limits: OutboxLimits) -> None:
        self.has_overflowed = False
        self._limits = limits
        self._waiting: list[str] = []
        self._size = 0
        self._is_finished = False
        self._wakeup: asyncio.Future[None] | None = None

    def put(self, text: str) -> bool:
        """False once it has overflowed or was finished: the text is dropped."""
        if self._is_finished:
            return False
        self._waiting.append(text)
        self._size += len(text)
        if len(self._waiting) > self._limits.messages_max or self._size > self._limits.size_max:
            self.has_overflowed = True
            self._waiting.clear()
            self._size = 0
            self._is_finished = True
        self._wake()
        return not self.has_overflowed

    def finish(self, last: str = "") -> None:
        """Write the queued texts, then `last`, then end."""
        if last and (not self._is_finished or self.has_overflowed):
            self._waiting.append(last)
        self._is_finished = True
        self._wake()

    async def next_batch(self) -> list[str]:
        """The queued texts, as much as one message may hold, at least one text; empty at the end."""
        while not self._waiting:
            if self._is_finished:
                return []
            self._wakeup = asyncio.get_running_loop().create_future()
            await self._wakeup
        return self._cut_batch()

    def _cut_batch(self) -> list[str]:
        """Take as many of the queued texts as one message may hold; usually all of them."""
        if self._size <= self._limits.batch_size_max:
            taken, self._waiting, self._size = self._waiting, [], 0
            return taken
        size = count = 0
        for text in self._waiting:
            size += len(text)
            if count and size > self._limits.batch_size_max:
                break
            count += 1
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        self._size -= sum(map(len, taken))
        return taken

    def _wake(self) -> None:
        if self._wakeup is not None and not self._wakeup.done():
            self._wakeup.set_result(None)
