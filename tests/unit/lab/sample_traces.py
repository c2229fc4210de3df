"""Small traces for tests, made up or drawn at random, and a plain simulator of batch schedulers to compare with."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from shunter.lab.trace import Trace, make_trace

# submit, run, estimate, cpus
Row = tuple[float, float, float, int]


def trace_of(rows: list[Row], users: list[str] | None = None) -> Trace:
    table = np.array(rows, np.float64)
    columns = {"submit_s": table[:, 0], "run_s": table[:, 1], "estimate_s": table[:, 2], "tasks": table[:, 3]}
    columns["cpu_milli"] = table[:, 3] * 1000
    return make_trace(columns, users or [""] * len(rows), [""] * len(rows), {"MaxProcs": "10"})


def draw_trace(seed: int, jobs: int, cpus: int) -> Trace:
    """Overloaded now and then, with equal times, so that ties matter."""
    rng = random.Random(seed)
    at_s, rows = 0.0, []
    for _ in range(jobs):
        at_s += rng.choice((0, 0, 1, 5, 20, 90))
        run_s = rng.choice((1, 5, 10, 10, 60, 300))
        rows.append((at_s, float(run_s), float(run_s * rng.choice((1, 1, 2, 10))), rng.randint(1, cpus)))
    return trace_of(rows)


@dataclass
class _Running:
    end_s: float
    expected_s: float
    cpus: int


def simulate_slowly(trace: Trace, cpus: int, policy: str) -> list[float]:
    """The start of each job on a pool of cpus: an event loop over plain lists, written from the papers."""
    size = len(trace)
    arrivals, pending, running = list(range(size)), list[int](), list[_Running]()
    starts = [-1.0] * size
    estimate, need = trace.estimate_s.tolist(), trace.tasks.tolist()

    def start(job: int, now_s: float) -> None:
        pending.remove(job)
        starts[job] = now_s
        running.append(_Running(now_s + float(trace.run_s[job]), now_s + estimate[job], need[job]))

    def free() -> int:
        return cpus - int(sum(each.cpus for each in running))

    while arrivals or pending or running:
        times = [each.end_s for each in running] + [float(trace.submit_s[job]) for job in arrivals[:1]]
        now_s = min(times)
        running[:] = [each for each in running if each.end_s > now_s]
        while arrivals and trace.submit_s[arrivals[0]] <= now_s:
            pending.append(arrivals.pop(0))
        if policy == "sjf":
            pending.sort(key=lambda job: (estimate[job], job))
        while pending and need[pending[0]] <= free():
            start(pending[0], now_s)
        if policy.startswith("easy") and pending:
            _backfill(pending, running, free, start, now_s, policy, estimate, need)
            pending.sort()
    return starts


def _backfill(pending, running, free, start, now_s, policy, estimate, need) -> None:  # type: ignore[no-untyped-def]
    head, available, shadow_s = pending[0], free(), now_s
    for each in sorted(running, key=lambda each: each.expected_s):
        available += each.cpus
        shadow_s = each.expected_s
        if available >= need[head]:
            break
    # all that end at the same time are gone by then
    available = free() + sum(each.cpus for each in running if each.expected_s <= shadow_s)
    extra = available - need[head]
    rest = pending[1:]
    if policy == "easy-sjbf":
        rest.sort(key=lambda job: (estimate[job], job))
    for job in rest:
        if need[job] > free():
            continue
        if now_s + estimate[job] <= shadow_s:
            start(job, now_s)
        elif need[job] <= extra:
            extra -= need[job]
            start(job, now_s)
