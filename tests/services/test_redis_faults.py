"""Limits while Redis is killed, stopped or emptied: a bounded delay, and neither no limit nor no request."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from shunter.adapters.memory.limits import MemoryLimits
from shunter.adapters.redis.limits import CALL_MAX_S, RETRY_EVERY_S, RedisLimits, share_of
from shunter.adapters.redis.settings import RedisSettings, TlsFiles, parse_redis_url
from shunter.ports.limits import Bucket, Taken
from tests.redis_server import RedisServer, redis_server
from tests.services.test_etcd_security import make_certificates

MANAGERS = 3
BUCKET = Bucket(capacity=30, refill_per_s=0.01)
BUSY_MACHINE_S = 5.0
BACK_MAX_S = 30.0
PASSWORD = "correct-horse"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with redis_server(tmp_path) as server:
        yield server


@pytest.fixture
async def managers(server: RedisServer) -> AsyncIterator[list[RedisLimits]]:
    found = [limits_of(RedisSettings("127.0.0.1", server.port)) for _ in range(MANAGERS)]
    for limits in found:
        await limits.take("warm-up", BUCKET)
    yield found
    for limits in found:
        await limits.close()


def limits_of(settings: RedisSettings) -> RedisLimits:
    return RedisLimits(settings, MemoryLimits(), lambda: MANAGERS)


async def test_a_killed_redis_leaves_each_manager_its_share(server: RedisServer, managers: list[RedisLimits]) -> None:
    assert await allowed(managers, "a", 10) == BUCKET.capacity
    server.kill()
    assert await allowed(managers, "a", 50) == BUCKET.capacity, "one more burst, divided among the managers"
    assert await allowed(managers, "a", 50) == 0, "and no more: there is no moment without a limit"
    assert await allowed(managers, "b", 50) == BUCKET.capacity, "other callers are served"
    assert not any(limits.is_shared for limits in managers)
    server.start()
    await until_shared(managers)
    assert await allowed(managers, "c", 50) == BUCKET.capacity


@pytest.mark.parametrize("how", [signal.SIGSTOP, signal.SIGKILL])
async def test_a_silent_redis_delays_a_bounded_time_and_once(
    server: RedisServer, managers: list[RedisLimits], how: signal.Signals
) -> None:
    server.send(how)
    try:
        taken, first_s = await timed(managers, "a")
        assert taken.is_allowed
        assert first_s < CALL_MAX_S + BUSY_MACHINE_S
        quick = [await timed(managers, "a") for _ in range(50)]
        assert sum(each_s for _, each_s in quick) < RETRY_EVERY_S + CALL_MAX_S + BUSY_MACHINE_S
    finally:
        if how is signal.SIGSTOP:
            server.send(signal.SIGCONT)
            await until_shared(managers[:1])


async def test_an_emptied_redis_grants_one_burst_at_most(server: RedisServer, managers: list[RedisLimits]) -> None:
    assert await allowed(managers, "a", 50) == BUCKET.capacity
    server.command("FLUSHALL")
    assert await allowed(managers, "a", 50) == BUCKET.capacity
    assert await allowed(managers, "a", 50) == 0
    assert all(limits.is_shared for limits in managers)


async def test_a_redis_that_refuses_to_write_is_like_none(server: RedisServer, managers: list[RedisLimits]) -> None:
    server.command("CONFIG", "SET", "maxmemory", "1")
    assert await allowed(managers, "a", 50) == BUCKET.capacity
    assert not any(limits.is_shared for limits in managers)
    server.command("CONFIG", "SET", "maxmemory", "0")
    await until_shared(managers)


async def test_takes_in_flight_are_answered_when_limits_close(server: RedisServer) -> None:
    limits = limits_of(RedisSettings("127.0.0.1", server.port))
    server.send(signal.SIGSTOP)
    try:
        takes = [asyncio.ensure_future(limits.take("a", BUCKET)) for _ in range(5)]
        await asyncio.sleep(0)
        await limits.close()
        assert all(each.is_allowed for each in await asyncio.wait_for(asyncio.gather(*takes), BUSY_MACHINE_S))
    finally:
        server.send(signal.SIGCONT)


async def test_a_password_and_a_user_which_nothing_repeats(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    (tmp_path / "password").write_text(f"{PASSWORD}\n")
    acl = ("--user", "shunter", "on", f">{PASSWORD}", "~*", "+@all", "--user", "default", "off")
    with redis_server(tmp_path, acl) as server:
        url = f"{server.url}?user=shunter&password_file={tmp_path}/password"
        right = limits_of(parse_redis_url(url, {}))
        assert (await right.take("a", BUCKET)).remaining == BUCKET.capacity - 1
        assert right.is_shared
        wrong = limits_of(RedisSettings("127.0.0.1", server.port, user="shunter", password="battery-staple"))
        assert (await wrong.take("a", BUCKET)).is_allowed
        assert not wrong.is_shared
        await right.close()
        await wrong.close()
    assert PASSWORD not in caplog.text + repr(parse_redis_url(url, {}))
    assert "battery-staple" not in caplog.text


async def test_tls_with_a_certificate_of_the_client(tmp_path: Path) -> None:
    make_certificates(tmp_path)
    options = (
        "--tls-cert-file", f"{tmp_path}/server.pem", "--tls-key-file", f"{tmp_path}/server.key",
        "--tls-ca-cert-file", f"{tmp_path}/ca.pem",
    )  # fmt: skip
    files = TlsFiles(tmp_path / "ca.pem", tmp_path / "client.pem", tmp_path / "client.key")
    with redis_server(tmp_path, options, has_tls=True) as server:
        for tls, is_trusted in (
            (files, True),
            (TlsFiles(files.ca), False),
            (TlsFiles(None, files.cert, files.key), False),
        ):
            limits = limits_of(RedisSettings("127.0.0.1", server.port, tls=tls))
            assert (await limits.take("a", BUCKET)).is_allowed
            assert limits.is_shared == is_trusted
            await limits.close()


def test_a_share_is_never_nothing() -> None:
    assert share_of(Bucket(10, 6.0), 3, 1) == Bucket(4, 2.0)
    assert share_of(Bucket(1, 1.0), 5, 1) == Bucket(1, 0.2)
    assert share_of(Bucket(10, 6.0), 5, 10) == Bucket(10, 1.2)
    assert share_of(Bucket(86_400, 1.0), 3, 86_400) == Bucket(86_400, 1.0)
    assert share_of(BUCKET, 0, 1) == BUCKET


async def allowed(managers: list[RedisLimits], key: str, each: int) -> int:
    taken = await asyncio.gather(*(limits.take(key, BUCKET) for limits in managers for _ in range(each)))
    return sum(one.is_allowed for one in taken)


async def timed(managers: list[RedisLimits], key: str) -> tuple[Taken, float]:
    began_s = time.monotonic()
    return await managers[0].take(key, BUCKET), time.monotonic() - began_s


async def until_shared(managers: list[RedisLimits]) -> None:
    async with asyncio.timeout(BACK_MAX_S):
        for limits in managers:
            while not limits.is_shared:
                await limits.take("probe", BUCKET)
                await asyncio.sleep(0.01)
