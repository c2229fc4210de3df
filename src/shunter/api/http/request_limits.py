"""Limits how many requests per second each caller may send. Used by the application of the manager that answers."""

from __future__ import annotations

from shunter.model.errors import Busy
from shunter.ports.callers import Caller
from shunter.ports.limits import Bucket, Limits


class RequestLimiter:
    def __init__(self, limits: Limits, bucket: Bucket) -> None:
        self._limits, self._bucket = limits, bucket

    async def check(self, caller: Caller) -> None:
        """Raises Busy, with the time after which the same request would pass."""
        taken = await self._limits.take(f"requests:{caller.user}", self._bucket)
        if not taken.is_allowed:
            rate = self._bucket.refill_per_s
            raise Busy(f"user '{caller.user}' sends more than {rate:g} requests per second", taken.retry_after_s)
