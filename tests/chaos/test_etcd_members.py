"""Five members of etcd under load: with two of them lost, writes go on; without a majority, writes stop, reads and
tasks go on, and nothing is lost."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from shunter import Client
from shunter.model.errors import Unavailable
from tests.chaos import campaign, checks
from tests.chaos.campaign import LIMITS, SECONDS, SEED, print_figures
from tests.chaos.epochs import expect_epochs_in_order, last_version
from tests.chaos.load import PATIENCE_S, Acknowledged, Load
from tests.manager_cluster import ManagerCluster, manager_cluster, shared_folder, wait_for

pytestmark = [*campaign.pytestmark, pytest.mark.smoke]

MEMBERS, MINORITY = 5, 2


@pytest.fixture
def folder() -> Iterator[Path]:
    with shared_folder() as folder:
        yield folder


@pytest.fixture
def cluster(folder: Path) -> Iterator[ManagerCluster]:
    with manager_cluster(folder, etcd_members=MEMBERS, config=LIMITS) as cluster:
        yield cluster


def test_a_minority_is_not_missed_and_without_a_majority_nothing_is_lost(cluster: ManagerCluster, folder: Path) -> None:
    """D-30, D-31."""
    load_folder = folder / "load"
    load_folder.mkdir()
    load_folder.chmod(0o777)
    rng = random.Random(SEED)
    acknowledged: list[Acknowledged] = []
    with ExitStack() as stack:

        def connect() -> Client:
            return stack.enter_context(cluster.client(patience_s=PATIENCE_S))

        load = Load(connect, load_folder, SEED)
        load.start()
        try:
            rounds, deadline_s = 0, time.monotonic() + SECONDS
            while rounds == 0 or time.monotonic() < deadline_s:
                rounds += 1
                lost = rng.sample(cluster.etcd.members, MINORITY + 1)
                for member in lost[:MINORITY]:
                    member.kill()
                acknowledged.append(run_job(cluster, f"minority-{rounds}"))
                lost[MINORITY].kill()
                expect_writes_stop_and_reads_go_on(cluster, rounds)
                for member in lost:
                    member.start()
                acknowledged.append(run_job(cluster, f"again-{rounds}"))
        finally:
            load.stop()
        acknowledged += load.acknowledged
        print_figures("members of etcd", rounds=rounds, acknowledged=len(acknowledged))
        client = connect()
        checks.expect_all_ended(client, acknowledged)
        checks.expect_no_job_twice(client, acknowledged)
        checks.expect_every_end_once(client, acknowledged)
        checks.expect_no_attempt_twice(load.ends())
        checks.expect_one_attempt_at_a_time(load.beats())
        checks.expect_successes_really_ran(client, load.acknowledged, load.ends())
        checks.expect_capacity_respected(client, load.spans())
        expect_epochs_in_order(cluster.postgres)


def run_job(cluster: ManagerCluster, name: str) -> Acknowledged:
    """A write that is acknowledged, and a task that starts after it."""
    with cluster.client() as client:
        job = client.run(["/bin/true"], name=name)
        assert job.wait(60).state == "succeeded"
        return Acknowledged(job.view.id, job.name, ["succeeded"])


def expect_writes_stop_and_reads_go_on(cluster: ManagerCluster, number: int) -> None:
    """The refused jobs are not there later either: `expect_no_job_twice` would find them."""
    wait_for(lambda: cluster.leader() == "", "the end of the lease")
    stopped_at = last_version(cluster.postgres)
    for name in cluster.managers:
        with cluster.client(name, patience_s=0) as client:
            assert client.job(f"minority-{number}").state == "succeeded"
            with pytest.raises(Unavailable):
                client.run(["/bin/true"], name=f"refused-{number}-{name}")
    assert last_version(cluster.postgres) == stopped_at
