"""Managers and workers of two versions on one store, as real processes: a rolling upgrade under load, the way back, and
the format that waits until every manager knows it. The older version is the first one with several managers."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from shunter import Client
from shunter.model.errors import Unavailable
from shunter.model.rest.manager_views import FOLLOWER, LEADER
from tests.chaos import checks
from tests.chaos.epochs import last_version
from tests.chaos.load import PATIENCE_S, Load
from tests.e2e.manifests import job
from tests.etcd_servers import EtcdServers, etcd_servers
from tests.manager_cluster import ManagerCluster, shared_folder, wait_for
from tests.managers.versions import (
    CURRENT,
    NEXT_VERSION,
    Version,
    current_format,
    install_oldest,
    make_next_version,
)
from tests.postgres_server import PostgresServer, running_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

WORKERS = ("w1", "w2")
CONFIG = "[limits]\nlost_max = 255\nquarantine_jobs = 0\n"
SETTLE_S = 30.0  # how long all managers must know a format before it is raised


class MixedCluster(ManagerCluster):
    """Each process runs the version that it was given last."""

    def __init__(self, folder: Path, postgres: PostgresServer, etcd: EtcdServers, version: Version) -> None:
        super().__init__(folder, postgres, etcd, 3, CONFIG)
        self.versions = dict.fromkeys([*self.managers, *WORKERS], version)

    def program_of(self, name: str) -> tuple[Path, dict[str, str]]:
        return self.versions[name].program, self.versions[name].variables

    def replace(self, name: str, version: Version) -> None:
        """Stop a process, and start another version in its home. Returns when it takes part again."""
        self.end(name)
        self.versions[name] = version
        self.start(name)
        if name in self.managers:
            wait_for(lambda: self.is_following(name), f"{name} to follow")
        else:
            self.wait_for_workers(len(WORKERS))

    def replace_managers(self, version: Version) -> None:
        """As docs/operations/upgrade.md says: one after the other, the leader last."""
        self.replace_followers(version)
        leader = self.wait_for_leader()
        self.step_down(leader)
        self.replace(leader, version)

    def replace_followers(self, version: Version) -> None:
        leader = self.wait_for_leader()
        for name in (name for name in self.managers if name != leader):
            self.replace(name, version)

    def step_down(self, leader: str) -> None:
        with self.client() as client:
            client.step_down()
        self.wait_for_leader(other_than=leader)

    def is_following(self, name: str) -> bool:
        self.expect_running()
        views = {view.name: view for view in self.find_managers(name)}
        is_known = len(views) == len(self.managers) and views[name].role in (FOLLOWER, LEADER)
        return is_known and all(view.lag_s is not None for view in views.values())


@pytest.fixture(scope="module")
def old() -> Version:
    return install_oldest()


@pytest.fixture
def folder() -> Iterator[Path]:
    with shared_folder() as folder:
        yield folder


@contextmanager
def mixed_cluster(folder: Path, version: Version) -> Iterator[MixedCluster]:
    with running_server() as postgres, etcd_servers(folder, 1) as etcd:
        cluster = MixedCluster(folder, postgres, etcd, version)
        try:
            cluster.start(*cluster.managers)
            cluster.wait_for_leader()
            cluster.start(*WORKERS)
            cluster.wait_for_workers(len(WORKERS))
            yield cluster
        finally:
            cluster.stop()


def expect_all_managers_work(cluster: MixedCluster) -> None:
    """A job that one manager accepts is shown by all."""
    for asked in cluster.managers:
        with cluster.client(asked) as client:
            run = client.run(["/bin/echo", asked])
            assert run.wait(60).state == "succeeded"
            assert "".join(run.logs()) == f"{asked}\n"


@pytest.mark.smoke
def test_a_rolling_upgrade_under_load_loses_nothing(folder: Path, old: Version) -> None:
    load_folder = folder / "load"
    load_folder.mkdir()
    load_folder.chmod(0o777)
    with mixed_cluster(folder, old) as cluster, ExitStack() as stack:

        def connect() -> Client:
            return stack.enter_context(cluster.client(patience_s=PATIENCE_S))

        load = Load(connect, load_folder, seed=1)
        load.start()
        try:
            cluster.replace_followers(CURRENT)
            cluster.replace_followers(old)  # and back: possible until the last manager is upgraded
            cluster.replace_managers(CURRENT)
            for name in WORKERS:
                cluster.replace(name, CURRENT)
        finally:
            load.stop()
        client = connect()
        checks.expect_all_ended(client, load.acknowledged)
        checks.expect_no_job_twice(client, load.acknowledged)
        checks.expect_every_end_once(client, load.acknowledged)
        checks.expect_no_attempt_twice(load.ends())
        checks.expect_one_attempt_at_a_time(load.beats())
        checks.expect_successes_really_ran(client, load.acknowledged, load.ends())
        checks.expect_capacity_respected(client, load.spans())
        expect_all_managers_work(cluster)


def test_what_is_new_waits_until_every_manager_knows_it(folder: Path, old: Version) -> None:
    """Then a manager that is too old does not start, says why, and changes nothing."""
    newer, format = make_next_version(folder), current_format() + 1
    with mixed_cluster(folder, old) as cluster, cluster.client() as client:
        waiting = client.submit(job("waiting", resources={"cpu": "1000"}))
        leader = cluster.wait_for_leader()
        last, *first = sorted(cluster.managers, key=lambda name: name == leader)
        for name in first:
            cluster.replace(name, newer)
        if cluster.wait_for_leader() == last:
            cluster.step_down(last)
        assert {view.name: view.version == NEXT_VERSION for view in client.managers()} == {
            name: name != last for name in cluster.managers
        }
        with cluster.client(patience_s=0) as impatient, pytest.raises(Unavailable, match="until every manager"):
            impatient.job("waiting").hold()
        expect_all_managers_work(cluster)

        cluster.replace(last, newer)
        wait_for(lambda: "cluster.format_raised" in types_of_events(client), "the next format", 2 * SETTLE_S)
        terms = waiting.hold().view.terms
        assert terms is not None and terms.held
        expect_all_managers_work(cluster)

        follower = next(name for name in cluster.managers if name != cluster.wait_for_leader())
        expect_refused(cluster, follower, old, f"the store has format {format}, and this Shunter reads up to")
        assert f"install Shunter {NEXT_VERSION} or newer here" in cluster.log_of(follower)
        cluster.versions[follower] = newer
        cluster.start(follower)
        wait_for(lambda: cluster.is_following(follower), f"{follower} to follow")


def test_a_manager_does_not_open_a_newer_schema(folder: Path, old: Version) -> None:
    with mixed_cluster(folder, old) as cluster:
        follower = next(name for name in cluster.managers if name != cluster.wait_for_leader())
        cluster.postgres.query("INSERT INTO schema_migrations (version, name) VALUES (9999, 'of-a-newer-one')")
        for version in (old, CURRENT):
            expect_refused(cluster, follower, version, "the store was written by a newer Shunter")
            cluster.versions[follower] = version
        cluster.postgres.query("DELETE FROM schema_migrations WHERE version = 9999")
        cluster.start(follower)
        wait_for(lambda: cluster.is_following(follower), f"{follower} to follow")


def types_of_events(client: Client) -> set[str]:
    return {event.type for event in client.events(namespace="*")}


def expect_refused(cluster: MixedCluster, name: str, version: Version, reason: str) -> None:
    """It ends by itself with an error, while the others go on."""
    if name in cluster.processes:
        cluster.end(name)
    said, before = len(cluster.log_of(name)), last_version(cluster.postgres)
    cluster.versions[name] = version
    cluster.start(name)
    process = cluster.processes.pop(name)
    try:
        assert process.wait(60) not in (0, -signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
    assert reason in cluster.log_of(name)[said:]
    assert last_version(cluster.postgres) == before
