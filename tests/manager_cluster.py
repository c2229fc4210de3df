"""A cluster of several managers and workers as real processes on loopback, with a private PostgreSQL and etcd. Used by
tests/managers and by benchmarks. All its processes are ended by their ids."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from shunter.model.errors import ShunterError
from shunter.model.rest.manager_views import API, LEADER, WATCHER, ManagerView
from shunter.sdk.client import Client, connect
from tests.etcd_servers import EtcdServers, etcd_servers, free_ports
from tests.postgres_server import PostgresServer, running_server

TOKEN, WORKER_TOKEN = "manager-cluster-token-0123456789", "manager-cluster-worker-0123456789"
SHUNTER = Path(sys.executable).parent / "shunter"
WAIT_MAX_S = 120.0
TTL_S = 2


class ManagerCluster:
    """`start` and `kill` take the name of a process: m1, m2, ... are managers, w1, w2, ... workers. `roles` names other
    managers, with the roles of each: {"api1": "api"}."""

    def __init__(
        self,
        folder: Path,
        postgres: PostgresServer,
        etcd: EtcdServers,
        managers: int,
        config: str,
        roles: dict[str, str] | None = None,
    ) -> None:
        self._folder, self.postgres, self.etcd, self._config = folder, postgres, etcd, config
        self._roles = {f"m{number}": "" for number in range(1, managers + 1)} | (roles or {})
        self.managers = list(self._roles)
        ports = iter(free_ports(2 * len(self.managers)))
        self._ports = {name: (next(ports), next(ports)) for name in self.managers}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def url(self) -> str:
        """Of all managers that serve clients."""
        return ",".join(self.url_of(name) for name in self.with_role(API))

    def url_of(self, manager: str) -> str:
        return f"http://{self.host_of(manager)}:{self._ports[manager][0]}"

    def with_role(self, role: str) -> list[str]:
        return [name for name, roles in self._roles.items() if not roles or role in roles.split(",")]

    def client(self, *managers: str, patience_s: float = 30.0) -> Client:
        """Of these managers; of all that serve clients, if none is named."""
        url = ",".join(self.url_of(name) for name in managers or self.with_role(API))
        return connect(url, TOKEN, patience_s=patience_s)

    # ---- machines ----

    def host_of(self, name: str) -> str:  # noqa: ARG002
        """The address at which a process listens."""
        return "127.0.0.1"

    def workers_host_of(self, name: str) -> str:
        """Where a manager listens for workers: not where it listens for clients, to see that each address is told."""
        return self.host_of(name).replace("127.0.0.1", "127.0.0.2")

    def prefix_of(self, name: str) -> tuple[str, ...]:  # noqa: ARG002
        """What runs a command on the machine of a process."""
        return ()

    def program_of(self, name: str) -> tuple[Path, dict[str, str]]:  # noqa: ARG002
        """The `shunter` that a process runs, and the variables that it needs."""
        return SHUNTER, {}

    # ---- processes ----

    def start(self, *names: str) -> None:
        for name in names:
            home = self._folder / name
            home.mkdir(mode=0o700, exist_ok=True)
            for secret, text in (("token", TOKEN), ("worker-token", WORKER_TOKEN)):
                (home / secret).write_text(text)
                (home / secret).chmod(0o600)
            (home / "config.toml").write_text(self._config if name in self._ports else "")
            words = self._manager_words(name) if name in self._ports else self._worker_words(name)
            with (self._folder / f"{name}.log").open("ab") as log:
                program, variables = self.program_of(name)
                command = [*self.prefix_of(name), str(program), *words]
                environment = {**os.environ, **variables, "SHUNTER_HOME": str(home)}
                self.processes[name] = subprocess.Popen(command, stdout=log, stderr=log, env=environment)

    def send(self, name: str, number: signal.Signals) -> None:
        self.processes[name].send_signal(number)

    def kill(self, name: str) -> None:
        """kill -9."""
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def end(self, name: str) -> None:
        """As a supervisor ends it: with SIGTERM."""
        process = self.processes.pop(name)
        process.terminate()
        assert process.wait(WAIT_MAX_S) == 0, f"{name} ended with {process.returncode}:\n{self.log_of(name)[-3000:]}"

    def stop(self) -> None:
        for process in self.processes.values():
            process.send_signal(signal.SIGCONT)
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._end_keepers()

    def log_of(self, name: str) -> str:
        return (self._folder / f"{name}.log").read_text(errors="replace")

    def expect_running(self) -> None:
        """No process has ended by itself."""
        for name, process in self.processes.items():
            assert process.poll() is None, f"{name} ended with {process.returncode}:\n{self.log_of(name)[-3000:]}"

    # ---- what it looks like from outside ----

    def find_managers(self, asked: str) -> list[ManagerView]:
        """As one manager sees them; empty if it does not answer."""
        try:
            with self.client(asked, patience_s=0) as client:
                return client.managers()
        except (ShunterError, OSError):
            return []

    def leader(self) -> str:
        """The manager that says itself that it leads; empty if none does."""
        for name in self.managers:
            if name in self.processes:
                views = self.find_managers(name)
                own = next((view for view in views if view.name == name), None)
                if own is not None and own.role == LEADER:
                    return name
        return ""

    def wait_for_leader(self, *, other_than: str = "") -> str:
        wait_for(lambda: self.leader() not in ("", other_than), "a leader")
        return self.leader()

    def wait_until_managers_answer(self) -> None:
        """Each that was started: another one may lead, and take workers, before."""
        started = [name for name in self.managers if name in self.processes]
        wait_for(lambda: all(self.find_managers(name) for name in started), "an answer of every manager")

    def wait_for_workers(self, count: int) -> None:
        def count_ready() -> int:
            with self.client() as client:
                return sum(node.state == "ready" for node in client.nodes())

        wait_for(lambda: count_ready() >= count, f"{count} workers")

    # ---- steps ----

    def _manager_words(self, name: str) -> list[str]:
        host, (port, workers_port) = self.host_of(name), self._ports[name]
        words = ["manager", "--name", name, "--listen", f"{host}:{port}", "--store", self.postgres.url]
        if self._roles[name]:
            words += ["--roles", self._roles[name]]
        if self._roles[name] != API:
            words += ["--workers-listen", f"{self.workers_host_of(name)}:{workers_port}"]
        return [*words, "--coordination", f"etcd://{','.join(self.etcd.addresses)}?ttl={TTL_S}"]

    def _worker_words(self, name: str) -> list[str]:
        managers = ",".join(f"{self.workers_host_of(each)}:{self._ports[each][1]}" for each in self.with_role(WATCHER))
        token_file = self._folder / name / "worker-token"
        words = ["worker", "--name", name, "--manager", managers, "--token-file", str(token_file), "--cpu", "4"]
        return [*words, *(("--task-user", "nobody") if os.geteuid() == 0 else ())]

    def _end_keepers(self) -> None:
        """Keepers outlive their worker while they have a task."""
        mark = f"{self._folder}/".encode()
        for path in Path("/proc").iterdir():
            if path.name.isdigit() and int(path.name) != os.getpid():
                with suppress(OSError):
                    if mark in (path / "cmdline").read_bytes():
                        os.kill(int(path.name), signal.SIGKILL)


def wait_for(is_true: Callable[[], bool], what: str, max_s: float = WAIT_MAX_S) -> None:
    give_up_s = time.monotonic() + max_s
    while not is_true():
        if time.monotonic() > give_up_s:
            raise AssertionError(f"{what}: not after {max_s:.0f} s")
        time.sleep(0.02)


@contextmanager
def shared_folder() -> Iterator[Path]:
    """A temporary folder that tasks of other users can reach. pytest's own are only for the user of the test."""
    with tempfile.TemporaryDirectory(prefix="shunter-managers-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@contextmanager
def manager_cluster(
    folder: Path,
    managers: int = 3,
    workers: int = 2,
    etcd_members: int = 1,
    config: str = "",
    roles: dict[str, str] | None = None,
) -> Iterator[ManagerCluster]:
    """A cluster with a leader and all workers. `config` is the config.toml of the managers."""
    with (
        running_server() as postgres,
        etcd_servers(folder, etcd_members) as etcd,
    ):
        cluster = ManagerCluster(folder, postgres, etcd, managers, config, roles)
        try:
            cluster.start(*cluster.managers)
            cluster.wait_until_managers_answer()
            cluster.wait_for_leader()
            cluster.start(*(f"w{number}" for number in range(1, workers + 1)))
            cluster.wait_for_workers(workers)
            yield cluster
        finally:
            cluster.stop()
