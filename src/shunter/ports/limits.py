"""Token buckets that limit how often somebody may do something. Implemented by adapters: memory (one manager), redis
(shared by all managers). Used by the API for the requests of each caller.

A bucket holds at most `capacity` tokens and gains `refill_per_s` of them each second. A bucket that nobody has used yet
is full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

CAPACITY_MAX = 1_000_000
REFILL_PER_S_MAX = 1_000_000.0
FILL_MAX_S = 86_400.0  # an empty bucket is full after at most this time; then nobody needs to remember it
KEY_BYTES_MAX = 512


@dataclass(frozen=True, slots=True)
class Bucket:
    """The size of a bucket. Raises ValueError beyond the limits."""

    capacity: int  # tokens, and so the largest burst
    refill_per_s: float

    def __post_init__(self) -> None:
        if not 1 <= self.capacity <= CAPACITY_MAX:
            raise ValueError(f"capacity must be 1 to {CAPACITY_MAX:,}")
        if not self.slowest(self.capacity) <= self.refill_per_s <= REFILL_PER_S_MAX:
            raise ValueError(
                f"refill_per_s must be at most {REFILL_PER_S_MAX:,.0f}, and must fill the bucket within a day"
            )

    @staticmethod
    def slowest(capacity: int) -> float:
        """The lowest `refill_per_s` of a bucket of this size."""
        return capacity / FILL_MAX_S


@dataclass(frozen=True, slots=True)
class Taken:
    """The answer to `take`. If it was not allowed, no token was taken."""

    is_allowed: bool
    remaining: int  # whole tokens in the bucket now
    retry_after_s: float  # when the same tokens can be taken, if nobody else takes any; 0 if it was allowed


class Limits(Protocol):
    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def take(self, key: str, bucket: Bucket, tokens: int = 1) -> Taken:
        """Take tokens from the bucket of this key, all or none. It always answers, within a bounded time, and raises no
        error of a server. Raises ValueError for a key longer than KEY_BYTES_MAX, and for tokens that no full bucket
        has."""
        ...


def check_take(key: str, bucket: Bucket, tokens: int) -> None:
    """What every adapter checks first. Raises ValueError."""
    if not 0 < len(key.encode()) <= KEY_BYTES_MAX:
        raise ValueError(f"a key must have 1 to {KEY_BYTES_MAX} bytes")
    if not 1 <= tokens <= bucket.capacity:
        raise ValueError(f"tokens must be 1 to {bucket.capacity}")
