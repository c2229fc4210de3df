"""Whoever reaches the workers' port can open connections without a token, but cannot take the manager's open files."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import psutil
import pytest

from tests.e2e.cluster import SHUNTER, Cluster
from tests.e2e.remote import RemoteCluster
from tests.e2e.rest import Rest

OPEN_FILES = 512
FLOOD = 2 * OPEN_FILES
CALLING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))  # the client's part of a handshake


@pytest.fixture
def remote(make_home: Callable[[], Cluster]) -> Iterator[RemoteCluster]:
    """A manager with few open files, and a worker."""
    running = RemoteCluster(make_home, timeout="10s")
    limit = ["prlimit", f"--nofile={OPEN_FILES}:{OPEN_FILES}"]
    words = [*limit, SHUNTER, "manager", "--detach", "--workers-listen", "127.0.0.1:0"]
    subprocess.run(words, env=running.manager.environment, check=True, stdout=subprocess.DEVNULL)
    running.add_worker("w1")
    yield running
    running.close()


def test_a_flood_of_the_workers_port_leaves_clients_and_joined_workers_alone(remote: RemoteCluster) -> None:
    host, _, port = remote.manager.description["workers"].rpartition(":")
    with ExitStack() as stack:
        for _ in range(FLOOD):
            flooding = stack.enter_context(socket.create_connection((host, int(port)), timeout=30))
            try:
                flooding.sendall(CALLING)
            except OSError:
                pass  # closed at once, as it should be
        assert psutil.Process(int(remote.manager.description["pid"])).num_fds() < OPEN_FILES // 2
        assert Rest(remote.manager).ask("GET", "/healthz", token=False).status == 200
        assert "still here" in remote.manager.shunter("run", "--", "/bin/echo", "still here").out
        assert "Too many open files" not in remote.manager.log()
    remote.add_worker("w2")
