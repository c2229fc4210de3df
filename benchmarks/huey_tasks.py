"""The peer Huey: the task that its consumer runs. Loaded by `huey_consumer`, and by `peers` to enqueue."""

from __future__ import annotations

import os

from huey import RedisHuey

from benchmarks.child import run_true

huey = RedisHuey("benchmark", url=os.environ["BENCHMARK_REDIS_URL"])


@huey.task()
def task() -> None:
    run_true()
