"""kill -9 and pauses of random managers, workers and keepers under load: everything acknowledged is still completed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chaos import campaign
from tests.chaos.campaign import LIMITS, run_campaign
from tests.chaos.faults import EmbeddedFaultTarget, RemoteFaultTarget
from tests.e2e.cluster import Cluster
from tests.e2e.remote import RemoteCluster

pytestmark = [*campaign.pytestmark, pytest.mark.smoke]

UP = ("--cpu", "2")


@pytest.fixture
def remote(make_home: Callable[[], Cluster]) -> Iterator[RemoteCluster]:
    running = RemoteCluster(make_home, timeout="1s", limits=LIMITS)
    running.start_manager()
    for name in ("w1", "w2"):
        running.add_worker(name)
    yield running
    running.close()


def test_an_embedded_cluster_keeps_its_word(home: Cluster, tmp_path: Path) -> None:
    """R-12, C-12, D-25, D-15: manager and keepers are killed; nothing is lost, recorded twice, leaked or left."""
    (home.home / "config.toml").write_text(LIMITS)
    home.up(*UP)
    run_campaign("kills, embedded", home, EmbeddedFaultTarget(home, UP), tmp_path)
    home.down()
    home.expect_nothing_left()


def test_a_cluster_of_several_processes_keeps_its_word(remote: RemoteCluster, tmp_path: Path) -> None:
    """R-09, R-12, R-13, C-17: manager, workers, keepers and whole machines are killed, and workers come back."""
    run_campaign("kills, several processes", remote.manager, RemoteFaultTarget(remote), tmp_path)
