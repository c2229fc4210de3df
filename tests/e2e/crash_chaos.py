"""Who is killed next: processes of a cluster at random, with kill -9, and whatever a supervisor would start again."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from typing import Protocol

from tests.e2e.cluster import Cluster, suppress_gone
from tests.e2e.remote import RemoteCluster

CALM_MAX_S = 1.5
ABSENCE_MAX_S = 1.0


class Victims(Protocol):
    """A cluster that can be hurt. Each blow is named by what it does; it also repairs what a supervisor repairs."""

    blows: dict[str, Callable[[random.Random], None]]


class EmbeddedVictims:
    """`shunter up`: the manager's process, which is the worker's too, and keepers."""

    def __init__(self, cluster: Cluster, options: tuple[str, ...]) -> None:
        self._cluster, self._options = cluster, options
        self.blows: dict[str, Callable[[random.Random], None]] = {
            "manager": self._manager,
            "keeper": lambda chance: kill_keepers(cluster, chance, all_of_them=False),
            "keepers": lambda chance: kill_keepers(cluster, chance, all_of_them=True),
            "manager and keepers": self._manager_and_keepers,
        }

    def _manager(self, chance: random.Random) -> None:
        self._cluster.kill_manager()
        time.sleep(chance.uniform(0, ABSENCE_MAX_S))
        self._cluster.up(*self._options)

    def _manager_and_keepers(self, chance: random.Random) -> None:
        self._cluster.kill_manager()
        kill_keepers(self._cluster, chance, all_of_them=chance.random() < 0.5)
        self._cluster.up(*self._options)


class RemoteVictims:
    """A manager, workers and their keepers, each on its own."""

    def __init__(self, remote: RemoteCluster) -> None:
        self._remote = remote
        self.blows: dict[str, Callable[[random.Random], None]] = {
            "manager": self._manager,
            "worker": self._worker,
            "keeper": self._keeper,
            "machine": self._machine,
        }

    def _manager(self, chance: random.Random) -> None:
        self._remote.manager.kill_manager()
        time.sleep(chance.uniform(0, ABSENCE_MAX_S))
        self._remote.start_manager()

    def _worker(self, chance: random.Random) -> None:
        worker = self._remote.workers[chance.choice(sorted(self._remote.workers))]
        worker.kill()
        time.sleep(chance.uniform(0, ABSENCE_MAX_S))
        worker.start()

    def _keeper(self, chance: random.Random) -> None:
        worker = self._remote.workers[chance.choice(sorted(self._remote.workers))]
        kill_keepers(worker.home, chance, all_of_them=chance.random() < 0.3)

    def _machine(self, chance: random.Random) -> None:
        worker = self._remote.workers[chance.choice(sorted(self._remote.workers))]
        worker.kill_machine()
        time.sleep(chance.uniform(0, ABSENCE_MAX_S))
        worker.start()


def rage(victims: Victims, seconds: float, seed: int) -> dict[str, int]:
    """Strike at random for so long; says how often each blow fell."""
    chance = random.Random(seed)
    struck = dict.fromkeys(victims.blows, 0)
    deadline_s = time.monotonic() + seconds
    while time.monotonic() < deadline_s:
        time.sleep(chance.uniform(0, CALM_MAX_S))
        blow = chance.choice(sorted(victims.blows))
        struck[blow] += 1
        victims.blows[blow](chance)
    return struck


def kill_keepers(cluster: Cluster, chance: random.Random, all_of_them: bool) -> None:
    keepers = [process for process in cluster.processes() if process.is_keeper]
    for process in keepers if all_of_them else chance.sample(keepers, min(len(keepers), 1)):
        with suppress_gone():
            os.kill(process.pid, signal.SIGKILL)
