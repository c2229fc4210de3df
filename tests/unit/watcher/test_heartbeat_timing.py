from __future__ import annotations

import pytest

from shunter.model.errors import Invalid
from shunter.watcher.heartbeat_timing import HeartbeatInterval, automatic_s
from shunter.watcher.settings import HEARTBEATS_PER_S_MAX, WatcherSettings


@pytest.mark.parametrize(
    ("nodes", "heartbeat_s"),
    [(0, 1), (1, 1), (100, 1), (200, 1), (201, 2), (400, 2), (401, 3), (3000, 15), (5000, 15), (100_000, 15)],
)
def test_the_interval_grows_with_the_cluster_up_to_its_limit(nodes: int, heartbeat_s: float) -> None:
    assert automatic_s(nodes) == heartbeat_s


def test_the_manager_sees_a_bounded_rate_as_far_as_the_longest_interval_allows() -> None:
    assert all(nodes / automatic_s(nodes) <= HEARTBEATS_PER_S_MAX for nodes in range(3001))


def test_a_node_that_comes_and_goes_at_a_boundary_does_not_flip_the_interval() -> None:
    interval = HeartbeatInterval(WatcherSettings())
    assert interval.adapt(201)
    changes = [interval.adapt(nodes) for nodes in (200, 201, 200, 201)]
    assert (changes, interval.heartbeat_s) == ([False] * 4, 2.0)
    assert interval.adapt(180)
    assert interval.heartbeat_s == 1.0


def test_an_interval_set_by_hand_stays_whatever_the_cluster_does_until_it_is_taken_back() -> None:
    interval = HeartbeatInterval(WatcherSettings(heartbeat_s=4.0))
    assert (interval.adapt(5000), interval.heartbeat_s) == (False, 4.0)
    interval.set_manual(None)
    assert (interval.adapt(5000), interval.heartbeat_s) == (True, 15.0)


@pytest.mark.parametrize("heartbeat_s", [0.0, -1.0, 0.01, 1e9, float("nan")])
def test_an_interval_out_of_range_is_refused_with_the_range(heartbeat_s: float) -> None:
    with pytest.raises(Invalid, match=r"use 0\.05 to 3600 seconds"):
        HeartbeatInterval(WatcherSettings(heartbeat_s=heartbeat_s))


def test_an_interval_that_does_not_fit_the_timeout_is_refused_and_an_automatic_one_is_shortened() -> None:
    with pytest.raises(Invalid, match="a third of the timeout"):
        HeartbeatInterval(WatcherSettings(heartbeat_s=5.0, timeout_s=9.0))
    interval = HeartbeatInterval(WatcherSettings(timeout_s=9.0))
    interval.adapt(5000)
    assert interval.heartbeat_s == 3.0


@pytest.mark.parametrize(
    ("settings", "heartbeat_s", "silent_s", "down_s"),
    [
        (WatcherSettings(), 1.0, 2.5, 10.0),
        (WatcherSettings(), 0.1, 0.25, 10.0),
        (WatcherSettings(), 15.0, 37.5, 45.0),
        (WatcherSettings(timeout_s=60.0), 1.0, 2.5, 60.0),
        (WatcherSettings(timeout_s=0.6), 0.2, 0.5, 0.6),
    ],
)
def test_silence_and_timeout_follow_the_interval(
    settings: WatcherSettings, heartbeat_s: float, silent_s: float, down_s: float
) -> None:
    interval = HeartbeatInterval(settings)
    assert (interval.silent_after_s(heartbeat_s), interval.down_after_s(heartbeat_s)) == pytest.approx(
        (silent_s, down_s)
    )
