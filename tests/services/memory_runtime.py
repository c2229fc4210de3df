"""A runtime plugin for tests: its tasks do what a test says, live in memory, and so outlive every worker."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from shunter.adapters.system.clock import SystemClock
from shunter.plugins import RUNTIMES, Plugin
from shunter.worker.runtimes import registry
from shunter.worker.runtimes.port import Attempt, Launch, NotStarted, Outcome, RuntimeGone, Usage
from shunter.worker.runtimes.task_log import OUT
from shunter.worker.settings import WorkerSettings
from tests.services.worker_harness import Harness, open_harness


class Box:
    """One task of the test's runtime: it does what the test says."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.started_ms = int(SystemClock().now() * 1000)
        self.signals: list[int] = []
        self.outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.is_removed = False
        self.ignores_term = launch.spec.command[0] == "stubborn"
        self.is_healthy = True

    def exit(self, code: int, how: str = "", detail: str = "") -> None:
        if not self.outcome.done():
            self.outcome.set_result(Outcome(code, int(SystemClock().now() * 1000), how, detail))

    async def ended(self) -> Outcome:
        return await asyncio.shield(self.outcome)

    async def signal(self, number: int) -> None:
        self.signals.append(number)
        if number == signal.SIGKILL or not self.ignores_term:
            self.exit(128 + number)

    async def execute(self, command: Sequence[str], timeout_s: float) -> tuple[int, str]:
        return (0 if self.is_healthy else 9), f"{' '.join(command)} within {timeout_s:g} s"

    def address(self, port: str) -> tuple[str, int]:
        return "127.0.0.1", self.launch.ports[port]

    async def usage(self) -> Usage | None:
        return Usage(1.5, 4096, 2)

    async def remove(self) -> None:
        self.is_removed = True


class Boxes:
    """The test's daemon and its runtime in one; `gate` holds up starts."""

    def __init__(self) -> None:
        self.all: dict[Attempt, Box] = {}
        self.gate = asyncio.Event()
        self.gate.set()
        self.orphans: list[Attempt] = []
        self.is_gone = False
        self.launching = 0
        self.opening: list[Launch] = []
        self.changed: Callable[[Mapping[str, str]], None] | None = None

    def factory(self, _settings: WorkerSettings) -> Boxes:
        return self

    async def open(self) -> Mapping[str, str]:
        return {"runtime.box": "1.0"}

    async def launch(self, launch: Launch) -> Box:
        self.launching += 1
        self.opening.append(launch)
        try:
            await self.gate.wait()
        finally:
            self.launching -= 1
        if self.is_gone:
            raise RuntimeGone("the box daemon does not answer")
        if launch.spec.command[0] == "missing":
            raise NotStarted("box missing: no such box", 127)
        if launch.spec.command[0] == "nothing":
            return None  # type: ignore[return-value]
        box = self.all[launch.attempt] = Box(launch)
        launch.log.write(OUT, b"hello ")
        return box

    async def find(self, launches: Mapping[Attempt, Launch]) -> Mapping[Attempt, Box]:
        if self.is_gone:
            raise RuntimeGone("the box daemon does not answer")
        self.orphans += [attempt for attempt, box in self.all.items() if attempt not in launches and not box.is_removed]
        found = {attempt: box for attempt, box in self.all.items() if attempt in launches}
        for attempt, box in found.items():
            box.launch = launches[attempt]
        return found

    async def close(self) -> None: ...

    def __getitem__(self, index: int) -> Box:
        """The newest attempt of a task of job 1."""
        return self.all[max(attempt for attempt in self.all if (attempt.job, attempt.index) == (1, index))]


@asynccontextmanager
async def open_box_harness(
    folder: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any
) -> AsyncIterator[tuple[Harness, Boxes]]:
    boxes = Boxes()
    plugin = Plugin(RUNTIMES, "box", "test 1", boxes.factory)
    monkeypatch.setattr(registry, "find_plugins", lambda _: [plugin])
    async with open_harness(folder, **settings) as harness:
        yield harness, boxes


def order(harness: Harness, *command: str, **fields: Any) -> None:
    harness.order(*(command or ("run",)), runtime="box", **fields)


async def until(condition: Any) -> None:
    """Where no message tells."""
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0)
