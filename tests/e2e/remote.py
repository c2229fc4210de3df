"""A manager and workers as separate processes with separate homes, as on several machines."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from typing import Any

from tests.e2e.cluster import COMMAND_MAX_S, SHUNTER, Cluster, eventually

TASK_USER = ("--task-user", "root") if os.geteuid() == 0 else ()
CONFIG = """
[nodes]
heartbeat = "200ms"
timeout = "{timeout}"
"""


class Worker:
    """One `shunter worker`; it can be killed and started again in the same home."""

    def __init__(self, manager: Cluster, home: Cluster, name: str, options: tuple[str, ...]) -> None:
        self.name = name
        self.home = home
        self._manager = manager
        self._options = options
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        self._process = self.begin()

    def begin(self) -> subprocess.Popen[str]:
        """The process, its words going to a file, where a test that fails finds them."""
        with (self.home.home / "shunter.log").open("a") as log:
            return subprocess.Popen(
                self.command(), env=self.home.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, text=True
            )

    def command(self) -> tuple[str, ...]:
        return (
            SHUNTER, "worker", "--manager", self._manager.description["workers"], "--name", self.name,
            "--token-file", str(self._manager.home / "worker-token"), *TASK_USER, *self._options,
        )  # fmt: skip

    @property
    def process(self) -> subprocess.Popen[str]:
        assert self._process is not None
        return self._process

    def kill(self) -> None:
        """kill -9 of the worker alone; its keepers and tasks go on."""
        self.process.kill()
        self.process.wait(timeout=COMMAND_MAX_S)

    def kill_machine(self) -> None:
        """As if the machine had lost its power: worker, keepers and tasks, all at once. Nobody may live to tell how
        another one was killed, so the worker goes first and tasks go last."""
        processes = self.home.processes()
        keepers = self.home.keepers()
        worker = [process for process in processes if process.pid == self.process.pid]
        for process in dict.fromkeys((*worker, *keepers, *processes)):
            try:
                os.kill(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait(timeout=COMMAND_MAX_S)
        self.home.kill_all()


class RemoteCluster:
    address = "127.0.0.1"  # for workers
    manager_options: tuple[str, ...] = ()

    def __init__(self, make_home: Callable[[], Cluster], timeout: str, limits: str = "") -> None:
        """`timeout` is how long a node may be silent before it is down; `limits` is a table for config.toml."""
        self._make_home = make_home
        self.manager = make_home()
        (self.manager.home / "config.toml").write_text(CONFIG.format(timeout=timeout) + limits)
        self.workers: dict[str, Worker] = {}

    def start_manager(self, *options: str) -> None:
        """On a free port for workers at first; later on the same again, because they know no other."""
        known = self.manager.home / "workers-address"
        address = known.read_text() if known.exists() else f"{self.address}:0"
        self.manager.shunter("manager", "--detach", "--workers-listen", address, *self.manager_options, *options)
        known.write_text(self.manager.description["workers"])

    def add_worker(self, name: str, *options: str) -> Worker:
        """Started, and ready as far as the manager sees it."""
        worker = self.make_worker(name, self._make_home(), options or ("--cpu", "1"))
        worker.start()
        self.workers[name] = worker
        self.until(name, "ready")
        return worker

    def make_worker(self, name: str, home: Cluster, options: tuple[str, ...]) -> Worker:
        return Worker(self.manager, home, name, options)

    def node(self, name: str) -> dict[str, Any] | None:
        return next((node for node in self.manager.items("nodes") if node["name"] == name), None)

    def until(self, name: str, state: str) -> None:
        with self.manager.client() as client:
            eventually(
                lambda: (name, state) in [(node.name, node.state) for node in client.nodes()], f"{name} is {state}"
            )

    def close(self) -> None:
        """Stop the cluster; its workers end with it."""
        self.manager.down("--cluster", "--yes")
        for worker in self.workers.values():
            worker.process.wait(timeout=COMMAND_MAX_S)
            worker.home.expect_nothing_left()
