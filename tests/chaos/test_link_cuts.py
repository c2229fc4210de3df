"""Links between the manager and its workers are cut, for moments and for longer than the time-out of a node."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chaos import campaign
from tests.chaos.campaign import LIMITS, run_campaign
from tests.chaos.network import Machine, Network, network
from tests.e2e.cluster import Cluster
from tests.e2e.remote import RemoteCluster, Worker

pytestmark = campaign.pytestmark

SHORT_CUT_MAX_S = 1.0  # within the time-out: nothing may run twice
LONG_CUT_MAX_S = 8.0  # its tasks run elsewhere before it comes back with results


class NamespacedWorker(Worker):
    def __init__(self, manager: Cluster, home: Cluster, name: str, options: tuple[str, ...], machine: Machine) -> None:
        super().__init__(manager, home, name, options)
        self.machine = machine

    def command(self) -> tuple[str, ...]:
        return (*self.machine.prefix, *super().command())


class NamespacedCluster(RemoteCluster):
    """The manager on this machine, and each worker in a network namespace of its own."""

    manager_options = ("--insecure",)

    def __init__(self, make_home: Callable[[], Cluster], network: Network) -> None:
        super().__init__(make_home, timeout="2s", limits=LIMITS)
        self._network = network
        self.address = network.manager_address

    def make_worker(self, name: str, home: Cluster, options: tuple[str, ...]) -> Worker:
        return NamespacedWorker(self.manager, home, name, options, self._network.add_machine())


class LinkFaults:
    def __init__(self, cluster: NamespacedCluster) -> None:
        self._machines = [worker.machine for worker in cluster.workers.values() if isinstance(worker, NamespacedWorker)]
        self.faults: dict[str, Callable[[random.Random], None]] = {
            "short cut": lambda rng: self._cut([rng.choice(self._machines)], rng.uniform(0, SHORT_CUT_MAX_S)),
            "long cut": lambda rng: self._cut([rng.choice(self._machines)], rng.uniform(0, LONG_CUT_MAX_S)),
            "cut of all": lambda rng: self._cut(self._machines, rng.uniform(0, LONG_CUT_MAX_S)),
        }

    def _cut(self, machines: list[Machine], seconds: float) -> None:
        for machine in machines:
            machine.cut()
        time.sleep(seconds)
        for machine in machines:
            machine.heal()


@pytest.fixture
def cluster(make_home: Callable[[], Cluster]) -> Iterator[NamespacedCluster]:
    with network() as opened:
        running = NamespacedCluster(make_home, opened)
        running.start_manager()
        for name in ("w1", "w2"):
            running.add_worker(name)
        yield running
        running.close()


@pytest.mark.smoke
def test_nothing_is_lost_when_links_are_cut(cluster: NamespacedCluster, tmp_path: Path) -> None:
    """R-13"""
    run_campaign("link cuts", cluster.manager, LinkFaults(cluster), tmp_path)
