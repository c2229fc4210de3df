"""A manager's end for tests of the worker: sends orders, receives reports, acknowledges. Real keepers, real
processes."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from shunter.adapters.system.clock import SystemClock
from shunter.model.job.spec import TaskSpec
from shunter.model.protocol.worker_messages import (
    Ack,
    Ended,
    Goodbye,
    Hello,
    Inventory,
    LogData,
    Lost,
    Order,
    Orders,
    Ping,
    Pong,
    ReadLog,
    Report,
    Returned,
    Started,
    StatsData,
    Welcome,
    WorkerMessage,
)
from shunter.worker.process.cgroups import tree_name
from shunter.worker.settings import WorkerSettings
from shunter.worker.worker import Worker

PATIENCE_S = 60.0
EVERYTHING = 2**62
MARKS: dict[Path, str] = {}  # home -> what its tasks have in SHUNTER_MARK; known also when the home is gone
QUICK = {"warm_keepers": 1, "shutdown_ack_max_s": 0.2}


@asynccontextmanager
async def open_harness(folder: Path, **settings: Any) -> AsyncIterator[Harness]:
    """A started worker; afterwards none of its processes and groups may be left."""
    harness = Harness(folder / "home", **settings)
    try:
        await harness.start()
        yield harness
        await harness.close()
    except BaseException:
        await harness.worker.stop(end_keepers=False)
        raise
    finally:
        left = kill_marked(harness.home)
    assert not left, f"processes were left: {left}"
    assert not groups_left(harness.home)


class Harness:
    """One worker at a time on one home; `restart` begins its next life."""

    def __init__(self, home: Path, **settings: Any) -> None:
        self.home = home
        self.settings = WorkerSettings(home=home, name="stage", **{**QUICK, **settings})
        self.epoch = 1
        self.acknowledges = True
        self.answers_pings = True
        self.is_open = True  # to reports: a closed manager hears nothing
        self.messages: list[WorkerMessage] = []
        self.ended: list[Ended] = []
        self.started: list[Started] = []
        self.returned: list[Returned] = []
        self.lost: list[Lost] = []
        self._heard = asyncio.Event()
        self._requests = 0

    async def start(self) -> Harness:
        self.worker = Worker(self.settings, SystemClock())
        await self.worker.start()
        MARKS[self.home] = (self.home / "mark").read_text()
        self.worker.connected(self)
        await self.until(lambda: self.inventories)
        return self

    async def restart(self) -> None:
        """The worker's process ends and a new one begins, as far as keepers can tell."""
        await self.worker.stop(end_keepers=False)
        self.forget()
        await self.start()

    async def close(self) -> None:
        """The manager takes all results first: a keeper with others would stay."""
        self.acknowledges = True
        self.worker.received(Ack(EVERYTHING))
        await self.worker.stop(end_keepers=True)

    def forget(self) -> None:
        for heard in (self.messages, self.ended, self.started, self.returned, self.lost):
            heard.clear()

    # ---- ports.workers.Uplink ----

    def send(self, message: WorkerMessage) -> None:
        self.messages.append(message)
        if isinstance(message, Hello):
            self._say(Welcome(self.epoch, 1, 60.0))
        if isinstance(message, Ping) and self.answers_pings:
            self._say(Pong(message.number))
        if isinstance(message, Inventory | Report):
            self.ended += message.ended
            self.lost += message.lost
            if isinstance(message, Report):
                self.started += message.started
                self.returned += message.returned
            if self.acknowledges:
                self._say(Ack(message.seq))
        self._heard.set()

    def close_after_flush(self) -> None:
        self.worker.disconnected("the worker reconnects")
        asyncio.get_running_loop().call_soon(self.worker.connected, self)

    def _say(self, message: Any) -> None:
        asyncio.get_running_loop().call_soon(self.worker.received, message)

    # ---- what a test does ----

    def order(self, *command: str, **fields: Any) -> None:
        """Order tasks first..last of a job; fields of the order and of the spec by name."""
        place = {"job": 1, "group": 0, "first": 0, "attempt": 1, "reservation": 1, "width": 1, **fields}
        names = {"namespace": "default", "job_name": "job", "group_name": "main"}
        order_fields = {"last": place["first"], "spec": 7, "count": 1, **names, **place}
        order = Order(**{key: value for key, value in order_fields.items() if key in Order.__struct_fields__})
        spec = {key: value for key, value in fields.items() if key in TaskSpec.__struct_fields__}
        self.worker.received(Orders(self.epoch, [order], {7: TaskSpec(command=command, **spec)}))

    async def until(self, condition: Callable[[], Any]) -> Any:
        """Wait for messages until the condition holds; returns its value."""
        async with asyncio.timeout(PATIENCE_S):
            while not (value := condition()):
                self._heard.clear()
                await self._heard.wait()
        return value

    async def run(self, *command: str, **fields: Any) -> Ended:
        """One task to its end."""
        before = len(self.ended)
        self.order(*command, **fields)
        await self.until(lambda: len(self.ended) > before)
        return self.ended[before]

    async def all_ended(self, count: int) -> dict[int, int]:
        """Index -> exit code, once `count` tasks have ended."""
        await self.until(lambda: sum(len(ended.ended_ms) for ended in self.ended) >= count)
        return exits(self.ended)

    async def read(self, task: Ended | Started, stream: str = "stdout", offset: int = 0, place: int = 0) -> LogData:
        self._requests += 1
        request = self._requests
        self.worker.received(ReadLog(request, task.segment, task.record + place, stream, offset, 2**22))
        found = [m for m in self.messages if isinstance(m, LogData) and m.request == request]
        return found[0]

    @property
    def hello(self) -> Hello:
        return next(message for message in self.messages if isinstance(message, Hello))

    @property
    def inventories(self) -> list[Inventory]:
        return [message for message in self.messages if isinstance(message, Inventory)]

    @property
    def stats(self) -> list[StatsData]:
        return [message for message in self.messages if isinstance(message, StatsData)]

    @property
    def goodbyes(self) -> list[Goodbye]:
        return [message for message in self.messages if isinstance(message, Goodbye)]

    def keeper_pids(self) -> list[int]:
        """A task looks like its keeper for a moment, between its birth and its program: its parent tells."""
        pids = [pid for pid in marked_pids(self.home) if b"keeper_main.py" in _read(pid, "cmdline")]
        return [pid for pid in pids if _parent(pid) not in pids]


def exits(ended: list[Ended]) -> dict[int, int]:
    return {
        run.first + place: run.exits[place] if run.exits else 0 for run in ended for place in range(len(run.ended_ms))
    }


def marked_pids(home: Path) -> list[int]:
    """Keepers and tasks of a home that are alive."""
    keeper_mark = f"\0SHUNTER_WORKER_HOME={home}\0".encode()
    task_mark = f"\0SHUNTER_MARK={MARKS.get(home, home)}-".encode()
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    environments = {pid: b"\0" + _read(pid, "environ") for pid in pids}
    return [pid for pid, found in environments.items() if keeper_mark in found or task_mark in found]


def groups_left(home: Path) -> list[Path]:
    """Walked, not globbed: groups of other tests come and go meanwhile, and a walk passes over what has gone."""
    wanted = tree_name(home)
    return [Path(folder) / wanted for folder, names, _ in os.walk("/sys/fs/cgroup") if wanted in names]


def kill_marked(home: Path) -> dict[int, bytes]:
    """Kill what is left, and say what it was."""
    left = {pid: _read(pid, "cmdline") for pid in marked_pids(home)}
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return left


async def wait_gone(pid: int) -> None:
    """Until a process is not there any longer, or only as a zombie."""
    async with asyncio.timeout(PATIENCE_S):
        while is_running(pid):
            await asyncio.sleep(0.005)


def is_running(pid: int) -> bool:
    """Whether a process is there, and not only as a zombie."""
    return bool(_read(pid, "environ"))


def _parent(pid: int) -> int:
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[1]) if fields else 0


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
