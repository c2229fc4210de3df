"""A leader is stopped again and again under load, and wakes up when another one leads: it changes nothing, and
acknowledges nothing that is not there."""

from __future__ import annotations

import http.client
import json
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from shunter import Client
from shunter.model.rest.manager_views import FOLLOWER, LEADER
from tests.chaos import campaign, checks
from tests.chaos.campaign import LIMITS, SECONDS, SEED, print_figures
from tests.chaos.epochs import current_epoch, expect_epochs_in_order
from tests.chaos.load import PATIENCE_S, Acknowledged, Load
from tests.e2e.manifests import job
from tests.manager_cluster import TOKEN, ManagerCluster, manager_cluster, shared_folder, wait_for

pytestmark = [*campaign.pytestmark, pytest.mark.smoke]

LATE_REQUESTS = 5


@pytest.fixture
def folder() -> Iterator[Path]:
    with shared_folder() as folder:
        yield folder


@pytest.fixture
def cluster(folder: Path) -> Iterator[ManagerCluster]:
    with manager_cluster(folder, config=LIMITS) as cluster:
        yield cluster


def test_a_stopped_leader_that_wakes_changes_nothing(cluster: ManagerCluster, folder: Path) -> None:
    """D-13, D-31."""
    load_folder = folder / "load"
    load_folder.mkdir()
    load_folder.chmod(0o777)
    late: list[Acknowledged] = []
    with ExitStack() as stack:

        def connect() -> Client:
            return stack.enter_context(cluster.client(patience_s=PATIENCE_S))

        load = Load(connect, load_folder, SEED)
        load.start()
        try:
            rounds, deadline_s = 0, time.monotonic() + SECONDS
            while rounds < 2 or time.monotonic() < deadline_s:
                rounds += 1
                late += stop_and_wake(cluster, rounds)
        finally:
            load.stop()
        acknowledged = load.acknowledged + late
        print_figures("woken leaders", rounds=rounds, acknowledged=len(acknowledged), by_woken_leaders=len(late))
        client = connect()
        checks.expect_all_ended(client, acknowledged)
        checks.expect_no_job_twice(client, acknowledged)
        checks.expect_every_end_once(client, acknowledged)
        checks.expect_no_attempt_twice(load.ends())
        checks.expect_one_attempt_at_a_time(load.beats())
        checks.expect_successes_really_ran(client, load.acknowledged, load.ends())
        checks.expect_capacity_respected(client, load.spans())
        expect_epochs_in_order(cluster.postgres)


def stop_and_wake(cluster: ManagerCluster, number: int) -> list[Acknowledged]:
    """Stop the leader, wake it when another one leads, and return what it acknowledged then. It finds requests that
    came while it was stopped: it may pass them on to its successor or refuse them, but not answer them by itself."""
    leader = cluster.wait_for_leader()
    others = [name for name in cluster.managers if name != leader]
    cluster.send(leader, signal.SIGSTOP)
    try:
        requests = [send_submit(cluster.url_of(leader), f"late-{number}-{each}") for each in range(LATE_REQUESTS)]
        wait_for(lambda: finds_other_leader(cluster, others[0], leader), "another leader")
        epoch = current_epoch(cluster.postgres)
    finally:
        cluster.send(leader, signal.SIGCONT)
    acknowledged = []
    for connection in requests:
        answer = connection.getresponse()
        body = json.load(answer)
        assert answer.status in (201, 503), body
        if answer.status == 201:
            acknowledged.append(Acknowledged(body["id"], body["name"], ["succeeded"]))
        connection.close()
    wait_for(
        lambda: role_of(cluster, leader) == FOLLOWER or current_epoch(cluster.postgres) > epoch,
        "the old leader to follow, unless it was elected again",
    )
    return acknowledged


def send_submit(url: str, name: str) -> http.client.HTTPConnection:
    """A stopped process has open ports: its machine accepts the connection and the request."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=60)
    headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
    connection.request("POST", "/api/v1/jobs", json.dumps(job(name)), headers)
    return connection


def finds_other_leader(cluster: ManagerCluster, asked: str, leader: str) -> bool:
    views = cluster.find_managers(asked)
    return any(view.role == LEADER and view.name != leader and view.lag_s is not None for view in views)


def role_of(cluster: ManagerCluster, name: str) -> str:
    return next((view.role for view in cluster.find_managers(name) if view.name == name), "")
