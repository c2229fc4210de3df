"""Limits how many requests per second each user and each tenant may send. Used by the application of the manager that
answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from shunter.api.http.exchange import Exchange
from shunter.model.errors import Busy
from shunter.ports.limits import Bucket, Limits, Taken
from shunter.ports.principals import Principal

QuotaOf = Callable[[Principal], int | None]  # requests per second of the caller's tenant; None for any number


@dataclass(frozen=True, slots=True)
class _Limit:
    key: str
    bucket: Bucket
    sender: str


class RequestLimiter:
    """`bucket` is that of each user; None for any number of requests."""

    def __init__(self, limits: Limits, bucket: Bucket | None, quota_of: QuotaOf) -> None:
        self._limits, self._bucket, self._quota_of = limits, bucket, quota_of

    async def check(self, caller: Principal, exchange: Exchange) -> None:
        """The answer, whatever it is, says what is left: of the limit of which least is left. Raises Busy, with the
        time after which the same request would pass."""
        least: tuple[Taken, Bucket] | None = None
        for limit in self._limits_of(caller):
            taken = await self._limits.take(limit.key, limit.bucket)
            if least is None or not taken.is_allowed or taken.remaining < least[0].remaining:
                least = taken, limit.bucket
            if not taken.is_allowed:
                exchange.extra_headers = [*exchange.extra_headers, *_headers(*least)]
                raise _refusal(limit, taken)
        if least is not None:
            exchange.extra_headers = [*exchange.extra_headers, *_headers(*least)]

    async def take(self, caller: Principal) -> None:
        """For transports whose answers do not say what is left. Raises Busy."""
        for limit in self._limits_of(caller):
            taken = await self._limits.take(limit.key, limit.bucket)
            if not taken.is_allowed:
                raise _refusal(limit, taken)

    def _limits_of(self, caller: Principal) -> Iterator[_Limit]:
        """Users of two tenants may have the same name."""
        if self._bucket is not None:
            yield _Limit(f"requests:{caller.tenant}/{caller.user}", self._bucket, f"user '{caller.user}'")
        quota = self._quota_of(caller)
        if quota is not None:
            yield _Limit(f"tenant-requests:{caller.tenant}", Bucket(quota, quota), f"tenant '{caller.tenant}'")


def _refusal(limit: _Limit, taken: Taken) -> Busy:
    rate = limit.bucket.refill_per_s
    return Busy(f"{limit.sender} sends more than {rate:g} requests per second", taken.retry_after_s)


def _headers(taken: Taken, bucket: Bucket) -> list[tuple[bytes, bytes]]:
    """As in the drafts of the IETF: the size of the bucket, what is in it, and in how many seconds it is full."""
    missing = bucket.capacity - taken.remaining
    numbers = {
        b"ratelimit-limit": bucket.capacity,
        b"ratelimit-remaining": taken.remaining,
        b"ratelimit-reset": math.ceil(missing / bucket.refill_per_s),
    }
    return [(name, str(number).encode()) for name, number in numbers.items()]
