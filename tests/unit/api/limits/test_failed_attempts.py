"""Wrong credentials are limited per source address, and right ones get through."""

from __future__ import annotations

import pytest

from shunter.adapters.http.manager_client import HttpManagerClient
from shunter.api.http.app import ApiSettings, build_app
from shunter.api.limits.failed_attempts import BURST, PROVEN_MAX, REFILL_PER_S, SOURCES_MAX, FailedAttempts, source_of
from shunter.model.errors import Busy
from tests.unit.api.asgi_client import Client
from tests.unit.api.fake_gateway import TOKEN, FakeGateway


def exhausted(source: str, now_s: list[float]) -> FailedAttempts:
    attempts = FailedAttempts(lambda: now_s[0])
    for _ in range(BURST):
        attempts.failed(source)
    return attempts


def test_a_source_without_attempts_is_refused_before_its_credential_is_looked_at() -> None:
    now_s = [0.0]
    attempts = exhausted("10.0.0.9", now_s)
    with pytest.raises(Busy) as refused:
        attempts.check("10.0.0.9", "guess", is_shared=False)
    assert refused.value.retry_after_s == 1 / REFILL_PER_S
    attempts.check("10.0.0.8", "guess", is_shared=False)
    now_s[0] = 1 / REFILL_PER_S
    attempts.check("10.0.0.9", "guess", is_shared=False)


def test_a_credential_that_was_right_there_is_still_looked_at() -> None:
    attempts = exhausted("10.0.0.9", [0.0])
    attempts.succeeded("10.0.0.9", "right")
    attempts.check("10.0.0.9", "right", is_shared=False)
    with pytest.raises(Busy):
        attempts.check("10.0.0.9", "wrong", is_shared=False)


def test_at_a_shared_address_only_wrong_credentials_are_refused() -> None:
    attempts = exhausted("127.0.0.1", [0.0])
    attempts.check("127.0.0.1", "anything", is_shared=True)
    with pytest.raises(Busy):
        attempts.failed("127.0.0.1")


def test_the_tables_are_bounded() -> None:
    attempts = FailedAttempts(lambda: 0.0)
    for number in range(SOURCES_MAX + 5):
        attempts.failed(f"10.{number}")
    for number in range(PROVEN_MAX + 5):
        attempts.succeeded("10.0.0.1", str(number))
    assert (len(attempts._spent), len(attempts._proven)) == (SOURCES_MAX, PROVEN_MAX)


@pytest.mark.parametrize(
    ("address", "source", "is_local"),
    [
        ("10.0.0.9", "10.0.0.9", False),
        ("127.0.0.1", "127.0.0.1", True),
        ("::1", "::", True),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::", False),
        ("::ffff:10.0.0.9", "10.0.0.9", False),
        ("", "unknown", True),
    ],
)
def test_addresses_of_one_machine_are_one_source(address: str, source: str, is_local: bool) -> None:
    assert source_of(address) == (source, is_local)


async def test_who_guesses_gets_429_and_who_knows_gets_in() -> None:
    client = Client(build_app(FakeGateway(), ApiSettings()))
    wrong = {"authorization": "Bearer wrong"}
    answers = [await client.get("/api/v1/jobs", headers=wrong) for _ in range(BURST + 1)]
    assert [answer.status for answer in answers] == [401] * BURST + [429]
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert (await client.get("/api/v1/jobs")).status == 200


async def test_a_request_without_a_credential_is_no_attempt() -> None:
    client = Client(build_app(FakeGateway(), ApiSettings()))
    answers = [await client.get("/api/v1/jobs", headers={"authorization": ""}) for _ in range(2 * BURST)]
    assert {answer.status for answer in answers} == {401}


async def test_only_requests_that_a_manager_has_forwarded_share_its_address() -> None:
    """A client may claim to be a manager. Only a manager can prove where a request came from."""
    client = Client(build_app(FakeGateway(), client=HttpManagerClient(lambda: TOKEN)))

    async def ask(token: str, source: str) -> int:
        headers = {"authorization": f"Bearer {token}", "shunter-forwarded": "m1", "shunter-source": source}
        return (await client.get("/api/v1/jobs", headers=headers, peer="203.0.113.7")).status

    assert {await ask("wrong", "198.51.100.1 invented") for _ in range(BURST)} == {401}
    assert await ask(TOKEN, "198.51.100.1 invented") == 429
    assert await ask(TOKEN, "198.51.100.1 signed-198.51.100.1") == 200
