"""Token buckets in the memory of one process. The limits of a manager that is alone, and what a manager falls back to
while the shared ones cannot be reached. Passes `tests/contracts/limits.py`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from shunter.ports.limits import Bucket, Taken, check_take

KEYS_MAX = 100_000
TOLERANCE = 1e-9  # tokens; a time in seconds has rounding errors


class MemoryLimits:
    """Beyond `keys_max` it forgets the buckets that are full, which changes nothing, and then those that were used the
    longest time ago: each of these callers gains one burst at most."""

    def __init__(self, monotonic_s: Callable[[], float] = time.monotonic, keys_max: int = KEYS_MAX) -> None:
        self._monotonic_s = monotonic_s
        self._keys_max = keys_max
        self._levels: dict[str, tuple[float, float, float]] = {}  # tokens, since when, full at; oldest use first

    def __len__(self) -> int:
        return len(self._levels)

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def take(self, key: str, bucket: Bucket, tokens: int = 1) -> Taken:
        check_take(key, bucket, tokens)
        now_s = self._monotonic_s()
        level, since_s, _ = self._levels.pop(key, (float(bucket.capacity), now_s, now_s))
        level = min(bucket.capacity, level + (now_s - since_s) * bucket.refill_per_s)
        is_allowed = level + TOLERANCE >= tokens
        if is_allowed:
            level = max(0.0, level - tokens)
        self._levels[key] = level, now_s, now_s + (bucket.capacity - level) / bucket.refill_per_s
        if len(self._levels) > self._keys_max:
            self._forget(now_s)
        retry_after_s = 0.0 if is_allowed else (tokens - level) / bucket.refill_per_s
        return Taken(is_allowed, math.floor(level + TOLERANCE), retry_after_s)

    def _forget(self, now_s: float) -> None:
        """A tenth of them is made free, so that not every call searches."""
        kept = {key: level for key, level in self._levels.items() if level[2] > now_s}
        surplus = len(kept) - (self._keys_max - self._keys_max // 10)
        self._levels = dict(list(kept.items())[max(0, surplus) :])
