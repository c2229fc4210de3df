"""A limit on the bytes that several streams hold at a time. Used by the relay for workers.

How large a message is, is known only when it was read. One that does not fit is not held: its stream ends. Small ones
have a reserve of their own, so that heartbeats pass when large messages fill the rest: a node whose heartbeats wait
would look dead."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

SMALL_BYTES_MAX = 64 * 2**10  # a heartbeat with samples of some hundred tasks
RESERVE_BYTES = 32 * 2**20  # for small messages only


class BudgetFull(Exception):
    """The message does not fit."""


class ByteBudget:
    """`size` never exceeds `size_max`, and `reserve_size` never exceeds `reserve_max`."""

    def __init__(self, size_max: int, reserve_max: int = RESERVE_BYTES) -> None:
        self._size_max, self._reserve_max = size_max, reserve_max
        self.size = self.reserve_size = 0

    @contextmanager
    def hold(self, size: int) -> Iterator[None]:
        """Raises BudgetFull."""
        if self.size + size <= self._size_max:
            self.size += size
            try:
                yield
            finally:
                self.size -= size
        elif size <= SMALL_BYTES_MAX and self.reserve_size + size <= self._reserve_max:
            self.reserve_size += size
            try:
                yield
            finally:
                self.reserve_size -= size
        else:
            raise BudgetFull
