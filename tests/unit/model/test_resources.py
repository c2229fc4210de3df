"""Quantities and durations: known values, the laws that hold for all of them, and what is refused."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.model.resources import (
    AMOUNT_MAX,
    format_amount,
    format_duration,
    parse_amount,
    parse_duration_s,
    parse_quantity,
    quantity_hint,
)

RESOURCES = ("cpu", "memory", "disk", "gpu", "licences")
amounts = st.integers(min_value=0, max_value=AMOUNT_MAX)


@pytest.mark.parametrize(
    ("resource", "text", "amount"),
    [
        ("cpu", "700m", 700),
        ("cpu", "1", 1000),
        ("cpu", 2, 2000),
        ("cpu", 0.5, 500),
        ("cpu", "1.5", 1500),
        ("cpu", "100u", 1),  # a tenth of a thousandth: what is asked for is never rounded away
        ("cpu", "0", 0),
        ("memory", "896Mi", 939524096),
        ("memory", "256Mi", 268435456),
        ("memory", "1Ki", 1024),
        ("memory", "1k", 1000),
        ("memory", "1.5Gi", 1610612736),
        ("memory", "1e3", 1000),
        ("memory", "12E-1", 2),
        ("memory", "128974848", 128974848),
        ("memory", "129e6", 129000000),
        ("memory", "129M", 129000000),
        ("memory", "123Mi", 128974848),
        ("memory", "128974848000m", 128974848),
        ("disk", "2T", 2 * 10**12),
        ("disk", ".5Ki", 512),
        ("gpu", 1, 1),
        ("gpu", "4", 4),
        ("licences", "2k", 2000),
        ("licences", 3.0, 3),
    ],
)
def test_a_quantity_is_known_in_its_inner_unit(resource: str, text: str | float, amount: int) -> None:
    assert parse_amount(resource, text) == amount


@pytest.mark.parametrize(
    "text",
    ["", " ", "-1", "-5Mi", "1 Mi x", "Mi", "m", "1mm", "1KiB", "1kb", "0x10", "1_000", "1,5", "1e", "1e1000", "٣",
     "nan", "inf", "1..2", "9" * 41, True, False, -1, -0.5, math.nan, math.inf],
)  # fmt: skip
def test_what_is_no_quantity_is_refused(text: str | float) -> None:
    with pytest.raises(ValueError, match="quantity"):
        parse_quantity(text)


@pytest.mark.parametrize("text", ["500m", "0.5", 1.5, "1e-3"])
def test_half_a_gpu_is_refused(text: str | float) -> None:
    with pytest.raises(ValueError, match="whole number"):
        parse_amount("gpu", text)


@pytest.mark.parametrize("resource", RESOURCES)
def test_an_amount_that_a_column_cannot_hold_is_refused(resource: str) -> None:
    with pytest.raises(ValueError, match="more than"):
        parse_amount(resource, "16Ei")


@given(st.sampled_from(RESOURCES), amounts)
def test_what_is_formatted_reads_back_as_the_same_amount(resource: str, amount: int) -> None:
    assert parse_amount(resource, format_amount(resource, amount)) == amount


@given(amounts)
def test_thousandths_of_a_core_are_exact(milli: int) -> None:
    assert parse_amount("cpu", f"{milli}m") == milli


@given(st.integers(0, 2**20), st.sampled_from(["Ki", "Mi", "Gi"]))
def test_binary_suffixes_are_powers_of_1024(number: int, suffix: str) -> None:
    assert parse_quantity(f"{number}{suffix}") == number * 1024 ** (1 + ["Ki", "Mi", "Gi"].index(suffix))


@given(st.decimals(0, 10**6, places=3), st.sampled_from(["", "k", "Ki", "Mi"]))
def test_a_finer_amount_is_rounded_up_and_by_less_than_one(number: Decimal, suffix: str) -> None:
    text = f"{number}{suffix}"
    assert 0 <= parse_amount("memory", text) - parse_quantity(text) < 1


@given(st.text(max_size=50))
def test_any_text_is_read_or_refused_with_a_value_error(text: str) -> None:
    for read in (parse_quantity, parse_duration_s):
        try:
            assert read(text) >= 0
        except ValueError:
            pass


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 1500, "1500m"),
        ("cpu", 2000, "2"),
        ("cpu", 0, "0"),
        ("memory", 268435456, "256Mi"),
        ("memory", 1000, "1000"),
        ("memory", 1024**4, "1Ti"),
        ("disk", 1536, "1536"),
        ("gpu", 1024, "1024"),
    ],
)
def test_an_amount_is_spelt_as_short_as_it_can_be(resource: str, amount: int, text: str) -> None:
    assert format_amount(resource, amount) == text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90.0),
        ("10m", 600.0),
        ("1h30m", 5400.0),
        ("250ms", 0.25),
        ("1d2h3m4s5ms", 93784.005),
        ("1.5h", 5400.0),
        ("0s", 0.0),
        (30, 30.0),
        ("10", 10.0),
        (" 1.5 ", 1.5),
        (0.5, 0.5),
    ],
)
def test_a_duration_is_known_in_seconds(text: str | float, seconds: float) -> None:
    assert parse_duration_s(text) == pytest.approx(seconds, abs=1e-9)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "s",
        "-10",
        "1e3",
        ".5",
        "-5s",
        "5 s",
        "30m1h",
        "1h1h",
        "1w",
        "1.s",
        "5S",
        "1e3s",
        "٣s",
        True,
        -1,
        math.inf,
        math.nan,
    ],
)
def test_what_is_no_duration_is_refused(text: str | float) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration_s(text)


@given(st.integers(0, 10**4), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_the_parts_of_a_duration_add_up(days: int, hours: int, minutes: int, seconds: int) -> None:
    total_s = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    assert parse_duration_s(f"{days}d{hours}h{minutes}m{seconds}s") == total_s


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.00s"), (0.314, "0.31s"), (1.0, "1.0s"), (4.96, "5.0s"), (9.9, "9.9s"), (59.4, "59s"), (59.6, "1m00s"),
        (245.0, "4m05s"), (3599.6, "1h00m"), (7380.0, "2h03m"), (86399.9, "1d00h"), (273600.0, "3d04h"),
    ],
)  # fmt: skip
def test_a_duration_is_shown_in_two_parts_at_most(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.floats(0, 10**9, allow_nan=False))
def test_a_duration_is_shown_with_minutes_and_seconds_below_sixty(seconds: float) -> None:
    shown = format_duration(seconds)
    if seconds >= 10:
        assert parse_duration_s(shown) == pytest.approx(seconds, rel=0.05, abs=1.0)
        assert "60s" not in shown
        assert "60m" not in shown


@pytest.mark.parametrize(
    ("resource", "text", "fix"),
    [
        ("memory", "1GB", "did you mean 1G (10^9 bytes) or 1Gi (2^30 bytes)?"),
        ("memory", "1.5 gb", "did you mean 1.5G (10^9 bytes) or 1.5Gi (2^30 bytes)?"),
        ("disk", "20mib", "did you mean 20M (10^6 bytes) or 20Mi (2^20 bytes)?"),
        ("memory", "2K", "did you mean 2k (10^3 bytes) or 2Ki (2^10 bytes)?"),
        ("memory", "lots", "write it like 256Mi or 4Gi"),
        ("memory", "GB", "write it like 256Mi or 4Gi"),
        ("cpu", "1GB", "write it like 2 or 500m"),
        ("cpu", True, "write it like 2 or 500m"),
    ],
)
def test_a_wrong_quantity_gets_a_fitting_hint(resource: str, text: object, fix: str) -> None:
    assert quantity_hint(resource, text) == fix
