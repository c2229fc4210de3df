"""The leader alone is cut off from PostgreSQL, while it has nothing to do: another manager leads, and requests are
accepted again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos import campaign
from tests.chaos.campaign import LIMITS, print_figures
from tests.chaos.manager_machines import MachinesCluster, machines_cluster
from tests.manager_cluster import shared_folder, wait_for

pytestmark = [*campaign.pytestmark, pytest.mark.smoke]

HANDED_OVER_MAX_S = 25.0  # it looks twice, for 5 s each; the machine is shared


@pytest.fixture
def folder() -> Iterator[Path]:
    with shared_folder() as folder:
        yield folder


@pytest.fixture
def cluster(folder: Path) -> Iterator[MachinesCluster]:
    with machines_cluster(folder, LIMITS, workers=1) as cluster:
        yield cluster


def test_an_idle_leader_that_is_cut_off_from_the_store_is_replaced(cluster: MachinesCluster) -> None:
    leader = cluster.wait_for_leader()
    postgres = cluster.addresses["PostgreSQL"]
    cluster.machines[leader].cut_from(postgres)
    began_s = time.monotonic()
    try:
        with cluster.client(patience_s=HANDED_OVER_MAX_S) as client:
            job = client.run(["true"], name="after-the-cut")
        accepted_s = time.monotonic() - began_s
        assert cluster.wait_for_leader() != leader
    finally:
        cluster.machines[leader].heal_from(postgres)
    print_figures("leader without its store", accepted_s=round(accepted_s, 1))
    with cluster.client() as client:
        assert client.job(f"id:{job.id}").wait().state == "succeeded"
    wait_for(lambda: len(cluster.find_managers(leader)) == len(cluster.managers), "the old leader as a follower")
    cluster.expect_running()
