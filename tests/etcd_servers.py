"""etcd servers for tests: one or several members in a folder of their own, on free ports of loopback, ended by process
id. Needs Debian's etcd-server; else the tests are skipped."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

UP_MAX_S = 30.0
TTL_S = 1  # the shortest lease that these servers grant


@dataclass(slots=True)
class EtcdMember:
    name: str
    folder: Path
    words: list[str]
    address: str
    process: subprocess.Popen[bytes] | None = field(default=None)

    def start(self) -> None:
        with open(self.folder / f"{self.name}.log", "ab") as log:
            self.process = subprocess.Popen(self.words, stdout=log, stderr=log, env={"GOMAXPROCS": "2"})

    def send(self, number: signal.Signals) -> None:
        assert self.process is not None
        os.kill(self.process.pid, number)

    def kill(self) -> None:
        """Like kill -9. `start` begins its next life with the same data."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def read_log(self) -> str:
        return (self.folder / f"{self.name}.log").read_text(errors="replace")


class EtcdServers:
    """`scheme` is https if the members have certificates."""

    def __init__(self, members: list[EtcdMember], scheme: str) -> None:
        self.members = members
        self._scheme = scheme

    @property
    def addresses(self) -> tuple[str, ...]:
        return tuple(member.address for member in self.members)

    def start(self) -> None:
        for member in self.members:
            member.start()

    def kill(self) -> None:
        for member in self.members:
            member.kill()

    def call(self, path: str, body: dict[str, Any], token: str = "") -> dict[str, Any]:
        """A call of etcd's JSON interface at the first member, beside the code under test."""
        headers = {"Authorization": token} if token else {}
        url = f"http://{self.members[0].address}/v3/{path}"
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=10) as response:
            answer: dict[str, Any] = json.load(response)
        return answer

    def wait_until_up(self) -> None:
        """Until each member accepts connections, and they have a leader. With certificates, only the first."""
        deadline = time.monotonic() + UP_MAX_S
        for member in self.members:
            while not _is_listening(member.address):
                _check_time(deadline, member)
        while self._scheme == "http":
            with suppress(OSError, urllib.error.URLError):
                self.call("kv/range", {"key": "AA=="})
                return
            _check_time(deadline, self.members[0])


@contextmanager
def etcd_servers(
    folder: Path, count: int = 1, options: tuple[str, ...] = (), scheme: str = "http", host: str = "127.0.0.1"
) -> Iterator[EtcdServers]:
    """Members that elect their leader in a fraction of a second, and do not wait for the disk."""
    servers = make_servers(folder, count, options, scheme, host)
    servers.start()
    try:
        servers.wait_until_up()
        yield servers
    finally:
        servers.kill()


def make_servers(
    folder: Path, count: int, options: tuple[str, ...], scheme: str, host: str = "127.0.0.1"
) -> EtcdServers:
    if shutil.which("etcd") is None:
        pytest.skip("etcd not found: make setup-etcd installs it")
    ports = free_ports(2 * count)
    names = [f"etcd{number}" for number in range(1, count + 1)]
    peers = {name: f"http://127.0.0.1:{port}" for name, port in zip(names, ports[count:], strict=True)}
    members = []
    for name, port in zip(names, ports, strict=False):
        url = f"{scheme}://{host}:{port}"
        words = [
            shutil.which("etcd") or "", "--name", name, "--data-dir", f"{folder}/{name}", "--log-level", "warn",
            "--listen-client-urls", url, "--advertise-client-urls", url,
            "--listen-peer-urls", peers[name], "--initial-advertise-peer-urls", peers[name],
            "--initial-cluster", ",".join(f"{name}={peer}" for name, peer in peers.items()),
            "--heartbeat-interval", "50", "--election-timeout", "250", "--unsafe-no-fsync", *options,
        ]  # fmt: skip
        members.append(EtcdMember(name, folder, words, f"{host}:{port}"))
    return EtcdServers(members, scheme)


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in sockets]
    for listener in sockets:
        listener.close()
    return ports


def _is_listening(address: str) -> bool:
    host, _, port = address.partition(":")
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
    except OSError:
        return False
    return True


def _check_time(deadline: float, member: EtcdMember) -> None:
    has_ended = member.process is None or member.process.poll() is not None
    if has_ended or time.monotonic() > deadline:
        raise RuntimeError(f"{member.name} did not come up: {member.read_log()[-500:]}")
    time.sleep(0.02)
