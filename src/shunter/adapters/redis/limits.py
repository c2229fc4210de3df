"""Token buckets that all managers share, in Redis. Passes `tests/contracts/limits.py`.

Redis is never needed for an answer. If it does not answer within `CALL_MAX_S`, every manager takes from buckets of its
own that have its share of the capacity and of the refill. It asks Redis again every `RETRY_EVERY_S`.

- While all managers are cut off, they allow together what one shared bucket allows, plus one burst at the beginning.
- While some are, callers get at most twice the limit, plus one burst.
- A Redis that was emptied has full buckets: every caller gains one burst at most."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError

from shunter.adapters.redis.settings import RedisSettings
from shunter.log import Log
from shunter.ports.limits import Bucket, Limits, Taken, check_take

CALL_MAX_S = 0.25  # of one call, connecting included
RETRY_EVERY_S = 0.5
BATCH_MAX = 256  # takes in one call
WAITING_MAX = 10_000  # takes that wait for a call; beyond that they are answered locally

SCRIPT = (Path(__file__).parent / "take_tokens.lua").read_text(encoding="utf-8")
FAILURES = (RedisError, OSError, TimeoutError)

log = Log(__name__)


@dataclass(slots=True)
class _Request:
    key: str
    bucket: Bucket
    tokens: int
    answer: asyncio.Future[Taken | None]  # None: Redis did not answer


class RedisLimits:
    """`local` answers while Redis does not; `count_managers` says among how many the limits are divided then. Takes
    that arrive while a call is under way are sent together in the next one."""

    def __init__(self, settings: RedisSettings, local: Limits, count_managers: Callable[[], int]) -> None:
        self._settings = settings
        self._local = local
        self._count_managers = count_managers
        self._client = _connect(settings)
        self._waiting: list[_Request] = []
        self._sending: asyncio.Task[None] | None = None
        self._down_until_s = 0.0  # of the event loop's clock
        self._is_down = False
        self._script_hash = ""

    @property
    def is_shared(self) -> bool:
        """Whether the last call reached Redis."""
        return not self._is_down

    async def open(self) -> None:
        """Returns also if Redis cannot be reached."""

    async def close(self) -> None:
        sending, self._sending = self._sending, None
        if sending is not None:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
        self._give_up_waiting()
        await _close(self._client)

    async def take(self, key: str, bucket: Bucket, tokens: int = 1) -> Taken:
        check_take(key, bucket, tokens)
        loop = asyncio.get_running_loop()
        if loop.time() < self._down_until_s or len(self._waiting) >= WAITING_MAX:
            return await self._take_locally(key, bucket, tokens)
        request = _Request(key, bucket, tokens, loop.create_future())
        self._waiting.append(request)
        if self._sending is None:
            self._sending = loop.create_task(self._send())
        return await request.answer or await self._take_locally(key, bucket, tokens)

    async def _take_locally(self, key: str, bucket: Bucket, tokens: int) -> Taken:
        return await self._local.take(key, share_of(bucket, self._count_managers(), tokens), tokens)

    async def _send(self) -> None:
        """Until nobody waits."""
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:BATCH_MAX], self._waiting[BATCH_MAX:]
                try:
                    async with asyncio.timeout(CALL_MAX_S):
                        answers = await self._call(batch)
                except FAILURES as error:
                    self._on_failure(error)
                    _answer(batch, [None] * len(batch))
                    self._give_up_waiting()
                except BaseException:
                    _answer(batch, [None] * len(batch))
                    raise
                else:
                    self._on_success()
                    _answer(batch, answers)
        finally:
            self._sending = None

    async def _call(self, batch: list[_Request]) -> list[Taken | None]:
        prefix = f"{{{self._settings.prefix}}}:limit:"  # the braces keep all keys in one slot of a Redis Cluster
        words: list[Any] = [prefix + request.key for request in batch]
        for request in batch:
            words += (request.bucket.capacity, request.bucket.refill_per_s, request.tokens)
        try:
            found = await self._client.evalsha(self._script_hash, len(batch), *words)
        except NoScriptError:  # a new server, or an emptied one
            self._script_hash = await self._client.script_load(SCRIPT)
            found = await self._client.evalsha(self._script_hash, len(batch), *words)
        return [Taken(found[i] == 1, found[i + 1], found[i + 2] / 1e6) for i in range(0, len(found), 3)]

    def _on_failure(self, error: BaseException) -> None:
        self._down_until_s = asyncio.get_running_loop().time() + RETRY_EVERY_S
        if not self._is_down:
            self._is_down = True
            log.warning("limits.redis_lost", address=self._settings.address, error=error or type(error).__name__)

    def _on_success(self) -> None:
        if self._is_down:
            self._is_down = False
            log.info("limits.redis_back", address=self._settings.address)

    def _give_up_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        _answer(waiting, [None] * len(waiting))


def share_of(bucket: Bucket, managers: int, tokens: int) -> Bucket:
    """A manager's own bucket. It holds what is asked for, so that no request is refused for ever."""
    managers = max(1, managers)
    capacity = max(math.ceil(bucket.capacity / managers), tokens)
    return Bucket(capacity, max(bucket.refill_per_s / managers, Bucket.slowest(capacity)))


def _answer(batch: list[_Request], answers: list[Taken | None]) -> None:
    for request, answer in zip(batch, answers, strict=True):
        if not request.answer.done():  # else its caller was cancelled
            request.answer.set_result(answer)


def _connect(settings: RedisSettings) -> Redis:
    """One connection, opened at the first call, and again after a failure."""
    tls: dict[str, Any] = {}
    if settings.tls is not None:
        files = {"ssl_ca_certs": settings.tls.ca, "ssl_certfile": settings.tls.cert, "ssl_keyfile": settings.tls.key}
        tls = {"ssl": True, **{name: str(path) for name, path in files.items() if path is not None}}
    return Redis(
        host=settings.host,
        port=settings.port,
        db=settings.database,
        username=settings.user or None,
        password=settings.password or None,
        retry=Retry(NoBackoff(), 0),
        max_connections=2,
        protocol=2,
        **tls,
    )


async def _close(client: Redis) -> None:
    try:
        async with asyncio.timeout(CALL_MAX_S):
            await client.aclose()
    except FAILURES:
        pass
