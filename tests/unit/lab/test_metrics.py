"""Every figure on a case worked by hand, and the bootstrap."""

from __future__ import annotations

import numpy as np
import pytest

from shunter.lab.compare import block_length_s, compare, rank_policies
from shunter.lab.metrics import Distribution, Window, compute_figures, measured_window
from shunter.lab.nodes import build_nodes
from shunter.lab.run import RunResult
from tests.unit.lab.sample_traces import trace_of

# Ten cpus. Job 1 holds 10 cpus from 0 to 100. Job 2 (5 cpus) waits from 20 to 100 and runs until 120. Job 3 (5 cpus) is
# submitted at 200 and runs at once until 201.
TRACE = trace_of([(0, 100, 100, 10), (20, 20, 20, 5), (200, 1, 1, 5)], ["ann", "bob", "bob"])
RESULT = RunResult("x", np.array([0.0, 100, 200]), np.array([100.0, 120, 201]), 0)
NODES = build_nodes("pool:10", TRACE)


def test_all_figures() -> None:
    figures = compute_figures(TRACE, RESULT, NODES, measured_window(TRACE, 0, 0))
    assert figures.jobs == 3
    assert figures.wait_s == Distribution(mean=80 / 3, median=0, p95=80, p99=80, max=80)
    # (0 + 100) / 100 = 1; (80 + 20) / 20 = 5; (0 + 1) / 10 counts as 1
    assert figures.slowdown == Distribution(mean=7 / 3, median=1, p95=5, p99=5, max=5)
    assert figures.utilisation == pytest.approx((100 * 1.0 + 20 * 0.5) / 200)
    assert figures.makespan_s == 201
    assert figures.queue_length_mean == pytest.approx(80 / 200)
    assert figures.queue_length_max == 1
    assert figures.fairness == pytest.approx((1 + 3) ** 2 / (2 * (1 + 9)))  # ann 1, bob (5 + 1) / 2
    assert figures.gpu_allocated is None
    assert figures.stranded == 0  # while job 2 is pending, no cpu is free


def test_free_cpus_are_stranded_while_a_job_is_pending() -> None:
    """Job 1 holds 4 of 10 cpus until 100, and job 2, which needs 8, waits from 50 on: 6 cpus are free for 50 s."""
    trace = trace_of([(0, 100, 100, 4), (50, 10, 10, 8), (200, 1, 1, 1)])
    result = RunResult("x", np.array([0.0, 100, 200]), np.array([100.0, 110, 201]), 0)
    figures = compute_figures(trace, result, NODES, measured_window(trace, 0, 0))
    assert figures.stranded == pytest.approx(50 * 0.6 / 200)


def test_warm_up_and_cool_down_cut_both_ends() -> None:
    window = measured_window(TRACE, 10, 90)
    assert window == Window(10, 110)
    figures = compute_figures(TRACE, RESULT, NODES, window)
    assert figures.jobs == 1
    assert figures.wait_s.mean == 80
    assert figures.utilisation == pytest.approx((90 * 1.0 + 10 * 0.5) / 100)
    assert figures.makespan_s == 201


def test_gpus_count_as_allocated_while_a_job_holds_them() -> None:
    trace = trace_of([(0, 50, 50, 1), (100, 1, 1, 1)])
    trace.gpu_milli[:] = 3000, 0
    result = RunResult("x", np.array([0.0, 100]), np.array([50.0, 101]), 0)
    figures = compute_figures(trace, result, build_nodes("pool:10,gpu=4", trace), measured_window(trace, 0, 0))
    assert figures.gpu_allocated == pytest.approx(0.5 * 3 / 4)


WEEK_S = 7 * 86_400.0
SUBMIT_S = np.repeat(np.arange(8) * WEEK_S, 2)


def test_a_constant_difference_has_an_interval_of_one_point() -> None:
    low = np.arange(16.0)
    found = compare("b", "a", {"a": low, "b": low + 2}, SUBMIT_S, seed=1)
    assert (found.mean, found.low, found.high) == pytest.approx((2, 2, 2))
    assert not found.is_tie


def test_weeks_are_drawn_as_a_whole() -> None:
    """Within a week, both jobs cancel each other out, so no draw of weeks gives a difference."""
    low = np.zeros(16)
    found = compare("b", "a", {"a": low, "b": np.tile([5.0, -5.0], 8)}, SUBMIT_S, seed=1)
    assert (found.mean, found.low, found.high) == (0, 0, 0)


def test_policies_that_do_not_differ_by_more_than_chance_share_a_rank() -> None:
    low = np.ones(16)
    noise = np.repeat([3.0, -2.0] * 4, 2)
    values = {"worst": low + 50, "noisy": low + noise, "best": low}
    places, differences = rank_policies(values, SUBMIT_S, seed=1)
    assert [(place.rank, place.policy) for place in places] == [(1, "best"), (1, "noisy"), (3, "worst")]
    assert [(each.policy, each.other, each.is_tie) for each in differences] == [
        ("noisy", "best", True),
        ("worst", "best", False),
    ]
    assert rank_policies(values, SUBMIT_S, seed=1) == (places, differences)


def test_a_trace_of_one_week_can_have_a_tie() -> None:
    """Its days differ in both directions, so the difference may be chance."""
    submit_s = np.repeat(np.arange(7) * 86_400.0, 2)
    noise = np.repeat([3.0, -2.0, 3.0, -2.0, 3.0, -2.0, -2.0], 2)
    found = compare("b", "a", {"a": np.zeros(14), "b": noise}, submit_s, seed=1)
    assert found.low < 0 < found.high
    assert found.is_tie


def test_nothing_is_known_about_the_difference_of_jobs_that_were_submitted_at_once() -> None:
    found = compare("b", "a", {"a": np.zeros(3), "b": np.ones(3)}, np.zeros(3), seed=1)
    assert (found.mean, found.low, found.high) == (1, -np.inf, np.inf)
    assert found.is_tie


def test_blocks_are_weeks_or_an_eighth_of_a_shorter_trace() -> None:
    assert block_length_s(np.array([0.0, 8 * WEEK_S])) == WEEK_S
    assert block_length_s(np.array([0.0, WEEK_S])) == WEEK_S / 8


def test_the_last_instant_is_no_block_of_its_own() -> None:
    """A short trace has eight blocks of equal length: the job at its very end counts in the last one."""
    submit_s = np.arange(81, dtype=np.float64)
    noise = np.where(submit_s == 80, 1000.0, 0.0)
    found = compare("b", "a", {"a": np.zeros(81), "b": noise}, submit_s, seed=1)
    assert found.high < 1000.0 * 8 / 11  # with eight draws of ten or eleven jobs each
