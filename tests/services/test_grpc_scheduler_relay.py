"""An external scheduler may talk to any manager: one that follows relays its calls to the leader."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio
import pytest

from shunter.adapters.grpc.scheduler_server import SchedulerServer
from shunter.model.errors import Unauthorized
from shunter.proto.v1 import external_scheduler_pb2 as pb
from tests.services.scheduler_harness import TOKEN, Stub, callers_of, open_scheduler_harness
from tests.services.test_grpc_scheduler_server import code_of, first, next_with_work

pytestmark = pytest.mark.services


class Follower:
    """A manager without an engine. `leader` is what it believes."""

    def __init__(self, leader: str | None) -> None:
        self.leader = leader
        self.server = SchedulerServer(callers_of({}), leader=lambda: self.leader, sign=lambda each: f"signed-{each}")
        self.address = ""


@asynccontextmanager
async def follower(leader: str | None) -> AsyncIterator[Follower]:
    started = Follower(leader)
    started.address = f"127.0.0.1:{await started.server.start()}"
    try:
        yield started
    finally:
        await started.server.stop()


@asynccontextmanager
async def stub_of(manager: Follower, token: str = TOKEN) -> AsyncIterator[Stub]:
    async with grpc.aio.insecure_channel(manager.address) as channel:
        yield Stub(channel, token)


async def test_a_scheduler_at_a_follower_places_tasks_of_the_leader() -> None:
    async with (
        open_scheduler_harness() as harness,
        follower(harness.address) as manager,
        stub_of(manager) as stub,
    ):
        harness.use_external_policy("mine")
        stream = stub.watch()
        lease = (await first(stream)).lease
        job = await harness.submit("job", 2)
        situation = await next_with_work(stream)
        placement = pb.Placement(class_id=situation.queued[0].class_id, nodes=[1, 2], counts=[1, 1])
        answer = await stub.decide(token=lease.token, based_on=situation.version, placements=[placement])
        assert answer.placed == 2
        await harness.ended(job)
        assert (await stub.renew(lease.token)).lease_s == lease.lease_s


async def test_the_end_of_a_scheduler_at_a_follower_reaches_the_leader() -> None:
    async with (
        open_scheduler_harness() as harness,
        follower(harness.address) as manager,
        stub_of(manager) as stub,
        stub_of(manager) as second,
    ):
        harness.use_external_policy("mine")
        stream = stub.watch()
        token = (await first(stream)).lease.token
        assert (await second.renew(token)).token == token
        stream.cancel()
        async with asyncio.timeout(60):
            while (await _code(second.renew(token))) is None:
                await asyncio.sleep(0.005)


async def _code(call: Any) -> grpc.StatusCode | None:
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return error.code()
    return None


async def test_refusals_of_the_leader_arrive_with_their_reason() -> None:
    async with open_scheduler_harness() as harness, follower(harness.address) as manager:
        async with stub_of(manager, "wrong") as stub:
            for call in (first(stub.watch()), stub.decide(token="x"), stub.renew("x")):
                code, details = await code_of(call)
                assert code is grpc.StatusCode.UNAUTHENTICATED
                assert "authorization: Bearer TOKEN" in details
        async with stub_of(manager) as stub:
            code, details = await code_of(first(stub.watch(mode="boss")))
            assert (code, "choose lead or shadow" in details) == (grpc.StatusCode.INVALID_ARGUMENT, True)


async def test_without_a_leader_a_follower_says_so() -> None:
    async with follower("") as manager, stub_of(manager) as stub:
        for call in (first(stub.watch()), stub.renew("x")):
            assert await code_of(call) == (grpc.StatusCode.UNAVAILABLE, "no manager leads now; try again")


async def test_a_leader_that_cannot_be_reached_is_unavailable() -> None:
    async with follower("127.0.0.1:1") as manager, stub_of(manager) as stub:
        assert (await code_of(stub.renew("x")))[0] is grpc.StatusCode.UNAVAILABLE


async def test_followers_that_take_one_another_for_the_leader_do_not_relay_for_ever() -> None:
    async with follower("") as one, follower(one.address) as other, stub_of(other) as stub:
        one.leader = other.address
        assert await code_of(stub.renew("x")) == (grpc.StatusCode.UNAVAILABLE, "no manager leads now; try again")


async def test_a_stream_ends_when_another_manager_leads_so_that_the_scheduler_finds_it() -> None:
    async with (
        open_scheduler_harness() as old,
        open_scheduler_harness() as new,
        follower(old.address) as manager,
        stub_of(manager) as stub,
    ):
        old.use_external_policy("mine")
        new.use_external_policy("mine")
        stream = stub.watch()
        await first(stream)
        manager.leader = new.address
        code, details = await code_of(_drain(stream))
        assert (code, details) == (grpc.StatusCode.UNAVAILABLE, "the leader has changed; try again")
        assert (await first(stub.watch())).whole


async def _drain(stream: Any) -> None:
    while True:
        await first(stream)


async def test_a_manager_that_takes_the_lead_serves_schedulers_itself() -> None:
    async with open_scheduler_harness() as harness, follower(harness.address) as manager, stub_of(manager) as stub:
        manager.leader = None
        code, _ = await code_of(stub.renew("x"))  # it knows no token
        assert code is grpc.StatusCode.UNAUTHENTICATED


async def test_a_follower_proves_where_a_call_came_from_whatever_its_client_claims() -> None:
    seen: list[tuple[str, Any]] = []

    async def identify(context: Any) -> Any:
        seen.extend(pair for pair in context.invocation_metadata() if pair[0] == "shunter-source")
        raise Unauthorized("seen")

    leader = SchedulerServer(identify)
    address = f"127.0.0.1:{await leader.start()}"
    async with follower(address) as manager, grpc.aio.insecure_channel(manager.address) as channel:
        renew = channel.unary_unary("/shunter.v1.ExternalScheduler/Renew", bytes, bytes)
        claimed = (("shunter-source", "10.9.9.9 signed-10.9.9.9"),)
        assert (await code_of(renew(b"", metadata=claimed)))[1] == "seen"
    await leader.stop()
    assert seen == [("shunter-source", "127.0.0.1 signed-127.0.0.1")]
