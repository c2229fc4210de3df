"""Limits how many requests per second each caller may send. Used by the application of the manager that answers."""

from __future__ import annotations

import math

from shunter.api.http.exchange import Exchange
from shunter.model.errors import Busy
from shunter.ports.limits import Bucket, Limits, Taken
from shunter.ports.principals import Principal


class RequestLimiter:
    def __init__(self, limits: Limits, bucket: Bucket) -> None:
        self._limits, self._bucket = limits, bucket

    async def check(self, caller: Principal, exchange: Exchange) -> None:
        """The answer, whatever it is, says what is left. Raises Busy, with the time after which the same request would
        pass."""
        taken = await self._limits.take(f"requests:{caller.user}", self._bucket)
        exchange.extra_headers = [*exchange.extra_headers, *self._headers(taken)]
        self._refuse_if_empty(caller, taken)

    async def take(self, caller: Principal) -> None:
        """For transports whose answers do not say what is left. Raises Busy."""
        self._refuse_if_empty(caller, await self._limits.take(f"requests:{caller.user}", self._bucket))

    def _refuse_if_empty(self, caller: Principal, taken: Taken) -> None:
        if not taken.is_allowed:
            rate = self._bucket.refill_per_s
            raise Busy(f"user '{caller.user}' sends more than {rate:g} requests per second", taken.retry_after_s)

    def _headers(self, taken: Taken) -> list[tuple[bytes, bytes]]:
        """As in the drafts of the IETF: the size of the bucket, what is in it, and in how many seconds it is full."""
        missing = self._bucket.capacity - taken.remaining
        numbers = {
            b"ratelimit-limit": self._bucket.capacity,
            b"ratelimit-remaining": taken.remaining,
            b"ratelimit-reset": math.ceil(missing / self._bucket.refill_per_s),
        }
        return [(name, str(number).encode()) for name, number in numbers.items()]
