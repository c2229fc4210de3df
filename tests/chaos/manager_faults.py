"""Faults of a cluster of several managers that need machines of its own: cut links, full disks, and Redis. Each fault
repairs itself."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Sequence

from tests.chaos.disks import DiskFaults
from tests.chaos.manager_machines import MachinesCluster
from tests.manager_cluster import TTL_S, wait_for

CUT_MAX_S = 8.0  # longer than the lease and than the time-out of a node, now and then
PAUSE_MAX_S = 2.5 * TTL_S
DOWNTIME_MAX_S = 3.0
Fault = Callable[[random.Random], None]


def machine_faults(cluster: MachinesCluster) -> dict[str, Fault]:
    return {**_link_faults(cluster), **_disk_faults(cluster), **_redis_faults(cluster)}


# ---- links ----


def _link_faults(cluster: MachinesCluster) -> dict[str, Fault]:
    def cut(names: Sequence[str], rng: random.Random) -> None:
        for name in names:
            cluster.machines[name].cut()
        time.sleep(rng.uniform(0, CUT_MAX_S))
        for name in names:
            cluster.machines[name].heal()

    def cut_from(name: str, address: str, rng: random.Random) -> None:
        cluster.machines[name].cut_from(address)
        time.sleep(rng.uniform(0, CUT_MAX_S))
        cluster.machines[name].heal_from(address)

    def leader(rng: random.Random) -> str:
        return cluster.leader() or rng.choice(cluster.managers)

    def leader_from_worker(rng: random.Random) -> None:
        cut_from(leader(rng), cluster.host_of(rng.choice(cluster.workers)), rng)

    def leader_from_manager(rng: random.Random) -> None:
        chosen = leader(rng)
        others = [name for name in cluster.managers if name != chosen]
        cut_from(chosen, cluster.host_of(rng.choice(others)), rng)

    faults: dict[str, Fault] = {
        "cut of the leader": lambda rng: cut([leader(rng)], rng),
        "cut of two managers": lambda rng: cut(rng.sample(cluster.managers, 2), rng),
        "cut of a worker": lambda rng: cut([rng.choice(cluster.workers)], rng),
        "cut of all workers": lambda rng: cut(cluster.workers, rng),
        "leader cut from a worker": leader_from_worker,
        "leader cut from a manager": leader_from_manager,
    }
    for server, address in cluster.addresses.items():

        def leader_from_server(rng: random.Random, address: str = address) -> None:
            cut_from(leader(rng), address, rng)

        faults[f"leader cut from {server}"] = leader_from_server
    return faults


# ---- disks ----


def _disk_faults(cluster: MachinesCluster) -> dict[str, Fault]:
    def fill_postgres(rng: random.Random) -> None:
        """PostgreSQL stops if it cannot write its log, and so its supervisor starts it again when there is space."""
        DiskFaults(cluster.postgres.data.parent).fill(rng)
        wait_for(lambda: cluster.postgres.is_answering() or cluster.postgres.has_ended(), "PostgreSQL")
        if cluster.postgres.has_ended():
            cluster.postgres.kill()
            cluster.postgres.start()

    def fill_manager(rng: random.Random) -> None:
        DiskFaults(cluster.home_of(cluster.leader() or rng.choice(cluster.managers))).fill(rng)

    def fill_worker(rng: random.Random) -> None:
        """Where it opens logs and keeps records of what runs. It goes on by itself when there is space."""
        DiskFaults(cluster.home_of(rng.choice(cluster.workers))).fill(rng)

    return {
        "full disk of PostgreSQL": fill_postgres,
        "full disk of the leader": fill_manager,
        "full disk of a worker": fill_worker,
    }


# ---- Redis ----


def _redis_faults(cluster: MachinesCluster) -> dict[str, Fault]:
    def restart(rng: random.Random) -> None:
        cluster.redis.kill()
        time.sleep(rng.uniform(0, DOWNTIME_MAX_S))
        cluster.redis.start()

    def pause(rng: random.Random) -> None:
        cluster.redis.send(signal.SIGSTOP)
        time.sleep(rng.uniform(0, PAUSE_MAX_S))
        cluster.redis.send(signal.SIGCONT)

    return {"Redis": restart, "pause of Redis": pause}
