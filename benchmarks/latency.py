"""One `/bin/true` from the SDK on a cluster at rest: from the submit until the client has seen the end.

Run: python -m benchmarks.latency
"""

from __future__ import annotations

import statistics
import time

import shunter
from benchmarks.cluster import cluster
from benchmarks.measure import Bar, Report, Sample, read_options

WARM_UPS, WARM_UPS_SMALL = 50, 5
RUNS, RUNS_SMALL = 500, 20
P50_MS = Bar(at_most=4.0)
P99_MS = Bar(at_most=10.0)


def main() -> None:
    options = read_options(__doc__)
    report = Report("latency", options)
    warm_ups, runs = (WARM_UPS_SMALL, RUNS_SMALL) if options.small else (WARM_UPS, RUNS)
    p50s_ms, p99s_ms = [], []
    with cluster(), shunter.connect() as client:
        for _ in range(warm_ups):
            run_once_ms(client)
        for _ in range(options.rounds):
            cuts_ms = statistics.quantiles([run_once_ms(client) for _ in range(runs)], n=100)
            p50s_ms.append(cuts_ms[49])
            p99s_ms.append(cuts_ms[98])
    report.figure(f"half of {runs} runs end within", "ms", Sample(tuple(p50s_ms)), P50_MS)
    report.figure(f"99 % of {runs} runs end within", "ms", Sample(tuple(p99s_ms)), P99_MS)


def run_once_ms(client: shunter.Client) -> float:
    begun = time.perf_counter()
    job = client.run_to_end(["/bin/true"])
    elapsed_ms = (time.perf_counter() - begun) * 1000
    assert job.state == "succeeded", job.state
    return elapsed_ms


if __name__ == "__main__":
    main()
