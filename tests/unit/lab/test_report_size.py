"""A report stays small, however many jobs it is about."""

from __future__ import annotations

import numpy as np

from shunter.lab.compare import rank_policies
from shunter.lab.experiment import Experiment, Options
from shunter.lab.metrics import bounded_slowdowns, compute_figures, measured_window
from shunter.lab.nodes import build_nodes
from shunter.lab.report.page import report_html
from shunter.lab.run import RunResult
from shunter.lab.trace import make_trace

JOBS, POLICIES, BYTES_MAX = 100_000, 5, 2 * 2**20


def test_a_report_about_many_jobs_and_policies_has_at_most_two_megabytes() -> None:
    rng = np.random.default_rng(1)
    submit_s, run_s = rng.uniform(0, 90 * 86_400, JOBS).cumsum() / JOBS * 2, rng.lognormal(5, 2, JOBS)
    tasks = rng.integers(1, 64, JOBS)
    columns = {"submit_s": submit_s, "run_s": run_s, "estimate_s": run_s, "tasks": tasks, "cpu_milli": tasks * 1000}
    trace = make_trace(columns, [f"user-{row % 300}" for row in range(JOBS)], [""] * JOBS, {})
    nodes, window = build_nodes("pool:4096", trace), measured_window(trace, 0, 0)
    results = {}
    for number in range(POLICIES):
        start_s = trace.submit_s + rng.lognormal(6, 2, JOBS)
        results[f"policy-{number}"] = RunResult(f"policy-{number}", start_s, start_s + trace.run_s, 0)
    slowdowns = {name: bounded_slowdowns(trace, result) for name, result in results.items()}
    leaderboard, differences = rank_policies(slowdowns, trace.submit_s, seed=0)
    figures = {name: compute_figures(trace, result, nodes, window) for name, result in results.items()}
    experiment = Experiment(
        Options(tuple(results)), trace, JOBS, [], nodes, window, results, figures, leaderboard, differences, {}, {}
    )
    assert 50_000 < len(report_html(experiment)) <= BYTES_MAX
