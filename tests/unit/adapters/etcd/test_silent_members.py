"""A member that hangs costs the client a time-out once in a while, not in every call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio
import pytest

from shunter.adapters.etcd import client as client_module
from shunter.adapters.etcd.client import EtcdClient
from shunter.adapters.etcd.errors import EtcdUnavailable
from shunter.adapters.etcd.methods import RANGE
from shunter.adapters.etcd.settings import EtcdSettings
from shunter.proto.etcd import etcd_pb2 as pb

CALLS = 10


class Member(grpc.GenericRpcHandler):  # type: ignore[type-arg]
    """Answers calls of Range: it refuses while it has no leader, and hangs if it is stopped."""

    def __init__(self, *, hangs: bool) -> None:
        self.hangs, self.has_leader, self.calls = hangs, False, 0

    def service(self, _: grpc.HandlerCallDetails) -> Any:
        return grpc.unary_unary_rpc_method_handler(
            self._answer, pb.RangeRequest.FromString, pb.RangeResponse.SerializeToString
        )

    async def _answer(self, _: pb.RangeRequest, context: Any) -> pb.RangeResponse:
        self.calls += 1
        if self.hangs:
            await asyncio.Event().wait()
        if not self.has_leader:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "etcdserver: no leader")
        return pb.RangeResponse(header=pb.ResponseHeader(revision=1))


@asynccontextmanager
async def client_of(*members: Member) -> AsyncIterator[EtcdClient]:
    servers, addresses = [], []
    for member in members:
        server = grpc.aio.server(handlers=(member,))
        addresses.append(f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}")
        await server.start()
        servers.append(server)
    client = EtcdClient(EtcdSettings(tuple(addresses), ttl_s=2))
    try:
        yield client
    finally:
        await client.close()
        await asyncio.gather(*(server.stop(None) for server in servers))


async def refused(client: EtcdClient) -> bool:
    try:
        await client.call(RANGE, pb.RangeRequest(key=b"key"))
    except EtcdUnavailable:
        return True
    return False


async def test_while_the_others_elect_a_leader_a_hanging_member_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "SILENCE_S", 3600.0)  # this machine may be busy
    hanging, *others = members = [Member(hangs=True), Member(hangs=False), Member(hangs=False)]
    async with client_of(*members) as client:
        assert await refused(client) and hanging.calls == 1
        for _ in range(CALLS):
            assert await refused(client)
        assert hanging.calls == 1 and all(member.calls == CALLS + 1 for member in others)
        for member in others:
            member.has_leader = True
        assert not await refused(client)


async def test_a_member_that_hung_is_asked_again_if_no_other_is_left() -> None:
    hanging = Member(hangs=True)
    async with client_of(hanging) as client:
        assert await refused(client)
        hanging.hangs, hanging.has_leader = False, True
        assert not await refused(client)
