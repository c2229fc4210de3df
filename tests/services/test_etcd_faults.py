"""Coordination by etcd survives the loss of members, of all members, of the leading process, and of time."""

from __future__ import annotations

import asyncio
import base64
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import grpc.aio
import psutil
import pytest

from shunter.adapters.etcd.settings import EtcdSettings
from shunter.ports.coordination import Coordination, Lease, ManagerRecord
from tests.contracts.coordination import until, until_leader, until_names
from tests.etcd_servers import TTL_S, EtcdMember, EtcdServers, etcd_servers
from tests.link import Link
from tests.services.etcd_harness import holder, member, prefixes

TIMEOUT_S = 30.0


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdServers]:
    """One member. A test that harms it brings it back."""
    with etcd_servers(tmp_path_factory.mktemp("etcd")) as servers:
        yield servers


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdServers]:
    with etcd_servers(tmp_path_factory.mktemp("etcd"), 3) as servers:
        yield servers


def settings_for(servers: EtcdServers, ttl_s: int = TTL_S) -> EtcdSettings:
    return EtcdSettings(servers.addresses, prefix=next(prefixes), ttl_s=ttl_s)


# ---- the process that leads ----


async def test_a_stopped_leader_knows_at_once_when_it_wakes_that_another_leads(servers: EtcdServers) -> None:
    """D-12."""
    settings = settings_for(servers)
    async with member(settings) as other, holder(servers.addresses[0], settings.prefix) as stopped:
        await until_leader(other, ManagerRecord("holder"))
        stopped.send(signal.SIGSTOP)
        begun = time.monotonic()
        lease = await asyncio.wait_for(other.acquire(), TIMEOUT_S)
        pause_s = time.monotonic() - begun
        stopped.send(signal.SIGCONT)
        while float((line := await stopped.read_line())[1]) < 0.9 * pause_s:
            pass  # the machine was busy before
        assert line[2] == "False"
        assert lease.term > stopped.term
        assert lease.is_held()


async def test_a_killed_leader_is_replaced_and_its_record_vanishes(servers: EtcdServers) -> None:
    settings = settings_for(servers)
    async with member(settings) as other, holder(servers.addresses[0], settings.prefix) as killed:
        await until_leader(other, ManagerRecord("holder"))
        await until_names(other, ["holder"])
        killed.send(signal.SIGKILL)
        lease = await asyncio.wait_for(other.acquire(), TIMEOUT_S)
        assert lease.term > killed.term
        await until_names(other, [])


async def test_resigning_and_closing_do_not_wait_for_the_ttl(servers: EtcdServers) -> None:
    settings = settings_for(servers, ttl_s=60)
    async with member(settings, "a") as a, member(settings, "b") as b:
        first = await asyncio.wait_for(a.acquire(), TIMEOUT_S)
        campaign = asyncio.ensure_future(b.acquire())
        await a.resign(first)
        await asyncio.wait_for(campaign, TIMEOUT_S)
        campaign = asyncio.ensure_future(a.acquire())
        await b.close()
        assert (await asyncio.wait_for(campaign, TIMEOUT_S)).is_held()


async def test_a_lease_is_given_back_if_its_campaign_is_cancelled_before_it_hears_of_it(servers: EtcdServers) -> None:
    settings = settings_for(servers, ttl_s=60)
    async with member(settings, "a") as a, member(settings, "b") as b:
        for _ in range(3):
            campaign = asyncio.ensure_future(a.acquire())
            await asyncio.sleep(0)
            time.sleep(0.1)  # the election goes on in its thread, but its result cannot arrive
            campaign.cancel()
            await asyncio.wait({campaign})
            assert campaign.cancelled()
        assert (await asyncio.wait_for(b.acquire(), TIMEOUT_S)).is_held()


async def test_a_main_loop_that_stalls_for_longer_than_the_ttl_loses_nothing(servers: EtcdServers) -> None:
    """A gRPC server in the main loop shares gRPC's poller with the thread."""
    server = grpc.aio.server()
    server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with member(settings_for(servers)) as stalled:
        await stalled.register(ManagerRecord("a"))
        lease = await asyncio.wait_for(stalled.acquire(), TIMEOUT_S)
        lost = asyncio.ensure_future(lease.wait_lost())
        await until_leader(stalled, ManagerRecord("a"))
        await asyncio.sleep(0)
        time.sleep(1.5 * TTL_S)
        assert lease.is_held()
        assert stalled.leader() == ManagerRecord("a")
        await asyncio.sleep(0.05)
        assert not lost.done()
        lost.cancel()
    await server.stop(None)


# ---- the members of etcd ----


async def test_a_killed_member_costs_neither_lease_nor_news(three: EtcdServers) -> None:
    settings = settings_for(three, ttl_s=2)
    async with member(settings, "a") as a, member(settings, "b") as b:
        lease = await asyncio.wait_for(a.acquire(), TIMEOUT_S)
        killed = connected_members(three)
        killed[0].kill()
        await b.register(ManagerRecord("b"))
        await until_names(a, ["b"])
        await asyncio.sleep(1.2 * settings.ttl_s)
        assert lease.is_held()
        killed[0].start()
        three.wait_until_up()


async def test_a_member_that_hangs_costs_neither_lease_nor_news(three: EtcdServers) -> None:
    settings = settings_for(three, ttl_s=2)
    async with member(settings, "a") as a, member(settings, "b") as b:
        lease = await asyncio.wait_for(a.acquire(), TIMEOUT_S)
        stopped = connected_members(three)[0]
        stopped.send(signal.SIGSTOP)
        try:
            await b.register(ManagerRecord("b"))
            await until_names(a, ["b"])
            await asyncio.sleep(1.2 * settings.ttl_s)
            assert lease.is_held()
        finally:
            stopped.send(signal.SIGCONT)


async def test_without_a_majority_the_lease_ends_in_time_and_a_new_election_follows(three: EtcdServers) -> None:
    async with member(settings_for(three)) as a:
        await a.register(ManagerRecord("a"))
        lease = await asyncio.wait_for(a.acquire(), TIMEOUT_S)
        await until_leader(a, ManagerRecord("a"))
        lost = asyncio.ensure_future(lease.wait_lost())
        begun = time.monotonic()
        for killed in three.members[1:]:
            killed.kill()
        await asyncio.wait_for(lost, TIMEOUT_S)
        assert time.monotonic() - begun < TTL_S + 0.5  # 0.5: a busy machine
        assert not lease.is_held()
        await until_leader(a, None)
        campaign = asyncio.ensure_future(a.acquire())
        await asyncio.sleep(TTL_S / 4)
        assert not campaign.done()
        for killed in three.members[1:]:
            killed.start()
        assert (await asyncio.wait_for(campaign, TIMEOUT_S)).term > lease.term
        await until_names(a, ["a"])
        await until_leader(a, ManagerRecord("a"))
        three.wait_until_up()


async def test_a_coordination_opens_while_etcd_is_away_and_leads_when_it_comes(servers: EtcdServers) -> None:
    servers.kill()
    async with member(settings_for(servers)) as a:
        await a.register(ManagerRecord("a"))
        campaign = asyncio.ensure_future(a.acquire())
        assert a.leader() is None
        servers.start()
        assert (await asyncio.wait_for(campaign, TIMEOUT_S)).is_held()
        await until_names(a, ["a"])
    servers.wait_until_up()


async def test_an_address_where_nobody_answers_does_not_stall(servers: EtcdServers) -> None:
    """The links accept connections and say nothing; the ports behind the other addresses refuse."""
    silent = [Link(servers.addresses[0]) for _ in range(2)]
    for link in silent:
        await link.open()
        link.cut()
    addresses = (*(link.address for link in silent), "127.0.0.1:1", *servers.addresses)
    begun = time.monotonic()
    async with member(EtcdSettings(addresses, prefix=next(prefixes), ttl_s=TTL_S)) as a:
        lease = await asyncio.wait_for(a.acquire(), TIMEOUT_S)
        assert time.monotonic() - begun < 5
        await asyncio.sleep(1.2 * TTL_S)
        assert lease.is_held()
    for link in silent:
        await link.close()


# ---- what happens to the keys ----


async def test_a_compaction_while_the_watch_is_broken_loses_no_change(servers: EtcdServers) -> None:
    settings = settings_for(servers)
    link = Link(servers.addresses[0])
    await link.open()
    cut_off = EtcdSettings((link.address,), prefix=settings.prefix, ttl_s=TTL_S)
    async with member(cut_off, "a") as a, member(settings, "b") as b:
        await b.register(ManagerRecord("b", url="http://1"))
        await until(a, lambda: a.managers() == [ManagerRecord("b", url="http://1")])
        link.cut()
        await b.register(ManagerRecord("b", url="http://2"))
        await until(b, lambda: b.managers() == [ManagerRecord("b", url="http://2")])
        revision = servers.call("kv/range", {"key": "AA=="})["header"]["revision"]
        servers.call("kv/compaction", {"revision": revision, "physical": True})
        await link.heal()
        await until(a, lambda: a.managers() == [ManagerRecord("b", url="http://2")])
        await b.register(ManagerRecord("b", url="http://3"))
        await until(a, lambda: a.managers() == [ManagerRecord("b", url="http://3")])
    await link.close()


async def test_a_leader_whose_key_is_deleted_stops_leading_at_once(servers: EtcdServers) -> None:
    settings = settings_for(servers, ttl_s=30)
    async with member(settings) as a:
        lease = await asyncio.wait_for(a.acquire(), TIMEOUT_S)
        key = base64.b64encode(f"{settings.prefix}/managers/leader".encode()).decode()
        servers.call("kv/deleterange", {"key": key})
        await asyncio.wait_for(lease.wait_lost(), 8)  # by the watch: the next list is later
        assert (await asyncio.wait_for(a.acquire(), TIMEOUT_S)).term > lease.term


async def test_an_etcd_that_lost_its_data_is_noticed(tmp_path: Path) -> None:
    """Whoever led stops, all register again, and an election follows."""
    with etcd_servers(tmp_path) as servers:
        for _ in range(20):
            servers.call("kv/put", {"key": "AA==", "value": ""})
        settings = settings_for(servers)
        async with member(settings, "a") as a, member(settings, "b") as b:
            for coordination, name in ((a, "a"), (b, "b")):
                await coordination.register(ManagerRecord(name))
            lease = await asyncio.wait_for(a.acquire(), TIMEOUT_S)
            await until_names(a, ["a", "b"])
            await until_leader(b, ManagerRecord("a"))
            servers.kill()
            shutil.rmtree(tmp_path / "etcd1")
            servers.start()
            await asyncio.wait_for(lease.wait_lost(), TIMEOUT_S)
            assert (await asyncio.wait_for(b.acquire(lease.term), TIMEOUT_S)).term > lease.term
            await until_leader(a, ManagerRecord("b"))
            await until_names(a, ["a", "b"])


# ---- by chance ----


@pytest.mark.slow
async def test_there_are_never_two_leaders_while_members_die_and_hang(tmp_path: Path) -> None:
    """Five managers for a minute; every 2 to 4 s one member of three dies or hangs for a while."""
    with etcd_servers(tmp_path, 3) as servers:
        settings = settings_for(servers)
        leases: list[Lease] = []
        stopping = asyncio.Event()

        async def lead(coordination: Coordination) -> None:
            while not stopping.is_set():
                lease = await coordination.acquire()
                if lease.is_held():
                    assert not any(other.is_held() for other in leases)
                    assert all(other.term < lease.term for other in leases)
                    leases.append(lease)
                try:
                    await asyncio.wait_for(lease.wait_lost(), 1.5)
                except TimeoutError:
                    await coordination.resign(lease)

        async with (
            member(settings, "a") as a,
            member(settings, "b") as b,
            member(settings, "c") as c,
            member(settings, "d") as d,
            member(settings, "e") as e,
        ):
            campaigns = [asyncio.ensure_future(lead(coordination)) for coordination in (a, b, c, d, e)]
            for number in range(20):
                victim = servers.members[number % 3]
                if number % 2:
                    victim.kill()
                    await asyncio.sleep(1.0)
                    victim.start()
                else:
                    victim.send(signal.SIGSTOP)
                    await asyncio.sleep(2.0)
                    victim.send(signal.SIGCONT)
                await asyncio.sleep(1.0)
            for campaign in campaigns:
                assert not campaign.done(), campaign
            stopping.set()
            for campaign in campaigns:
                campaign.cancel()
            await asyncio.gather(*campaigns, return_exceptions=True)
        assert len(leases) > 10


def connected_members(servers: EtcdServers) -> list[EtcdMember]:
    """The members that this process talks to."""
    ports = {link.raddr.port for link in psutil.Process().net_connections("tcp") if link.raddr}
    members = [member for member in servers.members if int(member.address.partition(":")[2]) in ports]
    assert members
    return members
