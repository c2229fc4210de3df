"""The manager's disk is full again and again: nothing acknowledged is lost, and reads are answered all the time."""

from __future__ import annotations

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
    """The manager on a small disk, and workers on the large one."""
    homes: list[Cluster] = []
    with ExitStack() as stack:

        def make() -> Cluster:
            homes.append(make_home())
            if len(homes) == 1:
                stack.enter_context(small_disk(homes[0].home, DISK))
            return homes[-1]

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
