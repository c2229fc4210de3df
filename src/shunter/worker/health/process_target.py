"""A keeper's task as health checks see it: its ports are the machine's, and commands run next to it with its user,
folder and environment. Used by `worker.health.keeper_health`."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from shunter.model.job.spec import Port
from shunter.worker.keeper.task_user import Identity, StartError, find_identity

COMMANDS_AT_ONCE_MAX = 8
OUTPUT_MAX_BYTES = 4096


def find_port(wanted: str, ports: Sequence[Port], granted: Mapping[str, int]) -> int:
    """The host port of a check: by name, by number, or the only one. Raises LookupError."""
    if not wanted and len(ports) == 1:
        return granted[ports[0].name]
    for port in ports:
        if wanted in (port.name, str(port.port)) and port.name in granted:
            return granted[port.name]
    if wanted.isdigit():
        return int(wanted)
    names = ", ".join(port.name for port in ports) or "none"
    raise LookupError(f"port {wanted or 'not named'} is not a port of the task: it has {names}")


@dataclass(frozen=True, slots=True)
class ProcessTarget:
    """Implements `worker.health.port.Target`."""

    ports: Sequence[Port]
    granted: Mapping[str, int]
    env: Mapping[str, str]
    folder: str
    user: str | None
    commands: CommandRunner
    prefix: Sequence[str] = ()  # of every command
    umask: int = -1  # of every command; -1: the worker's

    def address(self, port: str) -> tuple[str, int]:
        return "127.0.0.1", find_port(port, self.ports, self.granted)

    async def execute(self, command: Sequence[str], timeout_s: float) -> tuple[int, str]:
        return await self.commands.run(self, command, timeout_s)


class CommandRunner:
    """Runs checks' commands in a few threads: asyncio's own way cannot change the user under every event loop."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_closed = False

    async def run(self, target: ProcessTarget, command: Sequence[str], timeout_s: float) -> tuple[int, str]:
        """Raises TimeoutError or OSError."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(COMMANDS_AT_ONCE_MAX, thread_name_prefix="health")
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, self._run, target, list(command), timeout_s
        )

    def close(self) -> None:
        self._is_closed = True
        for process in list(self._running):
            _kill(process)
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)

    def _run(self, target: ProcessTarget, command: list[str], timeout_s: float) -> tuple[int, str]:
        if self._is_closed:
            raise OSError("the worker is stopping")
        try:
            identity = None if target.user is None else find_identity(target.user)
        except StartError as error:
            raise OSError(str(error)) from error
        with _start(target, command, identity) as process:
            self._running.add(process)
            try:
                output, _ = process.communicate(timeout=timeout_s)
            except subprocess.TimeoutExpired:
                raise TimeoutError from None
            finally:
                _kill(process)
                self._running.discard(process)
        return process.returncode, output[-OUTPUT_MAX_BYTES:].decode(errors="replace")


def _start(target: ProcessTarget, command: list[str], identity: Identity | None) -> subprocess.Popen[bytes]:
    changes_user = identity is not None and identity.uid != os.geteuid()
    return subprocess.Popen(
        [*target.prefix, *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=target.folder,
        env=dict(target.env),
        start_new_session=True,
        umask=target.umask,
        user=identity.uid if identity is not None and changes_user else None,
        group=identity.gid if identity is not None and changes_user else None,
        extra_groups=identity.groups if identity is not None and changes_user else None,
    )


def _kill(process: subprocess.Popen[bytes]) -> None:
    """With all that it started in its session."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
