"""Submitting: names, runs, client keys, refusals."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

import pytest

from shunter.adapters.memory.store import MemoryStore
from shunter.engine.jobs import submit
from shunter.engine.settings import EngineSettings
from shunter.model.errors import Busy, Conflict
from shunter.model.job.spec import Container, TaskSpec
from shunter.ports.store import EndedRun, RunKey
from shunter.simulation.runtime.loop import run_virtual
from tests.unit.engine.harness import Harness, run_scenario, spec


def test_a_repeated_key_returns_the_same_job() -> None:
    async def scenario(harness: Harness) -> None:
        [first] = await harness.submit(spec("a"), key="k")
        [again] = await harness.submit(spec("a"), key="k")
        assert (first.created, again.created) == (True, False)
        assert first.job_id == again.job_id
        assert len(harness.engine.state.jobs) == 1

    run_scenario(scenario)


def test_a_repeated_key_returns_the_job_even_when_it_has_ended() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        [first] = await harness.submit(spec(""), key="k")
        [(_, order)] = harness.orders()
        await harness.end(node, order)
        [again] = await harness.submit(spec(""), key="k")
        assert again.job_id == first.job_id
        assert not again.created
        assert not harness.orders()

    run_scenario(scenario)


def test_an_unfinished_name_with_the_same_spec_is_unchanged() -> None:
    async def scenario(harness: Harness) -> None:
        [first] = await harness.submit(spec("a", 3))
        [again] = await harness.submit(spec("a", 3))
        assert again.job_id == first.job_id
        assert not again.created

    run_scenario(scenario)


def test_an_unfinished_name_with_another_spec_is_refused_and_changes_nothing() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.submit(spec("a", 3))
        version = harness.engine.state.version
        with pytest.raises(Conflict, match=r"metadata\.name"):
            await harness.submit(spec("b"), spec("a", 4))
        assert harness.engine.state.version == version
        assert harness.engine.state.find_job("default", "b") is None

    run_scenario(scenario)


def test_a_finished_name_starts_the_next_run() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        for run in (1, 2, 3):
            [result] = await harness.submit(spec("a"))
            assert result.run == run
            [(_, order)] = harness.orders()
            await harness.end(node, order)

    run_scenario(scenario)


def test_equal_names_in_two_namespaces_are_two_jobs() -> None:
    async def scenario(harness: Harness) -> None:
        results = await harness.submit(spec("a"), spec("a", namespace="other"))
        assert len({result.job_id for result in results}) == 2

    run_scenario(scenario)


def test_a_job_without_a_name_gets_one_from_its_command() -> None:
    async def scenario(harness: Harness) -> None:
        [result] = await harness.submit(spec(""))
        assert result.name.startswith("true-")

    run_scenario(scenario)


def test_past_its_limits_the_engine_is_busy_and_takes_nothing() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.submit(spec("a", 6))
        with pytest.raises(Busy, match="11 unfinished tasks"):
            await harness.submit(spec("b", 5))
        await harness.submit(spec("c", 4))
        with pytest.raises(Busy, match="2 unfinished jobs"):
            await harness.submit(spec("d"))

    run_scenario(scenario, tasks_max=10, jobs_max=2)


def test_old_client_keys_are_forgotten() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.submit(spec("a"), key="old")
        await harness.settle(100)
        await harness.submit(spec("b"), key="new")
        await harness.settle(90)
        assert set(harness.engine.state.idempotency_keys) == {"new"}

    run_scenario(scenario, keys_age_s=120.0)


def test_a_full_inbox_says_busy_and_takes_nothing() -> None:
    async def scenario(harness: Harness) -> None:
        requests = [asyncio.ensure_future(harness.engine.submit([spec(f"j{n}")], "tester")) for n in range(5)]
        answers = await asyncio.gather(*requests, return_exceptions=True)
        assert [type(answer) for answer in answers] == [list, list, list, Busy, Busy]
        assert isinstance(answers[3], Busy)
        assert "inbox_max 3" in answers[3].detail
        assert answers[3].retry_after_s > 0
        assert len(harness.engine.state.jobs) == 3

    run_scenario(scenario, inbox_max=3)


@pytest.mark.parametrize(
    ("image", "stem"),
    [("busybox", "busybox"), ("registry:5000/team/My_App:1.2", "my-app"), ("app@sha256:ab", "app-sha256")],
)
def test_a_job_without_name_and_command_is_called_after_its_image(image: str, stem: str) -> None:
    async def scenario(harness: Harness) -> None:
        [submitted] = await harness.submit(spec("", task=TaskSpec((), container=Container(image))))
        assert submitted.name.rpartition("-")[0] == stem

    run_scenario(scenario)


class CountedLookups(MemoryStore):
    lookups = 0

    async def ended_runs(self, keys: Sequence[RunKey]) -> dict[RunKey, EndedRun]:
        self.lookups += 1
        return await super().ended_runs(keys)


def test_many_jobs_without_names_get_different_ones_with_few_tries() -> None:
    """Also next to as many of the same command: only names that are taken are drawn again."""

    async def main(_: random.Random) -> None:
        harness = await Harness(store := CountedLookups(), EngineSettings()).open()
        for _turn in range(2):
            before = store.lookups
            answers = await harness.engine.submit([spec("")] * 5_000, "tester")
            assert all(answer.created for answer in answers)
            assert store.lookups - before <= 3
        assert len(harness.engine.state.jobs) == 10_000

    run_virtual(main, 1)


def test_short_names_that_run_out_are_followed_by_longer_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submit, "SUFFIX_ALPHABET", "bc")  # 32 short names, 512 long ones

    async def main(_: random.Random) -> None:
        harness = await Harness(MemoryStore(), EngineSettings()).open()
        for _turn in range(4):
            answers = await harness.engine.submit([spec("")] * 20, "tester")
            assert all(answer.created for answer in answers)
        assert len({job.name for job in harness.engine.state.jobs.values()}) == 80

    run_virtual(main, 1)
