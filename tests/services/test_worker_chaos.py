"""Random kills of keepers and restarts of the worker under load: every task ends, and no attempt ends twice."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from pathlib import Path

import pytest

from tests.services.worker_harness import Harness, open_harness

pytestmark = pytest.mark.services

TASKS = 400
WIDTH = 3
FAULTS = 12


class Engine:
    """As much of an engine as is needed: orders again, as the next attempt, what was lost or is not held any longer."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self.attempts = dict.fromkeys(range(TASKS), 1)
        self.results: dict[int, tuple[int, int]] = {}  # index -> attempt and exit code

    def order_all(self) -> None:
        for index in range(TASKS):
            self.order(index)

    def order(self, index: int) -> None:
        script = "sleep 0.00$((SHUNTER_TASK_INDEX % 9)); exit $((SHUNTER_TASK_INDEX % 5))"
        self.harness.order("/bin/sh", "-c", script, first=index, attempt=self.attempts[index], width=WIDTH)

    def hear(self) -> None:
        """Take what the stage has heard; lost attempts are followed by the next."""
        harness = self.harness
        for run in harness.ended:
            for place in range(len(run.ended_ms)):
                index = run.first + place
                if run.attempt == self.attempts[index]:
                    self.results[index] = run.attempt, run.exits[place] if run.exits else 0
        lost = [(index, each.attempt) for each in harness.lost for index in range(each.first, each.last + 1)]
        harness.ended.clear()
        harness.lost.clear()
        for index, attempt in lost:
            if attempt == self.attempts[index] and index not in self.results:
                self.attempts[index] += 1
                self.order(index)

    def compare(self) -> None:
        """After a restart: what the inventory does not name was lost with the worker."""
        held = {
            index
            for each in self.harness.inventories[-1].held
            for index in range(each.first, each.last + 1)
            if each.attempt == self.attempts[index]
        }
        self.hear()
        for index in self.attempts:
            if index not in held and index not in self.results:
                self.attempts[index] += 1
                self.order(index)


async def test_every_task_ends_once_whatever_is_killed(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    async with open_harness(tmp_path, warm_keepers=2) as harness:
        engine = Engine(harness)
        engine.order_all()
        for _ in range(FAULTS):
            await asyncio.sleep(chance.uniform(0.0, 0.1))
            engine.hear()
            if chance.random() < 0.7:
                pids = harness.keeper_pids()
                if pids:
                    os.kill(chance.choice(pids), signal.SIGKILL)
            else:
                await harness.worker.stop(end_keepers=False)
                engine.hear()
                harness.messages.clear()
                await harness.start()
                engine.compare()
        while len(engine.results) < TASKS:
            await harness.until(lambda: harness.ended or harness.lost)
            engine.hear()
        assert {index: code for index, (_, code) in engine.results.items()} == {i: i % 5 for i in range(TASKS)}
        assert max(engine.attempts.values()) <= 1 + FAULTS
