"""What Ctrl-C means to a command that follows a job: once, end it gracefully; twice, at once; thrice, let it be."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType, TracebackType

from shunter.model.errors import ShunterError
from shunter.sdk.client import Job


class StopOnInterrupt:
    """While it is entered, interrupts stop the job that `watch` was told of. The command goes on following it, so that
    the last output is seen and the exit code is the task's."""

    def __init__(self) -> None:
        self.interrupts = 0
        self._job: Job | None = None
        self._before: signal.Handlers | object = signal.SIG_DFL

    def __enter__(self) -> StopOnInterrupt:
        self._before = signal.signal(signal.SIGINT, self._interrupted)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGINT, self._before)  # type: ignore[arg-type]

    def watch(self, job: Job) -> None:
        self._job = job
        if self.interrupts:
            self._stop()

    def _interrupted(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self.interrupts += 1
        if self.interrupts > 2 or (self._job is None and self.interrupts > 1):
            raise KeyboardInterrupt
        self._stop()

    def _stop(self) -> None:
        """Runs inside the interrupted call: it uses a connection of its own, and no buffered stream."""
        if self._job is None:
            return
        now = self.interrupts > 1
        _say(f"ending {self._job.name} at once" if now else f"ending {self._job.name}; again: at once")
        try:
            self._job.stop(now=now)
        except ShunterError as error:
            _say(f"could not stop it: {error.detail}")


def _say(text: str) -> None:
    os.write(sys.stderr.fileno(), f"\nshunter: {text}\n".encode())
