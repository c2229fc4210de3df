"""Submitting: names, runs, client keys, refusals."""

from __future__ import annotations

import asyncio

import pytest

from shunter.model.errors import Busy, Conflict
from tests.unit.engine.harness import Stage, play, spec


def test_a_repeated_key_returns_the_same_job() -> None:
    async def scene(stage: Stage) -> None:
        [first] = await stage.submit(spec("a"), key="k")
        [again] = await stage.submit(spec("a"), key="k")
        assert (first.created, again.created) == (True, False)
        assert first.job_id == again.job_id
        assert len(stage.engine.state.jobs) == 1

    play(scene)


def test_a_repeated_key_returns_the_job_even_when_it_has_ended() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join()
        [first] = await stage.submit(spec(""), key="k")
        [(_, order)] = stage.orders()
        await stage.end(node, order)
        [again] = await stage.submit(spec(""), key="k")
        assert again.job_id == first.job_id
        assert not again.created
        assert not stage.orders()

    play(scene)


def test_an_unfinished_name_with_the_same_spec_is_unchanged() -> None:
    async def scene(stage: Stage) -> None:
        [first] = await stage.submit(spec("a", 3))
        [again] = await stage.submit(spec("a", 3))
        assert again.job_id == first.job_id
        assert not again.created

    play(scene)


def test_an_unfinished_name_with_another_spec_is_refused_and_changes_nothing() -> None:
    async def scene(stage: Stage) -> None:
        await stage.submit(spec("a", 3))
        version = stage.engine.state.version
        with pytest.raises(Conflict, match=r"metadata\.name"):
            await stage.submit(spec("b"), spec("a", 4))
        assert stage.engine.state.version == version
        assert stage.engine.state.find_job("default", "b") is None

    play(scene)


def test_a_finished_name_starts_the_next_run() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join()
        for run in (1, 2, 3):
            [result] = await stage.submit(spec("a"))
            assert result.run == run
            [(_, order)] = stage.orders()
            await stage.end(node, order)

    play(scene)


def test_equal_names_in_two_namespaces_are_two_jobs() -> None:
    async def scene(stage: Stage) -> None:
        results = await stage.submit(spec("a"), spec("a", namespace="other"))
        assert len({result.job_id for result in results}) == 2

    play(scene)


def test_a_job_without_a_name_gets_one_from_its_command() -> None:
    async def scene(stage: Stage) -> None:
        [result] = await stage.submit(spec(""))
        assert result.name.startswith("true-")

    play(scene)


def test_past_its_limits_the_engine_is_busy_and_takes_nothing() -> None:
    async def scene(stage: Stage) -> None:
        await stage.submit(spec("a", 6))
        with pytest.raises(Busy, match="11 unfinished tasks"):
            await stage.submit(spec("b", 5))
        await stage.submit(spec("c", 4))
        with pytest.raises(Busy, match="2 unfinished jobs"):
            await stage.submit(spec("d"))

    play(scene, tasks_max=10, jobs_max=2)


def test_old_client_keys_are_forgotten() -> None:
    async def scene(stage: Stage) -> None:
        await stage.submit(spec("a"), key="old")
        await stage.settle(100)
        await stage.submit(spec("b"), key="new")
        await stage.settle(90)
        assert set(stage.engine.state.keys) == {"new"}

    play(scene, keys_age_s=120.0)


def test_a_full_inbox_says_busy_and_takes_nothing() -> None:
    async def scene(stage: Stage) -> None:
        asked = [asyncio.ensure_future(stage.engine.submit([spec(f"j{n}")], "tester")) for n in range(5)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(answer) for answer in answers] == [list, list, list, Busy, Busy]
        assert isinstance(answers[3], Busy)
        assert "inbox_max 3" in answers[3].detail
        assert answers[3].retry_after_s > 0
        assert len(stage.engine.state.jobs) == 3

    play(scene, inbox_max=3)
