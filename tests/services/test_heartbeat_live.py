"""Heartbeats of real clusters: the interval changes while they run, and a configured timeout is respected."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import pairwise

import pytest

from shunter import Client
from shunter.model.rest.cluster_views import EventView
from tests.e2e.cluster import Cluster, eventually
from tests.e2e.remote import TASK_USER

pytestmark = pytest.mark.services

TIMEOUT_S = 2.0
DOWN_LATE_MAX_S = 1.0
ROUNDED_S = 0.002  # times are told in whole milliseconds
TURN_MAX_S = 10.0  # for one heartbeat, on a machine that is busy with other things

MakeHome = Callable[[], Cluster]


@pytest.fixture
def make_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeHome]:
    homes: list[Cluster] = []

    def make() -> Cluster:
        homes.append(Cluster(tmp_path_factory.mktemp("home")))
        return homes[-1]

    yield make
    for home in homes:
        home.kill_all()


def seconds(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()


def gaps_s(client: Client, name: str, count: int) -> list[float]:
    """The time between one heartbeat and the next, so many times."""
    heard = [eventually(lambda: client.node(name).heard_at, "the first heartbeat", TURN_MAX_S)]
    for _ in range(count):
        heard.append(eventually(lambda: other_than(client.node(name).heard_at, heard[-1]), "a heartbeat", TURN_MAX_S))
    return [seconds(later) - seconds(earlier) for earlier, later in pairwise(heard)]


def other_than(found: str | None, known: str) -> str | None:
    return found if found != known else None


def test_the_interval_changes_while_the_cluster_runs(make_home: MakeHome) -> None:
    home = make_home()
    home.up()
    pid = home.description["pid"]
    with home.client() as client:
        [node] = client.nodes()
        started_at = client.cluster().started_at

        assert client.update_cluster({"heartbeat": "1s"}).heartbeat_s == 1.0
        assert max(gaps_s(client, node.name, 3)) < 2.0

        # The worker sends one at once when it is told, and the next after the new interval.
        assert client.update_cluster({"heartbeat": "3s"}).heartbeat_s == 3.0
        assert max(gaps_s(client, node.name, 2)) > 2.0

        assert (client.cluster().started_at, home.description["pid"]) == (started_at, pid)
        assert client.update_cluster({"heartbeat": "auto"}).heartbeat_s == 1.0
    home.down()
    home.expect_nothing_left()


def test_a_node_is_down_within_the_configured_timeout_and_a_second(make_home: MakeHome) -> None:
    manager, far = make_home(), make_home()
    (manager.home / "config.toml").write_text(f'[nodes]\ntimeout = "{TIMEOUT_S}s"\n')
    manager.shunter("manager", "--detach")
    address, token_file = manager.description["workers"], str(manager.home / "worker-token")
    worker = far.begin(
        *("worker", "--manager", address, "--token-file", token_file, "--name", "far", *TASK_USER),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with manager.client() as client:
        eventually(lambda: [node for node in client.nodes() if node.state == "ready"], "the node is ready")
        assert max(gaps_s(client, "far", 2)) < TIMEOUT_S
        assert any(process.is_keeper for process in far.processes())

        far.kill_all()
        worker.wait()
        down = eventually(lambda: find_event(client, "node.down"), "the node is down")

        silence_s = seconds(down.at) - seconds(client.node("far").heard_at or "")
        assert down.name == "far"
        assert TIMEOUT_S - ROUNDED_S <= silence_s <= TIMEOUT_S + DOWN_LATE_MAX_S
    manager.down()
    manager.expect_nothing_left()


def find_event(client: Client, type: str) -> EventView | None:
    return next((event for event in client.events() if event.type == type), None)
