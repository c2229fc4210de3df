from __future__ import annotations

import pytest

from shunter.adapters.memory.limits import MemoryLimits
from shunter.api.http.app import ApiSettings, build_app
from shunter.api.http.request_limits import RequestLimiter
from shunter.model.errors import Busy
from shunter.ports.limits import Bucket
from shunter.ports.principals import Principal
from tests.unit.api.asgi_client import Client
from tests.unit.api.fake_gateway import FakeGateway


def open_client(capacity: int, now_s: list[float]) -> Client:
    limiter = RequestLimiter(MemoryLimits(lambda: now_s[0]), Bucket(capacity, refill_per_s=0.5), lambda _: None)
    return Client(build_app(FakeGateway(), ApiSettings(), limiter=limiter))


def tenant_client(bucket: Bucket | None) -> Client:
    """The fake's caller belongs to a tenant that may send three requests per second."""
    limiter = RequestLimiter(MemoryLimits(lambda: 0.0), bucket, lambda _: 3)
    return Client(build_app(FakeGateway(), ApiSettings(), limiter=limiter))


async def test_a_user_who_sends_too_much_is_told_when_to_try_again() -> None:
    now_s = [0.0]
    client = open_client(2, now_s)
    assert [(await client.get("/api/v1/jobs")).status for _ in range(3)] == [200, 200, 429]
    refused = await client.get("/api/v1/jobs")
    assert refused.headers["retry-after"] == "2"
    assert refused.json["detail"] == "user 'tester' sends more than 0.5 requests per second"
    now_s[0] = 2.0
    assert [(await client.get("/api/v1/jobs")).status for _ in range(2)] == [200, 429]


async def test_each_answer_says_what_is_left() -> None:
    client = open_client(2, [0.0])
    names = ("ratelimit-limit", "ratelimit-remaining", "ratelimit-reset")
    answers = [await client.get("/api/v1/jobs") for _ in range(3)]
    assert [[answer.headers[name] for name in names] for answer in answers] == [
        ["2", "1", "2"],
        ["2", "0", "4"],
        ["2", "0", "4"],
    ]
    assert "ratelimit-limit" not in (await client.get("/healthz")).headers


async def test_health_is_never_limited() -> None:
    client = open_client(1, [0.0])
    assert [(await client.get("/healthz")).status for _ in range(5)] == [200] * 5


async def test_all_users_of_a_tenant_share_its_quota() -> None:
    """Also if each user may send more, or any number."""
    for bucket in (None, Bucket(100, refill_per_s=1.0)):
        client = tenant_client(bucket)
        answers = [await client.get("/api/v1/jobs") for _ in range(4)]
        assert [answer.status for answer in answers] == [200, 200, 200, 429]
        assert [answer.headers["ratelimit-remaining"] for answer in answers] == ["2", "1", "0", "0"]
        assert "sends more than 3 requests per second" in answers[-1].json["detail"]


async def test_users_of_the_same_name_in_two_tenants_do_not_share_a_limit() -> None:
    limiter = RequestLimiter(MemoryLimits(lambda: 0.0), Bucket(1, refill_per_s=1.0), lambda _: None)
    for tenant in ("red", "blue"):
        await limiter.take(Principal("ben", frozenset(), tenant=tenant))
    with pytest.raises(Busy, match="user 'ben' sends more than 1 requests per second"):
        await limiter.take(Principal("ben", frozenset(), tenant="red"))
