"""Starts the processes of a launcher, waits for them and stops them together, also when the launcher is told to stop.
Used by the launchers; the keeper ends processes that they leave behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

END_GRACE_S = 4.0  # below the keeper's own, so that it is the launcher that ends them
POLL_INTERVAL_S = 0.1
END_POLL_INTERVAL_S = 0.01
EXIT_CONFIG = 78  # the application cannot run here; the last line of stderr says why


class ChildProcesses:
    """All that this launcher has started. SIGTERM ends them, and then the launcher."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []
        self._condition = threading.Condition()
        self._messages: list[str] = []
        signal.signal(signal.SIGTERM, self._on_term)
        signal.signal(signal.SIGINT, self._on_term)

    def start(self, command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Its output is ours."""
        child = subprocess.Popen(command, env=dict(environment), stdin=subprocess.DEVNULL)
        self._processes.append(child)
        return child

    def on_message(self, words: str) -> None:
        """Something was said on the line; from any thread."""
        with self._condition:
            self._messages.append(words)
            self._condition.notify_all()

    def wait(self, child: subprocess.Popen[bytes] | None, words: Sequence[str] = ()) -> str | int:
        """Wait until this child has ended (its code), one of these words was received, or the connection was lost
        ("")."""
        while True:
            if child is not None and child.poll() is not None:
                return exit_code(child.returncode)
            with self._condition:
                for message in self._messages:
                    if message == "" or message.split(" ")[0] in words:
                        return message
                self._condition.wait(POLL_INTERVAL_S)

    def kill(self) -> None:
        """All of them, at once: what has nothing to tidy up."""
        for child in self._processes:
            if not _has_ended(child):
                _kill(child)

    def end(self) -> None:
        """All of them, politely first. Safe to call again."""
        running = [child for child in self._processes if not _has_ended(child)]
        for child in running:
            child.terminate()
        deadline_s = time.monotonic() + END_GRACE_S
        for child in running:
            while not _has_ended(child) and time.monotonic() < deadline_s:
                time.sleep(END_POLL_INTERVAL_S)
            if not _has_ended(child):
                _kill(child)

    def _on_term(self, number: int, _frame: FrameType | None) -> NoReturn:
        self.end()
        with contextlib.suppress(RuntimeError):  # the signal interrupted a print
            sys.stdout.flush()
        os._exit(128 + number)


def _has_ended(child: subprocess.Popen[bytes]) -> bool:
    """Without the lock of `Popen`: a signal handler that interrupts `poll` would wait for it forever."""
    if child.returncode is not None:
        return True
    try:
        return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # `poll` has just taken its result
        return True


def _kill(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    while not _has_ended(child):
        time.sleep(END_POLL_INTERVAL_S)


class Tail:
    """Copies what programs write into files of a folder to our own streams, as it comes."""

    def __init__(self, folder: Path, streams: Mapping[str, int]) -> None:
        self._folder = folder
        self._streams = streams  # the file's name -> the descriptor
        self._offsets: dict[Path, int] = {}
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """After what is there now."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing.wait(POLL_INTERVAL_S * 5):
            self._copy()
        self._copy()

    def _copy(self) -> None:
        for name, descriptor in self._streams.items():
            for path in sorted(self._folder.rglob(name)):
                try:
                    with open(path, "rb") as file:
                        file.seek(self._offsets.get(path, 0))
                        while chunk := file.read(65536):
                            os.write(descriptor, chunk)
                        self._offsets[path] = file.tell()
                except OSError:
                    continue  # it was removed, or nothing reads our output


def exit_code(returncode: int) -> int:
    """As a shell tells it: 128 and the signal."""
    return returncode if returncode >= 0 else 128 - returncode


def exit_with_error(reason: str) -> NoReturn:
    """The application cannot run here."""
    print(f"shunter: {reason}", file=sys.stderr, flush=True)
    sys.exit(EXIT_CONFIG)
