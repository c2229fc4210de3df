"""How much of a core 2,000 idle workers cost their manager. Each worker has a real gRPC stream and sends heartbeats as
often as the manager asks it to; only its machine is made up. The workers share one process of their own.

Run: python -m benchmarks.heartbeats"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import psutil

from benchmarks.cluster import Cluster, cluster
from benchmarks.measure import Bar, Report, Sample, read_options
from shunter.model.protocol.worker_messages import (
    PROTOCOL_VERSION,
    Heartbeat,
    Hello,
    Inventory,
    MachineStats,
    ManagerMessage,
    SetHeartbeat,
    Welcome,
)
from shunter.ports.workers import Uplink

WORKERS, WORKERS_SMALL = 2_000, 20
SECONDS, SECONDS_SMALL = 30.0, 2.0
JOIN_MAX_S = 300.0
JOINS_AT_ONCE = 50
SHARE_PERCENT = Bar(at_most=20.0)
DESCRIPTORS = 8192


class IdleWorker:
    """The worker's side of a stream: it joins, has no task, and sends heartbeats."""

    def __init__(self, name: str) -> None:
        capacity = {"cpu": 4_000, "memory": 8 << 30}
        self._hello = Hello(PROTOCOL_VERSION, name, boot=name, capacity=capacity, worker_id=name, machine=name)
        self._uplink: Uplink | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._heartbeat_s = 0.0
        self.joined = asyncio.Event()

    def connected(self, uplink: Uplink) -> None:
        self._uplink = uplink
        uplink.send(self._hello)

    def received(self, message: ManagerMessage) -> None:
        assert self._uplink is not None
        if isinstance(message, Welcome):
            self._uplink.send(Inventory(1, [], []))
            self.joined.set()
            self._set_interval(message.heartbeat_s)
        elif isinstance(message, SetHeartbeat):
            self._set_interval(message.heartbeat_s)

    def disconnected(self, _reason: str) -> None:
        self._uplink = None
        self._cancel_timer()

    def _set_interval(self, heartbeat_s: float) -> None:
        self._heartbeat_s = heartbeat_s
        self._cancel_timer()
        self._timer = asyncio.get_running_loop().call_later(random.uniform(0, heartbeat_s), self._send_heartbeat)

    def _send_heartbeat(self) -> None:
        assert self._uplink is not None
        self._uplink.send(Heartbeat(MachineStats(int(time.time() * 1000), cpu_busy=0.25, tasks_running=0)))
        self._timer = asyncio.get_running_loop().call_later(self._heartbeat_s, self._send_heartbeat)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def main() -> None:
    options = read_options(__doc__)
    count = WORKERS_SMALL if options.small else WORKERS
    with cluster("--workers-listen", "127.0.0.1:0") as running:
        command = [sys.executable, "-m", "benchmarks.heartbeats", "--workers", str(count)]
        environment = {
            **os.environ,
            "BENCHMARK_MANAGER": json.loads((running.home / "cluster.json").read_text())["workers"],
        }
        workers = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        try:
            assert workers.stdout is not None and workers.stdout.readline() == "joined\n"
            shares = [
                share_percent(running, SECONDS_SMALL if options.small else SECONDS) for _ in range(options.rounds)
            ]
            alive = sum(
                node["state"] == "ready" for node in json.loads(running.shunter("nodes", "--output", "json"))["items"]
            )
        finally:
            workers.kill()
            workers.wait()
    assert alive == count + 1, f"{alive} nodes are ready"  # and the worker of the manager's own process
    report = Report("heartbeats", options)
    report.figure(f"{count:,} workers, share of a core at their manager", "%", Sample(tuple(shares)), SHARE_PERCENT)


def share_percent(running: Cluster, seconds: float) -> float:
    manager = running.manager()
    began_s, used_s = time.monotonic(), _cpu_s(manager)
    time.sleep(seconds)
    return 100 * (_cpu_s(manager) - used_s) / (time.monotonic() - began_s)


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


async def run_workers(count: int) -> None:
    """Join by groups, say so, and stay until this process is killed."""
    from shunter.adapters.grpc.worker_client import WorkerClient

    token = (Path(os.environ["SHUNTER_HOME"]) / "worker-token").read_text().strip()
    workers = [IdleWorker(f"idle-{number}") for number in range(count)]
    clients = []
    async with asyncio.timeout(JOIN_MAX_S):
        for start in range(0, count, JOINS_AT_ONCE):
            group = workers[start : start + JOINS_AT_ONCE]
            clients += [
                asyncio.create_task(WorkerClient(worker, os.environ["BENCHMARK_MANAGER"], token).run())
                for worker in group
            ]
            await asyncio.gather(*(worker.joined.wait() for worker in group))
    print("joined", flush=True)
    await asyncio.gather(*clients)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--workers"]:
        import resource

        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
        asyncio.run(run_workers(int(sys.argv[2])))
    else:
        main()
