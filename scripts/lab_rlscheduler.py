"""The experiment of RLScheduler (Zhang, Dai, He, Bao and Xie, SC 2020): samples of a trace, and their kind of
backfilling. Used by `lab_reproduce`.

How its simulator (DIR-LAB/deep-batch-scheduler) differs from EASY:
- The first job that does not fit stays the first one until it starts, whatever is submitted meanwhile.
- It gets its reservation once, when it is found not to fit. Later ends and starts do not move it.
- Jobs behind it are tried in the order of submission. They start only if they end before the reservation: one that ends
  in the same second must wait, and nobody may use processors that the first job would leave free.
- Without backfilling, all wait for the first job."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np

from shunter.lab.metrics import bounded_slowdowns
from shunter.lab.nodes import build_nodes
from shunter.lab.run import RunResult, run_policy
from shunter.lab.trace import Trace
from shunter.planning.batch import orders
from shunter.planning.batch.batch_policy import BatchPolicy
from shunter.planning.batch.decision_pass import DecisionPass
from shunter.planning.batch.orders import JobFacts, Order
from shunter.planning.batch.pending_jobs import PendingJob
from shunter.planning.batch.releases import Releases

SAMPLES, SAMPLE_JOBS, SEED = 10, 1024, 1
ORDERS: dict[str, Order] = {"fcfs": orders.first_come, "sjf": orders.shortest_first, "f1": orders.f1}


def mean_slowdown(trace: Trace, policy: str, *, backfills: bool) -> float:
    """The mean over all samples of the mean bounded slowdown of their jobs."""
    trace = prepare(trace)
    starts = sample_starts(len(trace), SAMPLES, SAMPLE_JOBS, SEED)
    samples = [trace.select(np.arange(start, start + SAMPLE_JOBS)) for start in starts]
    return fmean(
        float(bounded_slowdowns(sample, run_sample(sample, policy, backfills=backfills)).mean()) for sample in samples
    )


def prepare(trace: Trace) -> Trace:
    """Jobs that ran, by their numbers. One without an estimate has its run time as estimate."""
    trace = trace.select(trace.run_s > 0)
    trace = trace.select(np.argsort(trace.number, kind="stable"))
    return replace(trace, estimate_s=np.where(trace.estimate_s > 0, trace.estimate_s, trace.run_s))


def sample_starts(jobs: int, samples: int, sample_jobs: int, seed: int) -> list[int]:
    """The first job of each sample, as Gym's random numbers of that time drew them: NumPy's Mersenne Twister, seeded
    with the first eight bytes of the SHA-512 of the seed."""
    words = struct.unpack("<2I", hashlib.sha512(str(seed).encode()).digest()[:8])
    rng = np.random.RandomState(list(words))
    return [int(rng.randint(sample_jobs, jobs - sample_jobs - 1)) for _ in range(samples)]


def run_sample(sample: Trace, policy: str, *, backfills: bool) -> RunResult:
    """Run the sample on an empty cluster of the trace's size."""
    order, submitted_s = ORDERS[policy], float(sample.submit_s[0] + sample.origin_s)

    def order_by_trace_time(job: JobFacts) -> float:
        """F1 looks at the time since the start of the trace, not of the sample."""
        return order(replace(job, submitted_s=job.submitted_s + submitted_s))

    scheduler = BatchPolicy(policy, order_by_trace_time, orders.first_come, lambda: CommittedHead(backfills))
    return run_policy(sample, scheduler, build_nodes(None, sample).hellos)


class CommittedHead:
    """The strategy of RLScheduler's simulator."""

    def __init__(self, backfills: bool) -> None:
        self._backfills = backfills
        self.memory: dict[str, Any] = {}  # the first job that waits, and when its reservation starts

    def run(self, decision_pass: DecisionPass) -> None:
        pending = decision_pass.pending
        jobs = [pending.job(slot) for slot in pending.in_order().tolist()]
        jobs.sort(key=lambda job: job.key != self.memory.get("head"))
        for job in jobs:
            _, is_waiting = decision_pass.try_start(job)
            if is_waiting:
                self._wait_for(job, decision_pass)
                return
            if decision_pass.decision.is_partial:
                return

    def _wait_for(self, head: PendingJob, decision_pass: DecisionPass) -> None:
        decision_pass.hold_all_nodes()
        if self.memory.get("head") != head.key:
            releases = Releases(decision_pass.view, decision_pass.now_ms, decision_pass.started)
            reservation = releases.reserve(head, decision_pass.free)
            self.memory = {"head": head.key, "start_ms": reservation.start_ms if reservation is not None else 0}
        if not self._backfills:
            return
        before_ms = self.memory["start_ms"] - decision_pass.now_ms
        done = {head.slot, *(each.job.slot for each in decision_pass.started)}
        for slot in decision_pass.pending.in_backfill_order().tolist():
            job = decision_pass.pending.job(slot)
            if slot not in done and job.estimate_ms < before_ms:
                tasks = decision_pass.affordable_count(job, decision_pass.admissible_count(job))
                decision_pass.start(job, tasks, decision_pass.free)
