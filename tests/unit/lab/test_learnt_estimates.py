"""Learnt estimates: from similar jobs of the same user that have ended, and never from the future."""

from __future__ import annotations

import numpy as np

from shunter.lab.learnt_estimates import RunTimeHistory
from shunter.lab.nodes import build_nodes
from shunter.lab.run import run_policy
from shunter.lab.trace import Trace
from shunter.planning.batch.batch_policy import BATCH_POLICIES, BatchPolicy
from shunter.planning.view import ClusterView, Decision
from tests.unit.lab.sample_traces import draw_trace, trace_of


class Watched:
    """Notes the estimate with which each job is first seen, and the expected ends of running ones."""

    name, fast, wants = "watched", True, BatchPolicy.wants

    def __init__(self, policy: str = "easy") -> None:
        self._policy = BATCH_POLICIES[policy]()
        self.estimates: dict[int, float] = {}
        self.ends_s: list[tuple[float, float]] = []

    def decide(self, view: ClusterView, now: float, budget: int) -> Decision:
        for queued in view.queued:
            self.estimates.setdefault(queued.task_class.id, queued.estimate_s)
        assert view.running is not None
        self.ends_s += [(now, end_ms / 1000) for end_ms in view.running().end_ms.tolist()]
        return self._policy.decide(view, now, budget)


def learnt(trace: Trace) -> list[float]:
    policy = Watched()
    run_policy(trace, policy, build_nodes("pool:10", trace).hellos, learns=True)
    return [policy.estimates[class_id] for class_id in sorted(policy.estimates)]


def test_the_last_two_similar_jobs_of_the_user_count() -> None:
    """Each job has ended when the next one is submitted."""
    rows = [(0, 10, 100, 1), (200, 20, 100, 1), (400, 40, 100, 1), (600, 5, 100, 2), (800, 5, 50, 1), (1000, 9, 100, 1)]
    trace = trace_of([(float(at), float(run), float(estimate), cpus) for at, run, estimate, cpus in rows], ["ann"] * 6)
    # none; one; two of the same size; of the same estimate; of the same user; the last two of the first kind
    assert learnt(trace) == [100, 10, 15, 30, 22.5, 30]


def test_others_and_running_jobs_tell_nothing() -> None:
    trace = trace_of([(0, 10, 100, 1), (5, 10, 100, 1), (300, 10, 100, 1)], ["ann", "ann", "bob"])
    assert learnt(trace) == [100, 100, 100]


def test_no_more_is_expected_than_the_user_says() -> None:
    history = RunTimeHistory(trace_of([(0, 80, 90, 1), (200, 20, 30, 1)], ["ann", "ann"]))
    history.add(0)
    assert history.estimate_s(1) == 30


def test_estimates_do_not_depend_on_what_happens_later() -> None:
    """Whatever the run times of jobs that end after a submission are, its estimate stays the same."""
    trace = draw_trace(seed=11, jobs=60, cpus=10)
    trace.user[:] = [f"user-{row % 3}" for row in range(60)]
    result = run_policy(trace, Watched(), build_nodes("pool:10", trace).hellos, learns=True)
    before = learnt(trace)
    at_s = float(trace.submit_s[40])
    later = np.flatnonzero(result.end_s >= at_s)
    trace.run_s[later] = trace.estimate_s[later]
    submitted_before = int((trace.submit_s < at_s).sum())
    assert learnt(trace)[:submitted_before] == before[:submitted_before]
    assert len(set(before[:submitted_before])) > 5


def test_a_job_that_runs_longer_is_expected_to_run_as_its_user_said() -> None:
    """The second job was learnt to run 10 s. It runs 50 s, so the third, which sees it after 30 s, expects 100 s."""
    trace = trace_of([(0, 10, 100, 1), (20, 50, 100, 10), (50, 10, 100, 10)], ["ann"] * 3)
    trace.tasks[:] = 1
    trace.cpu_milli[:] = 10_000
    policy = Watched()
    run_policy(trace, policy, build_nodes("pool:10", trace).hellos, learns=True)
    assert 70.0 in [round(end_s - now, 3) for now, end_s in policy.ends_s]
