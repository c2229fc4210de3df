"""The peer Dramatiq: the actor that its workers run. Loaded by `dramatiq`, and by `peers` to enqueue."""

from __future__ import annotations

import os

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from benchmarks.child import run_true

dramatiq.set_broker(RedisBroker(url=os.environ["BENCHMARK_REDIS_URL"]))


@dramatiq.actor
def task() -> None:
    run_true()
