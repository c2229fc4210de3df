"""Several managers and workers, each in a network namespace of its own; PostgreSQL on a small disk, etcd and Redis on
this machine, each with an address of its own. Needs root."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.chaos.disks import small_disk
from tests.chaos.network import Machine, network
from tests.etcd_servers import EtcdServers, etcd_servers
from tests.machine_limits import NO_ROOT
from tests.manager_cluster import ManagerCluster
from tests.postgres_server import QUICK, PostgresServer
from tests.redis_server import RedisServer, redis_server

POSTGRES_DISK, HOME_DISK = "768m", "64m"
POSTGRES_SETTINGS = {**QUICK, "max_wal_size": "128MB"}
# No limit is reached, but every request asks for a token.
API = '[api]\nrequests_per_s = 100000\nlimits = "{redis}"\n'
# Cut links are noticed soon, so that they matter in a campaign of seconds.
NODES = '[nodes]\nheartbeat = "500ms"\ntimeout = "4s"\n'


@dataclass(frozen=True, slots=True)
class Servers:
    postgres: PostgresServer
    etcd: EtcdServers
    redis: RedisServer
    addresses: Mapping[str, str]  # server -> its address


class MachinesCluster(ManagerCluster):
    """A cluster whose links can be cut. Homes are on small disks."""

    def __init__(self, folder: Path, servers: Servers, machines: Mapping[str, Machine], config: str) -> None:
        managers = [name for name in machines if name.startswith("m")]
        super().__init__(folder, servers.postgres, servers.etcd, len(managers), config)
        self.machines, self.redis, self.addresses = machines, servers.redis, servers.addresses
        self.workers = [name for name in machines if name not in managers]

    def host_of(self, name: str) -> str:
        return self.machines[name].address

    def prefix_of(self, name: str) -> tuple[str, ...]:
        return self.machines[name].prefix

    def home_of(self, name: str) -> Path:
        return self._folder / name

    def _manager_words(self, name: str) -> list[str]:
        return [*super()._manager_words(name), "--insecure"]


@contextmanager
def machines_cluster(
    folder: Path, config: str, managers: int = 3, workers: int = 3, etcd_members: int = 3
) -> Iterator[MachinesCluster]:
    if os.geteuid() != 0:
        pytest.skip(f"{NO_ROOT}: network namespaces and small disks")
    names = [f"m{number + 1}" for number in range(managers)]
    with network() as wires:
        addresses = {server: wires.add_server_address() for server in ("PostgreSQL", "etcd", "Redis")}
        machines = {name: wires.add_machine() for name in [*names, *(f"w{number + 1}" for number in range(workers))]}
        with (
            _postgres_on_small_disk(addresses["PostgreSQL"]) as postgres,
            etcd_servers(folder, etcd_members, host=addresses["etcd"]) as etcd,
            redis_server(folder, ("--protected-mode", "no"), host=addresses["Redis"]) as redis,
            _small_homes(folder, list(machines)),
        ):
            servers = Servers(postgres, etcd, redis, addresses)
            cluster = MachinesCluster(folder, servers, machines, config + NODES + API.format(redis=redis.url))
            try:
                cluster.start(*cluster.managers)
                cluster.wait_for_leader()
                cluster.start(*cluster.workers)
                cluster.wait_for_workers(workers)
                yield cluster
            finally:
                cluster.stop()


@contextmanager
def _postgres_on_small_disk(host: str) -> Iterator[PostgresServer]:
    server = PostgresServer(POSTGRES_SETTINGS, host)
    disk = server.folder / "disk"
    disk.mkdir()
    try:
        with small_disk(disk, POSTGRES_DISK, mode="755"):
            subprocess.run(["cp", "-a", str(server.data), str(disk / "data")], check=True)
            server.data = disk / "data"
            try:
                server.start()
                yield server
            finally:
                server.stop()
    finally:
        server.remove()


@contextmanager
def _small_homes(folder: Path, names: list[str]) -> Iterator[None]:
    if not names:
        yield
        return
    (folder / names[0]).mkdir()
    with small_disk(folder / names[0], HOME_DISK), _small_homes(folder, names[1:]):
        yield
