"""A terminal that runs a command: sends keys and reads the screen. Ctrl-C is a key, which the kernel turns into a
signal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from types import TracebackType

from tests.e2e.cluster import SHUNTER, Cluster

READ_BYTES = 65536
CTRL_C = b"\x03"


class Terminal:
    """Runs `shunter WORDS` as the foreground process of a terminal of its own."""

    def __init__(self, cluster: Cluster, *words: str) -> None:
        self._master, slave = pty.openpty()
        # setsid makes the terminal the process's own, so that keys become signals.
        self._process = subprocess.Popen(
            ["/usr/bin/setsid", "--ctty", SHUNTER, *words],
            env={**cluster.environment, "TERM": "xterm", "COLUMNS": "120"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
        )
        os.close(slave)
        self.seen = ""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._master)

    def type(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def see(self, text: str, within_s: float = 30.0) -> None:
        """Until the text is on the screen."""
        deadline_s = time.monotonic() + within_s
        while text not in self.seen:
            left_s = deadline_s - time.monotonic()
            assert left_s > 0, f"{text!r} is not in {self.seen[-2000:]!r}"
            assert self._read(left_s), f"it ended without {text!r}: {self.seen[-2000:]!r}"

    def end(self, within_s: float = 30.0) -> int:
        """Until the command has ended; comes to its exit code."""
        deadline_s = time.monotonic() + within_s
        while self._read(deadline_s - time.monotonic()):
            assert time.monotonic() < deadline_s, f"it has not ended: {self.seen[-2000:]!r}"
        return self._process.wait(timeout=within_s)

    def _read(self, within_s: float) -> bool:
        """False at the end of the output."""
        if select.select([self._master], [], [], max(within_s, 0))[0]:
            try:
                data = os.read(self._master, READ_BYTES)
            except OSError:  # what Linux says when the last process of a terminal has closed it
                return False
            self.seen += data.decode(errors="replace")
            return bool(data)
        return True
