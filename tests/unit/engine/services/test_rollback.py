"""Failed updates: rollbacks, stalls, and their messages."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from shunter.model.errors import Conflict
from shunter.model.job.spec import HealthCheck, JobSpec, TaskSpec, Update
from tests.unit.engine.fake_workers import FakeWorkers, healthy_count
from tests.unit.engine.harness import Harness, run_scenario
from tests.unit.engine.service_specs import service, types

CHECK = (HealthCheck("tcp", port="80"),)


def checked_service(count: int, word: str, update: Update) -> JobSpec:
    return service(count, word, task=TaskSpec(("serve", word), health=CHECK), update=update)


def is_v2(spec: TaskSpec, _: int) -> bool:
    return spec.command[-1] == "v2"


def test_a_version_that_is_never_healthy_is_rolled_back_with_the_reason() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness, is_unhealthy=is_v2)
        update = Update(healthy_for_s=1.0, deadline_s=10.0)
        [job] = await harness.submit(checked_service(3, "v1", update))
        await fake_workers.process(3)
        await harness.submit(checked_service(3, "v2", update))
        for _ in range(60):
            await fake_workers.process(0.5)
            assert healthy_count(harness, job.job_id) >= 3
        assert fake_workers.commands() == ["v1"] * 3
        assert len(fake_workers.starts) == 4  # one of the bad version was tried, and none of the good one started again
        state = harness.engine.state
        assert (state.jobs[job.job_id].version, state.services.jobs[job.job_id].status.wire_name) == (3, "steady")
        [event] = [event for event in await harness.events() if event.type == "job.rolled_back"]
        assert event.reason == (
            "rolled back to version 1: task web/0 did not become healthy within 10 s; it is running"
            "; its health checks fail"
        )
        assert (await types(harness))["tasks.healthy"] == 3
        assert (await types(harness))["tasks.unhealthy"] == 1

    run_scenario(scenario)


@pytest.mark.parametrize("rollback", [True, False])
def test_successors_that_a_further_update_leaves_as_they_are_must_be_healthy_in_its_time(rollback: bool) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness, is_unhealthy=is_v2)
        update = Update(healthy_for_s=1.0, deadline_s=10.0, rollback=rollback)
        [job] = await harness.submit(checked_service(3, "v1", update))
        await fake_workers.process(3)
        await harness.submit(checked_service(3, "v2", update))
        await fake_workers.advance(8 if rollback else 30)
        await harness.submit(checked_service(3, "v2", replace(update, unavailable_max=1)))
        await fake_workers.advance(8)
        service_state = harness.engine.state.services.jobs[job.job_id]
        assert service_state.status.wire_name == "updating"
        await fake_workers.advance(20)
        assert service_state.status.wire_name == ("steady" if rollback else "stalled")
        assert fake_workers.commands() == (["v1"] * 3 if rollback else ["v1", "v1", "v1", "v2"])

    run_scenario(scenario)


def test_a_version_that_crashes_is_rolled_back_as_soon_as_it_gives_up() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(2))
        await fake_workers.process(3)
        await harness.submit(service(2, "v2"))
        for _ in range(4):
            await fake_workers.process()
            crashing = [task for task, active in fake_workers.active.items() if active.spec.command[-1] == "v2"]
            await fake_workers.end(crashing[0], 1)
            await fake_workers.process(10)
        assert fake_workers.commands() == ["v1", "v1"]
        [event] = [event for event in await harness.events() if event.type == "job.rolled_back"]
        assert event.reason == "rolled back to version 1: task web/0 failed: exit code 1"
        assert harness.counts(job.job_id) == {"running": 2}

    run_scenario(scenario)


def test_without_rollback_an_update_that_goes_wrong_stays_where_it_is() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness, is_unhealthy=is_v2)
        update = Update(healthy_for_s=1.0, deadline_s=10.0, rollback=False)
        [job] = await harness.submit(checked_service(3, "v1", update))
        await fake_workers.process(3)
        await harness.submit(checked_service(3, "v2", update))
        await fake_workers.advance(30)
        assert fake_workers.commands() == ["v1", "v1", "v1", "v2"]
        assert harness.engine.state.services.jobs[job.job_id].status.wire_name == "stalled"
        assert (await types(harness))["job.stalled"] == 1
        await harness.engine.roll_back(job.job_id, "ada")
        await fake_workers.advance(5)
        assert fake_workers.commands() == ["v1"] * 3

    run_scenario(scenario)


def test_someone_may_go_back_to_the_version_before_and_keeps_the_count() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(2))
        await fake_workers.process(3)
        with pytest.raises(Conflict, match="no earlier stable version"):
            await harness.engine.roll_back(job.job_id, "ada")
        await harness.submit(service(2, "v2"))
        await fake_workers.advance(10)
        await harness.engine.scale(job.job_id, {"": 3}, "ada")
        await fake_workers.advance(3)
        await harness.engine.roll_back(job.job_id, "ada")
        await fake_workers.advance(15)
        assert fake_workers.commands() == ["v1"] * 3
        await harness.engine.roll_back(job.job_id, "ada")
        await fake_workers.advance(15)
        assert fake_workers.commands() == ["v2"] * 3

    run_scenario(scenario)


def test_a_count_that_was_set_during_a_bad_update_outlives_the_way_back() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness, is_unhealthy=is_v2)
        update = Update(healthy_for_s=1.0, deadline_s=10.0)
        [job] = await harness.submit(checked_service(2, "v1", update))
        await fake_workers.process(3)
        await harness.submit(checked_service(2, "v2", update))
        await fake_workers.process(1)
        await harness.engine.scale(job.job_id, {"": 4}, "ada")
        await fake_workers.advance(30)
        assert fake_workers.commands() == ["v1"] * 4

    run_scenario(scenario)


async def crash_until_failed(fake_workers: FakeWorkers, visible_index: int) -> None:
    for _ in range(4):
        await fake_workers.end(fake_workers.find(visible_index), 7)
        await fake_workers.process(10)


def test_a_way_back_that_may_replace_nothing_more_stalls_and_says_what_to_do() -> None:
    """Two have given up as they shall be, the third one is healthy and no other may be unavailable."""

    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=16)
        await harness.join("n2", cpu=1)
        fake_workers = FakeWorkers(harness)
        update = Update(unavailable_max=1, healthy_for_s=1.0)
        [job] = await harness.submit(service(2, update=update, needs={"cpu": 2000}))
        await fake_workers.process(3)
        await harness.engine.update(job.job_id, service(3, "v2", update=update, needs={"cpu": 2000}), "ada", "n2")
        await fake_workers.process(3)
        await crash_until_failed(fake_workers, 0)
        await crash_until_failed(fake_workers, 1)
        assert harness.counts(job.job_id) == {"running": 1, "failed": 2}
        await harness.engine.roll_back(job.job_id, "ada")
        await fake_workers.process(3)
        service_state = harness.engine.state.services.jobs[job.job_id]
        assert (service_state.status.wire_name, fake_workers.commands()) == ("stalled", ["v2"])
        assert service_state.reason == (
            "task web/0 has failed, and at most 1 may be unavailable; retry with: shunter restart web"
        )
        await harness.engine.restart(job.job_id, None, "ada")
        await fake_workers.advance(10)
        assert (service_state.status.wire_name, fake_workers.commands()) == ("steady", ["v1"] * 3)

    run_scenario(scenario)


def test_what_has_given_up_does_not_keep_a_new_version_from_being_tried() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        update = Update(unavailable_max=1, healthy_for_s=1.0)
        [job] = await harness.submit(service(3, update=update))
        await fake_workers.process(3)
        await crash_until_failed(fake_workers, 0)
        await crash_until_failed(fake_workers, 1)
        await harness.submit(service(3, "v2", update=update))
        await fake_workers.advance(10)
        assert harness.engine.state.services.jobs[job.job_id].status.wire_name == "steady"
        assert fake_workers.commands() == ["v2"] * 3

    run_scenario(scenario)


def test_a_second_rollback_is_refused_while_the_first_one_goes_on() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        for word in ("v1", "v2", "v3"):
            [job] = await harness.submit(service(2, word))
            await fake_workers.advance(20)
        await harness.engine.roll_back(job.job_id, "ada")
        with pytest.raises(Conflict, match="job 'web' is rolling back already; wait until it has finished"):
            await harness.engine.roll_back(job.job_id, "ada")

    run_scenario(scenario)
