"""Whoever reaches a port can open connections without a token, but can take neither the manager's open files nor its
service from others."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import psutil
import pytest

from tests.e2e.cluster import SHUNTER, Cluster, eventually
from tests.e2e.remote import RemoteCluster
from tests.e2e.rest import Rest

OPEN_FILES = 512
FLOOD = 2 * OPEN_FILES
FLOODERS = 4
HELD_BY_EACH = 200
SAID = (b"", b"GET /healthz HTTP/1.1\r\nx-slow: ")
HEALTH_CHECKS = 20
RUNS = 3
FEW_FILES = 20
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


def test_a_flood_of_the_api_keeps_out_no_health_check_no_client_and_no_worker(remote: RemoteCluster) -> None:
    manager = remote.manager
    process = psutil.Process(int(manager.description["pid"]))
    before = process.num_fds()
    rest = Rest(manager)
    with flood_of_the_api(manager):
        statuses = [rest.ask("GET", "/healthz", token=False).status for _ in range(HEALTH_CHECKS)]
        assert statuses == [200] * HEALTH_CHECKS
        for number in range(RUNS):
            ran = manager.shunter("run", "--", "/bin/echo", f"number {number}", code=None)
            assert (ran.code, f"number {number}" in ran.out) == (0, True), ran
        remote.add_worker("w2")
        assert process.num_fds() < OPEN_FILES
    eventually(lambda: process.num_fds() < before + FEW_FILES, "the connections are closed")
    assert "Too many open files" not in manager.log()


@contextmanager
def flood_of_the_api(manager: Cluster) -> Iterator[None]:
    """Threads connect as fast as they can, and say nothing or half a request; each has many connections at a time."""
    url = manager.description["url"]
    host, _, port = url.removeprefix("http://").rpartition(":")
    is_over = threading.Event()
    filled = [threading.Event() for _ in range(FLOODERS)]

    def connect_again_and_again(said: bytes, has_filled: threading.Event) -> None:
        held: deque[socket.socket] = deque()
        while not is_over.is_set():
            try:
                held.append(socket.create_connection((host, int(port)), timeout=5))
                held[-1].sendall(said)
            except OSError:
                pass  # closed at once, as it should be
            if len(held) > HELD_BY_EACH:
                held.popleft().close()
                has_filled.set()
        for each in held:
            each.close()

    threads = [
        threading.Thread(target=connect_again_and_again, args=(SAID[number % len(SAID)], filled[number]), daemon=True)
        for number in range(FLOODERS)
    ]
    for thread in threads:
        thread.start()
    try:
        assert all(each.wait(30) for each in filled)
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join(30)
