from __future__ import annotations

import asyncio
import random

from shunter.adapters.grpc.backoff import BACKOFF_FIRST_S, BACKOFF_MAX_S, BACKOFF_PERMANENT_S, Backoff
from shunter.adapters.grpc.send_buffer import MESSAGE_OVERHEAD_BYTES, SendBuffer


async def test_messages_leave_in_the_order_in_which_they_came() -> None:
    buffer = SendBuffer()
    for number in range(100):
        assert buffer.put(bytes([number]))
    assert [await buffer.get() for _ in range(100)] == [bytes([number]) for number in range(100)]


async def test_a_full_buffer_takes_no_more_until_something_has_left() -> None:
    buffer = SendBuffer(size_max=3 * (10 + MESSAGE_OVERHEAD_BYTES))
    assert [buffer.put(b"x" * 10) for _ in range(4)] == [True, True, True, False]
    await buffer.get()
    assert buffer.put(b"x" * 10)


async def test_an_empty_buffer_takes_a_message_larger_than_itself() -> None:
    buffer = SendBuffer(size_max=10)
    assert buffer.put(b"x" * 1000)
    assert not buffer.put(b"")
    assert await buffer.get() == b"x" * 1000


async def test_a_closed_buffer_still_gives_what_waits_and_then_ends() -> None:
    buffer = SendBuffer()
    buffer.put(b"last")
    buffer.close()
    assert [await buffer.get(), await buffer.get()] == [b"last", None]


async def test_an_abandoned_buffer_gives_nothing() -> None:
    buffer = SendBuffer()
    buffer.put(b"never sent")
    buffer.abandon()
    assert await buffer.get() is None


async def test_whoever_waits_for_a_message_is_woken_by_the_next_one_and_by_the_end() -> None:
    buffer = SendBuffer()
    taking = asyncio.create_task(buffer.get())
    await asyncio.sleep(0)
    buffer.put(b"x")
    assert await taking == b"x"
    taking = asyncio.create_task(buffer.get())
    await asyncio.sleep(0)
    buffer.close()
    assert await taking is None


def test_the_back_off_doubles_up_to_its_limit_with_half_of_it_left_to_chance() -> None:
    backoff = Backoff(random.Random(1))
    full_s = BACKOFF_FIRST_S
    for _ in range(20):
        assert full_s / 2 <= backoff.next_delay_s() <= full_s
        full_s = min(full_s * 2, BACKOFF_MAX_S)
    backoff.reset()
    assert backoff.next_delay_s() <= BACKOFF_FIRST_S


def test_two_workers_do_not_come_back_in_step() -> None:
    one, other = Backoff(random.Random(1)), Backoff(random.Random(2))
    assert [one.next_delay_s() for _ in range(5)] != [other.next_delay_s() for _ in range(5)]


def test_after_a_permanent_refusal_the_wait_is_long() -> None:
    backoff = Backoff(random.Random(1))
    assert BACKOFF_PERMANENT_S / 2 <= backoff.refused_delay_s() <= BACKOFF_PERMANENT_S
