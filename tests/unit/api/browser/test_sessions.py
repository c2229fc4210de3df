"""Browsers authenticate with the cookie of a session: how it is set, who may use it, and that it ends."""

from __future__ import annotations

import pytest

from shunter.api.browser.session_cookies import check_origin, find_sessions, set_cookie
from shunter.model.errors import Forbidden
from tests.unit.api.asgi_client import AUTHORIZED, Client, Response, manifest
from tests.unit.api.fake_gateway import FakeGateway

SESSIONS = "/api/v1/sessions"
PAGE = {"host": "shunter.example:7070", "origin": "http://shunter.example:7070"}


async def sign_in(client: Client) -> dict[str, str]:
    """The headers of a page that is signed in."""
    return {**PAGE, "cookie": cookie_of(await client.post(SESSIONS, {}, headers={**AUTHORIZED, **PAGE}))}


def cookie_of(response: Response) -> str:
    return response.headers["set-cookie"].partition(";")[0]


async def test_a_token_or_a_code_opens_a_session(client: Client) -> None:
    response = await client.post(SESSIONS, {}, headers=AUTHORIZED)
    assert response.status == 201
    assert cookie_of(response) == "shunter-session-1=shs_0.x"
    assert b"shs_" not in response.body
    assert (await client.post(f"{SESSIONS}/codes", {})).json["code"] == "once"
    assert (await client.post(SESSIONS, {"code": "once"}, headers=PAGE)).status == 201
    assert (await client.post(SESSIONS, {"code": "once"}, headers=PAGE)).status == 401
    assert (await client.post(SESSIONS, {}, headers=PAGE)).status == 401
    assert (await client.post(SESSIONS, {"code": 1}, headers=PAGE)).status == 400


def test_the_cookie_is_out_of_reach_for_scripts_and_other_sites() -> None:
    scope = {"scheme": "http", "headers": []}
    assert set_cookie(scope, "s", "t", 9)[1] == b"s=t; Path=/; Max-Age=9; HttpOnly; SameSite=Strict"
    assert set_cookie({**scope, "scheme": "https"}, "s", "t", 9)[1].endswith(b"; Secure")
    proxy = {"headers": [(b"x-forwarded-proto", b"https"), (b"x-forwarded-prefix", b"/lab/")]}
    assert set_cookie(proxy, "s", "t", 9)[1] == b"s=t; Path=/lab; Max-Age=9; HttpOnly; SameSite=Strict; Secure"
    wrong = {"headers": [(b"x-forwarded-prefix", b"/a; Domain=evil.example")]}
    assert b"Path=/;" in set_cookie(wrong, "s", "t", 9)[1]


def test_cookies_of_other_clusters_and_programs_are_left_alone() -> None:
    header = b"theme=dark; shunter-session-1=shs_a.b; other=shs_c.d; shunter-session-2=token; shunter-session-3=shs_e.f"
    found = find_sessions({"headers": [(b"cookie", header)]})
    assert found == [("shunter-session-1", "shs_a.b"), ("shunter-session-3", "shs_e.f")]
    assert find_sessions({"headers": [(b"cookie", b"shunter-session=shs_" + b"a" * 1600)]}) == []
    assert find_sessions({"headers": [(b"cookie", b"shunter-session=shs_a.b;" + b" " * 20_000)]}) == []
    many = b";".join(b"shunter-session-%d=shs_a.b" % number for number in range(20))
    assert len(find_sessions({"headers": [(b"cookie", many)]})) == 8


async def test_a_session_reads_and_writes_as_its_caller(client: Client) -> None:
    page = await sign_in(client)
    assert (await client.get("/api/v1/me", headers={"cookie": page["cookie"]})).json["user"] == "tester"
    assert (await client.post("/api/v1/jobs", manifest(), headers=page)).status == 201


async def test_a_session_is_found_among_those_of_other_clusters(client: Client) -> None:
    page = await sign_in(client)
    cookies = f"shunter-session-0=shs_z.z; {page['cookie']}"
    assert (await client.get("/api/v1/me", headers={"cookie": cookies})).status == 200
    assert (await client.get("/api/v1/me", headers={"cookie": "shunter-session-0=shs_z.z"})).status == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({"host": "shunter.example:7070", "origin": "http://evil.example"}, 403),
        ({"host": "shunter.example:7070", "origin": "null"}, 403),
        ({"host": "shunter.example:7070", "origin": "http://shunter.example:8080"}, 403),
        ({"origin": "http://shunter.example"}, 403),
        ({"host": "x", "origin": "http://x", "sec-fetch-site": "cross-site"}, 201),  # a link led to the page, not to us
        ({"host": "127.0.0.1:1", "origin": "https://lab.example", "x-forwarded-host": "lab.example"}, 201),
        ({"host": "127.0.0.1:1", "origin": "https://lab.example", "sec-fetch-site": "same-origin"}, 201),
    ],
)
async def test_a_session_writes_only_from_our_own_pages(client: Client, headers: dict[str, str], status: int) -> None:
    cookie = (await sign_in(client))["cookie"]
    assert (await client.post("/api/v1/jobs", manifest(), headers={"cookie": cookie, **headers})).status == status
    assert (await client.get("/api/v1/jobs", headers={"cookie": cookie, **headers})).status == 200


async def test_pages_of_other_sites_sign_nobody_in(client: Client) -> None:
    headers = {"host": "shunter.example", "origin": "http://evil.example"}
    assert (await client.post(SESSIONS, {"code": "once"}, headers=headers)).status == 403
    assert (await client.post(SESSIONS, {"code": "once"}, headers=PAGE)).status == 201  # it is not used up


async def test_signing_out_ends_the_session_and_clears_the_cookie(client: Client, gateway: FakeGateway) -> None:
    page = await sign_in(client)
    gateway.renewed = {"shs_0.x": "shs_1.x"}
    response = await client.call("DELETE", f"{SESSIONS}/current", headers=page)
    assert response.status == 204
    assert response.headers["set-cookie"].startswith("shunter-session-1=; Path=/; Max-Age=0")
    assert (await client.get("/api/v1/me", headers=page)).status == 401
    assert (await client.call("DELETE", f"{SESSIONS}/current")).status == 409


async def test_a_session_neither_opens_another_nor_makes_codes(client: Client) -> None:
    page = await sign_in(client)
    assert (await client.post(f"{SESSIONS}/codes", {}, headers=page)).status == 409
    assert (await client.post(SESSIONS, {}, headers=page)).status == 401
    text = page["cookie"].partition("=")[2]
    as_token = {"authorization": f"Bearer {text}"}
    assert (await client.get("/api/v1/me", headers=as_token)).status == 401


async def test_a_session_in_use_is_renewed(client: Client, gateway: FakeGateway) -> None:
    page = await sign_in(client)
    assert "set-cookie" not in (await client.get("/api/v1/me", headers=page)).headers
    gateway.renewed = {"shs_0.x": "shs_1.x"}
    assert cookie_of(await client.get("/api/v1/me", headers=page)) == "shunter-session-1=shs_1.x"


async def test_a_token_counts_more_than_a_session(client: Client) -> None:
    page = await sign_in(client)
    assert (await client.get("/api/v1/me", headers={**page, "authorization": "Bearer wrong"})).status == 401
    assert (
        await client.post("/api/v1/jobs", manifest(), headers={"cookie": page["cookie"], **AUTHORIZED})
    ).status == 201


def test_an_origin_without_a_host_is_refused() -> None:
    with pytest.raises(Forbidden, match="Host"):
        check_origin({"headers": [(b"origin", b"http://a")]})
