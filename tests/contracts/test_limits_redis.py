"""Limits in Redis pass the contract of all limits on a real server, also when two managers share it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator

import pytest
import uvloop

from shunter.adapters.memory.limits import MemoryLimits
from shunter.adapters.redis.limits import RedisLimits
from shunter.adapters.redis.settings import RedisSettings
from tests.redis_server import RedisServer, redis_server

from .limits import CONTRACT, FAST, SLOW, Claim, takes_at_the_same_time_are_counted_exactly

prefixes = (f"test-{number}" for number in itertools.count())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as server:
        yield server


class RedisHarness:
    def __init__(self, server: RedisServer, prefix: str = "") -> None:
        self.prefix = prefix or next(prefixes)
        settings = RedisSettings("127.0.0.1", server.port, prefix=self.prefix)
        self.limits = RedisLimits(settings, MemoryLimits(), lambda: 1)

    async def pass_time(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@pytest.fixture
async def harness(server: RedisServer) -> AsyncIterator[RedisHarness]:
    harness = RedisHarness(server)
    await harness.limits.open()
    yield harness
    assert harness.limits.is_shared, "Redis has answered, not the fall-back"
    await harness.limits.close()


@pytest.mark.parametrize("claim", CONTRACT)
async def test_redis_limits(claim: Claim, harness: RedisHarness) -> None:
    await claim(harness)


async def test_managers_share_a_bucket(server: RedisServer, harness: RedisHarness) -> None:
    others = [RedisHarness(server, harness.prefix).limits for _ in range(2)]
    everybody = [harness.limits, *others]
    taken = await asyncio.gather(*(limits.take("a", SLOW) for limits in everybody for _ in range(50)))
    assert sum(each.is_allowed for each in taken) == SLOW.capacity
    for limits in others:
        await limits.close()


async def test_a_full_bucket_is_forgotten(server: RedisServer, harness: RedisHarness) -> None:
    await harness.limits.take("a", FAST, 2)
    pattern = f"*{harness.prefix}*"
    assert server.command("--raw", "KEYS", pattern) == f"{{{harness.prefix}}}:limit:a"
    await harness.pass_time(2 / FAST.refill_per_s + 0.1)
    assert server.command("--raw", "KEYS", pattern) == ""


async def test_a_redis_that_forgot_the_script_gets_it_again(server: RedisServer, harness: RedisHarness) -> None:
    await harness.limits.take("a", SLOW)
    server.command("SCRIPT", "FLUSH")
    assert (await harness.limits.take("a", SLOW)).remaining == 8


def test_redis_limits_work_on_uvloop(server: RedisServer) -> None:
    async def run() -> None:
        harness = RedisHarness(server)
        await takes_at_the_same_time_are_counted_exactly(harness)
        await harness.limits.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())
