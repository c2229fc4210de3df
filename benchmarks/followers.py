"""1,000 followers of events: 50 of everything, 950 of one job each, while jobs make 1,000 events per second.

An event carries the time of its round: the time from there to the follower is measured, with the commit. Meanwhile
another client reads jobs, one request after the other. The nodes are simulated, so that no tasks take processor time.

Run: python -m benchmarks.followers"""

from __future__ import annotations

import asyncio
import json
import re
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, partial
from typing import cast
from urllib.parse import urlsplit

import uvloop

from benchmarks.cluster import Cluster, cluster
from benchmarks.measure import Bar, Options, Report, Sample, read_options
from shunter.sdk.manifests import job_manifest

EVERYTHING, EVERYTHING_SMALL = 50, 5
SINGLE, SINGLE_SMALL = 950, 20
SECONDS, SECONDS_SMALL = 10, 1
EVENTS_PER_S = 1_000
EVENTS_PER_JOB = 4  # submitted, placed, tasks succeeded, job succeeded
SUBMITTERS = 10
PROBE_PAUSE_S = 0.01
LATE_MAX_S = 20.0  # for the last events to come
RATE_PER_S = Bar(at_least=0.95 * EVENTS_PER_S)
DELIVERED_MS = Bar(at_most=200.0)
API_MS = Bar(at_most=100.0)
NONE = Bar(at_most=0)
DESCRIPTORS = 4096
AT = re.compile(rb'"at":"([^"]+)"')


@dataclass(frozen=True)
class Target:
    """Where the cluster listens, and the headers of each request."""

    host: str
    port: int
    headers: str

    def get(self, path: str) -> bytes:
        return f"GET /api/v1{path} HTTP/1.1\r\n{self.headers}\r\n".encode()

    def submit(self, name: str) -> bytes:
        body = json.dumps(job_manifest(["true"], {"name": name, "env": {"SHUNTER_SIM_DURATION": "0"}}))
        head = f"POST /api/v1/jobs HTTP/1.1\r\n{self.headers}content-type: application/json\r\n"
        return f"{head}content-length: {len(body)}\r\n\r\n{body}".encode()


@dataclass
class Received:
    """What followers have heard."""

    open: int = 0
    lost: int = 0
    latencies_ms: list[float] = field(default_factory=list)


class Follower(asyncio.Protocol):
    """As little of a client as can be, so that the server is measured."""

    def __init__(self, request: bytes, received: Received) -> None:
        self._request, self._received = request, received
        self._rest = b""
        self._is_open = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast("asyncio.Transport", transport).write(self._request)

    def data_received(self, data: bytes) -> None:
        data = self._rest + data
        if not self._is_open:
            if b": still here" not in data:
                self._rest = data
                return
            self._is_open = True
            self._received.open += 1
        now_s, end, latencies_ms = time.time(), 0, self._received.latencies_ms
        for found in AT.finditer(data):
            latencies_ms.append((now_s - parse_time_s(found[1])) * 1000)
            end = found.end()
        self._rest = data[end:][-128:]

    def connection_lost(self, _: Exception | None) -> None:
        self._received.lost += 1


@cache
def parse_time_s(text: bytes) -> float:
    return datetime.fromisoformat(text.decode()).timestamp()


def main() -> None:
    options = read_options(__doc__)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(DESCRIPTORS, hard), hard))
    with cluster("--simulate-nodes", "20", lanes=None) as running:
        measure(Report("followers", options), options, target_of(running))


def target_of(running: Cluster) -> Target:
    url = urlsplit(json.loads((running.home / "cluster.json").read_text())["url"])
    token = (running.home / "token").read_text().strip()
    return Target(str(url.hostname), int(url.port or 0), f"host: {url.netloc}\r\nauthorization: Bearer {token}\r\n")


def measure(report: Report, options: Options, target: Target) -> None:
    everything, single = (EVERYTHING_SMALL, SINGLE_SMALL) if options.small else (EVERYTHING, SINGLE)
    seconds = SECONDS_SMALL if options.small else SECONDS
    figures: dict[str, list[float]] = {}
    for _ in range(options.rounds):
        for name, value in uvloop.run(follow(target, everything, single, seconds)).items():
            figures.setdefault(name, []).append(value)
    samples = {name: Sample(tuple(values)) for name, values in figures.items()}
    report.figure("jobs make", "events a second", samples["rate"], RATE_PER_S)
    report.figure(f"{everything + single} followers get", "events a second", samples["received"])
    report.figure("half of them come within", "ms", samples["p50"])
    report.figure("99 % of them come within", "ms", samples["p99"], DELIVERED_MS)
    report.figure("events that did not come", "events", samples["missing"], NONE)
    report.figure("99 % of requests to the API end within", "ms", samples["api"], API_MS)
    report.figure("99 % of submits end within", "ms", samples["submit"], API_MS)


async def follow(target: Target, everything: int, single: int, seconds: int) -> dict[str, float]:
    loop, received = asyncio.get_running_loop(), Received()
    names = [f"job-{number}" for number in range(single)]
    paths = ["/events?follow=true"] * everything
    paths += [f"/events?follow=true&namespace=default&job={name}" for name in names]
    transports = []
    for path in paths:
        make = partial(Follower, target.get(path), received)
        transports.append((await loop.create_connection(make, target.host, target.port))[0])
    await until(lambda: received.open == len(paths))
    probe_ms: list[float] = []
    probe = asyncio.create_task(read_repeatedly(target, probe_ms))
    begun = loop.time()
    jobs = EVENTS_PER_S // EVENTS_PER_JOB * seconds
    submits_ms = await submit(target, jobs, names)
    elapsed_s = max(loop.time() - begun, seconds)
    expected = jobs * EVENTS_PER_JOB * (everything + 1)
    await until(lambda: len(received.latencies_ms) >= expected)
    probe.cancel()
    lost = received.lost
    for transport in transports:
        transport.abort()
    assert not lost, f"{lost} followers lost their connection"
    cuts_ms = statistics.quantiles(received.latencies_ms, n=100)
    return {
        "rate": jobs * EVENTS_PER_JOB / elapsed_s,
        "received": len(received.latencies_ms) / elapsed_s,
        "p50": cuts_ms[49],
        "p99": cuts_ms[98],
        "missing": expected - len(received.latencies_ms),
        "api": statistics.quantiles(probe_ms, n=100)[98],
        "submit": statistics.quantiles(submits_ms, n=100)[98],
    }


async def submit(target: Target, count: int, names: list[str]) -> list[float]:
    """Submit jobs at an even pace, over a few connections; returns how long each took."""
    loop = asyncio.get_running_loop()
    begun, took_ms = loop.time(), []
    pace_s = EVENTS_PER_JOB / EVENTS_PER_S

    async def submit_some(first: int) -> None:
        reader, writer = await asyncio.open_connection(target.host, target.port)
        for number in range(first, count, SUBMITTERS):
            await asyncio.sleep(max(0, begun + number * pace_s - loop.time()))
            took_ms.append(await exchange(reader, writer, target.submit(names[number % len(names)])))
        writer.close()

    await asyncio.gather(*(submit_some(first) for first in range(SUBMITTERS)))
    return took_ms


async def read_repeatedly(target: Target, took_ms: list[float]) -> None:
    reader, writer = await asyncio.open_connection(target.host, target.port)
    while True:
        took_ms.append(await exchange(reader, writer, target.get("/jobs?limit=10")))
        await asyncio.sleep(PROBE_PAUSE_S)


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> float:
    begun = time.perf_counter()
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")), head
    [length] = re.findall(rb"content-length: (\d+)", head)
    await reader.readexactly(int(length))
    return (time.perf_counter() - begun) * 1000


async def until(holds: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + LATE_MAX_S
    while not holds() and time.monotonic() < give_up_at:
        await asyncio.sleep(0.01)


if __name__ == "__main__":
    main()
