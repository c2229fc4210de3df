"""A private Redis server for tests and benchmarks, on a free port, ended by its process id. Needs Debian's
redis-server; else the tests are skipped."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

UP_MAX_S = 30.0


class RedisServer:
    """Start it, stop it, start it again on the same port. It stores nothing on disk, so a new life is empty."""

    def __init__(
        self, folder: Path, options: tuple[str, ...] = (), *, has_tls: bool = False, host: str = "127.0.0.1"
    ) -> None:
        program = shutil.which("redis-server")
        if program is None:
            pytest.skip("redis-server not found: make setup-redis installs it")
        self._host = host
        with socket.create_server((host, 0)) as probe:
            self.port = probe.getsockname()[1]
        ports = ("--port", "0", "--tls-port", str(self.port)) if has_tls else ("--port", str(self.port))
        self._log = folder / "redis.log"
        self._words = [program, *ports, "--bind", host, "--save", "", "--dir", str(folder), *options]
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://{self._host}:{self.port}/0"

    def start(self) -> None:
        """Returns when it accepts connections."""
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(self._words, stdout=log, stderr=log)
        deadline = time.monotonic() + UP_MAX_S
        while not self._is_listening():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"Redis did not start: {self._log.read_text()[-500:]}")
            time.sleep(0.01)

    def send(self, number: signal.Signals) -> None:
        assert self.process is not None
        os.kill(self.process.pid, number)

    def kill(self) -> None:
        """Like kill -9."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def command(self, *words: str) -> str:
        done = subprocess.run(
            ["redis-cli", "-h", self._host, "-p", str(self.port), *words],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
        return done.stdout.strip()

    def _is_listening(self) -> bool:
        try:
            socket.create_connection((self._host, self.port), timeout=1).close()
        except OSError:
            return False
        return True


@contextmanager
def redis_server(
    folder: Path, options: tuple[str, ...] = (), *, has_tls: bool = False, host: str = "127.0.0.1"
) -> Iterator[RedisServer]:
    server = RedisServer(folder, options, has_tls=has_tls, host=host)
    try:
        server.start()
        yield server
    finally:
        server.kill()
