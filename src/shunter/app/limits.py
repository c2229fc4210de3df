"""Builds the limiter of requests per user and tenant: in the memory of this manager, or shared by all managers in
Redis. Called by `app.manager`."""

from __future__ import annotations

import os
from collections.abc import Callable

from shunter.adapters.redis.settings import parse_redis_url
from shunter.api.http.request_limits import QuotaOf, RequestLimiter
from shunter.app.options import UpOptions
from shunter.ports.limits import Bucket, Limits


def check_limits(url: str, option: str) -> str:
    """The same text. Raises Invalid, without a password in its message."""
    parse_redis_url(url, os.environ, option)
    return url


def build_limits(options: UpOptions, count_managers: Callable[[], int]) -> Limits:
    """The client of Redis is loaded only if it is needed."""
    from shunter.adapters.memory.limits import MemoryLimits

    local = MemoryLimits()
    if options.limits is None:
        return local
    from shunter.adapters.redis.limits import RedisLimits

    return RedisLimits(parse_redis_url(options.limits, os.environ), local, count_managers)


def build_limiter(options: UpOptions, limits: Limits, quota_of: QuotaOf) -> RequestLimiter:
    rate = options.requests_per_s
    return RequestLimiter(limits, Bucket(options.requests_burst or rate, rate) if rate else None, quota_of)
