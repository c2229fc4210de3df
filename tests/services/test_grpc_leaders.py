"""A worker that knows several managers finds the one that leads, and follows the lead from one to the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import grpc
import pytest

from shunter.adapters.grpc import channel
from shunter.adapters.grpc.worker_client import WorkerClient
from shunter.model.errors import Unauthorized
from shunter.model.protocol.worker_messages import Ack, ManagerMessage, Refused, Welcome
from shunter.proto.worker.v1 import worker_pb2 as pb
from shunter.proto.worker.v1 import worker_pb2_grpc
from tests.services.grpc_harness import PATIENCE_S, TOKEN
from tests.services.leader_harness import Member, members
from tests.services.test_grpc_client import WaitingWorker, client
from tests.tcp_proxy import tcp_proxy

pytestmark = pytest.mark.services


class Witness(WaitingWorker):
    """Remembers the terms of its leaders."""

    def __init__(self) -> None:
        super().__init__()
        self.terms: list[int] = []

    def received(self, message: ManagerMessage) -> None:
        if isinstance(message, Welcome):
            self.terms.append(message.term)
        super().received(message)

    async def end(self, reason: str) -> None:
        """Of the next connection that ended for this reason."""
        async with asyncio.timeout(PATIENCE_S):
            while not (await self.ends.get()).startswith(reason):
                pass


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0.005)


def logged(caplog: pytest.LogCaptureFixture, text: str) -> bool:
    return text in caplog.text


@asynccontextmanager
async def joined(addresses: list[str]) -> AsyncIterator[Witness]:
    worker = Witness()
    async with client(addresses, worker=worker):
        await worker.receive(Ack)
        yield worker


async def test_a_worker_finds_the_leader_among_its_managers() -> None:
    async with members() as managers:
        await managers.elect(managers.all[2])
        async with joined(managers.addresses) as worker:
            assert worker.terms == [managers.term]


async def test_a_worker_that_knows_only_a_follower_is_sent_to_the_leader() -> None:
    async with members() as managers:
        await managers.elect(managers.all[2])
        async with joined(managers.addresses[:1]):
            assert managers.all[2].hellos() == 1


async def test_a_worker_waits_while_nobody_leads_and_joins_whoever_leads_first() -> None:
    async with members() as managers:
        worker = Witness()
        async with client(managers.addresses, worker=worker):
            await worker.receive(Refused)
            await managers.elect(managers.all[1])
            await worker.receive(Ack)


async def test_a_worker_follows_the_lead_through_all_managers() -> None:
    async with members() as managers:
        await managers.elect(managers.all[0])
        async with joined(managers.addresses) as worker:
            for number in (1, 2, 0, 2):
                await managers.elect(managers.all[number])
                await worker.receive(Ack)
            assert worker.terms == [5, 6, 7, 8, 9]


async def test_the_end_of_a_leader_sends_its_workers_to_its_successor() -> None:
    async with members() as managers:
        await managers.elect(managers.all[0])
        async with joined(managers.addresses) as worker:
            await managers.all[0].stop()
            await worker.end("shutting_down: ")
            managers.deaf.add(managers.all[0])
            await managers.elect(managers.all[1])
            await worker.receive(Ack)
            assert worker.terms == [5, 6]


async def test_a_leader_that_stands_still_is_left_when_another_manager_leads() -> None:
    """Its connection stays open: only the others know."""
    async with members() as managers:
        first, second, _ = managers.all
        async with tcp_proxy(int(first.address.rpartition(":")[2])) as proxy:
            first_address = f"127.0.0.1:{proxy.port}"
            await managers.elect(first, first_address)
            async with joined([first_address, *managers.addresses[1:]]) as worker:
                proxy.hold_requests()
                managers.deaf.add(first)
                await managers.elect(second)
                await worker.receive(Ack)
                assert worker.terms == [5, 6]
                await worker.end("another manager leads: ")
                proxy.release_requests()


async def test_old_news_does_not_make_a_worker_leave_its_leader(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "shunter.adapters.grpc.worker_client")
    async with members() as managers:
        first, second, third = managers.all
        await managers.elect(second)
        managers.deaf.add(third)
        await managers.elect(first)
        async with joined(managers.addresses) as worker:
            terms = list(worker.terms)  # before it had joined, it may have believed the manager that heard no news
            for term in (5, 4, 6, 3):
                second.election.tell(third.address, term)
                third.election.tell(second.address, term)
                await until(partial(logged, caplog, f"term={term} newest=6"))
            assert worker.terms == terms
            await managers.elect(second)
            await worker.receive(Ack)
            assert worker.terms == [*terms, 7]


async def test_a_manager_that_lies_about_the_leader_does_not_part_a_worker_from_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG", "shunter.adapters.grpc.worker_client")
    async with members() as managers:
        first, second, third = managers.all
        await managers.elect(first)
        async with joined(managers.addresses) as worker:
            for address, term in (("127.0.0.1:1", 1000), ("unix:/tmp/x", 2000), ("", 3000)):
                second.election.tell(address, term)
                third.election.tell(address, term)
                await until(partial(logged, caplog, f"term={term}"))
            assert "leader.unconfirmed address=127.0.0.1:1 term=1000" in caplog.text
            assert worker.terms == [5]
            managers.term = 5000
            await managers.elect(second)  # a true change still gets through
            await worker.receive(Ack)
            assert worker.terms == [5, 5001]


async def test_a_refusal_that_names_a_wrong_leader_does_not_keep_a_worker_from_the_right_one() -> None:
    async with members() as managers:
        await managers.elect(managers.all[2])
        managers.all[0].election.tell("127.0.0.1:1", 5)
        managers.all[1].election.tell(managers.all[0].address, 5)
        async with joined(managers.addresses):
            pass


async def test_a_leader_that_was_replaced_and_does_not_know_it_gets_no_inventory() -> None:
    async with members(2) as managers:
        old, new = managers.all
        managers.deaf.add(old)
        await old.watcher.start(old.engine, term=5)
        managers.term = 5
        await managers.elect(new)
        async with joined([new.address]) as worker:
            await new.watcher.step_down("gone")
            new.election.tell(old.address, 7)  # so the worker is sent to the old leader
            await until(lambda: old.hellos() >= 2)
            assert worker.terms == [6]
            assert "inventory" not in old.engine.call_kinds()


async def test_a_token_that_one_manager_refuses_still_joins_the_leader() -> None:
    async with members(3, tokens={0: "another", 1: "another"}) as managers:
        await managers.elect(managers.all[2])
        async with joined(managers.addresses):
            pass


async def test_a_token_that_all_managers_refuse_ends_the_worker() -> None:
    async with members() as managers:
        with pytest.raises(Unauthorized):
            async with asyncio.timeout(PATIENCE_S):
                await WorkerClient(WaitingWorker(), managers.addresses, "wrong").run()


# ---- the stream of news, with the generated stubs ----


@asynccontextmanager
async def watch(member: Member, token: str = TOKEN) -> AsyncIterator[grpc.aio.UnaryStreamCall[object, pb.Leader]]:
    async with grpc.aio.insecure_channel(member.address) as opened:
        stub = worker_pb2_grpc.WorkersStub(opened)  # type: ignore[no-untyped-call]
        yield stub.WatchLeader(pb.WatchLeaderRequest(), metadata=(("authorization", f"Bearer {token}"),))


async def test_a_manager_tells_at_once_who_leads_and_whenever_it_changes() -> None:
    async with members(2) as managers:
        follower, leader = managers.all
        async with watch(follower) as stream:
            assert await stream.read() == pb.Leader()
            await managers.elect(leader)
            assert await stream.read() == pb.Leader(address=leader.address, term=5)
            managers.deaf.add(leader)
            await follower.watcher.start(follower.engine, term=6)
            assert await stream.read() == pb.Leader(address=leader.address, term=6, here=True)
            follower.election.tell(follower.address, 6)
            assert await stream.read() == pb.Leader(address=follower.address, term=6, here=True)
            await follower.watcher.step_down("over")
            assert await stream.read() == pb.Leader(address=follower.address, term=6)


async def test_the_only_manager_says_that_it_leads() -> None:
    async with members(1) as managers:
        [member] = managers.all
        await member.watcher.start(member.engine)
        async with watch(member) as stream:
            assert await stream.read() == pb.Leader(here=True)


async def test_news_is_repeated_so_that_silence_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shunter.adapters.grpc.leader_news.NEWS_EVERY_S", 0.01)
    assert channel.NEWS_EVERY_S < channel.KEEPALIVE_S
    async with members(1) as managers, watch(managers.all[0]) as stream:
        for _ in range(3):
            assert await stream.read() == pb.Leader()


async def test_whoever_has_no_token_hears_no_news() -> None:
    async with members(1) as managers, watch(managers.all[0], "wrong") as stream:
        assert await stream.code() is grpc.StatusCode.UNAUTHENTICATED
