"""Cron lines: what fires when, and what never does."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from shunter.model.job.schedules import check_cron, is_known_timezone, next_firing_ms


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


@pytest.mark.parametrize(
    "line",
    ["*/10 * * * *", "0 8 * * MON-FRI", "@daily", " @Hourly ", "0 0 29 2 *", "*/5 * * * * *"],
)
def test_a_line_that_fires_has_nothing_wrong(line: str) -> None:
    assert check_cron(line) == ""


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("", "must have five fields, found 0"),
        ("* * * *", "must have five fields, found 4"),
        ("60 * * * *", "has a bad minute"),
        ("* 24 * * *", "has a bad hour"),
        ("* * 0 * *", "has a bad day-of-month"),
        ("* * * 13 *", "has a bad month"),
        ("* * * * MOO", "has a bad day-of-week"),
        ("0 0 30 2 *", "has a bad day-of-month"),
        ("*/0 * * * *", "has a bad minute"),
        ("@reboot", "must be five fields, or one of @hourly"),
        ("* * * * MON#1/2", "has a bad day-of-week"),
        ("* * L/x * *", "has a bad day-of-month"),
    ],
)
def test_what_is_wrong_with_a_line_is_said(line: str, fault: str) -> None:
    assert check_cron(line).startswith(fault)


def test_a_line_that_never_comes_true_is_found_out() -> None:
    assert check_cron("0 0 */31 * MON#2") == "never fires"  # the second Monday is never the first of a month
    assert check_cron("0 0 */31 * MON#1") == ""


@pytest.mark.parametrize(
    ("line", "timezone", "after", "expected"),
    [
        ("*/10 * * * *", "UTC", "2030-01-01T00:00:00+00:00", "2030-01-01T00:10:00+00:00"),
        ("*/10 * * * *", "UTC", "2030-01-01T00:09:59.999+00:00", "2030-01-01T00:10:00+00:00"),
        ("0 8 * * *", "Europe/Berlin", "2030-01-01T00:00:00+00:00", "2030-01-01T07:00:00+00:00"),
        ("0 8 * * *", "Europe/Berlin", "2030-07-01T00:00:00+00:00", "2030-07-01T06:00:00+00:00"),
        ("30 2 * * *", "Europe/Berlin", "2030-03-30T12:00:00+00:00", "2030-03-31T01:00:00+00:00"),  # spring: no 2:30
        ("@daily", "America/New_York", "2030-01-01T12:00:00+00:00", "2030-01-02T05:00:00+00:00"),
    ],
)
def test_the_next_firing_follows_the_clock_of_its_zone(line: str, timezone: str, after: str, expected: str) -> None:
    found = next_firing_ms(line, timezone, ms(after))
    assert found is not None
    assert datetime.fromtimestamp(found / 1000, UTC).isoformat() == expected


def test_the_hour_that_comes_twice_in_autumn_fires_once() -> None:
    first = next_firing_ms("30 2 * * *", "Europe/Berlin", ms("2030-10-26T12:00:00+00:00"))
    assert first is not None
    second = next_firing_ms("30 2 * * *", "Europe/Berlin", first)
    assert second is not None
    assert (first, second) == (ms("2030-10-27T02:30:00+02:00"), ms("2030-10-28T02:30:00+01:00"))
    for minutes in range(0, 181, 10):
        after = first + minutes * 60_000
        assert next_firing_ms("30 2 * * *", "Europe/Berlin", after) == second


@pytest.mark.parametrize(
    ("name", "known"), [("UTC", True), ("Europe/Berlin", True), ("Europe/Berln", False), ("../etc", False), ("", False)]
)
def test_time_zones_are_known_or_not(name: str, known: bool) -> None:
    assert is_known_timezone(name) is known
