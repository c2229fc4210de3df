"""A whole experiment: filter a trace, run each policy on it, compute figures and compare. Called by `app.lab`,
which reads the trace and knows the policies. Everything in an `Experiment` is a function of the trace and the
options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from shunter.lab.compare import Difference, Place, rank_policies
from shunter.lab.filters import DEFAULT_FILTERS, FilterCount, apply_filters
from shunter.lab.metrics import (
    Figures,
    Window,
    bounded_slowdowns,
    compute_figures,
    measured_jobs,
    measured_window,
    waits,
)
from shunter.lab.nodes import NodeModel
from shunter.lab.parallel_runs import run_in_parallel
from shunter.lab.run import RunResult, run_policy
from shunter.lab.start_estimates import Quality, measure_quality
from shunter.lab.trace import Trace
from shunter.model.errors import Invalid, Problem
from shunter.planning.filter.filters import FILTERS, Filter
from shunter.planning.view import Policy

POLICIES_MAX = 20
SHAKES_MAX = 100
SHAKE_S = 60.0  # how far a submission moves at most, in both directions
JOBS_MAX = 64  # policies that run in parallel
# estimates: those of the trace, the real run times, or learnt from jobs that have ended
GIVEN, EXACT, LEARNT = "given", "exact", "learnt"

BuildPolicy = Callable[[str], Policy]


@dataclass(frozen=True, slots=True)
class Options:
    policies: tuple[str, ...]
    nodes: str | None = None
    filters: tuple[str, ...] = tuple(DEFAULT_FILTERS.split(","))
    estimates: str = GIVEN
    start_estimates: bool = False  # estimate when pending jobs start, and measure how good that is
    warm_up_s: float = 0.0
    cool_down_s: float = 0.0
    seed: int = 0
    shakes: int = 0  # how often to repeat with slightly moved submissions
    jobs: int = 1  # policies that run in parallel


@dataclass(frozen=True, slots=True)
class Experiment:
    options: Options
    trace: Trace  # after the filters
    jobs_read: int
    filters: list[FilterCount]
    nodes: NodeModel
    window: Window
    results: dict[str, RunResult]  # by policy
    figures: dict[str, Figures]
    leaderboard: list[Place]
    differences: list[Difference]
    moved_slowdowns: dict[str, list[float]]  # by policy: the mean slowdown of each run with moved submissions
    start_quality: dict[str, Quality | None]  # by policy; None: no job of the last third had to wait


def run_experiment(
    trace: Trace,
    nodes: NodeModel,
    options: Options,
    build: BuildPolicy,
    node_filters: tuple[Filter, ...] = FILTERS,
    on_result: Callable[[RunResult], None] = lambda _: None,
) -> Experiment:
    """The options are checked. Raises Invalid, or RunFailed if a policy has no result."""
    for name in options.policies:
        build(name)  # an unknown one must not end the command after an hour
    jobs_read = len(trace)
    trace, counts = apply_filters(trace, options.filters, nodes)
    if options.estimates == EXACT:
        trace = replace(trace, estimate_s=trace.run_s)
    window = measured_window(trace, options.warm_up_s, options.cool_down_s)
    jobs = measured_jobs(trace, window)
    if not len(jobs):
        raise Invalid([Problem("--warm-up", "warm-up and cool-down leave no jobs to measure")])

    moved = [trace, *(_shake(trace, options.seed, number) for number in range(1, options.shakes + 1))]

    def run(key: tuple[str, int]) -> RunResult:
        name, number = key
        return run_policy(
            moved[number],
            build(name),
            nodes.hellos,
            is_divided=nodes.is_divided,
            filters=node_filters,
            seed=options.seed,
            learns=options.estimates == LEARNT,
            estimates_starts=options.start_estimates and not number,
        )

    results: dict[str, RunResult] = {}
    moved_slowdowns: dict[str, list[float]] = {name: [] for name in options.policies if options.shakes}
    keys = [(name, number) for number in range(options.shakes + 1) for name in options.policies]
    for (name, number), result in run_in_parallel(keys, run, options.jobs):
        on_result(result)
        if number:
            rows = measured_jobs(moved[number], window)
            moved_slowdowns[name].append(float(bounded_slowdowns(moved[number], result)[rows].mean()))
        else:
            results[name] = result
    slowdowns = {name: bounded_slowdowns(trace, results[name])[jobs] for name in options.policies}
    leaderboard, differences = rank_policies(slowdowns, trace.submit_s[jobs], options.seed)
    figures = {name: compute_figures(trace, results[name], nodes, window) for name in options.policies}
    intervals = {name: result.intervals for name, result in results.items()}
    start_quality = {
        name: measure_quality(waits(trace, results[name]), each) for name, each in intervals.items() if each is not None
    }
    return Experiment(
        options, trace, jobs_read, counts, nodes, window, results, figures, leaderboard, differences, moved_slowdowns,
        start_quality,
    )  # fmt: skip


def _shake(trace: Trace, seed: int, number: int) -> Trace:
    """The trace with each submission moved by up to a minute. Results that change much with it are chance."""
    moves = np.random.default_rng((seed, number)).uniform(-SHAKE_S, SHAKE_S, len(trace))
    submit_s = np.clip(trace.submit_s + moves.round(), 0.0, None)
    return replace(trace, submit_s=submit_s).select(np.argsort(submit_s, kind="stable"))


def check_options(options: Options) -> None:
    problems = []
    if not 0 < len(options.policies) <= POLICIES_MAX or len(set(options.policies)) < len(options.policies):
        problems.append(Problem("--policy", f"name 1 to {POLICIES_MAX} different policies", ",".join(options.policies)))
    if options.estimates not in (GIVEN, EXACT, LEARNT):
        problems.append(Problem("--estimates", f"must be {GIVEN}, {EXACT} or {LEARNT}", options.estimates))
    if not 1 <= options.jobs <= JOBS_MAX:
        problems.append(Problem("--jobs", f"must be 1 to {JOBS_MAX}", options.jobs))
    if not 0 <= options.shakes <= SHAKES_MAX:
        problems.append(Problem("--shake", f"must be 0 to {SHAKES_MAX}", options.shakes))
    if min(options.warm_up_s, options.cool_down_s) < 0:
        problems.append(Problem("--warm-up", "times must not be negative"))
    if problems:
        raise Invalid(problems)
