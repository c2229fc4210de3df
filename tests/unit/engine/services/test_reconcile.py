"""A service stays at its count, whatever happens to its tasks and nodes."""

from __future__ import annotations

import pytest

from shunter.engine.recovery import create_timers, load_state
from shunter.model.errors import Conflict, Invalid, NotFound
from shunter.model.job.spec import Restart
from shunter.model.lifecycles import NodeEvent
from tests.unit.engine.fake_workers import FakeWorkers
from tests.unit.engine.harness import Harness, run_scenario, spec
from tests.unit.engine.service_specs import service


def test_a_service_goes_on_at_its_count_when_tasks_end() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=8)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(3))
        await fake_workers.process(5)
        assert harness.counts(job.job_id) == {"running": 3}
        await fake_workers.end(fake_workers.find(1), 0)
        await fake_workers.end(fake_workers.find(2), 9)
        assert harness.counts(job.job_id) == {"running": 1, "queued": 2}
        await fake_workers.process(2)
        assert harness.counts(job.job_id) == {"running": 3}

    run_scenario(scenario)


def test_an_instance_that_gave_up_stays_failed_and_the_others_go_on() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=8)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(2))
        await fake_workers.process(3)
        for _ in range(4):
            await fake_workers.end(fake_workers.find(1), 7)
            await fake_workers.process(10)
        assert harness.counts(job.job_id) == {"running": 1, "failed": 1}
        assert harness.engine.state.jobs[job.job_id].state.wire_name == "running"

    run_scenario(scenario)


def test_scaling_adds_new_indexes_and_takes_the_highest_away() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(2))
        await fake_workers.process(3)
        await harness.engine.scale(job.job_id, {"": 5}, "ada")
        await fake_workers.process(3)
        assert fake_workers.indexes_on(1) == [0, 1, 2, 3, 4]
        assert harness.engine.state.jobs[job.job_id].version == 1
        assert len(fake_workers.starts) == 5
        await harness.engine.scale(job.job_id, {"main": 1}, "ada")
        await fake_workers.process(1)
        assert fake_workers.indexes_on(1) == [0]
        assert harness.counts(job.job_id) == {"running": 1, "cancelled": 1}  # the first task set had 0 and 1
        events = await harness.events()
        assert [event.reason for event in events if event.type == "job.scaled"] == [
            "scaled by ada: main 5", "scaled by ada: main 1",
        ]  # fmt: skip
        assert [event.name for event in events if event.type == "tasks.added"] == ["web/2-4"]
        assert "web/2-4" in [event.name for event in events if event.type == "tasks.unblocked"]

    run_scenario(scenario)


def test_a_service_may_be_scaled_to_nothing_and_back() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(2))
        await fake_workers.process(3)
        await harness.engine.scale(job.job_id, {"": 0}, "ada")
        await fake_workers.process(1)
        assert (fake_workers.indexes_on(1), harness.counts(job.job_id)) == ([], {})
        await harness.engine.scale(job.job_id, {"": 2}, "ada")
        await fake_workers.process(3)
        assert fake_workers.indexes_on(1) == [0, 1]

    run_scenario(scenario)


def test_a_submit_with_another_count_only_scales() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(2))
        await fake_workers.process(3)
        [again] = await harness.submit(service(4))
        assert (again.job_id, again.created, again.updated) == (job.job_id, False, True)
        await fake_workers.process(3)
        assert fake_workers.indexes_on(1) == [0, 1, 2, 3]
        assert len(fake_workers.starts) == 4
        [same] = await harness.submit(service(4))
        assert (same.created, same.updated) == (False, False)

    run_scenario(scenario)


def test_what_cannot_be_scaled_is_refused_with_the_reason() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=16)
        [job] = await harness.submit(service(2))
        [batch] = await harness.submit(spec("batch"))
        with pytest.raises(NotFound, match="no group 'other': its groups are main"):
            await harness.engine.scale(job.job_id, {"other": 3}, "ada")
        with pytest.raises(Invalid, match="must be 0 to 10,000"):
            await harness.engine.scale(job.job_id, {"": -1}, "ada")
        with pytest.raises(Conflict, match="is a batch job"):
            await harness.engine.scale(batch.job_id, {"": 3}, "ada")
        [everywhere] = await harness.submit(service(0, name="agent", type="system"))
        with pytest.raises(Conflict, match="one task on each matching node"):
            await harness.engine.scale(everywhere.job_id, {"": 3}, "ada")

    run_scenario(scenario)


def test_instances_of_a_node_that_is_down_run_on_another_node() -> None:
    async def scenario(harness: Harness) -> None:
        first = await harness.join("n1", cpu=2)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(2))
        await fake_workers.process(3)
        second = await harness.join("n2", cpu=2)
        fake_workers.active.clear()
        await harness.engine.node_event(first, NodeEvent.TIMED_OUT, "no heartbeat for 3 s")
        await fake_workers.process(3)
        assert fake_workers.indexes_on(second) == [0, 1]
        assert harness.counts(job.job_id) == {"running": 2}

    run_scenario(scenario)


def test_stopping_one_instance_takes_it_down_until_it_is_restarted() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=8)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(3))
        await fake_workers.process(3)
        await harness.engine.stop_tasks(job.job_id, ("main", 1), False, signal=2)
        assert [stop.signal for stop in harness.stops()] == [2]
        await fake_workers.process(5)
        assert fake_workers.indexes_on(1) == [0, 2]
        assert harness.counts(job.job_id) == {"running": 2, "cancelled": 1}
        await harness.engine.restart(job.job_id, ("main", 1), "ada")
        await fake_workers.process(5)
        assert fake_workers.indexes_on(1) == [0, 1, 2]
        assert "web/1" in [event.name for event in await harness.events() if event.type == "tasks.down"]

    run_scenario(scenario)


def test_a_service_of_which_every_instance_was_taken_down_waits_for_them_to_be_restarted() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=8)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(1))
        await fake_workers.process(3)
        await harness.engine.stop_tasks(job.job_id, ("main", 0), False)
        await fake_workers.process(5)
        assert harness.counts(job.job_id) == {"cancelled": 1}
        await harness.engine.restart(job.job_id, ("main", 0), "ada")
        await fake_workers.process(5)
        assert fake_workers.indexes_on(1) == [0]
        await harness.engine.stop_tasks(job.job_id, ("main", 0), False)
        await fake_workers.process(5)
        await harness.engine.stop_tasks(job.job_id, None, False)
        await fake_workers.process(1)
        assert job.job_id not in harness.engine.state.jobs

    run_scenario(scenario)


def test_a_stopped_service_ends_as_cancelled() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=8)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(2))
        await fake_workers.process(3)
        await harness.engine.scale(job.job_id, {"": 3}, "ada")
        await fake_workers.process(3)
        await harness.engine.stop_tasks(job.job_id, None, False)
        await fake_workers.process(1)
        assert job.job_id not in harness.engine.state.jobs
        finished = await harness.store.finished_job(job.job_id)
        assert finished is not None and finished.state == "cancelled"
        assert harness.engine.state.services.jobs == {}

    run_scenario(scenario)


def test_a_service_of_which_every_instance_gave_up_has_failed() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=8)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(1, restart=Restart("always", max=0)))
        await fake_workers.process(3)
        await fake_workers.end(fake_workers.find(0), 7)
        await fake_workers.process(1)
        finished = await harness.store.finished_job(job.job_id)
        assert finished is not None and finished.state == "failed"

    run_scenario(scenario)


def test_an_unhealthy_task_is_restarted_three_times_and_then_failed() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=8)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(2))
        await fake_workers.process(3)
        starts = len(fake_workers.starts)
        for _ in range(4):
            await fake_workers.end(fake_workers.find(0), 143, "unhealthy")
            await fake_workers.process(60)
        assert len(fake_workers.starts) - starts == 3
        assert harness.counts(job.job_id) == {"running": 1, "failed": 1}

    run_scenario(scenario)


def test_a_manager_that_takes_over_goes_on_with_the_update() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=8)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(3))
        await fake_workers.process(3)
        await harness.submit(service(3, "v2"))
        await fake_workers.process(3)
        state = await load_state(harness.store)
        timers = create_timers(state)
        assert state.services.jobs[job.job_id].status.wire_name == "updating"
        assert timers.next_ms == 0  # the first round looks at it

    run_scenario(scenario)
