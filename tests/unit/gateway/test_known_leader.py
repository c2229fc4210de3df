"""Who leads, as everybody in a manager's process is told."""

from __future__ import annotations

import asyncio

import pytest

from shunter.adapters.memory.coordination import MemoryCoordination, MemoryServer
from shunter.gateway.known_leader import KnownLeader
from shunter.ports.coordination import ManagerRecord


@pytest.mark.parametrize("turns", range(5))
async def test_it_ends_when_it_is_cancelled_at_the_moment_of_a_change(turns: int) -> None:
    """Managers that stop together hear of one another: a cancellation that is lost would keep one of them for ever."""
    coordination = MemoryCoordination(MemoryServer(), "m1")
    await coordination.open()
    running = asyncio.create_task(KnownLeader(coordination).run())
    await asyncio.sleep(0.01)  # it waits
    await coordination.register(ManagerRecord("m1"))
    for _ in range(turns):  # of the loop, in which the change wakes one wait after the other
        await asyncio.sleep(0)
    running.cancel()
    done, _pending = await asyncio.wait({running}, timeout=2)
    running.cancel()
    assert done == {running}
