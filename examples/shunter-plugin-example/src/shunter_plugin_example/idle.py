"""A runtime: tasks run with the lowest CPU priority, and end with their worker."""

from __future__ import annotations

import asyncio
import os
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence

from shunter.plugins import ERR, OUT, Attempt, Launch, NotStarted, Outcome, Running, Usage, WorkerSettings

# setpriv makes the kernel kill the task with the worker, so there is nothing to find after a restart.
LOWEST = ("setpriv", "--pdeathsig", "KILL", "nice", "-n", "19")
READ_BYTES = 65536
EXIT_SIGNAL = 128


class Idle:
    def __init__(self, settings: WorkerSettings) -> None: ...

    async def open(self) -> Mapping[str, str]:
        return {"runtime.idle": "1.0"}

    async def launch(self, launch: Launch) -> Running:
        env = {"PATH": os.environ.get("PATH", os.defpath), **launch.env}
        try:
            process = await asyncio.create_subprocess_exec(
                *LOWEST, *launch.spec.command, env=env, cwd=launch.spec.dir or "/", stdout=PIPE, stderr=PIPE
            )
        except OSError as error:
            raise NotStarted(f"runtime idle: {error}") from error
        return IdleTask(process, launch)

    async def find(self, launches: Mapping[Attempt, Launch]) -> Mapping[Attempt, Running]:  # noqa: ARG002
        return {}

    async def close(self) -> None: ...


class IdleTask:
    def __init__(self, process: Process, launch: Launch) -> None:
        self.started_ms = int(time.time() * 1000)
        self._process = process
        self._launch = launch
        self._watching = asyncio.ensure_future(self._watch())

    async def ended(self) -> Outcome:
        return await asyncio.shield(self._watching)

    async def signal(self, number: int) -> None:
        if self._process.returncode is None:
            self._process.send_signal(number)

    async def execute(self, command: Sequence[str], timeout_s: float) -> tuple[int, str]:
        process = await asyncio.create_subprocess_exec(*command, cwd=self._launch.spec.dir or "/", stdout=PIPE)
        try:
            output, _ = await asyncio.wait_for(process.communicate(), timeout_s)
        except TimeoutError:
            process.kill()
            raise
        return process.returncode or 0, output.decode(errors="replace")

    def address(self, port: str) -> tuple[str, int]:
        return "127.0.0.1", self._launch.ports[port]

    async def usage(self) -> Usage | None:
        return None

    async def remove(self) -> None: ...

    async def _watch(self) -> Outcome:
        await asyncio.gather(self._copy(OUT, self._process.stdout), self._copy(ERR, self._process.stderr))
        code = await self._process.wait()
        return Outcome(code if code >= 0 else EXIT_SIGNAL - code, int(time.time() * 1000))

    async def _copy(self, stream: int, reader: asyncio.StreamReader | None) -> None:
        assert reader is not None
        while data := await reader.read(READ_BYTES):
            self._launch.log.write(stream, data)
