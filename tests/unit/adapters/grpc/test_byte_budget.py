"""The limit on the bytes that relayed streams hold together."""

from __future__ import annotations

import asyncio

from shunter.adapters.grpc.byte_budget import ByteBudget


async def test_who_comes_when_it_is_full_waits_until_somebody_has_written() -> None:
    budget = ByteBudget(10)
    await budget.wait_for_room()
    with budget.hold(12):
        waiting = [asyncio.create_task(budget.wait_for_room()) for _ in range(2)]
        await asyncio.sleep(0)
        assert not any(each.done() for each in waiting)
    await asyncio.gather(*waiting)
    assert budget.size == 0


async def test_what_fails_holds_nothing() -> None:
    budget = ByteBudget(10)
    try:
        with budget.hold(12):
            raise OSError
    except OSError:
        pass
    assert budget.size == 0
