"""Starts and finds keepers in `HOME/keepers`, where each has a socket, a record and a journal. Used by
`worker.process.keeper_pool`."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import shutil
import signal
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shunter.worker.identity import read_or_make_id
from shunter.worker.isolation import Isolation
from shunter.worker.keeper.task_setup import user_folder
from shunter.worker.machine import cores
from shunter.worker.process.keeper_client import Keeper, KeeperOwner
from shunter.worker.process.leftovers import end_leftovers
from shunter.worker.settings import WorkerSettings

KEEPER_PROGRAM = str(Path(__file__).parents[1] / "keeper_main.py")
KEEPER_PROGRAMS = (KEEPER_PROGRAM, str(Path(__file__).parents[1] / "keeper.py"))  # the second one is that of 0.1.0
LISTENER_FD = 3
ATTACH_MAX_S = 10.0
INHERITED_ENV = ("PATH", "HOME", "LANG")
HOME_VARIABLE = "SHUNTER_WORKER_HOME"  # of keepers, not of tasks
MARK_FILE = "mark"  # what distinguishes the tasks of this home; it does not tell them where the home is
SOCKET_MODE = 0o600
NO_ISOLATION = Isolation()
NOT_ISOLATED = {"masks": None, "user": ""}  # keepers of 0.1.0, whose records do not say so


class KeeperLauncher:
    """Where keepers are started and found: `HOME/keepers`."""

    def __init__(
        self, settings: WorkerSettings, groups: Mapping[str, str], isolation: Isolation = NO_ISOLATION
    ) -> None:
        self._home = settings.home
        self._folder = settings.home / "keepers"
        self._options: dict[str, Any] = {
            "home": str(settings.home),
            "node": settings.name,
            "groups": groups,
            "cores": cores(),
            "alone_max_s": settings.keeper_alone_max_s,
            "results_max_s": settings.keeper_results_max_s,
            "masks": isolation.masks,
            "user": isolation.task_user,
            "umask": _current_umask() if settings.task_umask is None else settings.task_umask,
            "pids_max": settings.task_pids_max,
        }
        self._descriptors = settings.task_descriptors
        self._isolation = {"masks": isolation.masks, "user": isolation.task_user}
        self.pids: set[int] = set()  # of all keepers that may be alive
        self._next = 1
        self._home_mark = ""

    def prepare(self) -> list[int]:
        """Create the folders; returns the numbers of keepers that an earlier worker process left."""
        for name in ("keepers", "logs", "work"):
            (self._home / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        self._home_mark = read_or_make_id(self._home / MARK_FILE)
        self._folder_fd = os.open(self._folder, os.O_PATH | os.O_DIRECTORY)
        numbers = sorted(int(path.stem) for path in self._folder.glob("*.json"))
        self._next = numbers[-1] + 1 if numbers else 1
        return numbers

    def close(self) -> None:
        os.close(self._folder_fd)

    async def start(self, owner: KeeperOwner) -> Keeper:
        """Start a new keeper and attach to it. It is ready when its `ready` is. Raises OSError."""
        number, self._next = self._next, self._next + 1
        self._write_record(number, pid=0)
        self._file(number, "sock").unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        with listener:
            os.fchmod(listener.fileno(), SOCKET_MODE)  # which the socket's file gets, at most
            # The folder's path may be longer than a socket's name may be; this name never is.
            listener.bind(f"/proc/self/fd/{self._folder_fd}/{number}.sock")
            listener.listen(8)
            pid = self._spawn(number, listener)
        self.pids.add(pid)
        self._restore_descriptor_limit(pid)
        keeper = Keeper(number, pid, owner, f"SHUNTER_MARK={self._mark(number)}")
        keeper.watch(is_child=True)
        self._write_record(number, pid)
        await self._connect(keeper)
        return keeper

    async def reattach(self, number: int, owner: KeeperOwner) -> Keeper | None:
        """Attach to a keeper of an earlier worker process; None if it no longer exists."""
        record = self._read_record(number)
        keeper = Keeper(number, 0, owner, self._mark_of(number, record))
        keeper.is_outdated = record.get("isolation", NOT_ISOLATED) != self._isolation
        try:
            await self._connect(keeper)
            state = await asyncio.wait_for(asyncio.shield(keeper.ready), ATTACH_MAX_S)
            keeper.pid = state.pid
            keeper.is_retired = keeper.is_outdated or state.contact_limits is None
            keeper.watch(is_child=False)
            self.pids.add(keeper.pid)
        except (OSError, TimeoutError):
            keeper.detach()
            return None
        return keeper

    async def clean_up_after(self, number: int, in_order: bool = False) -> bool:
        """Kill and remove what a dead keeper left: processes, groups, scratch folder, files. One that ended `in_order`
        has left no process. Returns whether none of its processes is left; otherwise the files stay too."""
        record = self._read_record(number)
        self._kill_unresponsive(number, record.get("pid", 0))
        groups = record.get("groups", self._options["groups"])
        if not await end_leftovers(number, groups, "" if in_order and groups else self._mark_of(number, record)):
            return False
        for folder in (self._home / "work" / str(number), user_folder(str(self._home), number)):
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        for suffix in ("sock", "log", "json"):
            self._file(number, suffix).unlink(missing_ok=True)
        return True

    def last_journal_line(self, number: int) -> str:
        """The end of a keeper's journal: the error that killed it, if it could write one."""
        try:
            lines = self._file(number, "log").read_text(errors="replace").split("\n")
        except OSError:
            return ""
        return next((line for line in reversed(lines) if line.strip()), "")

    def _write_record(self, number: int, pid: int) -> None:
        record = {"pid": pid, "groups": self._options["groups"], "isolation": self._isolation}
        fd = os.open(self._file(number, "json"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(fd, "w") as file:
            file.write(json.dumps(record))

    def _read_record(self, number: int) -> dict[str, Any]:
        """What was noted about a keeper; empty if nothing can be read."""
        try:
            with os.fdopen(os.open(self._file(number, "json"), os.O_RDONLY | os.O_NOFOLLOW)) as file:
                record = json.load(file)
        except (OSError, ValueError):
            return {}
        return record if isinstance(record, dict) else {}

    def _mark(self, number: int) -> str:
        return f"{self._home_mark}-{number}"

    def _mark_of(self, number: int, record: Mapping[str, Any]) -> str:
        """The variable that tasks of this keeper have; keepers of 0.1.0 had another one."""
        is_old = bool(record) and "isolation" not in record
        return f"SHUNTER_LANE={self._home}:{number}" if is_old else f"SHUNTER_MARK={self._mark(number)}"

    def _kill_unresponsive(self, number: int, pid: int) -> None:
        """A keeper that does not answer must not wake up later and go on."""
        try:
            if self._is_our_keeper(number, pid):
                os.kill(pid, signal.SIGKILL)
        except (OSError, ValueError):
            pass  # no such process, or not one of ours

    def _is_our_keeper(self, number: int, pid: int) -> bool:
        """Raises OSError and ValueError."""
        argv = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if not any(each.encode() in argv for each in KEEPER_PROGRAMS):
            return False
        if argv[-2].startswith(b"{"):  # a keeper of 0.1.0
            options = json.loads(argv[-2])
            return (options.get("home"), options.get("number")) == (str(self._home), number)
        environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        return argv[-2] == str(number).encode() and f"{HOME_VARIABLE}={self._home}".encode() in environment

    def _file(self, number: int, suffix: str) -> Path:
        return self._folder / f"{number}.{suffix}"

    def _spawn(self, number: int, listener: socket.socket) -> int:
        options = os.memfd_create("options")
        own = {"number": number, "mark": self._mark(number), "users_folder": user_folder(str(self._home), number)}
        os.write(options, json.dumps({**self._options, **own}).encode())
        os.lseek(options, 0, os.SEEK_SET)
        environment = {key: os.environ[key] for key in INHERITED_ENV if key in os.environ}
        environment["SHUNTER_HOME"] = os.environ.get("SHUNTER_HOME", str(self._home))
        environment[HOME_VARIABLE] = str(self._home)
        journal = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        try:
            return os.posix_spawn(
                sys.executable,
                [sys.executable, "-I", "-S", "-E", "-X", "utf8", KEEPER_PROGRAM, str(number)],
                environment,
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, listener.fileno(), LISTENER_FD),
                    (os.POSIX_SPAWN_DUP2, options, 0),
                    (os.POSIX_SPAWN_OPEN, 1, str(self._file(number, "log")), journal, 0o600),
                    (os.POSIX_SPAWN_DUP2, 1, 2),
                ],
                setsid=True,
                setsigmask=(),
                setsigdef=(signal.SIGTERM, signal.SIGINT, signal.SIGHUP),
            )
        finally:
            os.close(options)

    def _restore_descriptor_limit(self, pid: int) -> None:
        """The worker raised its own limit. Tasks keep the usual one: programs that use select, or that close every
        descriptor there may be, do badly with a high one."""
        if not self._descriptors:
            return
        try:
            resource.prlimit(
                pid, resource.RLIMIT_NOFILE, (self._descriptors, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
            )
        except OSError:
            pass  # it has ended already, or this is not allowed here: the limit is only higher than usual

    async def _connect(self, keeper: Keeper) -> None:
        connection = socket.socket(socket.AF_UNIX)
        connection.setblocking(False)
        try:
            connection.connect(f"/proc/self/fd/{self._folder_fd}/{keeper.number}.sock")
            await asyncio.get_running_loop().create_unix_connection(lambda: keeper, sock=connection)
        except OSError:
            connection.close()
            raise


def _current_umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current
