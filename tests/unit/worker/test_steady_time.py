"""A change of the date does not reach the times that a worker counts with and reports."""

from __future__ import annotations

import time

import pytest

from shunter.adapters.system.clock import SystemClock
from shunter.model.protocol.worker_messages import Ended
from shunter.worker.process.protocol import KeeperReport, KeeperStarted
from shunter.worker.steady_time import by_clock_ms, convert_report

DAY_S = 24 * 3600.0


class ClockFromAnotherDate(SystemClock):
    """The clock of a worker that started before the date was set forward by so much."""

    def __init__(self, change_s: float) -> None:
        super().__init__()
        self._change_s = change_s

    def now(self) -> float:
        return super().now() - self._change_s


@pytest.mark.parametrize("change_s", [DAY_S, -DAY_S])
def test_times_by_the_date_become_times_by_the_clock(change_s: float) -> None:
    clock = ClockFromAnotherDate(change_s)
    date_ms = int(time.time() * 1000)
    ended = Ended(1, 0, 1, 0, [], [date_ms - 500], [date_ms], 1, 0)
    report = KeeperReport(1, [ended], [KeeperStarted(1, 0, 1, 1, date_ms, 1, 0, 99)], 1)
    convert_report(clock, report)
    expected = pytest.approx(clock.now() * 1000, abs=60_000)
    assert ended.ended_ms == [expected]
    assert ended.ended_ms[0] - ended.started_ms[0] == 500
    assert report.started[0].started_ms == expected
    assert by_clock_ms(clock, date_ms) == expected


def test_without_a_change_times_stay_as_they_are() -> None:
    date_ms = int(time.time() * 1000)
    assert by_clock_ms(SystemClock(), date_ms) == date_ms
