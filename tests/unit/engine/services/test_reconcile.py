"""A service is kept at its count, whatever happens to its tasks and nodes."""

from __future__ import annotations

import pytest

from shunter.engine.recovery import recover
from shunter.model.errors import Conflict, Invalid, NotFound
from shunter.model.job.spec import Restart
from shunter.model.lifecycles import NodeEvent
from tests.unit.engine.fake_workers import Players
from tests.unit.engine.harness import Stage, play, spec
from tests.unit.engine.service_specs import service


def test_a_service_goes_on_at_its_count_when_tasks_end() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=8)
        players = Players(stage)
        [job] = await stage.submit(service(3))
        await players.act(5)
        assert stage.counts(job.job_id) == {"running": 3}
        await players.end(players.find(1), 0)
        await players.end(players.find(2), 9)
        assert stage.counts(job.job_id) == {"running": 1, "queued": 2}
        await players.act(2)
        assert stage.counts(job.job_id) == {"running": 3}

    play(scene)


def test_an_instance_that_gave_up_stays_failed_and_the_others_go_on() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=8)
        players = Players(stage)
        [job] = await stage.submit(service(2))
        await players.act(3)
        for _ in range(4):
            await players.end(players.find(1), 7)
            await players.act(10)
        assert stage.counts(job.job_id) == {"running": 1, "failed": 1}
        assert stage.engine.state.jobs[job.job_id].state.word == "running"

    play(scene)


def test_scaling_adds_new_indexes_and_takes_the_highest_away() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=16)
        players = Players(stage)
        [job] = await stage.submit(service(2))
        await players.act(3)
        await stage.engine.scale(job.job_id, {"": 5}, "ada")
        await players.act(3)
        assert players.on(1) == [0, 1, 2, 3, 4]
        assert stage.engine.state.jobs[job.job_id].version == 1
        assert len(players.starts) == 5
        await stage.engine.scale(job.job_id, {"main": 1}, "ada")
        await players.act(1)
        assert players.on(1) == [0]
        assert stage.counts(job.job_id) == {"running": 1, "cancelled": 1}  # the first piece had 0 and 1
        events = await stage.events()
        assert [event.reason for event in events if event.type == "job.scaled"] == [
            "scaled by ada: main 5", "scaled by ada: main 1",
        ]  # fmt: skip
        assert [event.name for event in events if event.type == "tasks.added"] == ["web/2-4"]
        assert "web/2-4" in [event.name for event in events if event.type == "tasks.unblocked"]

    play(scene)


def test_a_service_may_be_scaled_to_nothing_and_back() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=16)
        players = Players(stage)
        [job] = await stage.submit(service(2))
        await players.act(3)
        await stage.engine.scale(job.job_id, {"": 0}, "ada")
        await players.act(1)
        assert (players.on(1), stage.counts(job.job_id)) == ([], {})
        await stage.engine.scale(job.job_id, {"": 2}, "ada")
        await players.act(3)
        assert players.on(1) == [0, 1]

    play(scene)


def test_a_submit_with_another_count_only_scales() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=16)
        players = Players(stage)
        [job] = await stage.submit(service(2))
        await players.act(3)
        [again] = await stage.submit(service(4))
        assert (again.job_id, again.created, again.updated) == (job.job_id, False, True)
        await players.act(3)
        assert players.on(1) == [0, 1, 2, 3]
        assert len(players.starts) == 4
        [same] = await stage.submit(service(4))
        assert (same.created, same.updated) == (False, False)

    play(scene)


def test_what_cannot_be_scaled_is_refused_with_the_reason() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=16)
        [job] = await stage.submit(service(2))
        [batch] = await stage.submit(spec("batch"))
        with pytest.raises(NotFound, match="no group other: its groups are main"):
            await stage.engine.scale(job.job_id, {"other": 3}, "ada")
        with pytest.raises(Invalid, match="must be 0 to"):
            await stage.engine.scale(job.job_id, {"": -1}, "ada")
        with pytest.raises(Conflict, match="is a batch job"):
            await stage.engine.scale(batch.job_id, {"": 3}, "ada")
        [everywhere] = await stage.submit(service(0, name="agent", type="system"))
        with pytest.raises(Conflict, match="one task on each matching node"):
            await stage.engine.scale(everywhere.job_id, {"": 3}, "ada")

    play(scene)


def test_instances_of_a_node_that_is_down_run_elsewhere() -> None:
    async def scene(stage: Stage) -> None:
        first = await stage.join("n1", cpu=2)
        players = Players(stage)
        [job] = await stage.submit(service(2))
        await players.act(3)
        second = await stage.join("n2", cpu=2)
        players.playing.clear()
        await stage.engine.node_event(first, NodeEvent.TIMED_OUT, "no heartbeat for 3 s")
        await players.act(3)
        assert players.on(second) == [0, 1]
        assert stage.counts(job.job_id) == {"running": 2}

    play(scene)


def test_stopping_one_instance_takes_it_down_until_it_is_restarted() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=8)
        players = Players(stage)
        [job] = await stage.submit(service(3))
        await players.act(3)
        await stage.engine.stop_tasks(job.job_id, ("main", 1), False, signal=2)
        assert [stop.signal for stop in stage.stops()] == [2]
        await players.act(5)
        assert players.on(1) == [0, 2]
        assert stage.counts(job.job_id) == {"running": 2, "cancelled": 1}
        await stage.engine.restart(job.job_id, ("main", 1), "ada")
        await players.act(5)
        assert players.on(1) == [0, 1, 2]
        assert "web/1" in [event.name for event in await stage.events() if event.type == "tasks.down"]

    play(scene)


def test_a_service_of_which_every_instance_was_taken_down_waits_for_them_to_be_restarted() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=8)
        players = Players(stage)
        [job] = await stage.submit(service(1))
        await players.act(3)
        await stage.engine.stop_tasks(job.job_id, ("main", 0), False)
        await players.act(5)
        assert stage.counts(job.job_id) == {"cancelled": 1}
        await stage.engine.restart(job.job_id, ("main", 0), "ada")
        await players.act(5)
        assert players.on(1) == [0]
        await stage.engine.stop_tasks(job.job_id, ("main", 0), False)
        await players.act(5)
        await stage.engine.stop_tasks(job.job_id, None, False)
        await players.act(1)
        assert job.job_id not in stage.engine.state.jobs

    play(scene)


def test_a_stopped_service_ends_as_cancelled() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=8)
        players = Players(stage)
        [job] = await stage.submit(service(2))
        await players.act(3)
        await stage.engine.scale(job.job_id, {"": 3}, "ada")
        await players.act(3)
        await stage.engine.stop_tasks(job.job_id, None, False)
        await players.act(1)
        assert job.job_id not in stage.engine.state.jobs
        finished = await stage.store.finished_job(job.job_id)
        assert finished is not None and finished.state == "cancelled"
        assert stage.engine.state.lasting.jobs == {}

    play(scene)


def test_a_service_of_which_every_instance_gave_up_has_failed() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=8)
        players = Players(stage)
        [job] = await stage.submit(service(1, restart=Restart("always", max=0)))
        await players.act(3)
        await players.end(players.find(0), 7)
        await players.act(1)
        finished = await stage.store.finished_job(job.job_id)
        assert finished is not None and finished.state == "failed"

    play(scene)


def test_an_unhealthy_task_is_restarted_three_times_and_then_failed() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=8)
        players = Players(stage)
        [job] = await stage.submit(service(2))
        await players.act(3)
        starts = len(players.starts)
        for _ in range(4):
            await players.end(players.find(0), 143, "unhealthy")
            await players.act(60)
        assert len(players.starts) - starts == 3
        assert stage.counts(job.job_id) == {"running": 1, "failed": 1}

    play(scene)


def test_a_manager_that_takes_over_goes_on_with_the_update() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=8)
        players = Players(stage)
        [job] = await stage.submit(service(3))
        await players.act(3)
        await stage.submit(service(3, "v2"))
        await players.act(3)
        state, timers = await recover(stage.store)
        assert state.lasting.jobs[job.job_id].status == "updating"
        assert timers.next_ms == 0  # the first round looks at it

    play(scene)
