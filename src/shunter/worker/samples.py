"""Samples what the machine and its tasks use, for the manager's metrics. Heartbeats carry the samples. Used by
`worker.worker`.

Only tasks that have run for a while are sampled, so that short ones cost nothing. While there are some, a sample is
taken every second, or less often where sampling is slow; else one with each heartbeat."""

from __future__ import annotations

import asyncio
import time
from collections import deque

from shunter.log import Log
from shunter.model.protocol.worker_messages import MachineSample, TaskStats
from shunter.ports.clock import Clock
from shunter.worker.process.keeper_client import Keeper
from shunter.worker.process.keeper_pool import KeeperPool
from shunter.worker.runtimes.attempts import Attempts
from shunter.worker.stats import machine_usage, task_usage

log = Log(__name__)

SAMPLE_EVERY_S = 1.0
TASK_AGE_MIN_S = 1.0
SAMPLING_SHARE_MAX = 0.02  # of a core; if a sample takes longer, the next one comes later
TASKS_PER_TURN_MAX = 20  # tasks, before others have their turn
SAMPLES_BUFFERED_MAX = 60  # not yet sent by a heartbeat; the oldest are dropped


class Samples:
    def __init__(self, clock: Clock, keeper_pool: KeeperPool, attempts: Attempts) -> None:
        self._clock, self._keeper_pool, self._attempts = clock, keeper_pool, attempts
        self._buffered: deque[MachineSample] = deque(maxlen=SAMPLES_BUFFERED_MAX)

    async def run(self) -> None:
        pause_s = SAMPLE_EVERY_S
        while True:
            await self._clock.sleep(pause_s)
            try:
                cost_s = await self._take_sample()
            except OSError as error:
                log.warning("sample.failed", error=error)
                cost_s = 0.0
            pause_s = max(SAMPLE_EVERY_S, cost_s / SAMPLING_SHARE_MAX)

    def drain(self) -> list[MachineSample]:
        """The samples since the last call; if there are none, one of the machine as it is now, if it can be read."""
        samples = list(self._buffered)
        self._buffered.clear()
        if samples:
            return samples
        try:
            return [machine_usage(self._now_ms())]
        except OSError as error:
            log.warning("sample.failed", error=error)
            return []

    async def _take_sample(self) -> float:
        """Take a sample, if there is a task to sample; returns the core-seconds it took."""
        keepers = [keeper for keeper in self._keeper_pool.keepers if self._has_old_task(keeper)]
        if not keepers and not self._attempts.running:
            return 0.0
        sample, cost_s = machine_usage(self._now_ms()), 0.0
        sample.tasks = await self._attempts.usage() if self._attempts.running else []
        for number, keeper in enumerate(keepers, start=1):
            if keeper.running is not None:  # it may have ended while others had their turn
                started_s = time.thread_time()
                sample.tasks.append(task := keeper_usage(keeper))
                keeper.memory_peak_bytes = max(keeper.memory_peak_bytes, task.memory_bytes)
                cost_s += time.thread_time() - started_s
            if number % TASKS_PER_TURN_MAX == 0:
                await asyncio.sleep(0)
        self._buffered.append(sample)
        return cost_s

    def _has_old_task(self, keeper: Keeper) -> bool:
        return keeper.running is not None and self._now_ms() - keeper.running.started_ms >= TASK_AGE_MIN_S * 1000

    def _now_ms(self) -> int:
        return int(self._clock.now() * 1000)


def keeper_usage(keeper: Keeper) -> TaskStats:
    """The usage of the task that a keeper runs."""
    running, usage = keeper.running, task_usage(keeper.pid)
    assert running is not None
    name = running.job, running.group, running.index, running.attempt
    held = usage.cpu_s, usage.memory_bytes, usage.processes
    return TaskStats(*name, *held, running.started_ms, usage.read_bytes, usage.written_bytes)
