"""Named queues: limits, pauses that lose nothing, purges that leave running tasks alone."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from shunter.engine.jobs.queue_admin import queue_load, queue_names
from shunter.model.errors import Busy, Conflict, NotFound
from shunter.model.job.spec import JobOptions, JobSpec, Restart
from shunter.ports.admin import QueueChange
from tests.unit.engine.harness import Harness, run_scenario, spec


def film_job(name: str, count: int = 1) -> JobSpec:
    return spec(name, count, options=JobOptions(queue="film"))


def test_a_paused_queue_starts_nothing_and_loses_nothing() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=2)
        [job] = await harness.submit(film_job("a", 4))
        [(_, order)] = harness.orders()
        await harness.engine.patch_queue("film", QueueChange(paused=True))
        await harness.end(node, order)
        await harness.submit(spec("other"))
        assert [order.job for _, order in harness.orders()] == [job.job_id + 1]
        assert harness.counts(job.job_id) == {"queued": 2, "succeeded": 2}
        await harness.restart_manager()
        assert harness.engine.state.queues.get("film").is_paused
        await harness.engine.patch_queue("film", QueueChange(paused=False))
        await harness.settle()
        assert job.job_id in [order.job for _, order in harness.orders()]
        assert [event.type for event in await harness.events()].count("queue.set") == 2

    run_scenario(scenario)


def test_a_queue_runs_no_more_at_once_than_its_rules_allow() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join(cpu=8)
        await harness.engine.patch_queue("film", QueueChange(running_max=3))
        await harness.submit(film_job("a", 2), film_job("b", 5))
        assert sum(order.last - order.first + 1 for _, order in harness.orders()) == 3
        load = queue_load(harness.engine.state, "film")
        assert (load.queued, load.running) == (4, 3)

    run_scenario(scenario)


def test_a_limit_that_was_lowered_holds_for_what_lanes_run_next() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=8)
        [job] = await harness.submit(film_job("a", 20))
        [(_, order)] = harness.orders()
        await harness.engine.patch_queue("film", QueueChange(running_max=2))
        await harness.end(node, order)
        assert sum(order.last - order.first + 1 for _, order in harness.orders()) == 2
        assert harness.counts(job.job_id) == {"assigned": 2, "queued": 10, "succeeded": 8}

    run_scenario(scenario)


def test_a_gang_of_alike_groups_starts_whole_in_a_strict_queue() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join(cpu=5)
        await harness.engine.patch_queue("film", QueueChange(strict=True))
        options = JobOptions(queue="film", gang=True)
        [left, right] = spec("left", 3).groups[0], spec("right", 2).groups[0]
        await harness.submit(JobSpec("default", "gang", (left, replace(right, name="right")), options=options))
        assert sum(order.last - order.first + 1 for _, order in harness.orders()) == 5

    run_scenario(scenario)


def test_in_a_strict_queue_a_task_that_comes_back_is_as_old_as_its_job() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=1)
        await harness.engine.patch_queue("film", QueueChange(strict=True))
        restart = Restart("on-failure", max=1, delay_s=1.0, jitter=0.0)
        [oldest] = await harness.submit(spec("oldest", 2, options=JobOptions(queue="film", held=True)))
        [older] = await harness.submit(spec("older", options=JobOptions(queue="film"), restart=restart))
        [young] = await harness.submit(film_job("young"))
        await harness.engine.hold(oldest.job_id, False)
        ran = []
        for exit_code in (1, 0, 0, 0, 0):
            await harness.settle(2.0)
            [(_, order)] = harness.orders()
            ran.append(order.job)
            await harness.end(node, order, exit_code)
        assert ran == [older.job_id, oldest.job_id, oldest.job_id, older.job_id, young.job_id]

    run_scenario(scenario)


def test_a_submit_past_a_queues_limit_is_refused_whole() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.engine.patch_queue("film", QueueChange(queued_max=5))
        await harness.submit(film_job("a", 3))
        with pytest.raises(Busy, match="queue 'film' is full: 3 of 5 tasks are queued, and the submit has 3 tasks"):
            await harness.submit(spec("elsewhere"), film_job("b", 2), film_job("c", 1))
        with pytest.raises(
            Conflict, match="queue 'film' has a queued_max of 5, but the submit has 6 tasks; submit fewer tasks, or"
        ):
            await harness.submit(film_job("b", 6))
        await harness.submit(film_job("b", 2), spec("elsewhere", 100))
        assert len(harness.engine.state.jobs) == 3

    run_scenario(scenario)


def test_a_purge_cancels_what_is_queued_and_nothing_else() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=1)
        [a, _, other] = await harness.submit(film_job("a", 3), film_job("b", 2), spec("other"))
        [(_, order)] = harness.orders()
        await harness.started(node, order)
        assert await harness.engine.purge_queue("film", "me") == 4
        assert harness.counts(a.job_id) == {"running": 1, "cancelled": 2}
        assert harness.counts(other.job_id) == {"queued": 1}
        finished = await harness.store.finished_run("default", "b", None)
        assert finished is not None and finished.state == "cancelled"
        assert b"queue film purged by me" in finished.summary

    run_scenario(scenario)


def test_a_deleted_queue_has_no_rules_and_keeps_its_tasks() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join()
        await harness.engine.patch_queue("film", QueueChange(paused=True, strict=True))
        await harness.submit(film_job("a"))
        assert queue_names(harness.engine.state) == ["default", "film"]
        await harness.engine.drop_queue("film")
        await harness.settle()
        assert len(harness.orders()) == 1
        assert "queue.deleted" in [event.type for event in await harness.events()]
        with pytest.raises(NotFound, match="queue 'film' has no rules"):
            await harness.engine.drop_queue("film")

    run_scenario(scenario)


def test_rules_change_one_by_one_and_their_number_is_bounded() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.engine.patch_queue("film", QueueChange(running_max=3))
        await harness.engine.patch_queue("film", QueueChange(strict=True))
        queue = harness.engine.state.queues.get("film")
        assert (queue.running_max, queue.is_strict, queue.is_paused) == (3, True, False)
        version = harness.engine.state.version
        await harness.engine.patch_queue("film", QueueChange(strict=True))
        assert harness.engine.state.version == version
        with pytest.raises(Conflict, match="at most 1 queues can have rules"):
            await harness.engine.patch_queue("other", QueueChange(paused=True))

    run_scenario(scenario, queues_max=1)
