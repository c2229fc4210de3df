"""The engine in virtual time starts every job exactly when a plain simulator of the same policy does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shunter.lab.nodes import build_nodes
from shunter.lab.run import RunFailed, RunResult, run_policy
from shunter.lab.trace import Trace
from shunter.lab.workload import make_jobs
from shunter.planning.planner import POLICIES
from shunter.planning.policies import Catalogue
from shunter.planning.view import ClusterView, Decision, Placement
from tests.unit.lab.sample_traces import draw_trace, simulate_slowly, trace_of

CPUS = 10
BATCH = ("fcfs", "sjf", "easy", "easy-sjbf")


def run(trace: Trace, policy: Any, nodes: str = f"pool:{CPUS}") -> RunResult:
    model = build_nodes(nodes, trace)
    built = Catalogue().build(policy) if isinstance(policy, str) else policy
    return run_policy(trace, built, model.hellos, is_divided=model.is_divided)


@pytest.mark.parametrize("policy", BATCH)
@pytest.mark.parametrize("seed", range(4))
def test_jobs_start_when_a_plain_simulator_starts_them(policy: str, seed: int) -> None:
    trace = draw_trace(seed, jobs=120, cpus=CPUS)
    result = run(trace, policy)
    assert result.start_s.tolist() == simulate_slowly(trace, CPUS, policy)
    assert np.allclose(result.end_s, result.start_s + trace.run_s, atol=1e-6)


@pytest.mark.parametrize("policy", BATCH)
def test_gangs_on_equal_nodes_start_as_on_a_pool_of_single_cpus(policy: str) -> None:
    trace = draw_trace(seed=7, jobs=60, cpus=CPUS)
    assert run(trace, policy, f"{CPUS}x1").start_s.tolist() == run(trace, policy).start_s.tolist()


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_every_policy_of_the_planner_finishes_a_trace(policy: str) -> None:
    trace = draw_trace(seed=1, jobs=40, cpus=CPUS)
    result = run(trace, policy)
    assert (result.start_s >= trace.submit_s).all()
    assert not np.isnan(result.end_s).any()


@pytest.mark.parametrize("policy", ["f1", "f2", "f3", "f4"])
def test_learnt_orders_finish_a_trace_and_differ_from_first_come(policy: str) -> None:
    trace = draw_trace(seed=3, jobs=150, cpus=CPUS)
    assert run(trace, policy).start_s.tolist() != run(trace, "fcfs").start_s.tolist()


def test_the_same_trace_gives_the_same_times() -> None:
    trace = draw_trace(seed=5, jobs=80, cpus=CPUS)
    first, second = run(trace, "easy"), run(trace, "easy")
    assert (first.start_s.tolist(), first.rounds) == (second.start_s.tolist(), second.rounds)


def test_jobs_with_years_between_them_run() -> None:
    year_s = 365.25 * 86_400
    trace = trace_of([(number * year_s, 3600.5, 7200, 10) for number in range(11)])
    assert run(trace, "easy").start_s == pytest.approx(trace.submit_s, abs=1e-3)


def test_idle_time_costs_no_rounds() -> None:
    """One virtual year between two jobs on a thousand nodes. Each heartbeat or housekeeping round would be one more."""
    trace = trace_of([(0, 10, 10, 1), (365 * 86_400, 10, 10, 1)])
    assert run(trace, "easy", "1000x1").rounds < 20


class Failing:
    name, fast = "failing", True

    def decide(self, _view: ClusterView, _now: float, _budget: int) -> Decision:
        raise RuntimeError("no idea")


class Lazy:
    name, fast = "lazy", True

    def decide(self, view: ClusterView, _now: float, _budget: int) -> Decision:
        return Decision(view.version)


def test_a_policy_that_raises_ends_the_run() -> None:
    with pytest.raises(RunFailed, match=r"failing failed: RuntimeError: no idea"):
        run(trace_of([(0, 10, 10, 1)]), Failing())


def test_a_policy_that_leaves_jobs_pending_ends_the_run() -> None:
    with pytest.raises(RunFailed, match=r"lazy left 2 jobs unfinished, the first is job 1"):
        run(trace_of([(0, 10, 10, 1), (50, 10, 10, 1)]), Lazy())


def test_each_job_is_a_class_of_its_own_with_its_exact_estimate() -> None:
    seen: dict[int, tuple[float, int]] = {}

    class Looking(Lazy):
        def decide(self, view: ClusterView, _now: float, _budget: int) -> Decision:
            seen.update({queued.since: (queued.estimate_s, queued.count) for queued in view.queued})
            return Decision(view.version)

    with pytest.raises(RunFailed):
        run(trace_of([(0, 10, 33, 2), (0, 10, 34, 2), (0, 10, 34, 2)]), Looking())
    assert list(seen.values()) == [(33.0, 1), (34.0, 1), (34.0, 1)]


def test_users_and_queues_of_the_trace_stay() -> None:
    trace = trace_of([(0, 10, 10, 1), (0, 10, 10, 1)], ["ann", "bob"])
    trace.queue[:] = ["short", ""]
    jobs = list(make_jobs(trace, is_divided=False))
    assert [(job.user, job.spec.options.queue) for job in jobs] == [("ann", "short"), ("bob", "default")]


@pytest.mark.parametrize("numbers", [(7, 7, 8), (-1, -1, -1)])
def test_job_numbers_may_repeat_or_be_unknown(numbers: tuple[int, ...]) -> None:
    trace = trace_of([(0, 10, 10, 4), (0, 10, 10, 4), (5, 10, 10, 4)])
    trace.number[:] = numbers
    assert run(trace, "easy").start_s.tolist() == [0, 0, 10]


def test_an_impossible_decision_ends_the_run() -> None:
    class Overcommits(Lazy):
        name = "overcommits"

        def decide(self, view: ClusterView, _now: float, _budget: int) -> Decision:
            placements = [Placement(each.task_class.id, np.array([99]), np.array([1])) for each in view.queued]
            return Decision(view.version, placements)

    with pytest.raises(RunFailed, match=r"overcommits failed: .*"):
        run(trace_of([(0, 10, 10, 1)]), Overcommits())
