"""Builds the limiter of requests per user: in the memory of this manager, or shared by all managers in Redis. Called by
`app.manager`."""

from __future__ import annotations

import os
from collections.abc import Callable

from shunter.adapters.redis.settings import parse_redis_url
from shunter.api.http.request_limits import RequestLimiter
from shunter.app.options import UpOptions
from shunter.ports.limits import Bucket, Limits


def check_limits(url: str, option: str) -> str:
    """The same text. Raises Invalid, without a password in its message."""
    parse_redis_url(url, os.environ, option)
    return url


def build_limits(options: UpOptions, count_managers: Callable[[], int]) -> Limits | None:
    """None without a limit. The client of Redis is loaded only if it is needed."""
    if not options.requests_per_s:
        return None
    from shunter.adapters.memory.limits import MemoryLimits

    local = MemoryLimits()
    if options.limits is None:
        return local
    from shunter.adapters.redis.limits import RedisLimits

    return RedisLimits(parse_redis_url(options.limits, os.environ), local, count_managers)


def build_limiter(options: UpOptions, limits: Limits | None) -> RequestLimiter | None:
    if limits is None:
        return None
    return RequestLimiter(limits, Bucket(options.requests_burst or options.requests_per_s, options.requests_per_s))
