"""Kills or pauses random processes of a cluster, and restarts those that a supervisor would restart."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from typing import Protocol

from tests.e2e.cluster import Cluster, suppress_gone
from tests.e2e.remote import RemoteCluster, Worker

INTERVAL_MAX_S = 1.5
DOWNTIME_MAX_S = 1.0
WORKER_DOWNTIME_MAX_S = 3.5  # beyond the time-out, so that its tasks run elsewhere before it comes back with results
PAUSE_MAX_S = 3.0


class FaultTarget(Protocol):
    """A cluster that can be hurt. Each blow is named by what it does; it also repairs what a supervisor repairs."""

    faults: dict[str, Callable[[random.Random], None]]


class EmbeddedFaultTarget:
    """`shunter up`: the manager's process, which is the worker's too, and keepers."""

    def __init__(self, cluster: Cluster, options: tuple[str, ...]) -> None:
        self._cluster, self._options = cluster, options
        self.faults: dict[str, Callable[[random.Random], None]] = {
            "manager": self._manager,
            "keeper": lambda rng: kill_keepers(cluster, rng, all_of_them=False),
            "keepers": lambda rng: kill_keepers(cluster, rng, all_of_them=True),
            "manager and keepers": self._manager_and_keepers,
            "pause of the manager": lambda rng: pause(int(cluster.description["pid"]), rng),
            "pause of a keeper": lambda rng: pause_keeper(cluster, rng),
        }

    def _manager(self, rng: random.Random) -> None:
        self._cluster.kill_manager()
        time.sleep(rng.uniform(0, DOWNTIME_MAX_S))
        self._cluster.up(*self._options)

    def _manager_and_keepers(self, rng: random.Random) -> None:
        self._cluster.kill_manager()
        kill_keepers(self._cluster, rng, all_of_them=rng.random() < 0.5)
        self._cluster.up(*self._options)


class RemoteFaultTarget:
    """A manager, workers and their keepers, each on its own."""

    def __init__(self, remote: RemoteCluster) -> None:
        self._remote = remote
        self.faults: dict[str, Callable[[random.Random], None]] = {
            "manager": self._manager,
            "worker": self._worker,
            "keeper": self._keeper,
            "machine": self._machine,
            "pause of the manager": lambda rng: pause(int(remote.manager.description["pid"]), rng),
            "pause of a worker": lambda rng: pause(self._choose(rng).process.pid, rng),
            "pause of a keeper": lambda rng: pause_keeper(self._choose(rng).home, rng),
        }

    def _manager(self, rng: random.Random) -> None:
        self._remote.manager.kill_manager()
        time.sleep(rng.uniform(0, DOWNTIME_MAX_S))
        self._remote.start_manager()

    def _worker(self, rng: random.Random) -> None:
        worker = self._choose(rng)
        worker.kill()
        time.sleep(rng.uniform(0, WORKER_DOWNTIME_MAX_S))
        worker.start()

    def _keeper(self, rng: random.Random) -> None:
        kill_keepers(self._choose(rng).home, rng, all_of_them=rng.random() < 0.3)

    def _machine(self, rng: random.Random) -> None:
        worker = self._choose(rng)
        worker.kill_machine()
        time.sleep(rng.uniform(0, DOWNTIME_MAX_S))
        worker.start()

    def _choose(self, rng: random.Random) -> Worker:
        return self._remote.workers[rng.choice(sorted(self._remote.workers))]


def inject_faults(fault_target: FaultTarget, seconds: float, seed: int) -> dict[str, int]:
    """Strike at random for so long; says how often each blow fell."""
    rng = random.Random(seed)
    counts = dict.fromkeys(fault_target.faults, 0)
    deadline_s = time.monotonic() + seconds
    while time.monotonic() < deadline_s:
        time.sleep(rng.uniform(0, INTERVAL_MAX_S))
        fault = rng.choice(sorted(fault_target.faults))
        counts[fault] += 1
        fault_target.faults[fault](rng)
    return counts


def kill_keepers(cluster: Cluster, rng: random.Random, all_of_them: bool) -> None:
    keepers = cluster.keepers()
    for process in keepers if all_of_them else rng.sample(keepers, min(len(keepers), 1)):
        with suppress_gone():
            os.kill(process.pid, signal.SIGKILL)


def pause_keeper(cluster: Cluster, rng: random.Random) -> None:
    keepers = cluster.keepers()
    if keepers:
        pause(rng.choice(keepers).pid, rng)


def pause(pid: int, rng: random.Random) -> None:
    """As a machine that swaps, or a process that a debugger holds: long enough to be taken for dead, now and then."""
    with suppress_gone():
        os.kill(pid, signal.SIGSTOP)
        time.sleep(rng.uniform(0, PAUSE_MAX_S))
        os.kill(pid, signal.SIGCONT)
