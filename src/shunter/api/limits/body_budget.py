"""The memory that all request bodies of a manager may take together. Used by `api.http.exchange`."""

from __future__ import annotations

from shunter.model.errors import Busy

BODIES_BYTES_MAX = 64 * 2**20
SMALL_BYTES_MAX = 64 * 2**10
SMALL_RESERVE_BYTES = 16 * 2**20  # for bodies that are small: a drain or a stop gets through while others upload
OPEN_BODIES_BYTES_MAX = 4 * 2**20  # of a listener that asks for no token: it cannot use up the budget of the others
OPEN_BODY_SIZE_MAX = 256 * 2**10


class BodyBudget:
    """A request takes the size of each part of its body as it comes, and gives all back when the answer begins."""

    def __init__(self, bytes_max: int = BODIES_BYTES_MAX, reserve_bytes: int = SMALL_RESERVE_BYTES) -> None:
        self.taken_bytes = 0
        self._bytes_max = bytes_max
        self._reserve_bytes = reserve_bytes

    def take(self, size: int, total: int) -> None:
        """`total` is what the request has taken with this part."""
        bytes_max = self._bytes_max + (self._reserve_bytes if total <= SMALL_BYTES_MAX else 0)
        if self.taken_bytes + size > bytes_max:
            taken = f"{self.taken_bytes:,} of {self._bytes_max:,} bytes"
            raise Busy(f"the bodies of other requests take {taken}; try again when they are done", 1.0)
        self.taken_bytes += size

    def give_back(self, size: int) -> None:
        self.taken_bytes -= size
