"""A follower forwards to the leader what it cannot answer itself. Both are real servers on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import aiohttp
import msgspec
import pytest

from shunter.adapters.http.manager_client import HttpManagerClient
from shunter.api.http import forwarding
from shunter.api.http.app import ApiSettings, build_app
from shunter.api.http.exchange import FORWARDED_HEADER
from shunter.api.http.server import HttpServer, serve
from shunter.model.rest.manager_views import ManagerView
from shunter.ports.security.audit import request_origin
from tests.unit.api.fake_gateway import TOKEN, FakeGateway

AUTHORIZED = {"authorization": f"Bearer {TOKEN}"}
JOB = {"apiVersion": "shunter.dev/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"command": ["/bin/true"]}}


class Pair:
    """A leader, a follower, and a client of the follower."""

    def __init__(self, session: aiohttp.ClientSession, follower_url: str) -> None:
        self.leader, self.follower = FakeGateway(), FakeGateway()
        self.follower.managers.is_following = True
        self.leader.managers.version = 12
        self.session, self.follower_url = session, follower_url

    def request(self, method: str, path: str, **options: Any) -> Any:
        headers = {**AUTHORIZED, **options.pop("headers", {})}
        return self.session.request(method, f"{self.follower_url}{path}", headers=headers, **options)


@asynccontextmanager
async def open_pair(leader_settings: ApiSettings | None = None) -> AsyncIterator[Pair]:
    client = HttpManagerClient(lambda: TOKEN)
    servers: list[HttpServer] = []
    async with aiohttp.ClientSession() as session:
        pair = Pair(session, "")
        try:
            settings = ApiSettings(heartbeat_s=0.05)
            servers.append(await serve(build_app(pair.leader, leader_settings or settings, client=client)))
            servers.append(await serve(build_app(pair.follower, settings, client=client)))
            pair.follower.managers.leader = f"http://127.0.0.1:{servers[0].port}"
            pair.follower_url = f"http://127.0.0.1:{servers[1].port}"
            yield pair
        finally:
            await session.close()
            await client.close()
            for server in servers:
                await server.stop(grace_s=0.1)


async def test_a_follower_answers_reads_by_itself_and_says_its_version() -> None:
    async with open_pair() as pair, pair.request("GET", "/api/v1/jobs") as response:
        assert (response.status, response.headers["Shunter-Version"]) == (200, "9")
        assert pair.leader.received == []


async def test_a_follower_forwards_writes_with_their_body_and_passes_the_answer_on() -> None:
    async with open_pair() as pair:
        async with pair.request("POST", "/api/v1/jobs?namespace=film", json=JOB) as response:
            assert (response.status, response.headers["Shunter-Version"]) == (201, "12")
            assert (await response.json())["name"] == "a"
        assert len(pair.leader.job_table.by_id) == 1
        assert not pair.follower.job_table.by_id


async def test_errors_of_the_leader_reach_the_client_as_they_are() -> None:
    async with open_pair() as pair, pair.request("POST", "/api/v1/jobs", json={"kind": "Job"}) as response:
        assert response.status == 400
        assert response.content_type == "application/problem+json"
        assert (await response.json())["problems"]


async def test_a_follower_forwards_reads_of_what_only_the_leader_knows() -> None:
    async with open_pair() as pair:
        pair.leader.policy = "bin-pack"
        async with pair.request("GET", "/api/v1/policies") as response:
            assert response.headers["Shunter-Version"] == "12"


async def test_a_read_that_the_follower_is_too_old_for_is_forwarded() -> None:
    async with open_pair() as pair:
        async with pair.request("GET", "/api/v1/jobs", headers={"Shunter-Min-Version": "9"}) as response:
            assert response.headers["Shunter-Version"] == "9"
        async with pair.request("GET", "/api/v1/jobs", headers={"Shunter-Min-Version": "10"}) as response:
            assert (response.status, response.headers["Shunter-Version"]) == (200, "12")


@pytest.mark.parametrize("is_following", [True, False], ids=["follower", "leader"])
@pytest.mark.parametrize("value", ["-1", "1.5", "", "x", "9" * 19])
async def test_a_version_that_is_none_is_refused(value: str, is_following: bool) -> None:
    async with open_pair() as pair:
        pair.follower.managers.is_following = is_following
        async with pair.request("GET", "/api/v1/jobs", headers={"Shunter-Min-Version": value}) as response:
            assert response.status == 400
            assert (await response.json())["problems"][0]["field"] == "header.shunter-min-version"


async def test_without_a_leader_nothing_is_accepted() -> None:
    async with open_pair() as pair:
        pair.follower.managers.leader = ""
        async with pair.request("POST", "/api/v1/jobs", json=JOB) as response:
            assert (response.status, (await response.json())["title"]) == (503, "not the leader")
            assert response.headers["Retry-After"] == "1"


async def test_a_leader_that_cannot_be_reached_has_accepted_nothing() -> None:
    async with open_pair() as pair:
        pair.follower.managers.leader = "http://127.0.0.1:1"
        async with pair.request("POST", "/api/v1/jobs", json=JOB) as response:
            problem = await response.json()
            assert (response.status, problem["title"]) == (503, "not the leader")
            assert (
                problem["detail"]
                == "the leader cannot be reached (Connection refused); nothing was accepted, try again"
            )


async def test_a_request_is_forwarded_once_at_most() -> None:
    async with open_pair() as pair:
        pair.leader.managers.is_following = True
        pair.leader.managers.leader = pair.follower_url
        async with pair.request("POST", "/api/v1/jobs", json=JOB) as response:
            assert (response.status, (await response.json())["title"]) == (503, "not the leader")
        headers = {FORWARDED_HEADER.decode(): "1"}
        async with pair.request("POST", "/api/v1/jobs", json=JOB, headers=headers) as response:
            assert response.status == 503


async def test_the_leader_checks_the_token_of_a_forwarded_request() -> None:
    async with (
        open_pair() as pair,
        pair.request("POST", "/api/v1/jobs", headers={"authorization": "Bearer no"}) as answer,
    ):
        assert answer.status == 401


async def test_the_leader_judges_keys_that_the_follower_does_not_know_but_not_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forwarding, "UNKNOWN_CALLERS_PER_S_MAX", 2)
    monkeypatch.setattr(forwarding, "time", SimpleNamespace(monotonic=lambda: 7.5))  # all in one second
    headers = {"authorization": f"Bearer shk_b7k2mq9xwe_{'A' * 43}"}
    async with open_pair() as pair:
        for status in (401, 401, 429):
            async with pair.request("GET", "/api/v1/jobs", headers=headers) as answer:
                assert answer.status == status
        async with pair.request("GET", "/api/v1/jobs") as answer:
            assert answer.status == 200


async def test_a_forwarded_stream_arrives_line_by_line_and_ends_with_its_client() -> None:
    async with open_pair() as pair:
        async with pair.request("POST", "/api/v1/jobs?follow=end", json=JOB) as response:
            assert b'"job"' in await response.content.readline()
            assert pair.leader.streams_open == 1
        await asyncio.wait_for(pair.leader.stream_closed.wait(), 10)


async def test_a_forwarded_stream_is_cut_short_when_another_manager_leads() -> None:
    async with open_pair() as pair:
        async with pair.request("POST", "/api/v1/jobs?follow=end", json=JOB) as response:
            await response.content.readline()
            pair.follower.managers.leader = "http://127.0.0.1:1"
            with pytest.raises(aiohttp.ClientPayloadError):
                await asyncio.wait_for(response.content.read(), 10)
        await asyncio.wait_for(pair.leader.stream_closed.wait(), 10)


async def test_the_request_that_stops_a_manager_is_never_forwarded() -> None:
    async with open_pair() as pair:
        async with pair.request("POST", "/api/v1/cluster/down") as response:
            assert response.status == 202
        assert (pair.follower.shutdowns, pair.leader.shutdowns) == ([(False, False)], [])


async def test_a_leader_without_the_api_role_serves_other_managers_only() -> None:
    async with open_pair(ApiSettings(serves_clients=False)) as pair:
        async with pair.request("POST", "/api/v1/jobs", json=JOB) as response:
            assert response.status == 201
        leader_url = pair.follower.managers.leader
        for path, status in (("/api/v1/jobs", 503), ("/api/v1/managers/self", 200), ("/healthz", 200)):
            async with pair.session.get(f"{leader_url}{path}", headers=AUTHORIZED) as response:
                assert response.status == status, path
                if status == 503:
                    problem = await response.json()
                    assert problem["title"] == "no api role"
                    assert "`shunter managers` lists those that do" in problem["detail"]


async def test_an_answer_of_a_manager_may_come_in_several_chunks() -> None:
    body = msgspec.json.encode(ManagerView(name="m2", role="follower", url="http://m2", version="1", lag_s=0.5))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body[:10])
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.write(body[10:])
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    client = HttpManagerClient(lambda: TOKEN)
    try:
        view = await client.describe(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        assert (view.name, view.lag_s) == ("m2", 0.5)
    finally:
        await client.close()
        server.close()


async def test_the_leader_knows_the_source_of_a_forwarded_request_only_with_a_proof() -> None:
    """The client is at 127.0.0.1, as is the manager that forwards; so another address shows that it is believed."""
    forged = {"shunter-forwarded": "1", "shunter-source": "10.9.9.9 signed-10.0.0.1"}
    proven = {"shunter-forwarded": "1", "shunter-source": "10.9.9.9 signed-10.9.9.9"}
    async with open_pair() as pair:
        leader = pair.follower.managers.leader
        origins: list[str] = []
        seen = pair.leader.record_call

        def record_call(received: object = None) -> None:
            origin = request_origin.get()
            origins.append("" if origin is None else origin.source)
            seen(received)

        pair.leader.record_call = record_call  # type: ignore[method-assign]
        for url, headers in ((pair.follower_url, {}), (pair.follower_url, proven), (leader, forged), (leader, proven)):
            request = pair.session.request(
                "POST", f"{url}/api/v1/nodes/n1/cordon", json={}, headers={**AUTHORIZED, **headers}
            )
            async with request as response:
                await response.read()
        assert origins == ["127.0.0.1", "127.0.0.1", "10.9.9.9"]
