"""A gate that tasks wait at: a named pipe. No test has to sleep to meet a task that runs."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from tests.e2e.cluster import eventually


class Gate:
    """Tasks run `gate.command`, which ends when the gate is opened."""

    def __init__(self, folder: Path, name: str = "gate") -> None:
        self.path = folder / name
        os.mkfifo(self.path)
        self._writer: int | None = None

    @property
    def command(self) -> list[str]:
        return ["/bin/cat", str(self.path)]

    def reached(self) -> None:
        """Until a task stands at the gate."""
        if self._writer is None:
            self._writer = eventually(self._try, f"a task waits at {self.path.name}") - 1

    def open(self) -> None:
        self.reached()
        assert self._writer is not None
        os.close(self._writer)
        self._writer = None

    def _try(self) -> int:
        """The writing end plus 1, or 0 while nobody reads."""
        try:
            return os.open(self.path, os.O_WRONLY | os.O_NONBLOCK) + 1
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return 0
