"""When a silent connection is probed, and when its time is over."""

from __future__ import annotations

import pytest

from shunter.sdk.transport.sockets import Silence


def waits_s(silence: Silence, most: int = 20) -> list[float | None]:
    found: list[float | None] = []
    for _ in range(most):
        found.append(silence.wait_s)
        try:
            silence.on_timeout()
        except TimeoutError:
            return found
    return found


def test_a_silent_manager_is_probed_less_and_less_often() -> None:
    assert waits_s(Silence(None, is_probed=True), 6) == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


@pytest.mark.parametrize(("timeout_s", "waits"), [(0.5, [0.5]), (1.0, [1.0]), (5.0, [1.0, 2.0, 2.0])])
def test_probes_do_not_make_a_wait_longer(timeout_s: float, waits: list[float]) -> None:
    assert waits_s(Silence(timeout_s, is_probed=True)) == waits


@pytest.mark.parametrize("timeout_s", [60.0, None])
def test_the_only_manager_is_not_probed(timeout_s: float | None) -> None:
    assert waits_s(Silence(timeout_s, is_probed=False)) == [timeout_s]
