"""A harness for the Docker runtime: launches as the worker would make them, on a private daemon."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

from shunter.model.job.spec import Container, TaskSpec
from shunter.model.protocol.worker_messages import LogData, Order, ReadLog
from shunter.worker.logs import read_log
from shunter.worker.runtimes.docker import DockerRuntime
from shunter.worker.runtimes.docker.container_spec import HOME_LABEL
from shunter.worker.runtimes.docker.daemon import Daemon
from shunter.worker.runtimes.port import Attempt, Launch, Outcome, Running
from shunter.worker.runtimes.task_log import TaskLog
from shunter.worker.settings import WorkerSettings
from tests.services.docker_daemon import IMAGE, TestDaemon

PATIENCE_S = 60.0
CONTAINER_FIELDS = frozenset(Container.__struct_fields__)


@asynccontextmanager
async def open_docker_harness(folder: Path, daemon: TestDaemon) -> AsyncIterator[DockerHarness]:
    """An open runtime; afterwards no container of its home may be left."""
    harness = DockerHarness(folder / "home", daemon.host)
    await harness.open()
    try:
        yield harness
    finally:
        for running in harness.running:
            await running.remove()
        await harness.runtime.close()
        left = await harness.containers() if harness.attributes else []
        for container in left:
            await harness.daemon.remove(container["Id"])
        await harness.daemon.close()
    assert not left, f"containers were left: {left}"


class DockerHarness:
    """One runtime at a time on one home; `restart` begins its next life."""

    def __init__(self, home: Path, host: str) -> None:
        self.settings = WorkerSettings(home=home, name="stage", docker_host=host)
        self.daemon = Daemon(host)  # to look from outside
        self.launches: dict[Attempt, Launch] = {}
        self.running: list[Running] = []
        self._numbers = count()
        (home / "logs").mkdir(parents=True)

    async def open(self) -> None:
        self.runtime = DockerRuntime(self.settings)
        self.attributes = await self.runtime.open()

    async def restart(self) -> dict[Attempt, Running]:
        """The worker's process ends and the next one begins, with what was written down and nothing else."""
        await self.runtime.close()
        again: dict[Attempt, Launch] = {}
        for attempt, launch in self.launches.items():
            launch.log.close()
            name = attempt.job, attempt.group, attempt.index, attempt.number
            log = TaskLog.reopen(self._logs, launch.log.segment, name, launch.spec.log_max_bytes)
            again[attempt] = Launch(launch.attempt, launch.order, launch.spec, launch.env, log, launch.ports)
        self.launches = again
        await self.open()
        found = dict(await self.runtime.find(self.launches))
        self.running = list(found.values())
        return found

    def prepare(self, *command: str, **fields: Any) -> Launch:
        """A launch of one attempt; fields of the spec, of its container and of the launch by name."""
        container = {"image": IMAGE, "network": "none", **{k: v for k, v in fields.items() if k in CONTAINER_FIELDS}}
        spec = {key: value for key, value in fields.items() if key in TaskSpec.__struct_fields__}
        task = TaskSpec(command=command, **{"runtime": "docker", "container": Container(**container), **spec})
        index = next(self._numbers)
        attempt = Attempt(1, 0, index, 1)
        order = Order(1, 0, index, index, 1, 7, 1, 1, "default", "job", "main", 1)
        log = TaskLog.create(self._logs, (1, 0, index, 1), task.log_max_bytes)
        rest = {key: fields[key] for key in ("ports", "payload", "devices") if key in fields and key != "ports"}
        ports = {port.name: port.host_port for port in task.ports}
        env = {**task.env, "SHUNTER_TASK_INDEX": str(index)}
        self.launches[attempt] = Launch(attempt, order, task, env, log, ports, **rest)
        return self.launches[attempt]

    async def launch(self, *command: str, **fields: Any) -> Running:
        running = await self.runtime.launch(self.prepare(*command, **fields))
        self.running.append(running)
        return running

    async def run(self, *command: str, **fields: Any) -> tuple[Outcome, bytes, bytes]:
        """One container to its end; how it ended, and both streams."""
        running = await self.launch(*command, **fields)
        outcome = await running.ended()
        return outcome, self.read("stdout"), self.read("stderr")

    def read(self, stream: str = "stdout") -> bytes:
        """What the last launch has written so far."""
        return self.read_log(stream).data

    def read_log(self, stream: str = "stdout") -> LogData:
        launch = list(self.launches.values())[-1]
        return read_log(self._logs, ReadLog(1, launch.log.segment, 0, stream, 0, 2**24))

    async def containers(self) -> list[dict[str, Any]]:
        id = (self.settings.home / "docker" / "id").read_text()  # there since the first launch
        return await self.daemon.list_by_label(f"{HOME_LABEL}={id}")

    async def inspect(self) -> dict[str, Any]:
        """The only container there is."""
        [found] = await self.containers()
        return await self.daemon.inspect(found["Id"])

    @property
    def _logs(self) -> Path:
        return self.settings.home / "logs"


async def until(condition: Callable[[], Any] | Callable[[], Awaitable[Any]]) -> Any:
    """Ask again and again, because the other side is a server that tells nobody."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            value = condition()
            if isinstance(value, Awaitable):
                value = await value
            if value:
                return value
            await asyncio.sleep(0.02)
