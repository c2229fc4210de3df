"""Samples for metrics: what the worker sends with its heartbeats about real tasks."""

from __future__ import annotations

import asyncio
import errno
import sys
from pathlib import Path

import pytest

from shunter.model.protocol.worker_messages import Heartbeat, MachineSample, SetHeartbeat, TaskStats
from shunter.worker.samples import SAMPLES_BUFFERED_MAX, TASK_AGE_MIN_S
from shunter.worker.stats import machine_usage
from tests.services.worker_harness import PATIENCE_S, Harness, open_harness

CHILD_HOLDS = """
import os, time
if os.fork() == 0:
    data = bytearray(b"x") * (50 * 2**20)
    open(os.environ["OUT"], "wb").write(bytes(8 * 2**20))
    time.sleep(600)
os.wait()
"""


def heartbeats(harness: Harness) -> list[Heartbeat]:
    return [message for message in harness.messages if isinstance(message, Heartbeat)]


def samples(harness: Harness) -> list[MachineSample]:
    return [sample for heartbeat in heartbeats(harness) for sample in heartbeat.samples]


def of_task(harness: Harness, index: int) -> list[tuple[int, TaskStats]]:
    return [(sample.at_ms, task) for sample in samples(harness) for task in sample.tasks if task.index == index]


async def test_a_task_is_sampled_with_its_children(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.worker.received(SetHeartbeat(0.2))
        out = str(tmp_path / "out")
        harness.order(sys.executable, "-I", "-S", "-c", CHILD_HOLDS, env={"OUT": out})

        def holding() -> bool:
            return any(task.memory_bytes > 50 * 2**20 and task.processes == 2 for _, task in of_task(harness, 0))

        await harness.until(holding)
        at_ms, task = of_task(harness, 0)[-1]
        assert (task.job, task.group, task.attempt) == (1, 0, 1)
        assert task.started_ms == harness.started[0].started_ms and at_ms - task.started_ms >= TASK_AGE_MIN_S * 1000
        times = [at_ms for at_ms, _ in of_task(harness, 0)]
        assert times == sorted(set(times)), "each sample is sent once, in order"


async def test_heartbeats_come_while_no_file_can_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that sends none is down, and its tasks are lost."""

    def fail(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    async with open_harness(tmp_path) as harness:
        harness.worker.received(SetHeartbeat(0.05))
        first = await harness.until(lambda: heartbeats(harness))
        for name in ("_processor_ticks", "_memory_bytes", "_disk_bytes", "_network_bytes"):
            monkeypatch.setattr(f"shunter.worker.stats.{name}", fail)
        harness.messages.clear()
        *_, last = await harness.until(lambda: found if len(found := heartbeats(harness)) > 1 else None)
        assert last.stats.memory_total_bytes == first[0].stats.memory_total_bytes
        assert last.stats.at_ms > first[0].stats.at_ms
        monkeypatch.undo()


async def test_what_the_processor_does_for_a_task_is_counted(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.worker.received(SetHeartbeat(0.2))
        harness.order("/bin/sh", "-c", "while :; do :; done")
        await harness.until(lambda: len(of_task(harness, 0)) >= 3)
        sums = [task.cpu_s for _, task in of_task(harness, 0)]
        assert sums == sorted(sums) and sums[-1] > sums[0] > 0


async def test_short_tasks_are_not_looked_at(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.worker.received(SetHeartbeat(0.2))
        harness.order("/bin/true", last=499, count=500)
        await harness.all_ended(500)
        before = len(samples(harness))
        await harness.until(lambda: len(samples(harness)) > before)
        assert not any(sample.tasks for sample in samples(harness))


async def test_samples_wait_for_a_manager_that_is_away(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.worker.received(SetHeartbeat(0.2))
        harness.order("/bin/sleep", "600")
        await harness.until(lambda: of_task(harness, 0))
        harness.worker.disconnected("the manager is away")
        harness.forget()
        taken = harness.worker._samples._buffered
        async with asyncio.timeout(PATIENCE_S):
            while len(taken) < 2:
                await asyncio.sleep(0.05)
        harness.worker.connected(harness)
        await harness.until(lambda: len(of_task(harness, 0)) >= 2)


async def test_a_heartbeat_always_has_the_machine_and_never_too_much(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        await harness.until(lambda: samples(harness))
        taken = harness.worker._samples._buffered
        taken.extend(MachineSample(at_ms, 0.0, 0, 0, 0, 0, 0) for at_ms in range(1_000))
        assert [sample.at_ms for sample in taken] == list(range(1_000 - SAMPLES_BUFFERED_MAX, 1_000))


def test_a_machine_has_used_something_since_it_started() -> None:
    found = machine_usage(7)
    assert found.at_ms == 7 and found.cpu_s > 0 and found.memory_bytes > 0
