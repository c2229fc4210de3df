"""Named queues: limits, pauses that lose nothing, purges that leave alone what runs."""

from __future__ import annotations

import pytest

from shunter.engine.queueing import QueuePatch, queue_load, queue_names
from shunter.model.errors import Busy, Conflict, NotFound
from shunter.model.jobs import JobOptions, JobSpec
from tests.unit.engine.stage import Stage, play, spec


def film(name: str, count: int = 1) -> JobSpec:
    return spec(name, count, options=JobOptions(queue="film"))


def test_a_paused_queue_starts_nothing_and_loses_nothing() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join(cpu=2)
        [job] = await stage.submit(film("a", 4))
        [(_, order)] = stage.orders()
        await stage.engine.patch_queue("film", QueuePatch(is_paused=True))
        await stage.end(node, order)
        await stage.submit(spec("other"))
        assert [order.job for _, order in stage.orders()] == [job.job_id + 1]
        assert stage.counts(job.job_id) == {"queued": 2, "succeeded": 2}
        await stage.revive()
        assert stage.engine.state.queues.get("film").is_paused
        await stage.engine.patch_queue("film", QueuePatch(is_paused=False))
        await stage.settle()
        assert job.job_id in [order.job for _, order in stage.orders()]
        assert [event.type for event in await stage.events()].count("queue.set") == 2

    play(scene)


def test_a_queue_runs_no_more_at_once_than_its_rules_allow() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join(cpu=8)
        await stage.engine.patch_queue("film", QueuePatch(running_max=3))
        await stage.submit(film("a", 2), film("b", 5))
        assert sum(order.last - order.first + 1 for _, order in stage.orders()) == 3
        load = queue_load(stage.engine.state, "film")
        assert (load.queued, load.running) == (4, 3)

    play(scene)


def test_a_submit_past_a_queues_limit_is_refused_whole() -> None:
    async def scene(stage: Stage) -> None:
        await stage.engine.patch_queue("film", QueuePatch(queued_max=5))
        await stage.submit(film("a", 3))
        with pytest.raises(Busy, match="queue film has 3 tasks queued, and 3 more would pass its queued_max of 5"):
            await stage.submit(spec("elsewhere"), film("b", 2), film("c", 1))
        await stage.submit(film("b", 2), spec("elsewhere", 100))
        assert len(stage.engine.state.jobs) == 3

    play(scene)


def test_a_purge_cancels_what_is_queued_and_nothing_else() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join(cpu=1)
        [a, _, other] = await stage.submit(film("a", 3), film("b", 2), spec("other"))
        [(_, order)] = stage.orders()
        await stage.started(node, order)
        assert await stage.engine.purge_queue("film", "me") == 4
        assert stage.counts(a.job_id) == {"running": 1, "cancelled": 2}
        assert stage.counts(other.job_id) == {"queued": 1}
        finished = await stage.store.finished_run("default", "b", None)
        assert finished is not None and finished.state == "cancelled"
        assert b"queue film was purged by me" in finished.summary

    play(scene)


def test_a_deleted_queue_has_no_rules_and_keeps_its_tasks() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join()
        await stage.engine.patch_queue("film", QueuePatch(is_paused=True, is_strict=True))
        await stage.submit(film("a"))
        assert queue_names(stage.engine.state) == ["default", "film"]
        await stage.engine.drop_queue("film")
        await stage.settle()
        assert len(stage.orders()) == 1
        assert "queue.deleted" in [event.type for event in await stage.events()]
        with pytest.raises(NotFound, match="queue film has no rules"):
            await stage.engine.drop_queue("film")

    play(scene)


def test_rules_change_one_by_one_and_their_number_is_bounded() -> None:
    async def scene(stage: Stage) -> None:
        await stage.engine.patch_queue("film", QueuePatch(running_max=3))
        await stage.engine.patch_queue("film", QueuePatch(is_strict=True))
        queue = stage.engine.state.queues.get("film")
        assert (queue.running_max, queue.is_strict, queue.is_paused) == (3, True, False)
        version = stage.engine.state.version
        await stage.engine.patch_queue("film", QueuePatch(is_strict=True))
        assert stage.engine.state.version == version
        with pytest.raises(Conflict, match="at most 1 queues can have rules"):
            await stage.engine.patch_queue("other", QueuePatch(is_paused=True))

    play(scene, queues_max=1)
