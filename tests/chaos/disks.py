"""Small disks, and faults that fill them. Needs root."""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

FULL_MAX_S = 4.0


class DiskFaults:
    """Fills the disk of a folder to the last byte, and frees it after a while."""

    def __init__(self, folder: Path) -> None:
        self._filler = folder / "filler"
        self.faults: dict[str, Callable[[random.Random], None]] = {"full disk": self.fill}

    def fill(self, rng: random.Random) -> None:
        deadline_s = time.monotonic() + rng.uniform(0.5, FULL_MAX_S)
        try:
            with self._filler.open("ab", buffering=0) as file:
                while time.monotonic() < deadline_s:  # what others free meanwhile is taken, too
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


@contextmanager
def small_disk(folder: Path, size: str, mode: str = "700") -> Iterator[None]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode={mode}", "shunter", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
