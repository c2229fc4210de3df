"""The cluster under test: `shunter up --detach` in its own home, as a user would start it, and its memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil

SHUNTER = str(Path(sys.executable).parent / "shunter")
LANES = 2


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running cluster; `shunter` runs a command against it."""

    home: Path

    def shunter(self, *words: str) -> str:
        return subprocess.run(
            [SHUNTER, *words], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        ).stdout

    def job(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.shunter("job", name, "--output", "json"))
        return found

    def processes(self) -> list[psutil.Process]:
        """Every process of the cluster but tasks: they all carry the home, or a folder in it, in their environment."""
        return [process for process in psutil.process_iter() if self._is_ours(process)]

    def pss_bytes(self) -> int:
        """Memory of all of them, shared pages counted once."""
        return sum(process.memory_full_info().pss for process in self.processes())

    def manager(self) -> psutil.Process:
        return psutil.Process(json.loads((self.home / "cluster.json").read_text())["pid"])

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            found = process.environ().get("SHUNTER_HOME")
            return process.pid != os.getpid() and found is not None and Path(found).is_relative_to(self.home)
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            return False


@contextmanager
def cluster(*options: str, lanes: int | None = LANES) -> Iterator[Cluster]:
    """A fresh cluster with two lanes, or with simulated nodes, which have no lanes. Its home is in this process's
    environment, so that the SDK finds it."""
    with home() as folder:
        size = () if lanes is None else ("--cpu", str(lanes))
        subprocess.run([SHUNTER, "up", "--detach", *size, *options], check=True, stdout=subprocess.DEVNULL)
        try:
            yield Cluster(folder)
        finally:
            subprocess.run([SHUNTER, "down"], check=True, stdout=subprocess.DEVNULL)


@contextmanager
def home() -> Iterator[Path]:
    """A new, empty SHUNTER_HOME on disk for a while."""
    with TemporaryDirectory(prefix="shunter-benchmark-") as folder:
        before = os.environ.get("SHUNTER_HOME")
        os.environ["SHUNTER_HOME"] = folder
        try:
            yield Path(folder)
        finally:
            if before is None:
                del os.environ["SHUNTER_HOME"]
            else:
                os.environ["SHUNTER_HOME"] = before


def seconds_of(*command: str) -> float:
    """How long a command takes, its output thrown away."""
    begun = time.perf_counter()
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun
