"""A real cluster in its own home, used as a user would: by the command line and by the SDK.

Every command has a time limit, so that one that hangs fails its test."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from shunter import Client, connect
from tests.e2e.forked_commands import run_command

SHUNTER = str(Path(sys.executable).with_name("shunter"))
COMMAND_MAX_S = 120.0
WAIT_MAX_S = 60.0
POLL_EVERY_S = 0.02
POLL_EVERY_MAX_S = 0.5
UNFINISHED = ("pending", "running", "stopping")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that has ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    command: str
    parent: int

    @property
    def is_keeper(self) -> bool:
        return "keeper_main.py" in self.command


class Cluster:
    """One SHUNTER_HOME, whether or not anything runs in it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._task_mark = "unknown"
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("SHUNTER_")}
        self.environment["SHUNTER_HOME"] = str(home)

    # ---- the command line ----

    def shunter(self, *words: str, code: int | None = 0, stdin: str = "", cwd: Path | None = None) -> Finished:
        """Run a command and check its exit code; None allows any."""
        with tempfile.TemporaryDirectory() as folder:
            streams = Path(folder)
            (streams / "in").write_text(stdin)
            exit_code = run_command(words, self.environment, cwd or Path.cwd(), streams, COMMAND_MAX_S)
            finished = Finished(exit_code, (streams / "out").read_text(), (streams / "err").read_text())
        assert code is None or exit_code == code, f"shunter {' '.join(words)}: {finished}\n{self.log()}"
        return finished

    def begin(self, *words: str, **options: Any) -> subprocess.Popen[str]:
        """Start a command and return while it runs."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen([SHUNTER, *words], env=self.environment, **{**pipes, **options})

    def json(self, *words: str) -> Any:
        return json.loads(self.shunter(*words, "--output", "json").out)

    def items(self, *words: str) -> list[dict[str, Any]]:
        """The items of a listing."""
        found: list[dict[str, Any]] = self.json(*words)["items"]
        return found

    def up(self, *options: str) -> Finished:
        return self.shunter("up", "--detach", *options)

    def down(self, *options: str) -> Finished:
        return self.shunter("down", *options)

    # ---- the SDK ----

    @contextmanager
    def client(self, **options: Any) -> Iterator[Client]:
        """As `shunter.connect()` finds the cluster where SHUNTER_HOME is set."""
        before = os.environ.get("SHUNTER_HOME")
        os.environ["SHUNTER_HOME"] = str(self.home)
        try:
            client = connect(**options)
        finally:
            if before is None:
                del os.environ["SHUNTER_HOME"]
            else:
                os.environ["SHUNTER_HOME"] = before
        with client:
            yield client

    def until(self, name: str, state: str) -> None:
        """Until a job is in a state that it does not stay in for ever; for its end, `wait` is there."""
        with self.client() as client:
            job = client.job(name)
            eventually(lambda: job.refresh().state == state, f"{name} is {state}")

    def stop_everything(self) -> None:
        with self.client(namespace="*") as client:
            unfinished = list(client.jobs(states=UNFINISHED))
            for job in unfinished:
                job.stop(now=True)
            for job in unfinished:
                job.wait(WAIT_MAX_S)

    # ---- what is there ----

    @property
    def description(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.home / "cluster.json").read_text())
        return found

    @property
    def token(self) -> str:
        return (self.home / "token").read_text().strip()

    def log(self) -> str:
        """The end of what the cluster's own process wrote, for the message of a test that fails."""
        try:
            return (self.home / "shunter.log").read_text()[-3000:]
        except OSError:
            return ""

    def kill_manager(self) -> None:
        """kill -9, and wait until it is gone."""
        pid = int(self.description["pid"])
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: not is_alive(pid), "the manager ends")

    def processes(self) -> list[Process]:
        """Everything that belongs to this home: by SHUNTER_HOME, which all but tasks have in their environment, by
        SHUNTER_MARK, which tasks have, and by the control group of its worker, which no task can leave."""
        mark = self.home / "worker" / "mark"
        self._task_mark = mark.read_text() if mark.exists() else self._task_mark
        marks = [f"SHUNTER_HOME={self.home}\0".encode(), f"SHUNTER_MARK={self._task_mark}-".encode()]
        group = b"/shunter-" + hashlib.sha256(bytes((self.home / "worker").resolve())).hexdigest()[:12].encode() + b"/"
        found = []
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit() or int(folder.name) == os.getpid():
                continue
            try:
                environment = (folder / "environ").read_bytes() + b"\0"
                if any(mark in environment for mark in marks) or group in (folder / "cgroup").read_bytes():
                    command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    if command:  # else it has ended, and waits for its parent to notice
                        parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                        found.append(Process(int(folder.name), command.strip(), parent))
            except OSError:
                continue  # it has ended meanwhile
        return found

    def keepers(self) -> list[Process]:
        """Until its program runs, a task that starts has the command line of the keeper that is its parent."""
        found = [process for process in self.processes() if process.is_keeper]
        pids = {process.pid for process in found}
        return [process for process in found if process.parent not in pids]

    def expect_nothing_left(self) -> None:
        """No process of this home is left; what is just ending gets a moment."""
        try:
            eventually(lambda: not self.processes(), "no process is left")
        except AssertionError:
            left = self.processes()
            self.kill_all()
            raise AssertionError(f"left in {self.home}: {left}\n{self.log()}") from None

    def kill_all(self) -> None:
        """Whatever is there, at once."""
        for _ in range(100):
            found = self.processes()
            if not found:
                return
            for process in found:
                with suppress_gone():
                    os.kill(process.pid, signal.SIGKILL)
            time.sleep(POLL_EVERY_S)


@contextmanager
def suppress_gone() -> Iterator[None]:
    try:
        yield
    except ProcessLookupError:
        pass


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and is not reaped yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def eventually(check: Callable[[], T | None], what: str, within_s: float = WAIT_MAX_S) -> T:
    """Look until it is true; for what nobody signals. A look that takes long leaves the machine alone for as long."""
    deadline_s = time.monotonic() + within_s
    while True:
        began_s = time.monotonic()
        found = check()
        if found:
            return found
        now_s = time.monotonic()
        assert now_s < deadline_s, f"not within {within_s:.0f} s: {what}"
        time.sleep(max(POLL_EVERY_S, min(now_s - began_s, POLL_EVERY_MAX_S)))
