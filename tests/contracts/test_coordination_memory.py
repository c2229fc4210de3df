"""The coordinations without servers pass the contract of every coordination."""

from __future__ import annotations

import asyncio

import pytest

from shunter.adapters.memory.coordination import Alone, MemoryCoordination, MemoryServer
from shunter.ports.coordination import Coordination

from .coordination import ALONE, CONTRACT, Claim


class MemoryHarness:
    def __init__(self) -> None:
        self._server = MemoryServer(ttl_s=2.0)
        self.ttl_s = self._server.ttl_s

    async def join(self, name: str) -> Coordination:
        member = MemoryCoordination(self._server, name)
        await member.open()
        return member

    async def cut(self, name: str) -> None:
        self._server.members[name].is_connected = False

    async def heal(self, name: str) -> None:
        self._server.members[name].is_connected = True

    async def pass_time(self, seconds: float) -> None:
        """In small steps, between which everybody acts."""
        for _ in range(20):
            await asyncio.sleep(0)
        self._server.advance(seconds)
        for _ in range(20):
            await asyncio.sleep(0)


class AloneHarness:
    ttl_s = 2.0

    async def join(self, name: str) -> Coordination:  # noqa: ARG002
        return Alone()

    async def pass_time(self, seconds: float) -> None: ...

    async def cut(self, name: str) -> None:
        raise NotImplementedError

    async def heal(self, name: str) -> None:
        raise NotImplementedError


@pytest.mark.parametrize("claim", CONTRACT)
async def test_memory_coordination(claim: Claim) -> None:
    await claim(MemoryHarness())


@pytest.mark.parametrize("claim", ALONE)
async def test_alone(claim: Claim) -> None:
    await claim(AloneHarness())


async def test_a_manager_that_is_alone_leads_always_with_term_0() -> None:
    alone = Alone()
    lease = await alone.acquire()
    await alone.resign(lease)
    assert lease.is_held()
    assert lease.term == (await alone.acquire()).term == 0
