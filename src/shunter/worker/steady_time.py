"""Converts times by the machine's date to the worker's clock, which a change of the date does not reach. Keepers and
runtimes of containers know only the date; timeouts, health checks and the manager count with the clock."""

from __future__ import annotations

import time

from shunter.ports.clock import Clock
from shunter.worker.process.protocol import KeeperReport

DATE_CHANGE_MIN_MS = 1_000  # smaller differences are corrections that every clock gets all the time


def date_change_ms(clock: Clock) -> int:
    """By how much the date was set forward since the clock started."""
    change_ms = int((time.time() - clock.now()) * 1000)
    return change_ms if abs(change_ms) >= DATE_CHANGE_MIN_MS else 0


def by_clock_ms(clock: Clock, date_ms: int) -> int:
    return date_ms - date_change_ms(clock)


def convert_report(clock: Clock, report: KeeperReport) -> None:
    change_ms = date_change_ms(clock)
    if not change_ms:
        return
    for ended in report.ended:
        ended.started_ms = [at_ms - change_ms for at_ms in ended.started_ms]
        ended.ended_ms = [at_ms - change_ms for at_ms in ended.ended_ms]
    for started in report.started:
        started.started_ms -= change_ms
