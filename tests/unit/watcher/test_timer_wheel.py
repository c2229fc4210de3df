from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shunter.watcher.timer_wheel import TICK_S, TimerWheel

START = 1_700_000_000.0
times = st.floats(0, 100, allow_nan=False)


@given(st.dictionaries(st.integers(), times, max_size=30), st.lists(times, max_size=30))
def test_every_key_comes_up_once_at_its_time_or_within_a_tick(deadlines: dict[int, float], looks: list[float]) -> None:
    wheel: TimerWheel[int] = TimerWheel()
    for key, at in deadlines.items():
        wheel.schedule(key, START + at)
    came_up: dict[int, float] = {}
    for look in sorted({*looks, *(at + TICK_S for at in deadlines.values())}):
        for key in wheel.pop_due(START + look):
            assert key not in came_up
            came_up[key] = look
            assert START + look >= START + deadlines[key]
        late = [key for key, at in deadlines.items() if at + TICK_S <= look and key not in came_up]
        assert late == []
    assert len(wheel) == 0


def test_a_key_put_again_is_moved_forward_but_never_back() -> None:
    wheel: TimerWheel[str] = TimerWheel()
    wheel.schedule("a", 5.0)
    wheel.schedule("a", 9.0)
    wheel.schedule("b", 9.0)
    wheel.schedule("b", 5.0)
    assert wheel.pop_due(5.0) == ["a", "b"]
    assert wheel.pop_due(100.0) == []


def test_the_earliest_comes_up_first_and_equals_in_the_order_in_which_they_were_put() -> None:
    wheel: TimerWheel[str] = TimerWheel()
    for key, at in (("late", 8.0), ("second", 3.0), ("third", 3.0), ("first", 1.0)):
        wheel.schedule(key, at)
    assert wheel.pop_due(10.0) == ["first", "second", "third", "late"]


def test_a_dropped_key_never_comes_up() -> None:
    wheel: TimerWheel[str] = TimerWheel()
    wheel.schedule("a", 1.0)
    wheel.cancel("a")
    wheel.cancel("unknown")
    assert (wheel.pop_due(10.0), list(wheel)) == ([], [])
