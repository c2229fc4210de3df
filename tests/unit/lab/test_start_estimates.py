"""Estimates of starts: forecasts planned by hand, intervals that cover as many as they say, nothing from the future."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from shunter.lab.metrics import waits
from shunter.lab.nodes import build_nodes
from shunter.lab.run import RunResult, run_policy
from shunter.lab.start_estimates import Profile, WaitIntervals, measure_quality
from shunter.lab.trace import Trace
from shunter.planning.policies import Catalogue
from tests.unit.lab.sample_traces import Row, trace_of


def draw_busy(seed: int, jobs: int) -> Trace:
    """Users with run times of their own, who say three times as much. Jobs wait most of the time."""
    rng = random.Random(seed)
    at_s, rows, users = 0.0, list[Row](), list[str]()
    for _ in range(jobs):
        at_s += rng.expovariate(1 / 60)
        user = rng.randrange(5)
        run_s = 20.0 * (user + 1) * rng.lognormvariate(0, 0.7)
        rows.append((round(at_s), round(run_s) + 1.0, 3 * round(run_s) + 3.0, rng.randint(1, 10)))
        users.append(f"user-{user}")
    return trace_of(rows, users)


def run(trace: Trace, policy: str = "easy") -> RunResult:
    nodes = build_nodes("pool:10", trace)
    return run_policy(trace, Catalogue().build(policy), nodes.hellos, estimates_starts=True)


def test_a_job_is_planned_at_the_first_time_at_which_it_fits_while_it_runs() -> None:
    profile = Profile(100.0, 10, [(150.0, 4), (130.0, 3)])  # 3 are free now
    assert profile.place(8, 50.0) == 150  # it leaves 2
    assert profile.place(3, 50.0) == 100  # ends when the first one starts
    assert profile.place(3, 51.0) == 200
    assert profile.place(2, 80.0) == 130


def test_what_ends_at_the_same_time_is_free_together() -> None:
    assert Profile(0.0, 10, [(5.0, 5), (5.0, 5)]).place(10, 1.0) == 5


@pytest.mark.parametrize("policy", ["easy", "sjf"])
def test_intervals_cover_eighty_percent(policy: str) -> None:
    trace = draw_busy(seed=3, jobs=1500)
    result = run(trace, policy)
    assert result.intervals is not None
    quality = measure_quality(waits(trace, result), result.intervals)
    assert quality is not None and quality.jobs > 300
    assert 0.75 <= quality.covered <= 0.85
    assert 0 < quality.width_median_s <= quality.width_mean_s < 5 * quality.wait_mean_s


def test_intervals_do_not_depend_on_what_happens_later() -> None:
    """Whatever the run times of jobs that end after a submission are, its interval stays the same."""
    trace = draw_busy(seed=4, jobs=200)
    before = run(trace)
    at_s = float(trace.submit_s[120])
    run_s = np.where(before.end_s >= at_s, trace.estimate_s, trace.run_s)
    after = run(replace(trace, run_s=run_s))
    assert before.intervals is not None and after.intervals is not None
    seen = trace.submit_s < at_s
    for name in ("low_s", "high_s"):
        one, other = getattr(before.intervals, name), getattr(after.intervals, name)
        assert np.array_equal(one[seen], other[seen], equal_nan=True)
        assert np.isfinite(one[seen]).sum() > 30
    assert not np.array_equal(before.intervals.high_s, after.intervals.high_s, equal_nan=True)


def test_quality_is_that_of_waiting_jobs_in_the_last_third() -> None:
    wait_s = np.array([5.0, 5.0, 5.0, 5.0, 0.0, 8.0, 20.0, 9.0, 7.0])
    low_s = np.array([9.0] * 6 + [0.0, 4.0, np.nan])
    high_s = np.array([10.0] * 6 + [10.0, 10.0, np.nan])
    quality = measure_quality(wait_s, WaitIntervals(low_s, high_s))
    assert quality is not None
    assert (quality.jobs, quality.covered, quality.width_mean_s, quality.width_median_s) == (2, 0.5, 8.0, 8.0)
    assert quality.wait_mean_s == 14.5


def test_without_waits_there_is_no_quality() -> None:
    assert measure_quality(np.zeros(9), WaitIntervals(np.zeros(9), np.ones(9))) is None
