"""Whether to retry, and after how long."""

from __future__ import annotations

import pytest

from shunter.sdk.errors import (
    Busy,
    ConnectionLost,
    NoApi,
    NotFound,
    NotLeader,
    NotReachable,
    ShunterError,
    StreamEnded,
    Unavailable,
)
from shunter.sdk.retry import DELAY_MAX_S, Deadline, Patience


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def patience(clock: Clock, limit_s: float = 30.0, managers: int = 1) -> Patience:
    return Patience(clock, lambda: 1.0, limit_s, managers)


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


@pytest.mark.parametrize("error", [ConnectionLost("x"), NotReachable("x"), NotLeader("x")])
def test_every_manager_is_asked_at_once_and_pauses_between_passes_are_short(error: ShunterError) -> None:
    waiting = patience(Clock(), managers=3)
    delays = [waiting.delay_s(error, reached=True) for _ in range(12)]
    assert delays == [0.0, 0.0, 0.05, 0.0, 0.0, 0.1, 0.0, 0.0, 0.2, 0.0, 0.0, 0.25]


def test_managers_that_all_ask_for_time_get_it() -> None:
    waiting, loading = patience(Clock(), managers=2), Unavailable("x")
    assert [waiting.delay_s(loading, reached=True) for _ in range(4)] == [0.0, 1.0, 0.0, 1.0]


@pytest.mark.parametrize(("error", "delay_s"), [(Busy("x", 7.0), 7.0), (StreamEnded("x"), 0.2)])
def test_a_limit_and_the_end_of_a_stream_are_waited_for_with_several_managers_too(
    error: ShunterError, delay_s: float
) -> None:
    assert patience(Clock(), managers=3).delay_s(error, reached=True) == delay_s


def test_a_cluster_whose_managers_were_never_there_is_given_up_after_one_pass() -> None:
    waiting = patience(Clock(), managers=3)
    for url in ("http://b:2 (timed out)", "http://a:1 (refused)"):
        assert waiting.delay_s(NotReachable(url), reached=False) == 0
    with pytest.raises(NotReachable) as caught:
        waiting.delay_s(NotReachable("http://c:3 (refused)"), reached=False)
    assert caught.value.detail == (
        "no manager of the cluster can be reached: http://a:1 (refused), http://b:2 (timed out), http://c:3 (refused); "
        "check SHUNTER_URL"
    )


def test_a_cluster_with_one_manager_that_hangs_is_waited_for() -> None:
    waiting = patience(Clock(), managers=3)
    for error in [NotReachable("a"), ConnectionLost("b"), NotReachable("c"), NotReachable("a"), ConnectionLost("b")]:
        waiting.delay_s(error, reached=False)


def test_every_manager_is_asked_once_however_little_time_there_is() -> None:
    clock = Clock()
    waiting = patience(clock, limit_s=0.0, managers=3)
    for _ in range(2):
        assert waiting.delay_s(ConnectionLost("x"), reached=False) == 0
        clock.now_s += 5.0
    with pytest.raises(ConnectionLost):
        waiting.delay_s(ConnectionLost("x"), reached=False)
    with pytest.raises(Busy):
        patience(clock, limit_s=0.0, managers=3).delay_s(Busy("x"), reached=True)


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


def test_a_manager_that_serves_no_clients_is_left_for_another_one_and_not_asked_again() -> None:
    with pytest.raises(NoApi):
        patience(Clock()).delay_s(NoApi("x"), reached=True)
    assert patience(Clock(), managers=2).delay_s(NoApi("x"), reached=True) == 0.0
