"""The manager's disk is full again and again: nothing acknowledged is lost, and reads are answered all the time."""

from __future__ import annotations

import json
import os
import random
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.chaos import campaign
from tests.chaos.campaign import LIMITS, print_figures, run_campaign
from tests.e2e.cluster import Cluster
from tests.e2e.remote import RemoteCluster

pytestmark = campaign.pytestmark

DISK = "64m"
FULL_MAX_S = 4.0
READ_EVERY_S = 0.1


class DiskFaults:
    """Fills the disk of the manager's home to the last byte, and frees it after a while."""

    def __init__(self, home: Path) -> None:
        self._filler = home / "filler"
        self.faults: dict[str, Callable[[random.Random], None]] = {"full disk": self._fill}

    def _fill(self, rng: random.Random) -> None:
        deadline_s = time.monotonic() + rng.uniform(0.5, FULL_MAX_S)
        try:
            with self._filler.open("ab", buffering=0) as file:
                while time.monotonic() < deadline_s:  # what the manager frees meanwhile is taken, too
                    try:
                        file.write(bytes(2**16))
                    except OSError:
                        self._fill_rest(file.fileno())
                        time.sleep(0.05)
        finally:
            self._filler.unlink()

    def _fill_rest(self, fd: int) -> None:
        try:
            while True:
                os.write(fd, b"x" * 512)
        except OSError:
            pass


class Reader(threading.Thread):
    """Reads jobs and nodes all the time, and counts the answers."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(daemon=True)
        self._cluster = cluster
        self._ending = threading.Event()
        self.answers: dict[str, int] = {}

    def run(self) -> None:
        while not self._ending.wait(READ_EVERY_S):
            for path in ("/api/v1/jobs?limit=5", "/api/v1/nodes"):
                answer = self._read(path)
                self.answers[answer] = self.answers.get(answer, 0) + 1

    def stop(self) -> None:
        self._ending.set()
        self.join(10)

    def _read(self, path: str) -> str:
        headers = {"authorization": f"Bearer {self._cluster.token}"}
        try:
            with urlopen(Request(self._cluster.description["url"] + path, headers=headers), timeout=30) as answer:
                json.load(answer)
                return str(answer.status)
        except HTTPError as error:
            return f"{error.code} {path} {error.read()[:200].decode(errors='replace')}"
        except OSError as error:
            return repr(error)


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=700", "shunter", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def remote(make_home: Callable[[], Cluster]) -> Iterator[RemoteCluster]:
    """The manager on a small disk, and workers on the large one."""
    homes: list[Cluster] = []
    with ExitStack() as stack:

        def make() -> Cluster:
            homes.append(make_home())
            if len(homes) == 1:
                stack.enter_context(small_disk(homes[0].home))
            return homes[-1]

        running = RemoteCluster(make, timeout="10s", limits=LIMITS)
        running.start_manager()
        for name in ("w1", "w2"):
            running.add_worker(name)
        yield running
        running.close()


@pytest.mark.smoke
def test_nothing_is_lost_and_reads_go_on_while_the_disk_is_full(remote: RemoteCluster, tmp_path: Path) -> None:
    reader = Reader(remote.manager)
    reader.start()
    try:
        run_campaign("full disk", remote.manager, DiskFaults(remote.manager.home), tmp_path)
    finally:
        reader.stop()
        print_figures("reads beside a full disk", **reader.answers)
    assert set(reader.answers) == {"200"}, reader.answers
