"""The everyday share of simulated worlds in which all jobs belong to a tenant, whose quotas change all the time."""

from __future__ import annotations

from collections import Counter

from shunter.simulation.world import NEIGHBOURS_FROM, TENANTS_FROM, simulate

NEIGHBOUR_SEEDS = 6
SEEDS = 20  # `make sim-ci` runs the next ones


def test_no_commit_exceeds_a_quota_and_every_job_ends() -> None:
    """D-51."""
    happened: Counter[str] = Counter()
    for seed in range(TENANTS_FROM, TENANTS_FROM + SEEDS):
        happened.update(simulate(seed).changes)
    assert happened["TenantSet"] > 2 * SEEDS
    assert happened["TasksPlaced"] > 10 * SEEDS


def test_a_tenant_is_told_nothing_of_another_while_users_and_keys_change() -> None:
    happened: Counter[str] = Counter()
    for seed in range(NEIGHBOURS_FROM, NEIGHBOURS_FROM + NEIGHBOUR_SEEDS):
        happened.update(simulate(seed).changes)
    kinds = ("UserSet", "KeySet", "KeyRevoked", "JoinTokenSet", "JoinTokenDropped")
    assert all(happened[kind] for kind in kinds), happened
