"""RLScheduler's experiment: its backfilling starts every job when a plain simulator of the published rules does."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import pytest

from scripts.lab_rlscheduler import prepare, run_sample, sample_starts
from shunter.lab.trace import Trace
from tests.unit.lab.sample_traces import trace_of

CPUS = 10  # of trace_of


def draw_overloaded(seed: int, jobs: int = 120) -> Trace:
    """No two things happen at the same time: the simulator handles single events, the engine whole instants."""
    rng = random.Random(seed)
    at_s, rows = 0, []
    for number in range(jobs):
        at_s += rng.choice((7, 11, 40, 130))
        run_s = rng.choice((5, 20, 100, 400)) + rng.random()
        rows.append(
            (at_s + number / 1000, run_s, round(run_s * rng.choice((1, 1, 3)), 6), rng.choice((1, 2, 4, 7, 10)))
        )
    return trace_of(rows)


@dataclass
class Job:
    submit_s: float
    run_s: float
    estimate_s: float
    cpus: int
    start_s: float = -1.0


def simulate(trace: Trace, policy: str, backfills: bool) -> list[float]:
    """One event after the other over plain lists."""
    columns = trace.submit_s.tolist(), trace.run_s.tolist(), trace.estimate_s.tolist(), trace.tasks.tolist()
    jobs = [Job(*row) for row in zip(*columns, strict=True)]
    coming, queue, running, now_s = list(jobs), list[Job](), list[Job](), 0.0

    def free() -> int:
        return CPUS - sum(job.cpus for job in running)

    def start(job: Job) -> None:
        job.start_s = now_s
        queue.remove(job)
        running.append(job)

    def next_event() -> float:
        """A job comes or ends."""
        ending = min(running, key=lambda job: job.start_s + job.run_s, default=None)
        end_s = ending.start_s + ending.run_s if ending else math.inf
        if coming and coming[0].submit_s <= end_s:
            queue.append(coming.pop(0))
            return queue[-1].submit_s
        assert ending is not None
        running.remove(ending)
        return end_s

    def urgency(job: Job) -> tuple[float, float]:
        since_s = job.submit_s + trace.origin_s
        logarithms = math.log10(job.estimate_s) * job.cpus + 870 * math.log10(max(since_s, 1.0))
        return {"fcfs": 0.0, "sjf": job.estimate_s, "f1": logarithms}[policy], job.submit_s

    while queue or coming:
        if not queue:
            now_s = next_event()
            continue
        head = min(queue, key=urgency)
        shadow_s, available = now_s, free()
        for job in sorted(running, key=lambda job: job.start_s + job.estimate_s):
            shadow_s, available = job.start_s + job.estimate_s, available + job.cpus
            if available >= head.cpus:
                break
        while head.cpus > free():
            for job in sorted(queue, key=lambda job: job.submit_s) if backfills else ():
                if now_s + job.estimate_s < shadow_s and job.cpus <= free():
                    start(job)
            now_s = next_event()
        start(head)
    return [job.start_s for job in jobs]


@pytest.mark.parametrize("backfills", [False, True])
@pytest.mark.parametrize("policy", ["fcfs", "sjf", "f1"])
@pytest.mark.parametrize("seed", range(4))
def test_jobs_start_when_the_published_rules_start_them(seed: int, policy: str, backfills: bool) -> None:
    trace = draw_overloaded(seed)
    expected = simulate(trace, policy, backfills)
    assert run_sample(trace, policy, backfills=backfills).start_s.tolist() == pytest.approx(expected, abs=0.01)
    assert max(start_s - submit_s for start_s, submit_s in zip(expected, trace.submit_s, strict=True)) > 1_000


def test_a_job_that_would_end_with_the_reservation_waits() -> None:
    """EASY would start both small jobs: one ends at 100, and the other fits beside the second job anyway."""
    trace = trace_of([(0, 100, 100, 8), (1, 10, 10, 9), (10, 90, 90, 1), (12, 500, 500, 1), (20, 70, 70, 2)])
    assert run_sample(trace, "fcfs", backfills=True).start_s.tolist() == [0, 100, 100, 110, 20]


def test_a_shorter_job_does_not_replace_the_one_that_waits() -> None:
    trace = trace_of([(0, 100, 100, 8), (10, 50, 50, 8), (20, 10, 10, 8)])
    assert run_sample(trace, "sjf", backfills=False).start_s.tolist() == [0, 100, 150]


def test_f1_counts_time_from_the_start_of_the_trace() -> None:
    """At its start, F1 prefers what came first; late in it, what is short and small."""
    rows = [(0, 100, 100, 10), (1, 10, 10, 10), (5, 1000, 1000, 10), (9, 2, 2, 1)]
    for origin_s, last_start_s in ((0, 1110), (50_000_000, 110)):
        trace = trace_of([(at_s + origin_s, run_s, estimate_s, cpus) for at_s, run_s, estimate_s, cpus in rows])
        assert run_sample(trace, "f1", backfills=False).start_s[3] == last_start_s


def test_samples_lie_inside_the_trace_and_are_always_the_same() -> None:
    starts = sample_starts(10_000, 10, 1024, 1)
    assert len(set(starts)) == 10 and all(1024 <= start < 10_000 - 1025 for start in starts)
    assert starts == sample_starts(10_000, 10, 1024, 1) != sample_starts(10_000, 10, 1024, 2)


def test_jobs_without_an_estimate_have_their_run_time() -> None:
    trace = prepare(trace_of([(0, 100, -1, 8), (1, 0, 5, 9), (2, 10, 30, 9)]))
    assert trace.estimate_s.tolist() == [100, 30]
