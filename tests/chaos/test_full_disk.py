"""The disk of the manager or of a worker is full again and again: nothing acknowledged is lost, and reads are answered
all the time."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.chaos import campaign
from tests.chaos.campaign import LIMITS, run_campaign
from tests.chaos.disks import DiskFaults, small_disk
from tests.e2e.cluster import Cluster
from tests.e2e.remote import RemoteCluster

pytestmark = campaign.pytestmark

DISK = "64m"


@pytest.fixture
def remote(make_home: Callable[[], Cluster]) -> Iterator[RemoteCluster]:
    """Each home on a small disk of its own."""
    with ExitStack() as stack:

        def make() -> Cluster:
            made = make_home()
            stack.enter_context(small_disk(made.home, DISK))
            return made

        running = RemoteCluster(make, timeout="10s", limits=LIMITS)
        running.start_manager()
        for name in ("w1", "w2"):
            running.add_worker(name)
        yield running
        running.close()


@pytest.mark.smoke
def test_nothing_is_lost_and_reads_go_on_while_the_disk_is_full(remote: RemoteCluster, tmp_path: Path) -> None:
    reader = run_campaign("full disk", remote.manager, DiskFaults(remote.manager.home), tmp_path)
    assert set(reader.answers) == {"200"}, reader.texts[-20:]


class FullWorkers:
    """One worker at a time has a full disk: it opens no log, and writes down nothing of what it runs."""

    def __init__(self, remote: RemoteCluster) -> None:
        self.faults: dict[str, Callable[[random.Random], None]] = {
            f"full disk of {name}": DiskFaults(worker.home.home).fill for name, worker in remote.workers.items()
        }


@pytest.mark.smoke
def test_tasks_end_as_they_would_while_the_disk_of_their_worker_is_full(remote: RemoteCluster, tmp_path: Path) -> None:
    reader = run_campaign("full disk of a worker", remote.manager, FullWorkers(remote), tmp_path)
    assert set(reader.answers) == {"200"}, reader.texts[-20:]
