"""Real clusters for end-to-end tests. Each has its own home and must leave nothing behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.task_gates import Gate


@pytest.fixture(scope="module")
def shared_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One cluster of two cores for all stories of a module."""
    running = Cluster(tmp_path_factory.mktemp("home"))
    running.up("--cpu", "2")
    yield running
    leave_nothing(running)


@pytest.fixture
def cluster(shared_cluster: Cluster) -> Iterator[Cluster]:
    """The module's cluster; what a story leaves unfinished is ended, so that no other story waits behind it."""
    yield shared_cluster
    shared_cluster.stop_everything()


@pytest.fixture
def home(make_home: Callable[[], Cluster]) -> Cluster:
    """A home in which nothing runs yet; the story starts and stops what it wants."""
    return make_home()


@pytest.fixture
def make_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Cluster]]:
    """Further homes, for stories of several clusters."""
    homes: list[Cluster] = []

    def make() -> Cluster:
        homes.append(Cluster(tmp_path_factory.mktemp("home")))
        return homes[-1]

    yield make
    for each in homes:
        leave_nothing(each)


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path)


def leave_nothing(cluster: Cluster) -> None:
    """Down, however the story went, and no process is left."""
    try:
        cluster.down()
        cluster.expect_nothing_left()
    finally:
        cluster.kill_all()
