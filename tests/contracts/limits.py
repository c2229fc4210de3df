"""What all limits promise, as claims. An adapter's test file makes a `Harness` and runs all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

import pytest

from shunter.ports.limits import KEY_BYTES_MAX, Bucket, Limits

SLOW = Bucket(capacity=10, refill_per_s=0.001)  # gains nothing while a test runs
FAST = Bucket(capacity=2, refill_per_s=20.0)


class Harness(Protocol):
    @property
    def limits(self) -> Limits: ...

    async def pass_time(self, seconds: float) -> None: ...


Claim = Callable[[Harness], Awaitable[None]]


async def a_new_bucket_is_full(harness: Harness) -> None:
    taken = [await harness.limits.take("a", SLOW) for _ in range(10)]
    assert [(each.is_allowed, each.remaining, each.retry_after_s) for each in taken] == [
        (True, left, 0.0) for left in range(9, -1, -1)
    ]


async def an_empty_bucket_refuses_and_says_when_to_retry(harness: Harness) -> None:
    await harness.limits.take("a", SLOW, 10)
    refused = await harness.limits.take("a", SLOW)
    assert (refused.is_allowed, refused.remaining) == (False, 0)
    assert 990 < refused.retry_after_s <= 1000


async def tokens_are_taken_all_or_none(harness: Harness) -> None:
    await harness.limits.take("a", SLOW, 7)
    refused = await harness.limits.take("a", SLOW, 4)
    assert (refused.is_allowed, refused.remaining) == (False, 3)
    allowed = await harness.limits.take("a", SLOW, 3)
    assert (allowed.is_allowed, allowed.remaining) == (True, 0)


async def after_the_stated_time_a_take_is_allowed(harness: Harness) -> None:
    await harness.limits.take("a", FAST, 2)
    refused = await harness.limits.take("a", FAST, 2)
    assert not refused.is_allowed
    assert 0 < refused.retry_after_s <= 0.1
    await harness.pass_time(refused.retry_after_s)
    assert (await harness.limits.take("a", FAST, 2)).is_allowed


async def a_bucket_never_holds_more_than_its_capacity(harness: Harness) -> None:
    await harness.limits.take("a", FAST, 2)
    await harness.pass_time(1.0)
    assert (await harness.limits.take("a", FAST)).remaining == 1


async def keys_have_buckets_of_their_own(harness: Harness) -> None:
    await harness.limits.take("a", SLOW, 10)
    for key in ("b", "a ", "A", "ä", "x" * KEY_BYTES_MAX, "with:colon {brace} \n"):
        assert (await harness.limits.take(key, SLOW, 10)).is_allowed
    assert not (await harness.limits.take("a", SLOW)).is_allowed


async def takes_at_the_same_time_are_counted_exactly(harness: Harness) -> None:
    keys = [f"caller-{number % 7}" for number in range(700)]
    taken = await asyncio.gather(*(harness.limits.take(key, SLOW) for key in keys))
    for key in set(keys):
        allowed = [each for name, each in zip(keys, taken, strict=True) if name == key and each.is_allowed]
        assert sorted(each.remaining for each in allowed) == list(range(10))


async def a_cancelled_take_harms_no_other(harness: Harness) -> None:
    takes = [asyncio.ensure_future(harness.limits.take(f"caller-{number}", SLOW)) for number in range(20)]
    await asyncio.sleep(0)
    for take in takes[::2]:
        take.cancel()
    assert all(each.is_allowed for each in await asyncio.gather(*takes[1::2]))
    assert (await harness.limits.take("another", SLOW)).is_allowed


async def a_smaller_limit_applies_at_once(harness: Harness) -> None:
    await harness.limits.take("a", SLOW)
    small = Bucket(capacity=3, refill_per_s=0.001)
    assert (await harness.limits.take("a", small)).remaining == 2


async def impossible_takes_are_refused(harness: Harness) -> None:
    for key, tokens in (("", 1), ("x" * (KEY_BYTES_MAX + 1), 1), ("a", 0), ("a", 11)):
        with pytest.raises(ValueError, match="must"):
            await harness.limits.take(key, SLOW, tokens)
    for capacity, refill_per_s in ((0, 1.0), (1_000_001, 100.0), (10, 0.0), (10, 1e7), (10, 0.0001)):
        with pytest.raises(ValueError, match="must"):
            Bucket(capacity, refill_per_s)


CONTRACT: tuple[Claim, ...] = (
    a_new_bucket_is_full,
    an_empty_bucket_refuses_and_says_when_to_retry,
    tokens_are_taken_all_or_none,
    after_the_stated_time_a_take_is_allowed,
    a_bucket_never_holds_more_than_its_capacity,
    keys_have_buckets_of_their_own,
    takes_at_the_same_time_are_counted_exactly,
    a_cancelled_take_harms_no_other,
    a_smaller_limit_applies_at_once,
    impossible_takes_are_refused,
)
