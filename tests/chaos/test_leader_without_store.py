"""PostgreSQL is away while the leader has nothing to do. If only the leader misses it, another manager leads, and
requests are accepted again. If all miss it, nobody hands over, and reads go on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shunter.model.errors import Unavailable
from tests.chaos import campaign
from tests.chaos.campaign import LIMITS, print_figures
from tests.chaos.manager_machines import MachinesCluster, machines_cluster
from tests.manager_cluster import shared_folder, wait_for

pytestmark = [*campaign.pytestmark, pytest.mark.smoke]

AWAY_S = 15.0  # longer than an idle leader looks for the store before it steps down
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
        with cluster.client(leader, patience_s=0) as client:
            assert [queue.name for queue in client.queues()] == ["default"], "as it was before the cut"
    finally:
        cluster.machines[leader].heal_from(postgres)
    print_figures("leader without its store", accepted_s=round(accepted_s, 1))
    with cluster.client() as client:
        assert client.job(f"id:{job.id}").wait().state == "succeeded"
    wait_for(lambda: len(cluster.find_managers(leader)) == len(cluster.managers), "the old leader as a follower")
    cluster.expect_running()


def test_while_no_manager_reaches_the_store_reads_go_on_and_nobody_hands_over(cluster: MachinesCluster) -> None:
    leader = cluster.wait_for_leader()
    with cluster.client() as client:
        job = client.run(["true"], name="before").wait()
        nodes = len(list(client.nodes()))
    term = leading_term(cluster)
    cluster.postgres.stop()
    try:
        deadline_s, reads = time.monotonic() + AWAY_S, 0
        while time.monotonic() < deadline_s:
            for name in cluster.managers:
                with cluster.client(name, patience_s=0) as client:
                    assert len(list(client.nodes())) == nodes, name
                    assert [queue.name for queue in client.queues()] == ["default"], name
                    reads += 1
        assert cluster.leader() == leader
        with cluster.client(leader, patience_s=0) as client, pytest.raises(Unavailable):
            client.run(["true"], name="refused")
    finally:
        cluster.postgres.start()
    with cluster.client(patience_s=HANDED_OVER_MAX_S) as client:
        assert client.run(["true"], name="after").wait().state == "succeeded"
        assert client.job(f"id:{job.id}").refresh().state == "succeeded"
    assert (cluster.wait_for_leader(), leading_term(cluster)) == (leader, term)
    print_figures("nobody reaches the store", reads=reads)
    cluster.expect_running()


def leading_term(cluster: MachinesCluster) -> str:
    return cluster.postgres.query("SELECT term FROM leadership")[0]
