"""One container from start to finish through Shunter's worker, against `docker run --rm` on the same daemon.

`/bin/true` in an image that is there, on the usual network, with its output captured by the worker. The daemon is
private, as in the tests. Run: python -m benchmarks.containers
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

import uvloop

from benchmarks.cluster import seconds_of
from benchmarks.measure import Bar, Report, interleave, read_options
from shunter.adapters.system.clock import SystemClock
from shunter.model.job.spec import Container, TaskSpec
from shunter.model.protocol.worker_messages import Ack, Hello, Inventory, Order, Orders, Welcome, WorkerMessage
from shunter.model.protocol.worker_messages import Report as TaskReport
from shunter.worker.settings import WorkerSettings
from shunter.worker.worker import Worker
from tests.services import docker_daemon
from tests.services.docker_daemon import IMAGE, TestDaemon

TURNS = 20
TURNS_SMALL = 2
RATIO = Bar(at_most=1.1)


class FakeManager:
    """Orders one container at a time, acknowledges every report at once."""

    def __init__(self, worker: Worker, network: str) -> None:
        self._worker = worker
        self._jobs = count(1)
        self._spec = TaskSpec(command=("/bin/true",), runtime="docker", container=Container(IMAGE, network=network))
        self._ended = asyncio.Event()

    def close_after_flush(self) -> None: ...

    def send(self, message: WorkerMessage) -> None:
        if isinstance(message, Hello):
            self._worker.received(Welcome(1, 1, 60.0))
        elif isinstance(message, Inventory | TaskReport):
            self._worker.received(Ack(message.seq))
            for ended in message.ended:
                assert not ended.exits, ended
                self._ended.set()

    async def seconds_of_run(self) -> float:
        self._ended.clear()
        started = time.perf_counter()
        order = Order(next(self._jobs), 0, 0, 0, 1, 1, 1, 1, "default", "bench", "main", 1)
        self._worker.received(Orders(1, [order], {1: self._spec}))
        await self._ended.wait()
        return time.perf_counter() - started


def main() -> None:
    options = read_options(__doc__)
    report = Report("containers", options)
    missing = docker_daemon.skip_reason() or ("" if shutil.which("docker") else "docker, the command, not found")
    if missing:
        print(f"containers: skipped: {missing}", file=sys.stderr)
        return
    daemon = docker_daemon.start()
    try:
        measure(daemon, report, TURNS_SMALL if options.small else TURNS)
    finally:
        docker_daemon.end(daemon)


def measure(daemon: TestDaemon, report: Report, turns: int) -> None:
    network = "bridge" if daemon.bridge else "none"
    command = ("docker", "--host", daemon.host, "run", "--rm", "--network", network, IMAGE, "/bin/true")
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        settings = WorkerSettings(home=Path(folder), name="bench", docker_host=daemon.host)
        worker = Worker(settings, SystemClock())
        runner.run(worker.start())
        manager = FakeManager(worker, network)
        worker.connected(manager)
        runner.run(manager.seconds_of_run())  # the first one loads the client
        seconds_of(*command)
        contenders = {
            "shunter": lambda: runner.run(manager.seconds_of_run()),
            "docker": lambda: seconds_of(*command),
        }
        found = interleave(contenders, turns)
        runner.run(worker.stop(end_keepers=True))
    report.figure("one container through the worker", "s", found["shunter"])
    report.figure("one container with docker run --rm", "s", found["docker"])
    report.ratio("time of a container", found["shunter"], "docker run --rm", found["docker"], RATIO)


if __name__ == "__main__":
    main()
