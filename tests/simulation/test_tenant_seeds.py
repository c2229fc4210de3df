"""The everyday share of simulated worlds in which all jobs belong to a tenant, whose quotas change all the time."""

from __future__ import annotations

from collections import Counter

from shunter.simulation.world import TENANTS_FROM, simulate

SEEDS = 20  # `make sim-ci` runs the next ones


def test_no_commit_exceeds_a_quota_and_every_job_ends() -> None:
    """D-51."""
    happened: Counter[str] = Counter()
    for seed in range(TENANTS_FROM, TENANTS_FROM + SEEDS):
        happened.update(simulate(seed).changes)
    assert happened["TenantSet"] > 2 * SEEDS
    assert happened["TasksPlaced"] > 10 * SEEDS
