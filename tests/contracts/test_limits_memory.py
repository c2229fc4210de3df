"""Limits in memory pass the contract of all limits, and remember a bounded number of buckets."""

from __future__ import annotations

import pytest

from shunter.adapters.memory.limits import MemoryLimits

from .limits import CONTRACT, FAST, SLOW, Claim


class MemoryHarness:
    def __init__(self, keys_max: int = 1000) -> None:
        self.now_s = 0.0
        self.limits = MemoryLimits(lambda: self.now_s, keys_max)

    async def pass_time(self, seconds: float) -> None:
        self.now_s += seconds


@pytest.mark.parametrize("claim", CONTRACT)
async def test_memory_limits(claim: Claim) -> None:
    await claim(MemoryHarness())


async def test_full_buckets_are_forgotten_first() -> None:
    harness = MemoryHarness(keys_max=10)
    await harness.limits.take("hungry", SLOW, 10)
    for number in range(9):
        await harness.limits.take(f"short-{number}", FAST)
    await harness.pass_time(1.0)
    await harness.limits.take("one more", FAST)
    assert len(harness.limits) == 2
    assert not (await harness.limits.take("hungry", SLOW, 10)).is_allowed


async def test_the_number_of_buckets_is_bounded() -> None:
    harness = MemoryHarness(keys_max=100)
    for number in range(1000):
        await harness.limits.take(f"caller-{number}", SLOW, 10)
        assert len(harness.limits) <= 100
    assert not (await harness.limits.take("caller-999", SLOW)).is_allowed
