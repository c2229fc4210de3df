from __future__ import annotations

from shunter.adapters.memory.limits import MemoryLimits
from shunter.api.http.app import ApiSettings, build_app
from shunter.api.http.request_limits import RequestLimiter
from shunter.ports.limits import Bucket
from tests.unit.api.asgi_client import Client
from tests.unit.api.fake_gateway import FakeGateway


def open_client(capacity: int, now_s: list[float]) -> Client:
    limiter = RequestLimiter(MemoryLimits(lambda: now_s[0]), Bucket(capacity, refill_per_s=0.5))
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
