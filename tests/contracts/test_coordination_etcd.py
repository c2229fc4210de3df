"""Coordination by etcd passes the contract of every coordination, on a real server and over links that can be cut."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from types import TracebackType

import pytest
import uvloop

from shunter.adapters.etcd.coordination import EtcdCoordination
from shunter.adapters.etcd.settings import EtcdSettings
from shunter.ports.coordination import Coordination
from tests.etcd_servers import TTL_S, EtcdServers, etcd_servers
from tests.link import Link

from .coordination import CONTRACT, Claim, resigning_hands_over

prefixes = (f"test-{number}" for number in itertools.count())


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdServers]:
    with etcd_servers(tmp_path_factory.mktemp("etcd")) as servers:
        yield servers


class EtcdHarness:
    """Each member has a link of its own to the server."""

    ttl_s = float(TTL_S)

    def __init__(self, servers: EtcdServers) -> None:
        self._servers = servers
        self._prefix = next(prefixes)
        self._links: dict[str, Link] = {}
        self._members: list[Coordination] = []

    async def __aenter__(self) -> EtcdHarness:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.gather(*(member.close() for member in self._members))
        await asyncio.gather(*(link.close() for link in self._links.values()))

    async def join(self, name: str) -> Coordination:
        self._links[name] = link = Link(self._servers.addresses[0])
        await link.open()
        member = EtcdCoordination(EtcdSettings((link.address,), prefix=self._prefix, ttl_s=TTL_S), name)
        await member.open()
        self._members.append(member)
        return member

    async def cut(self, name: str) -> None:
        self._links[name].cut()

    async def heal(self, name: str) -> None:
        await self._links[name].heal()

    async def pass_time(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@pytest.mark.parametrize("claim", CONTRACT)
async def test_etcd_coordination(claim: Claim, servers: EtcdServers) -> None:
    async with EtcdHarness(servers) as harness:
        await claim(harness)


def test_etcd_coordination_works_on_uvloop(servers: EtcdServers) -> None:
    async def run() -> None:
        async with EtcdHarness(servers) as harness:
            await resigning_hands_over(harness)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())
