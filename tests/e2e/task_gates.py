"""A gate that blocks tasks: a named pipe that they read. So no test has to sleep to find a running task."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.cluster import eventually

# The task tells that it is there, then becomes `cat`, so that its process stays the same.
SCRIPT = 'echo "$SHUNTER_TASK_INDEX $SHUNTER_ATTEMPT $$" >> "$1.seen"; exec cat "$1"'


@dataclass(frozen=True, slots=True)
class Arrival:
    index: int
    attempt: int
    pid: int


class Gate:
    """Tasks run `gate.command`, which ends when the gate is opened; from then on it ends at once."""

    def __init__(self, folder: Path, name: str = "gate") -> None:
        self.path = folder / name
        self._seen = folder / f"{name}.seen"
        self._seen.touch()
        os.mkfifo(self.path)
        self._writer = os.open(self.path, os.O_RDWR)  # for as long as it is held, readers wait

    @property
    def command(self) -> list[str]:
        return ["/bin/sh", "-c", SCRIPT, "sh", str(self.path)]

    @property
    def arrivals(self) -> list[Arrival]:
        return [Arrival(*map(int, line.split())) for line in self._seen.read_text().splitlines()]

    def reached(self, count: int = 1) -> list[Arrival]:
        """Until so many attempts have come to the gate since it was made."""
        return eventually(lambda: found if len(found := self.arrivals) >= count else None, f"{count} at the gate")

    def open(self) -> None:
        """Let all go, those too that come later: for them the pipe is replaced by an empty file."""
        empty = self.path.with_suffix(".open")
        empty.touch()
        empty.replace(self.path)
        os.close(self._writer)
