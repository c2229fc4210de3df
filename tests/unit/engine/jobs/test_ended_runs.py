"""Ended runs are looked up before a round decides: what rounds know of them, and what they keep in memory."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Sequence
from typing import Any
from unittest.mock import patch

import pytest

from shunter.adapters.memory.store import MemoryStore
from shunter.engine.engine import Engine
from shunter.engine.jobs import submit
from shunter.engine.jobs.templates import Dispatch
from shunter.engine.settings import EngineSettings
from shunter.model.errors import Invalid, StoreFailed, Unavailable
from shunter.model.job.spec import After, JobOptions, Parameters, Schedule
from shunter.ports.store import EndedRun, Retention, RunKey
from shunter.simulation.runtime.loop import run_virtual
from tests.unit.engine.harness import Harness, run_scenario, spec


class SlowHistory(MemoryStore):
    """Looks up when the test says so, and may fail."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[list[RunKey]] = []
        self.is_asked = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.failure: StoreFailed | None = None

    async def ended_runs(self, keys: Sequence[RunKey]) -> dict[RunKey, EndedRun]:
        self.asked.append(sorted(keys, key=str))
        self.is_asked.set()
        await self.may_answer.wait()
        if self.failure is not None:
            raise self.failure
        return await super().ended_runs(keys)


def with_slow_history(scenario: Callable[[Harness, SlowHistory], Coroutine[Any, Any, None]]) -> None:
    async def main(_: random.Random) -> None:
        store = SlowHistory()
        harness = await Harness(store, EngineSettings()).open()
        await harness.join(cpu=4)
        await scenario(harness, store)

    run_virtual(main, 1)


def test_memory_keeps_no_name_of_history() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join()
        for number in range(20):
            await harness.submit(spec(f"job-{number}"))
        await harness.submit(spec("dispatched", options=JobOptions(parameters=Parameters())))
        await harness.engine.dispatch(Dispatch("default", "dispatched", "me", {}))
        await harness.end_all()
        await harness.submit(spec("job-7"))
        assert [job.run for job in harness.engine.state.jobs.values()] == [2]
        await harness.end_all()
        known = harness.engine.state.ended_runs
        assert known.newest("default", "dispatched").run == 1
        assert not any(("default", f"job-{number}", None) in known for number in range(20))

    run_scenario(scenario)


def test_one_round_looks_up_all_names_at_once() -> None:
    async def scenario(harness: Harness, store: SlowHistory) -> None:
        store.asked.clear()
        specs = [spec(f"job-{number}") for number in range(3)]
        edges = After("job-0"), After("old@2")
        with pytest.raises(Invalid, match="job 'old@2' does not exist"):
            await harness.submit(*specs, spec("later", options=JobOptions(after=edges)))
        names = [("default", name, None) for name in ("job-0", "job-1", "job-2", "later", "old")]
        assert store.asked == [sorted([*names, ("default", "old", 2)], key=str)]

    with_slow_history(scenario)


def test_what_comes_in_during_the_look_up_waits_for_the_next_round() -> None:
    async def scenario(harness: Harness, store: SlowHistory) -> None:
        store.may_answer.clear()
        store.is_asked.clear()
        first = asyncio.create_task(harness.engine.submit([spec("first")], "me"))
        await store.is_asked.wait()
        second = asyncio.create_task(harness.engine.submit([spec("second")], "me"))
        await harness.settle()
        assert not first.done() and not harness.engine.state.jobs
        store.may_answer.set()
        assert [(await first)[0].run, (await second)[0].run] == [1, 1]

    with_slow_history(scenario)


def test_history_that_cannot_be_read_refuses_only_who_needs_it_and_ends_no_epoch() -> None:
    async def scenario(harness: Harness, store: SlowHistory) -> None:
        epoch, store.failure = harness.engine.epoch, StoreFailed("the disk is away")
        with pytest.raises(Unavailable, match="the disk is away; nothing was accepted, try again"):
            await harness.engine.submit([spec("work")], "me")
        await harness.engine.set_settings({"licence.matlab": "3"})
        store.failure = None
        [submitted] = await harness.engine.submit([spec("work")], "me")
        assert (submitted.run, harness.engine.epoch) == (1, epoch)

    with_slow_history(scenario)


def test_a_schedule_fires_when_history_can_be_read_again() -> None:
    async def scenario(harness: Harness, store: SlowHistory) -> None:
        options = JobOptions(schedule=Schedule("* * * * *"), after=(After("base"),))
        await harness.submit(spec("base"))
        await harness.submit(spec("tick", options=options))
        epoch, store.failure = harness.engine.epoch, StoreFailed("the disk is away")
        await harness.settle(61.0)
        assert harness.engine.state.find_job("default", "tick") is None
        store.failure = None
        await harness.settle(1.0)
        assert harness.engine.state.find_job("default", "tick") is not None and harness.engine.epoch == epoch

    with_slow_history(scenario)


def test_an_engine_that_stops_during_the_look_up_decides_nothing() -> None:
    async def scenario(harness: Harness, store: SlowHistory) -> None:
        store.may_answer.clear()
        store.is_asked.clear()
        waiting = asyncio.create_task(harness.engine.submit([spec("late")], "me"))
        await store.is_asked.wait()
        version = harness.engine.state.version
        stopping = asyncio.create_task(harness.engine.stop())
        await harness.settle()
        store.may_answer.set()
        await stopping
        with pytest.raises(Unavailable, match="the manager is stopping"):
            await waiting
        await harness.settle()
        assert harness.engine.state.version == await store.last_version() == version

    with_slow_history(scenario)


def test_an_edge_finds_a_run_that_ended_after_the_request_came_in() -> None:
    """It is neither unfinished nor the newest one when the round decides."""

    async def scenario(harness: Harness, store: SlowHistory) -> None:
        await harness.submit(spec("sync", options=JobOptions(parameters=Parameters())))
        for _ in range(2):
            await harness.engine.dispatch(Dispatch("default", "sync", "me", {}))
        await harness.settle()
        edge = spec("next", options=JobOptions(after=(After("sync@1"),)))
        held, engine_ask = asyncio.Event(), Engine.ask

        async def ask(self: Engine, *arguments: Any) -> Any:
            await held.wait()
            return await engine_ask(self, *arguments)

        with patch.object(Engine, "ask", ask):
            waiting = asyncio.create_task(harness.engine.submit([edge], "me"))
            await harness.settle()
        await harness.end_all()
        held.set()
        [submitted] = await waiting
        assert submitted.created and await store.finished_run("default", "sync", 2) is not None

    with_slow_history(scenario)


def test_a_purged_run_is_no_target_of_an_edge() -> None:
    async def scenario(harness: Harness, store: SlowHistory) -> None:
        await harness.submit(spec("gone"))
        await harness.end_all()
        await store.purge(harness.engine.epoch, Retention(finished_max=0), 0.0)
        with pytest.raises(Invalid, match="job 'gone' does not exist"):
            await harness.submit(spec("next", options=JobOptions(after=(After("gone"),))))

    with_slow_history(scenario)


def test_a_generated_name_is_drawn_again_if_history_has_it() -> None:
    async def scenario(harness: Harness, store: SlowHistory) -> None:  # noqa: ARG001
        drawn = iter(["job-a", "job-a", "job-b", "job-b", "job-c"])
        with patch.object(submit, "_generate_name", lambda *_: next(drawn)):
            await harness.submit(spec(""))
            await harness.end_all()
            await harness.submit(spec(""))
            [third] = await harness.submit(spec(""))
        assert (third.name, third.run) == ("job-c", 1)
        assert sorted(job.name for job in harness.engine.state.jobs.values()) == ["job-b", "job-c"]

    with_slow_history(scenario)
