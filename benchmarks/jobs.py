"""10,000 one-task jobs of `/bin/true` on two lanes, from submit to all ended, against Huey and Dramatiq on Redis; and
the manager's memory for each of 100,000 queued jobs. Run: python -m benchmarks.jobs
"""

from __future__ import annotations

import time
from functools import partial
from itertools import count

import shunter
from benchmarks.cluster import Cluster, cluster
from benchmarks.measure import Bar, Report, Sample, interleave, read_options
from benchmarks.peers import peers

JOBS, JOBS_SMALL = 10_000, 300
QUEUED, QUEUED_SMALL = 100_000, 2_000
SUBMIT_MAX = 10_000  # jobs in one bulk submit
POLL_S = 0.02
AHEAD = Bar(at_least=1.0)
RATE = Bar(at_least=1600)
QUEUED_JOB_BYTES = Bar(at_most=2048)
SPEC: dict[str, object] = {"command": ["/bin/true"], "resources": {"cpu": "1"}}
NEVER_PLACED = "1000"  # more cores than the cluster has


def main() -> None:
    options = read_options(__doc__)
    report = Report("jobs", options)
    jobs = JOBS_SMALL if options.small else JOBS
    with cluster(), peers() as others, shunter.connect() as client:
        numbers = count()
        contenders = {"shunter": lambda: run_jobs(client, jobs, f"round-{next(numbers)}")}
        contenders |= {name: partial(run, jobs) for name, run in others.items()}
        rates = interleave(contenders, options.rounds)
    for name, sample in rates.items():
        report.figure(f"{jobs:,} one-task jobs with {name}", "jobs/s", sample, RATE if name == "shunter" else None)
    for name in others:
        report.ratio("rate of jobs", rates["shunter"], name, rates[name], AHEAD)
    with cluster() as ours:
        queued = QUEUED_SMALL if options.small else QUEUED
        sample = Sample((queued_job_bytes(ours, queued),))
        report.figure(f"the manager's memory with {queued:,} queued jobs", "bytes a job", sample, QUEUED_JOB_BYTES)


def run_jobs(client: shunter.Client, jobs: int, prefix: str, rows: int = 0) -> float:
    """Jobs per second from the submit to the end of the last one. With `rows`, each waits for the end of the one that
    is so many before it: no more are under way, and no lane is given the next one ahead of time."""
    manifests = [manifest(f"{prefix}-{number}") for number in range(jobs)]
    if rows:
        for number, job in enumerate(manifests[rows:]):
            job["spec"] = {**SPEC, "after": [{"job": f"{prefix}-{number}"}]}
    begun = time.perf_counter()
    client.submit_many(manifests)
    client.job(
        f"{prefix}-{jobs - 1}"
    ).wait()  # the last one first, because asking for all of them costs the manager time
    while client.cluster().jobs:
        time.sleep(POLL_S)
    rate = jobs / (time.perf_counter() - begun)
    assert not list(client.jobs(states=["failed", "cancelled"], limit=1)), "a job did not succeed"
    return rate


def queued_job_bytes(ours: Cluster, jobs: int) -> float:
    """How much the manager grows by one queued job, when nothing can be placed."""
    with shunter.connect() as client:
        submit_queued(client, "warm-up", 1000)
        before = ours.manager().memory_full_info().pss
        submit_queued(client, "queued", jobs)
        return float(ours.manager().memory_full_info().pss - before) / jobs


def submit_queued(client: shunter.Client, prefix: str, jobs: int) -> None:
    for first in range(0, jobs, SUBMIT_MAX):
        last = min(first + SUBMIT_MAX, jobs)
        client.submit_many([manifest(f"{prefix}-{number}", cpu=NEVER_PLACED) for number in range(first, last)])


def manifest(name: str, cpu: str = "1") -> dict[str, object]:
    spec = {**SPEC, "resources": {"cpu": cpu}}
    return {"apiVersion": "shunter.dev/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


if __name__ == "__main__":
    main()
