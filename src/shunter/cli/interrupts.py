"""Ctrl-C in a command that follows a job: the first stops the job gracefully, the second kills it, the third leaves it.
After the second, the command waits only for a while: a job on a node that is down, for example, cannot end.
SIGTERM and SIGHUP do the same, so that a job in the foreground does not outlive its command by accident."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType, TracebackType

from shunter.cli.text import wrap
from shunter.model.errors import ShunterError
from shunter.sdk.client import Job

LEAVE_AFTER_S = 10.0  # after the second interrupt
LEAVE_AGAIN_S = 0.5
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopOnInterrupt:
    """Context manager: while active, interrupts stop the watched job. The command continues to follow the job, so that
    it prints the last output and exits with the task's code.

    A thread stops the job; the interpreter wakes it through a pipe. The main thread could be about to wait for the
    cluster when the signal arrives, and would then not notice the signal until the cluster sends something.
    """

    def __init__(self) -> None:
        self.interrupts = 0
        self._signals_received = 0  # by the main thread
        self._job: Job | None = None
        self._previous_handlers: dict[int, object] = {}
        self._previous_wakeup_fd = -1
        self._read_fd = self._write_fd = -1
        self._is_leaving = False
        self._closed = threading.Event()

    def __enter__(self) -> StopOnInterrupt:
        self._read_fd, self._write_fd = os.pipe()
        os.set_blocking(self._write_fd, False)
        threading.Thread(target=self._handle_signals, daemon=True).start()
        handled_signals = [number for number in INTERRUPTS if signal.getsignal(number) != signal.SIG_IGN]  # else: nohup
        self._previous_handlers = {number: signal.signal(number, self._on_signal) for number in handled_signals}
        self._previous_wakeup_fd = signal.set_wakeup_fd(self._write_fd, warn_on_full_buffer=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        signal.set_wakeup_fd(self._previous_wakeup_fd)
        for number, handler in self._previous_handlers.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        os.close(self._write_fd)  # ends the thread

    def watch(self, job: Job) -> None:
        self._job = job
        if self.interrupts:
            self._stop()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self._signals_received += 1
        if self._is_leaving:
            self._is_leaving = False  # the next signal must not disturb the way out
            raise KeyboardInterrupt
        if self._signals_received > 2 or (self._job is None and self._signals_received > 1):
            raise KeyboardInterrupt

    def _handle_signals(self) -> None:
        while signals := os.read(self._read_fd, 1):
            if signals[0] in self._previous_handlers:
                self.interrupts += 1
                self._stop()
        os.close(self._read_fd)

    def _stop(self) -> None:
        if self._job is None or self.interrupts > 2:
            return
        now = self.interrupts > 1
        name = self._job.name
        _write_notice(f"Killing {name}." if now else f"Stopping {name} gracefully. Press Ctrl-C again to kill it.")
        # A manager that does not answer must not delay the next interrupt.
        threading.Thread(target=_send_stop, args=(self._job, now), daemon=True).start()
        if now:
            threading.Thread(target=self._leave_later, args=(name,), daemon=True).start()

    def _leave_later(self, name: str) -> None:
        if self._closed.wait(LEAVE_AFTER_S):
            return
        _write_notice(
            f"error: {name} has not ended {LEAVE_AFTER_S:g} s after it was to be killed; see: shunter why {name}"
        )
        self._is_leaving = True
        while self._is_leaving and not self._closed.is_set():
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            self._closed.wait(LEAVE_AGAIN_S)  # a signal that comes right before a wait does not end the wait


def _send_stop(job: Job, now: bool) -> None:
    try:
        job.stop(now=now)
    except ShunterError as error:
        _write_notice(f"could not stop {job.name}: {error.detail}")


def _write_notice(text: str) -> None:
    """Write directly to the file: the buffered streams belong to the main thread."""
    with suppress(OSError):  # the terminal may be gone
        os.write(sys.stderr.fileno(), f"\n{wrap(f'shunter: {text}', 2, sys.stderr)}\n".encode())
