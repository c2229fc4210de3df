"""A worker and its two keepers alone, with a minimal manager, against `xargs`.

10,000 times `/bin/true` with captured output as one range; and the round trip of one task at rest, next to the same
process started and waited for without Shunter. Two interpreters that do nothing but start processes and wait for them
run beside it, as a guide to what this machine allows. Run: python -m benchmarks.keepers"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import uvloop

from benchmarks.arrays import run_xargs
from benchmarks.measure import Bar, Report, Sample, interleave, read_options
from shunter.adapters.system.clock import SystemClock
from shunter.model.job.spec import TaskSpec
from shunter.model.protocol.worker_messages import Ack, Hello, Inventory, Order, Orders, Welcome, WorkerMessage
from shunter.model.protocol.worker_messages import Report as TaskReport
from shunter.worker.settings import WorkerSettings
from shunter.worker.worker import Worker

TASKS = 10_000
TASKS_SMALL = 300
TRIPS = 300
TRIPS_SMALL = 20
LANES = 2
RATIO = Bar(at_least=1.6)
ROUND_TRIP_MS = Bar(at_most=0.8)
SPEC = TaskSpec(command=("/bin/true",))
COMMAND = ["/bin/true"]
BARE_LOOP = """
import os, sys
for _ in range(int(sys.argv[1])):
    os.waitpid(os.posix_spawn("/bin/true", ["/bin/true"], {}, setsid=True), 0)
"""


class FakeManager:
    """Orders ranges, acknowledges every report at once, and counts what has ended."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._job = 0
        self._left = 0
        self._done = asyncio.Event()

    def close_after_flush(self) -> None: ...

    def send(self, message: WorkerMessage) -> None:
        if isinstance(message, Hello):
            self._worker.received(Welcome(1, 1, 60.0))
        elif isinstance(message, Inventory | TaskReport):
            self._worker.received(Ack(message.seq))
            self._left -= sum(len(ended.ended_ms) for ended in message.ended)
            if self._left <= 0:
                self._done.set()

    async def run(self, tasks: int, width: int) -> None:
        """Until all of them have ended."""
        self._job += 1
        self._left = tasks
        self._done.clear()
        order = Order(self._job, 0, 0, tasks - 1, 1, 1, 1, width, "default", "bench", "main", tasks)
        self._worker.received(Orders(1, [order], {1: SPEC}))
        await self._done.wait()


def main() -> None:
    options = read_options(__doc__)
    report = Report("keepers", options)
    tasks, trips = (TASKS_SMALL, TRIPS_SMALL) if options.small else (TASKS, TRIPS)
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        worker = Worker(WorkerSettings(home=Path(folder), name="bench"), SystemClock())
        runner.run(worker.start())
        manager = FakeManager(worker)
        worker.connected(manager)
        rates = interleave(
            {
                "keepers": lambda: tasks / runner.run(seconds_of_run(manager, tasks)),
                "xargs": lambda: tasks / run_xargs(tasks),
                "bare": lambda: tasks / seconds_of_bare_starts(tasks),
            },
            options.rounds,
        )
        times_ms = interleave({"bare": bare_trip_ms, "through": lambda: runner.run(trip_ms(manager))}, trips)
        runner.run(worker.stop(end_keepers=True))
    report.figure(f"{tasks:,} tasks with {LANES} keepers", "tasks/s", rates["keepers"])
    report.ratio("rate of a range", rates["keepers"], f"xargs -P{LANES}", rates["xargs"], RATIO)
    report.ratio("rate of bare starts", rates["bare"], f"xargs -P{LANES}", rates["xargs"])
    report.ratio("rate of a range", rates["keepers"], "bare starts", rates["bare"])
    beyond = times_ms["through"].median - times_ms["bare"].median
    report.figure("one task through worker and keeper, beyond its own start", "ms", Sample((beyond,)), ROUND_TRIP_MS)


async def seconds_of_run(manager: FakeManager, tasks: int) -> float:
    started = time.perf_counter()
    await manager.run(tasks, LANES)
    return time.perf_counter() - started


def seconds_of_bare_starts(tasks: int) -> float:
    started = time.perf_counter()
    command = [sys.executable, "-I", "-S", "-c", BARE_LOOP, str(tasks // LANES)]
    for process in [subprocess.Popen(command) for _ in range(LANES)]:
        assert process.wait() == 0
    return time.perf_counter() - started


async def trip_ms(manager: FakeManager) -> float:
    await asyncio.sleep(0.005)
    started = time.perf_counter()
    await manager.run(1, 1)
    return (time.perf_counter() - started) * 1000


def bare_trip_ms() -> float:
    time.sleep(0.005)
    started = time.perf_counter()
    os.waitpid(os.posix_spawn("/bin/true", COMMAND, {}), 0)
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    main()
