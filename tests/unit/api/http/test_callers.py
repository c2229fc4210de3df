"""Every request binds the gateway to its caller exactly once, before its handler runs: the place for authorization."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.api.http.app import OPEN_EXTERNAL_LISTENER, build_app
from shunter.api.http.credentials import EXTERNAL_CALLER
from shunter.api.limits.failed_attempts import BURST
from shunter.model.identity.roles import Role
from shunter.ports.gateway import CallerGateway
from shunter.ports.principals import Principal
from tests.unit.api.asgi_client import Client, manifest
from tests.unit.api.fake_gateway import USER, FakeGateway


@pytest.fixture
def bound(gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch) -> list[Principal]:
    """The callers to which the gateway was bound."""
    callers: list[Principal] = []
    for_caller = gateway.for_caller

    def note(caller: Principal, operation: str) -> CallerGateway:
        callers.append(caller)
        return for_caller(caller, operation)

    monkeypatch.setattr(gateway, "for_caller", note)
    return callers


ME = Principal(USER, frozenset((Role.ADMIN,)))


async def test_a_request_is_bound_to_its_caller_once(client: Client, bound: list[Principal]) -> None:
    await client.post("/api/v1/jobs", manifest())  # two calls of the gateway: submit and get
    assert bound == [ME]
    await client.call("PATCH", "/api/v1/nodes/here", body=b'{"labels": {"a": "b"}, "attributes": {"c": "d"}}')
    assert bound == [ME] * 2


async def test_a_request_without_a_token_or_route_is_not_bound(client: Client, bound: list[Principal]) -> None:
    assert (await client.get("/api/v1/jobs", headers={})).status == 401
    assert (await client.get("/api/v1/nothing")).status == 404
    assert (await client.call("PUT", "/api/v1/queues")).status == 405
    assert bound == []


async def test_an_open_listener_has_a_caller_of_its_own(gateway: FakeGateway, bound: list[Principal]) -> None:
    client = Client(build_app(gateway, listener=OPEN_EXTERNAL_LISTENER))
    assert (await client.get("/external/testbeds", headers={})).status == 200
    assert bound == [EXTERNAL_CALLER]


JOIN = {"id": "t1", "secret": "A" * 43, "request": "AAAA"}
STRANGER: dict[str, Any] = {"headers": {"content-type": "application/json"}, "peer": "203.0.113.7"}


@pytest.mark.parametrize(
    ("path", "wrong"), [("/api/v1/enrolments", {**JOIN, "id": "t2"}), ("/api/v1/sessions", {"code": "wrong"})]
)
async def test_wrong_secrets_in_bodies_are_limited_per_source(
    client: Client, bound: list[Principal], path: str, wrong: dict[str, str]
) -> None:
    for _ in range(BURST):
        assert (await client.post(path, wrong, **STRANGER)).status == 401
    asked = len(bound)
    assert (await client.post(path, wrong, **STRANGER)).status == 429
    assert len(bound) == asked  # nobody looked at it
    assert (await client.post("/api/v1/enrolments", JOIN, **{**STRANGER, "peer": "203.0.113.8"})).status == 200


async def test_right_secrets_in_bodies_are_not_limited(client: Client) -> None:
    for _ in range(BURST + 1):
        assert (await client.post("/api/v1/enrolments", JOIN, **STRANGER)).status == 200
