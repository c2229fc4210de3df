"""A testbed with free slots, jobs, and the view that a Scheduling has of them: for tests of schedulings."""

from __future__ import annotations

from tests.unit.testbeds.memory_cluster import MemoryCluster, object_name


def build_cluster(*jobs: str, slots: int = 4) -> MemoryCluster:
    return MemoryCluster().with_nodes(slots).testbed().with_jobs(*jobs)


def progress(cluster: MemoryCluster, name: str = "s") -> list[str]:
    return [record.progress.wire_name for record in cluster.status(name).jobs]


def holds(cluster: MemoryCluster, name: str) -> list[str]:
    """Everything that a Scheduling has claimed."""
    jobs = [job.meta.name for job in cluster.jobs.values() if job.claim and job.claim.scheduling.name == name]
    testbeds = [
        testbed.meta.name for testbed in cluster.testbeds.values() if object_name(name) in testbed.status.claims
    ]
    return [*jobs, *testbeds]
