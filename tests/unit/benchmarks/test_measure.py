"""The benchmarks' own arithmetic: who runs when, what a bar means, what is printed."""

from __future__ import annotations

import json

import pytest

from benchmarks.measure import Bar, Options, Report, Sample, interleave

FULL = Options(small=False, rounds=3, json=False)


def test_contenders_take_turns_and_nobody_always_goes_first() -> None:
    order: list[str] = []

    def contender(name: str, value: float) -> float:
        order.append(name)
        return value

    samples = interleave({"ours": lambda: contender("ours", 2.0), "peer": lambda: contender("peer", 1.0)}, rounds=3)
    assert order == ["ours", "peer", "peer", "ours", "ours", "peer"]
    assert samples == {"ours": Sample((2.0, 2.0, 2.0)), "peer": Sample((1.0, 1.0, 1.0))}


def test_a_sample_is_shown_as_its_median_with_the_spread() -> None:
    assert str(Sample((3.0, 1.0, 2.0))) == "2 (1 to 3)"
    assert str(Sample((1234.5,))) == "1,234"


@pytest.mark.parametrize(
    ("bar", "value", "is_met"),
    [
        (Bar(at_least=1.3), 1.3, True),
        (Bar(at_least=1.3), 1.29, False),
        (Bar(at_most=4.0), 4.0, True),
        (Bar(at_most=4.0), 4.01, False),
    ],
)
def test_a_bar_includes_its_limit(bar: Bar, value: float, is_met: bool) -> None:
    assert bar.is_met(value) is is_met


def test_a_ratio_is_that_of_the_medians_and_is_judged(capsys: pytest.CaptureFixture[str]) -> None:
    ours, peer = Sample((300.0, 200.0, 900.0)), Sample((100.0, 150.0, 200.0))
    Report("arrays", FULL).ratio("rate", ours, "xargs", peer, Bar(at_least=1.3))
    assert capsys.readouterr().out == "arrays: rate: 2.00 times xargs   [must be >= 1.3, met]\n"


def test_a_missed_bar_is_said_aloud(capsys: pytest.CaptureFixture[str]) -> None:
    Report("latency", FULL).figure("p50", "ms", Sample((5.0,)), Bar(at_most=4.0))
    assert capsys.readouterr().out == "latency: p50: 5 ms   [must be <= 4, MISSED]\n"


def test_a_small_run_judges_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    small = Options(small=True, rounds=1, json=True)
    Report("latency", small).figure("p50", "ms", Sample((5.0,)), Bar(at_most=4.0))
    line = json.loads(capsys.readouterr().out)
    assert line == {
        "benchmark": "latency", "what": "p50", "unit": "ms", "value": 5.0, "values": [5.0],
        "bar": "<= 4", "met": None, "small": True,
    }  # fmt: skip
