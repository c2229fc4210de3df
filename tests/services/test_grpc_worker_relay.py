"""A manager with the watcher role takes the streams of workers and relays them to the leader."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
import pytest

from shunter.adapters.grpc import worker_relay
from shunter.adapters.grpc.byte_budget import ByteBudget
from shunter.model.lifecycles import NodeEvent
from shunter.model.protocol.worker_messages import Ack, Order, Orders, SetHeartbeat
from shunter.proto.worker.v1 import worker_pb2 as pb
from tests.services.grpc_harness import PATIENCE_S, ScriptedWorker
from tests.services.leader_harness import Member, Members, members
from tests.services.test_grpc_client import client
from tests.services.test_grpc_leaders import Witness, until
from tests.tcp_proxy import tcp_proxy

pytestmark = pytest.mark.services


class Cluster:
    """`schedulers` are numbered first, `watchers` after them. Workers know the watchers only."""

    def __init__(self, managers: Members, schedulers: int) -> None:
        self._managers = managers
        self.schedulers, self.watchers = managers.all[:schedulers], managers.all[schedulers:]
        for watcher in self.watchers:
            watcher.election.is_watcher = True
        for scheduler in self.schedulers:
            scheduler.election.referral = self.watchers[0].address

    @property
    def addresses(self) -> list[str]:
        return [watcher.address for watcher in self.watchers]

    @property
    def term(self) -> int:
        return self._managers.term

    async def elect(self, scheduler: Member, address: str = "") -> None:
        await self._managers.elect(scheduler, address)


@asynccontextmanager
async def cluster(
    schedulers: int = 1, watchers: int = 1, relay_budget: ByteBudget | None = None
) -> AsyncIterator[Cluster]:
    async with members(schedulers + watchers, relay_budget=relay_budget) as managers:
        yield Cluster(managers, schedulers)


@asynccontextmanager
async def joined(addresses: list[str]) -> AsyncIterator[Witness]:
    worker = Witness()
    async with client(addresses, worker=worker):
        await worker.receive(Ack)
        yield worker


@asynccontextmanager
async def silent_server() -> AsyncIterator[tuple[str, asyncio.Event]]:
    """Takes connections and says nothing, as a process that is stopped; the event is set with the first one."""
    connected = asyncio.Event()
    writers = []

    async def take(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        connected.set()

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", connected
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()


async def test_a_relayed_worker_joins_the_leader_and_gets_its_orders() -> None:
    async with cluster() as managers:
        leader = managers.schedulers[0]
        await managers.elect(leader)
        async with joined(managers.addresses) as worker:
            assert worker.terms == [managers.term]
            leader.watcher.send(1, Orders(1, [], {}))
            assert await worker.receive(Orders) == Orders(1, [], {})
            assert managers.watchers[0].server.connected == 1
            assert managers.watchers[0].hellos() == 0, "a watcher has no engine"


async def test_what_a_relayed_worker_sends_is_checked_by_the_leader() -> None:
    async with cluster() as managers:
        await managers.elect(managers.schedulers[0])
        async with ScriptedWorker(managers.addresses[0]) as worker:
            await worker.join()
            await worker.send(report=pb.Report(seq=1, ended=[pb.Ended(job=-1, group=0, attempt=1, first=0)]))
            refused = await worker.receive("refused")
            assert refused.code == "invalid"
            code, _ = await worker.end()
            assert code is grpc.StatusCode.INVALID_ARGUMENT


async def test_bytes_that_are_no_message_are_refused_by_the_leader() -> None:
    async with cluster() as managers:
        await managers.elect(managers.schedulers[0])
        async with grpc.aio.insecure_channel(managers.addresses[0]) as channel:
            connect = channel.stream_stream("/shunter.worker.v1.Workers/Connect", bytes, bytes)
            call = connect(metadata=(("authorization", "Bearer a-worker-token"),))  # type: ignore[call-arg]
            await call.write(b"\xff\xff\xff")
            data = await call.read()
            assert isinstance(data, bytes)
            answer = pb.ManagerMessage.FromString(data)
            assert answer.refused.code == "invalid"


async def test_a_wrong_token_gets_no_further_than_the_watcher() -> None:
    async with cluster() as managers:
        await managers.elect(managers.schedulers[0])
        async with ScriptedWorker(managers.addresses[0], token="wrong") as worker:
            await worker.receive("refused")
            code, _ = await worker.end()
            assert code is grpc.StatusCode.UNAUTHENTICATED
        assert managers.watchers[0].server.connected == 0


async def test_workers_of_a_watcher_that_ends_go_to_another_one() -> None:
    async with cluster(watchers=2) as managers:
        leader = managers.schedulers[0]
        await managers.elect(leader)
        async with joined(managers.addresses) as worker:
            first = next(each for each in managers.watchers if each.server.connected)
            await first.server.stop()
            await worker.receive(Ack)
            assert leader.hellos() == 2
            assert worker.terms == [managers.term] * 2


async def test_workers_follow_the_lead_through_their_watchers() -> None:
    async with cluster(schedulers=3, watchers=2) as managers:
        await managers.elect(managers.schedulers[0])
        async with joined(managers.addresses) as worker:
            for successor in (managers.schedulers[1], managers.schedulers[2], managers.schedulers[0]):
                await managers.elect(successor)
                await until(lambda: worker.terms[-1] == managers.term)
                await worker.receive(Ack)


async def test_a_leader_that_stands_still_is_left_when_another_one_leads() -> None:
    async with cluster(schedulers=2) as managers:
        first, second = managers.schedulers
        async with tcp_proxy(int(first.address.rpartition(":")[2])) as proxy:
            await managers.elect(first, f"127.0.0.1:{proxy.port}")
            async with joined(managers.addresses) as worker:
                proxy.hold_requests()
                await managers.elect(second)
                await until(lambda: worker.terms[-1] == managers.term)
                await worker.receive(Ack)


async def test_a_worker_that_waits_for_a_leader_that_hangs_is_taken_by_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for limit in ("LEADER_WAIT_MAX_S", "FLUSH_TIMEOUT_S"):  # so that only the news of the next leader helps
        monkeypatch.setattr(worker_relay, limit, 10 * PATIENCE_S)
    connect_max = ("grpc.min_reconnect_backoff_ms", int(10 * PATIENCE_S * 1000))
    monkeypatch.setattr(worker_relay, "RECONNECT_OPTIONS", (*worker_relay.RECONNECT_OPTIONS, connect_max))
    async with cluster(schedulers=2) as managers, silent_server() as (address, connected):
        first, second = managers.schedulers
        await managers.elect(first, address)
        worker = Witness()
        async with client(managers.addresses, worker=worker):
            await connected.wait()
            await managers.elect(second)
            await worker.receive(Ack)
            assert worker.ends.empty(), "it waited in its first connection"
            assert worker.terms == [managers.term]


async def test_a_worker_that_comes_while_nobody_leads_is_taken_by_the_next_leader() -> None:
    async with cluster() as managers:
        worker = Witness()
        async with client(managers.addresses, worker=worker):
            await until(lambda: managers.watchers[0].server.connected)
            await managers.elect(managers.schedulers[0])
            await worker.receive(Ack)
            assert worker.ends.empty(), "it waited in its first connection"


async def test_a_worker_is_refused_when_nobody_leads_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_relay, "LEADER_WAIT_MAX_S", 0.1)
    async with cluster() as managers, ScriptedWorker(managers.addresses[0]) as worker:
        refused = await worker.receive("refused")
        assert (refused.code, refused.retry, refused.leader) == ("not_leader", True, "")
        code, _ = await worker.end()
        assert code is grpc.StatusCode.UNAVAILABLE


async def test_a_worker_that_asks_a_scheduler_is_sent_to_a_watcher() -> None:
    async with cluster() as managers:
        leader = managers.schedulers[0]
        await managers.elect(leader)
        async with joined([leader.address]):
            assert managers.watchers[0].server.connected == 1


async def test_a_relayed_stream_is_not_relayed_again() -> None:
    """Two watchers that believe that the other one leads."""
    async with cluster(watchers=2) as managers:
        first, second = managers.watchers
        first.election.tell(second.address, 5)
        second.election.tell(first.address, 5)
        async with ScriptedWorker(first.address) as worker:
            await worker.send(hello=pb.Hello(protocol=1, name="n1", boot="b1", capacity={"cpu": 4000}))
            refused = await worker.receive("refused")
            assert (refused.code, refused.leader) == ("not_leader", "")


async def test_a_worker_that_does_not_read_holds_up_no_other() -> None:
    async with cluster() as managers:
        leader = managers.schedulers[0]
        await managers.elect(leader)
        async with ScriptedWorker(managers.addresses[0]) as slow, ScriptedWorker(managers.addresses[0]) as quick:
            await slow.join("slow", "b1")
            await quick.join("quick", "b2")
            large = Orders(1, [Order(1, 0, 0, 0, 1, 1, 1, 1, "default", "x" * 2**20, "main", 1)], {})
            for _ in range(12):  # more than the windows of HTTP/2, less than the leader's buffer
                leader.watcher.send(1, large)
            leader.watcher.send(2, SetHeartbeat(7.0))
            assert (await quick.receive("set_heartbeat")).heartbeat_s == 7.0


async def test_with_a_full_budget_heartbeats_pass_and_a_large_message_ends_its_stream() -> None:
    budget = ByteBudget(4 * 2**20)
    async with cluster(relay_budget=budget) as managers:
        leader, address = managers.schedulers[0], managers.addresses[0]
        await managers.elect(leader)
        async with ScriptedWorker(address) as quick, ScriptedWorker(address) as busy:
            await quick.join("quick", "b1")
            await busy.join("busy", "b2")
            await until(lambda: not budget.size)
            with budget.hold(4 * 2**20):
                for count in (1, 2, 3):
                    await quick.send(heartbeat=pb.Heartbeat(stats=pb.MachineStats(at_ms=count)))
                    await until(lambda: leader.engine.call_kinds().count("heartbeat") == count)  # noqa: B023
                await busy.send(log_data=pb.LogData(request=1, data=bytes(2**20)))
                refused = await busy.receive("refused")
                assert (refused.code, refused.retry) == ("busy", True)
                code, _ = await busy.end()
                assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert leader.engine.events_of(1) == [NodeEvent.HEARD]


async def test_a_large_message_of_the_leader_that_does_not_fit_ends_the_stream() -> None:
    budget = ByteBudget(4 * 2**20)
    async with cluster(relay_budget=budget) as managers:
        leader = managers.schedulers[0]
        await managers.elect(leader)
        async with ScriptedWorker(managers.addresses[0]) as worker:
            await worker.join()
            large = Orders(1, [Order(1, 0, 0, 0, 1, 1, 1, 1, "default", "x" * 2**20, "main", 1)], {})
            await until(lambda: not budget.size)
            with budget.hold(4 * 2**20):
                leader.watcher.send(1, SetHeartbeat(7.0))
                await worker.receive("set_heartbeat")
                leader.watcher.send(1, large)
                refused = await worker.receive("refused")
                assert (refused.code, refused.retry) == ("busy", True)
        assert "connection closed" in await leader.engine.verdict(NodeEvent.SILENT)


async def test_the_leader_notices_at_once_that_a_relayed_worker_has_gone() -> None:
    async with cluster() as managers:
        leader = managers.schedulers[0]
        await managers.elect(leader)
        async with ScriptedWorker(managers.addresses[0]) as worker:
            await worker.join()
        assert "connection closed" in await leader.engine.verdict(NodeEvent.SILENT)
        await until(lambda: managers.watchers[0].server.connected == 0)


async def test_a_message_that_nobody_takes_ends_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_relay, "STALL_MAX_S", 0.2)
    async with cluster() as managers:
        leader = managers.schedulers[0]
        async with tcp_proxy(int(leader.address.rpartition(":")[2])) as proxy:
            await managers.elect(leader, f"127.0.0.1:{proxy.port}")
            async with ScriptedWorker(managers.addresses[0]) as worker:
                await worker.join()
                proxy.hold_requests()
                large = pb.LogData(request=1, data=bytes(2**20))

                async def send_much() -> None:
                    while True:
                        await worker.send(log_data=large)

                sending = asyncio.create_task(send_much())
                refused = await worker.receive("refused")
                sending.cancel()
                assert (refused.code, refused.retry) == ("not_leader", True)
                assert refused.reason.startswith("the leader took no message")
