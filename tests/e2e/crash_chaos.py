"""Who is struck next: processes of a cluster are killed with -9 or paused at random, and what a supervisor would start
again is started again."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from typing import Protocol

from tests.e2e.cluster import Cluster, suppress_gone
from tests.e2e.remote import RemoteCluster, Worker

CALM_MAX_S = 1.5
ABSENCE_MAX_S = 1.0
WORKER_ABSENCE_MAX_S = 3.5  # beyond the time-out, so that its tasks run elsewhere before it comes back with results
PAUSE_MAX_S = 3.0


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
            "pause of the manager": lambda chance: pause(int(cluster.description["pid"]), chance),
            "pause of a keeper": lambda chance: pause_keeper(cluster, chance),
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
            "pause of the manager": lambda chance: pause(int(remote.manager.description["pid"]), chance),
            "pause of a worker": lambda chance: pause(self._choose(chance).process.pid, chance),
            "pause of a keeper": lambda chance: pause_keeper(self._choose(chance).home, chance),
        }

    def _manager(self, chance: random.Random) -> None:
        self._remote.manager.kill_manager()
        time.sleep(chance.uniform(0, ABSENCE_MAX_S))
        self._remote.start_manager()

    def _worker(self, chance: random.Random) -> None:
        worker = self._choose(chance)
        worker.kill()
        time.sleep(chance.uniform(0, WORKER_ABSENCE_MAX_S))
        worker.start()

    def _keeper(self, chance: random.Random) -> None:
        kill_keepers(self._choose(chance).home, chance, all_of_them=chance.random() < 0.3)

    def _machine(self, chance: random.Random) -> None:
        worker = self._choose(chance)
        worker.kill_machine()
        time.sleep(chance.uniform(0, ABSENCE_MAX_S))
        worker.start()

    def _choose(self, chance: random.Random) -> Worker:
        return self._remote.workers[chance.choice(sorted(self._remote.workers))]


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


def pause_keeper(cluster: Cluster, chance: random.Random) -> None:
    keepers = [process for process in cluster.processes() if process.is_keeper]
    if keepers:
        pause(chance.choice(keepers).pid, chance)


def pause(pid: int, chance: random.Random) -> None:
    """As a machine that swaps, or a process that a debugger holds: long enough to be taken for dead, now and then."""
    with suppress_gone():
        os.kill(pid, signal.SIGSTOP)
        time.sleep(chance.uniform(0, PAUSE_MAX_S))
        os.kill(pid, signal.SIGCONT)
