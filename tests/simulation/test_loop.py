"""Virtual time: waiting takes no real time, order is fixed, and an endless wait is an error."""

from __future__ import annotations

import asyncio
import random
import time

import pytest

from shunter.simulation.runtime.clock import ScaledClock
from shunter.simulation.runtime.loop import START_S, Livelock, Stalled, VirtualClock, run_virtual


def test_a_day_passes_in_no_time() -> None:
    async def main(_rng: random.Random) -> float:
        clock = VirtualClock()
        await clock.sleep(86_400)
        return clock.now()

    began = time.monotonic()
    assert run_virtual(main, seed=0) == START_S + 86_400
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("start_s", [2.0**24 - 1, 2.0**26 + 0.1, 10 * 365.25 * 86_400])
def test_time_moves_on_after_months_and_after_ten_years(start_s: float) -> None:
    """Far from its start, the distance between two numbers of the clock is larger than a nanosecond."""

    async def main(rng: random.Random) -> bool:
        clock, event = VirtualClock(), asyncio.Event()
        await clock.sleep(start_s)
        for _ in range(200):
            before_s, delay_s = clock.now(), rng.uniform(0.0001, 2.0)
            await clock.sleep(delay_s)
            assert clock.now() - before_s == pytest.approx(delay_s, abs=1e-6)
            await clock.wait(event, rng.random())
        return True

    assert run_virtual(main, seed=0)


def test_timers_fire_in_the_order_of_their_times() -> None:
    async def main(_rng: random.Random) -> list[str]:
        seen: list[str] = []
        loop = asyncio.get_running_loop()
        for name, delay_s in (("late", 2.0), ("then", 1.0), ("soon", 0.5)):
            loop.call_later(delay_s, seen.append, name)
        await asyncio.sleep(3)
        return seen

    assert run_virtual(main, seed=0) == ["soon", "then", "late"]


def test_a_wait_says_whether_the_event_came_before_the_time_was_over() -> None:
    async def main(_rng: random.Random) -> tuple[bool, bool, float]:
        clock, event = VirtualClock(), asyncio.Event()
        asyncio.get_running_loop().call_later(10, event.set)
        too_short = await clock.wait(event, 3)
        long_enough = await clock.wait(event, None)
        return too_short, long_enough, clock.now() - START_S

    assert run_virtual(main, seed=0) == (False, True, 10)


def test_waiting_for_what_will_never_come_is_stalled() -> None:
    async def main(_rng: random.Random) -> None:
        await asyncio.Event().wait()

    with pytest.raises(Stalled):
        run_virtual(main, seed=0)


def test_turning_without_time_passing_is_a_livelock() -> None:
    async def main(_rng: random.Random) -> None:
        while True:
            await asyncio.sleep(0)

    with pytest.raises(Livelock):
        run_virtual(main, seed=0)


def test_threads_are_refused() -> None:
    async def main(_rng: random.Random) -> None:
        await asyncio.to_thread(print)

    with pytest.raises(RuntimeError, match="threads"):
        run_virtual(main, seed=0)


def test_the_seed_is_all_the_chance_there_is() -> None:
    async def main(rng: random.Random) -> float:
        await asyncio.sleep(rng.random())
        return VirtualClock().now()

    assert run_virtual(main, seed=7) == run_virtual(main, seed=7)
    assert run_virtual(main, seed=7) != run_virtual(main, seed=8)


async def test_a_scaled_clock_runs_faster_than_the_real_one() -> None:
    clock = ScaledClock(speed=10_000)
    began_s, began_real_s = clock.now(), time.time()
    await clock.sleep(100)
    assert clock.now() - began_s >= 100
    assert not await clock.wait(asyncio.Event(), 100)
    assert clock.now() - began_s > 10 * (time.time() - began_real_s)


def test_a_speed_that_makes_no_sense_is_refused() -> None:
    for speed in (0, -1, 1e9):
        with pytest.raises(ValueError, match="speed"):
            ScaledClock(speed)
