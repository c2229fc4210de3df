"""Three managers and three workers in network namespaces, PostgreSQL, three members of etcd and Redis under faults and
load, as real processes: no acknowledged job is lost, nothing succeeds twice, no node has more tasks than it can, and a
manager that wakes up late changes nothing. SHUNTER_CHAOS_TASKS is the size of the largest array (100,000)."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from shunter import Client
from shunter.model.errors import ShunterError
from tests.chaos import campaign, checks
from tests.chaos.campaign import LIMITS, SECONDS, SEED, print_figures
from tests.chaos.epochs import expect_epochs_in_order
from tests.chaos.faults import inject_faults
from tests.chaos.load import PATIENCE_S, Load
from tests.chaos.manager_faults import machine_faults
from tests.chaos.manager_machines import MachinesCluster, machines_cluster
from tests.manager_cluster import TTL_S, ManagerCluster, shared_folder, wait_for

TASKS = int(os.environ.get("SHUNTER_CHAOS_TASKS", "100000"))
BULK_MAX_S = 120 + TASKS / 50  # until the largest array has ended, after the last fault

pytestmark = [
    pytest.mark.slow,
    pytest.mark.smoke,
    pytest.mark.timeout(campaign.SECONDS + campaign.SETTLE_MAX_S + BULK_MAX_S),
]

WORKERS = ("w1", "w2", "w3")
DOWNTIME_MAX_S = 3.0
PAUSE_MAX_S = 2.5 * TTL_S  # often longer than the lease


@pytest.fixture
def folder() -> Iterator[Path]:
    with shared_folder() as folder:
        yield folder


@pytest.fixture
def cluster(folder: Path) -> Iterator[MachinesCluster]:
    with machines_cluster(folder, LIMITS, workers=len(WORKERS)) as cluster:
        yield cluster


class ManagersFaultTarget:
    """Everything that may fail, one at a time. Each blow also repairs what a supervisor repairs."""

    def __init__(self, cluster: MachinesCluster) -> None:
        self._cluster = cluster
        self.faults: dict[str, Callable[[random.Random], None]] = {
            "leader": lambda rng: self._restart(cluster.leader() or rng.choice(cluster.managers), rng),
            "manager": lambda rng: self._restart(rng.choice(cluster.managers), rng),
            "worker": lambda rng: self._restart(rng.choice(WORKERS), rng),
            "two managers": self._two_managers,
            "pause of the leader": lambda rng: self._pause(cluster.leader() or rng.choice(cluster.managers), rng),
            "pause of a manager": lambda rng: self._pause(rng.choice(cluster.managers), rng),
            "pause of a worker": lambda rng: self._pause(rng.choice(WORKERS), rng),
            "step-down": self._step_down,
            "member of etcd": self._etcd_member,
            "pause of etcd": self._pause_etcd,
            "majority of etcd": self._etcd_majority,
            "PostgreSQL": self._postgres,
            **machine_faults(cluster),
        }

    def _restart(self, name: str, rng: random.Random) -> None:
        self._cluster.kill(name)
        time.sleep(rng.uniform(0, DOWNTIME_MAX_S))
        self._cluster.start(name)

    def _two_managers(self, rng: random.Random) -> None:
        names = rng.sample(self._cluster.managers, 2)
        for name in names:
            self._cluster.kill(name)
        time.sleep(rng.uniform(0, DOWNTIME_MAX_S))
        self._cluster.start(*names)

    def _pause(self, name: str, rng: random.Random) -> None:
        self._cluster.send(name, signal.SIGSTOP)
        time.sleep(rng.uniform(0, PAUSE_MAX_S))
        self._cluster.send(name, signal.SIGCONT)

    def _step_down(self, _rng: random.Random) -> None:
        try:
            with self._cluster.client(patience_s=0) as client:
                client.step_down()
        except ShunterError:
            pass  # nobody leads, or nobody else could

    def _etcd_member(self, rng: random.Random) -> None:
        member = rng.choice(self._cluster.etcd.members)
        member.kill()
        time.sleep(rng.uniform(0, DOWNTIME_MAX_S))
        member.start()

    def _pause_etcd(self, rng: random.Random) -> None:
        member = rng.choice(self._cluster.etcd.members)
        member.send(signal.SIGSTOP)
        time.sleep(rng.uniform(0, PAUSE_MAX_S))
        member.send(signal.SIGCONT)

    def _etcd_majority(self, rng: random.Random) -> None:
        members = rng.sample(self._cluster.etcd.members, 2)
        for member in members:
            member.kill()
        time.sleep(rng.uniform(0, 2 * TTL_S))
        for member in members:
            member.start()

    def _postgres(self, rng: random.Random) -> None:
        self._cluster.postgres.kill()
        time.sleep(rng.uniform(0, DOWNTIME_MAX_S))
        self._cluster.postgres.start()


def test_a_cluster_of_several_managers_keeps_its_word(cluster: MachinesCluster, folder: Path) -> None:
    """D-12 to D-14, D-30, D-56. Tasks run as another user if the test runs as root, and write to a folder."""
    folder = folder / "load"
    folder.mkdir()
    folder.chmod(0o777)
    with ExitStack() as stack:

        def connect() -> Client:
            return stack.enter_context(cluster.client(patience_s=PATIENCE_S))

        load = Load(connect, folder, SEED, bulk=TASKS)
        load.start()
        try:
            faults = inject_faults(ManagersFaultTarget(cluster), SECONDS, SEED + 1)
        finally:
            load.stop()
        print_figures("several managers", faults=sum(faults.values()), acknowledged=len(load.acknowledged), **faults)
        cluster.expect_running()
        client = connect()
        assert load.bulk is not None
        client.job(f"id:{load.bulk.id}").wait(BULK_MAX_S)
        checks.expect_all_ended(client, load.acknowledged)
        checks.expect_no_job_twice(client, load.acknowledged)
        checks.expect_every_end_once(client, load.acknowledged)
        checks.expect_no_attempt_twice(load.ends())
        checks.expect_one_attempt_at_a_time(load.beats())
        checks.expect_successes_really_ran(client, load.acknowledged[1:], load.ends())
        checks.expect_bulk_really_ran(client, load)
        checks.expect_capacity_respected(client, load.spans())
        expect_epochs_in_order(cluster.postgres)
        expect_managers_agree(cluster, Counter(job.view.state for job in client.jobs()))
        wait_for(lambda: is_idle(client), "all nodes to be ready and idle")


def expect_managers_agree(cluster: ManagerCluster, expected: Counter[str]) -> None:
    """Each manager, asked alone, shows the same jobs in the same states."""

    def states(name: str) -> Counter[str]:
        cluster.expect_running()
        with cluster.client(name) as client:
            return Counter(job.view.state for job in client.jobs())

    for name in cluster.managers:
        wait_for(lambda name=name: states(name) == expected, f"{name} to show the same jobs")  # type: ignore[misc]


def is_idle(client: Client) -> bool:
    nodes = client.nodes()
    return len(nodes) == len(WORKERS) and all(
        node.state == "ready" and node.tasks == 0 and set(node.reserved.values()) <= {"0"} for node in nodes
    )
