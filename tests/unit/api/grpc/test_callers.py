"""Who calls by gRPC, from where, and how often it may be wrong."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.api.grpc.callers import Callers
from shunter.api.limits.failed_attempts import BURST, FailedAttempts
from shunter.model.errors import Busy, Unauthorized
from shunter.model.identity.source_proofs import address_of_peer
from tests.unit.api.fake_gateway import TOKEN, USER, FakeGateway

PEER = "203.0.113.7"
CLIENT = "198.51.100.1"
PROVEN = f"{CLIENT} signed-{CLIENT}"


class CallContext:
    """What a call says of itself. In a test, no real one comes from the address of another machine."""

    def __init__(self, token: str, source: str | None = None) -> None:
        self._metadata = [("authorization", f"Bearer {token}"), ("shunter-relayed", "1")]
        self._metadata += [("shunter-source", source)] if source is not None else []

    def invocation_metadata(self) -> list[tuple[str, str]]:
        return self._metadata

    def peer(self) -> str:
        return f"ipv4:{PEER}:5000"


async def ask(callers: Callers, token: str, source: str | None = None) -> str:
    context: Any = CallContext(token, source)
    try:
        return (await callers.identify(context))[1].user
    except (Busy, Unauthorized) as error:
        return type(error).__name__


@pytest.mark.parametrize("source", [None, "", f"{CLIENT} invented", CLIENT, "ä ä"])
async def test_who_claims_to_be_a_manager_has_as_many_attempts_as_others(source: str | None) -> None:
    callers = Callers(FakeGateway(), FailedAttempts(), None)
    assert {await ask(callers, "wrong", source) for _ in range(BURST)} == {"Unauthorized"}
    assert await ask(callers, TOKEN, source) == "Busy"


async def test_callers_that_a_manager_has_relayed_share_its_address() -> None:
    callers = Callers(FakeGateway(), FailedAttempts(), None)
    assert {await ask(callers, "wrong", PROVEN) for _ in range(BURST)} == {"Unauthorized"}
    assert await ask(callers, "wrong", PROVEN) == "Busy"
    assert await ask(callers, TOKEN, PROVEN) == USER


@pytest.mark.parametrize(("source", "address"), [(PROVEN, CLIENT), (f"{CLIENT} invented", PEER), (None, PEER)])
def test_a_relayed_call_comes_from_where_its_manager_proves(source: str | None, address: str) -> None:
    context: Any = CallContext(TOKEN, source)
    assert Callers(FakeGateway(), FailedAttempts(), None).address(context) == address


@pytest.mark.parametrize(
    ("peer", "address"),
    [("ipv4:10.0.0.1:5000", "10.0.0.1"), ("ipv6:%5B2001:db8::1%5D:5000", "2001:db8::1"), ("unix:", ""), ("", "")],
)
def test_the_address_of_a_peer_is_without_its_port(peer: str, address: str) -> None:
    assert address_of_peer(peer) == address
