"""Whether to retry, and after how long."""

from __future__ import annotations

import pytest

from shunter.sdk.errors import Busy, ConnectionLost, NotFound, NotReachable, ShunterError, Unavailable
from shunter.sdk.retry import DELAY_MAX_S, Deadline, Patience


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def patience(clock: Clock, limit_s: float = 30.0) -> Patience:
    return Patience(clock, lambda: 1.0, limit_s)


@pytest.mark.parametrize("error", [NotFound("x"), ShunterError("x")])
def test_what_would_fail_again_is_not_tried_again(error: ShunterError) -> None:
    with pytest.raises(type(error)):
        patience(Clock()).delay_s(error, reached=True)


def test_a_cluster_that_never_answered_is_not_waited_for() -> None:
    with pytest.raises(NotReachable):
        patience(Clock()).delay_s(NotReachable("x"), reached=False)


def test_a_cluster_that_answered_before_is_waited_for() -> None:
    assert patience(Clock()).delay_s(NotReachable("x"), reached=True) > 0


def test_the_first_lost_connection_is_replaced_at_once_and_then_delays_double_up_to_a_limit() -> None:
    waiting = patience(Clock())
    delays = [waiting.delay_s(ConnectionLost("x"), reached=True) for _ in range(9)]
    assert delays == [0.0, 0.1, 0.2, 0.4, 0.8, 1.6, DELAY_MAX_S, DELAY_MAX_S, DELAY_MAX_S]


def test_a_cluster_that_says_when_to_come_again_is_obeyed() -> None:
    assert patience(Clock()).delay_s(Busy("x", retry_after_s=7.0), reached=True) == 7.0


def test_an_outage_ends_with_its_last_error_when_the_time_is_up() -> None:
    clock = Clock()
    waiting = patience(clock, limit_s=10.0)
    waiting.delay_s(Unavailable("first"), reached=True)
    clock.now_s += 9.5
    with pytest.raises(Unavailable, match="second"):
        waiting.delay_s(Unavailable("second"), reached=True)


def test_after_calm_an_outage_has_all_its_time_again() -> None:
    clock = Clock()
    waiting = patience(clock, limit_s=10.0)
    waiting.delay_s(Unavailable("x"), reached=True)
    clock.now_s += 9.5
    waiting.reset()
    assert waiting.delay_s(Unavailable("x"), reached=True) == 1.0


def test_a_deadline_gives_what_is_left_and_then_ends() -> None:
    clock = Clock()
    deadline = Deadline.after(clock, 5.0)
    assert (deadline.left_s(), deadline.left_s(2.0)) == (5.0, 2.0)
    clock.now_s += 5.0
    with pytest.raises(TimeoutError):
        deadline.left_s()


def test_without_a_deadline_only_the_limit_counts() -> None:
    deadline = Deadline.after(Clock(), None)
    assert (deadline.left_s(), deadline.left_s(2.0)) == (None, 2.0)
