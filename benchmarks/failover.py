"""How long a cluster of three managers is without a leader: from kill -9 of the leader, and from a planned step-down,
until a submit is acknowledged and its task has started. The physical limit is the lease: no other manager may lead
before it has ended. PostgreSQL, etcd, managers and workers are real processes on this machine.

Run: python -m benchmarks.failover"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import Bar, Report, Sample, read_options
from tests.manager_cluster import TTL_S, ManagerCluster, manager_cluster, wait_for

MEDIAN_S = Bar(at_most=3.0)
WORST_S = Bar(at_most=5.0)
STEP_DOWN_S = Bar(at_most=0.5)


@dataclass(frozen=True, slots=True)
class Size:
    kills: int
    step_downs: int


FULL = Size(kills=50, step_downs=20)
SMALL = Size(kills=2, step_downs=2)


def main() -> None:
    options = read_options(__doc__)
    report, size = Report("failover", options), SMALL if options.small else FULL
    with tempfile.TemporaryDirectory(prefix="shunter-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with manager_cluster(folder) as cluster:
            step_downs = [measure(cluster, step_down) for _ in range(size.step_downs)]
            kills = [measure(cluster, kill) for _ in range(size.kills)]
    found, lease = Sample(tuple(kills)), Sample((float(TTL_S),))
    report.figure(f"{size.kills} kills of the leader, median", "s", found, MEDIAN_S)
    report.figure(f"{size.kills} kills of the leader, worst", "s", Sample((max(kills),)), WORST_S)
    report.ratio("fail-over", found, "the lease", lease)
    report.figure("planned step-down, median", "s", Sample(tuple(step_downs)), STEP_DOWN_S)


def measure(cluster: ManagerCluster, end_lead: Callable[[ManagerCluster, str], None]) -> float:
    """Until a new job's task has started. Then the cluster is made whole again."""
    leader = cluster.wait_for_leader()
    with cluster.client() as client:
        client.run(["/bin/true"]).wait()  # connections are open
        began_s = time.monotonic()
        end_lead(cluster, leader)
        job = client.run(["/bin/true"])
        job.wait()
        seconds = time.monotonic() - began_s
    if leader not in cluster.processes:
        cluster.start(leader)
    wait_for(lambda: _is_whole(cluster), "three managers")
    cluster.wait_for_workers(2)
    return seconds


def kill(cluster: ManagerCluster, leader: str) -> None:
    cluster.kill(leader)


def step_down(cluster: ManagerCluster, leader: str) -> None:
    with cluster.client(leader) as client:
        client.step_down()


def _is_whole(cluster: ManagerCluster) -> bool:
    views = cluster.find_managers(cluster.managers[0])
    return len(views) == len(cluster.managers) and all(view.lag_s is not None for view in views)


if __name__ == "__main__":
    main()
