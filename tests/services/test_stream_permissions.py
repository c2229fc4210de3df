"""Every kind of stream ends soon after its caller has lost the permission, whichever way that happened."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import grpc.aio
import pytest
import yaml
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from shunter.adapters.grpc import scheduler_server
from shunter.api.grpc.calls import Limits
from shunter.api.http import permission_watch
from shunter.api.http.app import build_app
from shunter.api.http.server import HttpServer, serve
from shunter.api.stomp import server as stomp_server
from shunter.gateway.tokens import TokenFile, make_token
from shunter.model.errors import Busy
from shunter.model.identity.roles import Role
from shunter.ports.identity import NewKey
from shunter.proto.v1 import external_scheduler_pb2 as scheduler_pb
from shunter.proto.v1 import external_scheduler_pb2_grpc as scheduler_grpc
from shunter.proto.v1 import jobs_pb2 as pb
from tests.services.jobs_harness import JobsHarness, manifest, open_jobs_harness

CHECK_S = 0.05
PATIENCE_S = 10.0
HTTP_STREAMS = {
    "events": "/api/v1/events?follow=true",
    "job": "/api/v1/jobs/running/follow",
    "job logs": "/api/v1/jobs/running/logs?follow=true",
    "task log": "/api/v1/jobs/running/tasks/0/logs?follow=true",
    "log of a pending task": "/api/v1/jobs/pending/tasks/0/logs?follow=true",
    "objects": "/api/v1/apis/batchjob.gcr.io/v1alpha1/namespaces/default/testbeds?watch=true",
}


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (permission_watch, stomp_server, scheduler_server):
        monkeypatch.setattr(module, "CHECK_EVERY_S", CHECK_S)


class Streams:
    """All that one credential opens. What has ended leaves `open`."""

    def __init__(self, harness: JobsHarness, server: HttpServer, stack: AsyncExitStack) -> None:
        self._harness, self._stack = harness, stack
        self.address = f"127.0.0.1:{server.port}"
        self.open: set[str] = set()
        self.answers: dict[str, str] = {}  # what came last
        self._tasks: list[asyncio.Task[None]] = []

    async def open_http(self, headers: dict[str, str]) -> None:
        session = await self._stack.enter_async_context(aiohttp.ClientSession(f"http://{self.address}"))
        for name, path in HTTP_STREAMS.items():
            self._run(name, self._read_http(session, name, path, headers))
        self._run("STOMP", self._read_stomp(headers))

    async def open_grpc(self, token: str) -> None:
        client = await self._stack.enter_async_context(self._harness.client(token))
        schedulers: Any = scheduler_grpc.ExternalSchedulerStub(client.channel)  # type: ignore[no-untyped-call]
        calls = {
            "gRPC Watch": client.watch("running"),
            "gRPC Logs": client.call("Logs", pb.LogsRequest(job="running", follow=True)),
            "gRPC scheduler": schedulers.Watch(
                scheduler_pb.WatchRequest(name="mine", mode="lead"), metadata=client.metadata
            ),
        }
        for name, call in calls.items():
            self._run(name, self._read_grpc(name, call))

    async def ended(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while self.open:
                await asyncio.sleep(CHECK_S)
        await asyncio.gather(*self._tasks)

    def _run(self, name: str, reading: Awaitable[None]) -> None:
        async def run() -> None:
            try:
                await reading
            finally:
                self.open.discard(name)

        self.open.add(name)
        self._tasks.append(asyncio.create_task(run()))
        self._stack.callback(self._tasks[-1].cancel)

    async def _read_http(self, session: aiohttp.ClientSession, name: str, path: str, headers: dict[str, str]) -> None:
        try:
            async with session.get(path, headers=headers) as response:
                self.answers[name] = str(response.status)
                while await response.content.readany():
                    pass
        except aiohttp.ClientError as error:
            self.answers[name] = self.answers.get(name, repr(error))

    async def _read_stomp(self, headers: dict[str, str]) -> None:
        same_site = {"Origin": f"http://{self.address}"}
        async with connect(f"ws://{self.address}/scheduler", additional_headers=headers | same_site) as socket:
            await socket.send("CONNECT\naccept-version:1.2\nhost:x\n\n\0")
            await socket.send("SUBSCRIBE\nid:0\ndestination:/topic/jobs\n\n\0")
            try:
                while True:
                    self.answers["STOMP"] = str(await socket.recv())
            except ConnectionClosed:
                return

    async def _read_grpc(self, name: str, call: Any) -> None:
        try:
            while await call.read() is not grpc.aio.EOF:  # type: ignore[attr-defined]  # not in its stubs
                self.answers[name] = "OK"
        except grpc.aio.AioRpcError as error:
            self.answers[name] = str(error.details())

    async def all_open(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not self.open <= self.answers.keys():
                await asyncio.sleep(CHECK_S)
        assert self.open >= {*self.answers}, f"ended at once: {self.answers}"


@asynccontextmanager
async def streams_of(harness: JobsHarness) -> AsyncIterator[Streams]:
    documents = [yaml.safe_load(manifest(name, 600)) for name in ("running", "pending")]
    documents[1]["spec"]["hold"] = True
    await harness.gateway.jobs.submit(documents, namespace="default", key=None)
    async with AsyncExitStack() as stack:
        server = await serve(build_app(harness.local_gateway))
        stack.push_async_callback(server.stop, grace_s=0.1)
        yield Streams(harness, server, stack)


async def revoke(harness: JobsHarness, key: str) -> None:
    await harness.gateway.identity.revoke_key(key)


async def rotate(harness: JobsHarness, key: str) -> None:
    await harness.gateway.identity.rotate_key(key, 0.0)


async def disable(harness: JobsHarness, _key: str) -> None:
    await harness.gateway.identity.put_user("ben", None, True)


async def demote(harness: JobsHarness, _key: str) -> None:
    await harness.gateway.identity.put_user("ben", (Role.VIEWER,), None)


@pytest.mark.parametrize("lose", [revoke, rotate, disable, demote])
async def test_streams_of_a_key_end_with_it(lose: Callable[[JobsHarness, str], Awaitable[None]]) -> None:
    async with open_jobs_harness(Limits(check_every_s=CHECK_S)) as harness, streams_of(harness) as streams:
        identity = harness.gateway.identity
        await identity.put_user("ben", (Role.ADMIN,), None)
        new = await identity.create_key(NewKey((Role.ADMIN, Role.VIEWER), "ben"))
        await streams.open_http({"Authorization": f"Bearer {new.key}"})
        await streams.open_grpc(new.key)
        await streams.all_open()
        await lose(harness, new.id)
        await streams.ended()


@pytest.mark.parametrize("way", ["signed out", "key revoked", "token reset"])
async def test_streams_of_a_browser_end_with_its_session(way: str, tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path / "token", "root")
    make_token(tmp_path / "token")
    async with (
        open_jobs_harness(Limits(check_every_s=CHECK_S), tokens) as harness,
        streams_of(harness) as streams,
    ):
        gateway = harness.gateway
        if way == "key revoked":
            new = await gateway.identity.create_key(NewKey((Role.ADMIN,)))
            caller = harness.local_gateway.authenticate(new.key)
            assert caller is not None
            gateway = harness.local_gateway.for_caller(caller, "createSession")
        opened = await gateway.sign_in.open()
        await streams.open_http({"Cookie": f"{opened.cookie_name}={opened.text}"})
        await streams.all_open()
        match way:
            case "signed out":
                await harness.gateway.sign_in.end(opened.text)
            case "key revoked":
                await harness.gateway.identity.revoke_key(new.id)
            case "token reset":
                make_token(tmp_path / "token")
        await streams.ended()


async def test_streams_of_the_admin_token_end_when_it_is_reset(tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path / "token", "root")
    token = make_token(tmp_path / "token")
    async with (
        open_jobs_harness(Limits(check_every_s=CHECK_S), tokens) as harness,
        streams_of(harness) as streams,
    ):
        await streams.open_http({"Authorization": f"Bearer {token}"})
        await streams.open_grpc(token)
        await streams.all_open()
        make_token(tmp_path / "token")
        await streams.ended()


async def test_topics_end_also_while_their_source_guesses_tokens() -> None:
    """Whoever has used up the attempts of an address must not keep its streams open by that."""
    async with open_jobs_harness() as harness, streams_of(harness) as streams:
        new = await harness.gateway.identity.create_key(NewKey((Role.VIEWER,)))
        await streams.open_http({"Authorization": f"Bearer {new.key}"})
        await streams.all_open()
        async with aiohttp.ClientSession(f"http://{streams.address}") as guesser:

            async def guess() -> int:
                async with guesser.get("/api/v1/me", headers={"Authorization": "Bearer wrong"}) as response:
                    return response.status

            while await guess() != Busy.status:
                pass
            await harness.gateway.identity.revoke_key(new.id)
            async with asyncio.timeout(PATIENCE_S):
                while streams.open:
                    await guess()
