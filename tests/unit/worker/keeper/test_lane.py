"""How long an idle keeper sleeps."""

from __future__ import annotations

import pytest

from shunter.worker.keeper.lane import HOME_CHECK_S, idle_wait_s


@pytest.mark.parametrize(
    ("alone_s", "wait_s"),
    [(0.0, HOME_CHECK_S), (2.0, HOME_CHECK_S), (4.0, 1.0), (4.9, pytest.approx(0.1)), (5.5, HOME_CHECK_S)],
)
def test_an_idle_keeper_wakes_when_it_has_been_alone_for_long_enough(alone_s: float, wait_s: float) -> None:
    assert idle_wait_s(alone_s, 5.0) == wait_s
