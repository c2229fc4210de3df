"""Shared token buckets in Redis, turn by turn with the limit of the server: checks per second of one manager with 1,000
callers, and the rate at which redis-benchmark (50 connections, no pipelining) runs the same script for one bucket.
Redis is started for the run, on this machine.

Run: python -m benchmarks.limiter"""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import uvloop

from benchmarks.measure import Bar, Report, Sample, interleave, read_options
from shunter.adapters.memory.limits import MemoryLimits
from shunter.adapters.redis.limits import SCRIPT, RedisLimits
from shunter.adapters.redis.settings import RedisSettings
from shunter.ports.limits import Bucket
from tests.redis_server import RedisServer, redis_server

CHECKS_PER_S = Bar(at_least=20_000)
BUCKET = Bucket(capacity=1000, refill_per_s=1000.0)
KEYS = 1000


@dataclass(frozen=True, slots=True)
class Size:
    checks: int
    callers: int  # that wait for an answer at the same time


FULL = Size(checks=100_000, callers=200)
SMALL = Size(checks=2_000, callers=50)


def main() -> None:
    options = read_options(__doc__)
    report, size = Report("limiter", options), SMALL if options.small else FULL
    with tempfile.TemporaryDirectory(prefix="shunter-bench-") as folder, redis_server(Path(folder)) as server:
        found = interleave(
            {
                "checks": partial(checks_per_s, server, size),
                "EVALSHA": partial(raw_per_s, server, size),
                "one": lambda: one_at_a_time_ms(server, size),
            },
            options.rounds,
        )
    report.figure(f"checks with {size.callers} requests at a time", "checks/s", found["checks"], CHECKS_PER_S)
    report.figure("raw EVALSHA, 50 connections", "calls/s", found["EVALSHA"])
    report.ratio("checks", found["checks"], "raw EVALSHA", found["EVALSHA"])
    report.figure("a check with nobody else waiting, median", "ms", Sample(found["one"].values))


def checks_per_s(server: RedisServer, size: Size) -> float:
    async def run() -> float:
        limits = _limits(server)
        await limits.take("warm-up", BUCKET)

        async def caller(number: int) -> None:
            for count in range(size.checks // size.callers):
                await limits.take(f"caller-{(number + count * size.callers) % KEYS}", BUCKET)

        began_s = time.perf_counter()
        await asyncio.gather(*(caller(number) for number in range(size.callers)))
        seconds = time.perf_counter() - began_s
        assert limits.is_shared, "Redis did not answer"
        await limits.close()
        return size.checks / seconds

    return uvloop.run(run())


def one_at_a_time_ms(server: RedisServer, size: Size) -> float:
    async def run() -> float:
        limits = _limits(server)
        times_s = []
        for number in range(size.checks // 50):
            began_s = time.perf_counter()
            await limits.take(f"caller-{number % KEYS}", BUCKET)
            times_s.append(time.perf_counter() - began_s)
        await limits.close()
        return sorted(times_s)[len(times_s) // 2] * 1000

    return uvloop.run(run())


def raw_per_s(server: RedisServer, size: Size) -> float:
    script_hash = server.command("SCRIPT", "LOAD", SCRIPT)
    words = ["redis-benchmark", "-p", str(server.port), "-n", str(size.checks), "-r", str(KEYS), "--csv", "evalsha"]
    words += [script_hash, "1", "caller-__rand_int__", str(BUCKET.capacity), str(BUCKET.refill_per_s), "1"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return float(done.stdout.splitlines()[-1].split('","')[1])


def _limits(server: RedisServer) -> RedisLimits:
    return RedisLimits(RedisSettings("127.0.0.1", server.port), MemoryLimits(), lambda: 1)


if __name__ == "__main__":
    main()
