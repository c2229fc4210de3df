"""The sign-in of browsers at an issuer: redirects and cookies."""

from __future__ import annotations

import pytest

from shunter.model.errors import Unavailable
from tests.unit.api.asgi_client import Client
from tests.unit.api.fake_gateway import FakeGateway

BEGIN, CALLBACK = "/api/v1/sessions/oidc", "/api/v1/sessions/oidc/callback"
HOST = {"host": "here.example:7070"}
PROXY = {
    "host": "10.0.0.1:7070",
    "x-forwarded-host": "shunter.example",
    "x-forwarded-proto": "https",
    "x-forwarded-prefix": "/lab",
}


async def test_a_browser_is_sent_to_the_issuer_and_keeps_the_state(client: Client) -> None:
    answer = await client.get(BEGIN, headers=HOST)
    assert answer.status == 303
    assert answer.headers["location"].endswith(f"redirect_uri=http://here.example:7070{CALLBACK}")
    [cookie] = answer.cookies
    assert cookie == f"shunter-sign-in=state-1; Path={CALLBACK}; Max-Age=600; HttpOnly; SameSite=Lax"


async def test_behind_a_proxy_the_addresses_are_those_of_the_proxy(client: Client) -> None:
    answer = await client.get(BEGIN, headers=PROXY)
    assert answer.headers["location"].endswith(f"redirect_uri=https://shunter.example/lab{CALLBACK}")
    assert f"Path=/lab{CALLBACK}; " in answer.cookies[0] and answer.cookies[0].endswith("; Secure")


@pytest.mark.parametrize("host", ["", "evil example", "a/b", "x" * 300, "a@b"])
async def test_a_host_that_is_none_is_not_sent_on(client: Client, host: str) -> None:
    answer = await client.get(BEGIN, headers={"host": host})
    assert answer.status == 303 and answer.headers["location"].startswith("../../../ui/#error=header.host")


async def test_who_comes_back_has_a_session_and_no_state(client: Client, gateway: FakeGateway) -> None:
    kept = {**HOST, "cookie": "shunter-sign-in=state-1"}
    answer = await client.get(f"{CALLBACK}?code=code-1&state=state-1&session_state=more", headers=kept)
    assert (answer.status, answer.headers["location"]) == (303, "../../../../ui/")
    forget, session = answer.cookies
    assert forget.startswith(f"shunter-sign-in=; Path={CALLBACK}; Max-Age=0") and "SameSite=Strict" in session
    text = session.partition("=")[2].partition(";")[0]
    assert text in gateway.sessions


@pytest.mark.parametrize(
    ("query", "cookie", "reason"),
    [
        ("code=code-1&state=state-1", "", "not%20this%20sign-in"),
        ("code=code-1&state=other", "shunter-sign-in=state-1", "not%20this%20sign-in"),
        ("state=state-1", "shunter-sign-in=state-1", "not%20this%20sign-in"),
        ("error=access_denied&error_description=%3Cb%3Eno", "shunter-sign-in=state-1", "refused%3A%20%3Cb%3Eno"),
    ],
)
async def test_who_does_not_is_told_why(
    client: Client, gateway: FakeGateway, query: str, cookie: str, reason: str
) -> None:
    answer = await client.get(f"{CALLBACK}?{query}", headers={**HOST, "cookie": cookie})
    assert answer.status == 303
    assert answer.headers["location"].startswith("../../../../ui/#error=") and reason in answer.headers["location"]
    assert len(answer.cookies) == 1 and not gateway.sessions


async def test_a_token_of_an_issuer_is_refused_with_the_reason(client: Client, gateway: FakeGateway) -> None:
    gateway.refusals["eyJ.a.b"] = "the token has expired; sign in again"
    answer = await client.get("/api/v1/me", headers={"authorization": "Bearer eyJ.a.b"})
    assert (answer.status, answer.json["detail"]) == (401, "the token has expired; sign in again")
    gateway.preparations["eyJ.c.d"] = Unavailable("the issuer cannot be asked for its keys")
    answer = await client.get("/api/v1/me", headers={"authorization": "Bearer eyJ.c.d"})
    assert (answer.status, answer.json["detail"]) == (503, "the issuer cannot be asked for its keys")


async def test_how_to_sign_in_is_told_to_everybody(client: Client) -> None:
    for headers in ({}, {"authorization": "Bearer wrong"}):
        assert (await client.get("/api/v1/sessions/options", headers=headers)).json == {"oidc": None}
