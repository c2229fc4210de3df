"""The numbers of runs after history has purged some: never one that history or an unfinished run has."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from shunter.adapters.memory.store import MemoryStore
from shunter.engine.jobs.templates import Dispatch
from shunter.engine.settings import EngineSettings
from shunter.model.job.spec import JobOptions, Parameters
from shunter.model.protocol.worker_messages import Order
from shunter.ports.store import Purged, Retention
from shunter.simulation.runtime.loop import run_virtual
from tests.unit.engine.harness import Harness, spec


class PausedPurge(MemoryStore):
    """Has purged, and answers when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.has_purged = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def purge(self, epoch: int, retention: Retention, now: float) -> Purged:
        purged = await super().purge(epoch, retention, now)
        self.has_purged.set()
        await self.may_answer.wait()
        return purged


class Runs:
    """Runs of one template that end when the test says so. History keeps `finished_max` of them."""

    def __init__(self, harness: Harness, store: PausedPurge, node: int) -> None:
        self.harness = harness
        self.store = store
        self._node = node
        self._orders: dict[int, Order] = {}

    async def start(self) -> int:
        started = await self.harness.engine.dispatch(Dispatch("default", "sync", "me", {}))
        await self.harness.settle()
        [(_, self._orders[started.run])] = self.harness.orders()
        return started.run

    async def end(self, run: int) -> None:
        await self.harness.settle(1.0)  # each ends at another time
        await self.harness.end(self._node, self._orders.pop(run))

    async def purge(self) -> None:
        await self.harness.engine.purge()
        await self.harness.settle()

    async def in_history(self) -> list[int]:
        found = [await self.store.finished_run("default", "sync", run) for run in range(1, 10)]
        return [job.run for job in found if job is not None]

    def known_to_engine(self) -> int:
        return self.harness.engine.state.ended_runs.newest("default", "sync").run


def with_runs(scenario: Callable[[Runs], Coroutine[Any, Any, None]], finished_max: int) -> None:
    async def main(_: random.Random) -> None:
        store = PausedPurge()
        settings = EngineSettings(retention=Retention(finished_max=finished_max))
        harness = await Harness(store, settings).open()
        node = await harness.join(cpu=4)
        await harness.submit(spec("sync", options=JobOptions(parameters=Parameters())))
        await scenario(Runs(harness, store, node))

    run_virtual(main, 1)


def test_runs_go_on_after_a_run_that_history_has_and_a_newer_one_that_it_has_not() -> None:
    async def scenario(runs: Runs) -> None:
        assert [await runs.start(), await runs.start()] == [1, 2]
        await runs.end(2)
        await runs.end(1)
        await runs.purge()
        assert await runs.in_history() == [1]
        assert await runs.start() == 3
        await runs.end(3)
        assert await runs.in_history() == [1, 3]

    with_runs(scenario, finished_max=1)


def test_runs_go_on_after_an_unfinished_run_when_history_has_dropped_a_newer_one() -> None:
    async def scenario(runs: Runs) -> None:
        assert [await runs.start(), await runs.start()] == [1, 2]
        await runs.end(2)
        await runs.purge()
        await runs.end(1)
        assert await runs.start() == 2
        await runs.end(2)
        assert await runs.in_history() == [1, 2]

    with_runs(scenario, finished_max=0)


@pytest.mark.parametrize("is_older", [True, False])
def test_a_name_stays_if_a_run_ends_while_the_others_are_purged(is_older: bool) -> None:
    async def scenario(runs: Runs) -> None:
        slow, fast = [await runs.start(), await runs.start()][:: 1 if is_older else -1]
        await runs.end(fast)
        runs.store.may_answer.clear()
        purging = asyncio.create_task(runs.purge())
        await runs.store.has_purged.wait()
        await runs.end(slow)
        runs.store.may_answer.set()
        await purging
        assert await runs.in_history() == [slow]
        assert await runs.start() == 3
        await runs.end(3)
        assert await runs.in_history() == [slow, 3]

    with_runs(scenario, finished_max=0)


def test_a_name_is_dropped_with_the_last_run_that_history_has_of_it() -> None:
    async def scenario(runs: Runs) -> None:
        assert [await runs.start(), await runs.start()] == [1, 2]
        await runs.end(2)
        await runs.end(1)
        await runs.purge()
        assert runs.known_to_engine() == 2
        await runs.harness.submit(spec("other"))
        await runs.harness.end_all()
        await runs.purge()
        assert await runs.in_history() == []
        assert await runs.start() == 1

    with_runs(scenario, finished_max=1)
