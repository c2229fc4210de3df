"""Updates of services: step by step, gated by health, never below the minimum, on all nodes or on one."""

from __future__ import annotations

import pytest

from shunter.engine.state.registries.services import REPLACED_TASKS_MAX
from shunter.model.errors import Conflict, NotFound
from shunter.model.job.spec import JobOptions, Update
from shunter.ports.admin import QueueChange
from tests.unit.engine.fake_workers import FakeWorkers, healthy_count
from tests.unit.engine.harness import Harness, run_scenario, spec
from tests.unit.engine.service_specs import service, types


def test_an_update_replaces_one_after_another_and_starts_before_it_stops() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(3))
        await fake_workers.process(3)
        [updated] = await harness.submit(service(3, "v2"))
        assert (updated.job_id, updated.updated) == (job.job_id, True)
        seen: list[tuple[str, ...]] = []
        for _ in range(40):
            await fake_workers.process(0.25)
            assert healthy_count(harness, job.job_id) >= 3
            if not seen or seen[-1] != tuple(fake_workers.commands()):
                seen.append(tuple(fake_workers.commands()))
        assert seen == [
            ("v1", "v1", "v1", "v2"), ("v1", "v1", "v2", "v2"), ("v1", "v2", "v2", "v2"), ("v2", "v2", "v2"),
        ]  # fmt: skip
        assert fake_workers.indexes_on(1) == [0, 1, 2]
        live = harness.engine.state.jobs[job.job_id]
        assert (live.version, harness.engine.state.services.jobs[job.job_id].status.wire_name) == (2, "steady")
        assert harness.counts(job.job_id) == {"running": 3}
        assert (await types(harness))["job.updated"] == 1
        assert (await types(harness))["job.settled"] == 2  # the first version too

    run_scenario(scenario)


def test_another_estimate_replaces_nothing() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=8)
        fake_workers = FakeWorkers(harness)
        await harness.submit(service(3))
        await fake_workers.process(3)
        before = set(fake_workers.active)
        await harness.submit(service(3, estimate_s=600.0))
        await fake_workers.process(3)
        assert set(fake_workers.active) == before

    run_scenario(scenario)


def test_as_many_at_a_time_as_parallel_says() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=32)
        fake_workers = FakeWorkers(harness)
        await harness.submit(service(6))
        await fake_workers.process(3)
        await harness.submit(service(6, "v2", update=Update(parallel=3, healthy_for_s=2.0)))
        most = 0
        for _ in range(30):
            await fake_workers.process(0.25)
            most = max(most, len(fake_workers.active))
        assert most == 9
        assert fake_workers.commands() == ["v2"] * 6

    run_scenario(scenario)


def test_an_update_without_room_goes_on_when_some_may_be_unavailable() -> None:
    """Its successor waits already for the room that only its predecessor can give."""

    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=3)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(3))
        await fake_workers.process(3)
        await harness.submit(service(3, "v2"))
        await fake_workers.process(5)
        assert fake_workers.commands() == ["v1"] * 3
        assert harness.counts(job.job_id) == {"running": 3, "queued": 1}
        await harness.submit(service(3, "v2", update=Update(unavailable_max=1, healthy_for_s=2.0)))
        for _ in range(40):
            await fake_workers.process(0.25)
            assert healthy_count(harness, job.job_id) >= 2
        assert fake_workers.commands() == ["v2"] * 3
        assert harness.engine.state.services.jobs[job.job_id].status.wire_name == "steady"

    run_scenario(scenario)


def test_with_unavailable_max_the_old_one_stops_first() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=4)  # no room for a fifth
        fake_workers = FakeWorkers(harness)
        update = Update(parallel=4, unavailable_max=1, healthy_for_s=2.0)
        [job] = await harness.submit(service(4, update=update))
        await fake_workers.process(3)
        await harness.submit(service(4, "v2", update=update))
        for _ in range(60):
            await fake_workers.process(0.25)
            assert healthy_count(harness, job.job_id) >= 3
            assert len(fake_workers.active) <= 4
        assert fake_workers.commands() == ["v2"] * 4

    run_scenario(scenario)


def test_labels_and_priority_change_in_place() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(2))
        await fake_workers.process(3)
        await harness.submit(service(2, labels={"team": "film"}, priority=70))
        await fake_workers.advance(5)
        assert len(fake_workers.starts) == 2
        live = harness.engine.state.jobs[job.job_id]
        assert (live.version, live.labels, live.priority) == (2, {"team": "film"}, 70)
        assert harness.engine.state.services.jobs[job.job_id].status.wire_name == "steady"

    run_scenario(scenario)


def test_what_waits_of_a_service_takes_its_new_priority_and_queue() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=2)
        fake_workers = FakeWorkers(harness)
        await harness.submit(spec("other", 2))
        await fake_workers.process(1)
        await harness.engine.patch_queue("night", QueueChange(paused=True))
        [job] = await harness.submit(service(1))
        await fake_workers.process(3)
        await harness.submit(service(1, priority=90, options=JobOptions(queue="night")))
        await fake_workers.process(3)
        assert "running" not in harness.counts(job.job_id)
        await harness.submit(service(1, priority=90))
        await fake_workers.advance(5)
        assert fake_workers.find(0, job.job_id)
        assert harness.engine.state.services.jobs[job.job_id].status.wire_name == "steady"

    run_scenario(scenario)


def test_a_higher_priority_of_a_service_ends_none_of_its_own() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=2)
        fake_workers = FakeWorkers(harness)
        await harness.submit(spec("other", 1))
        [job] = await harness.submit(service(2))
        await fake_workers.advance(5)
        first = fake_workers.find(0, job.job_id)
        await harness.submit(service(2, priority=90))
        await fake_workers.advance(5)
        assert fake_workers.find(0, job.job_id) == first
        assert fake_workers.find(1, job.job_id)  # it preempted the other
        await harness.engine.scale(job.job_id, {"": 3}, "ada")
        await fake_workers.advance(5)
        assert fake_workers.find(0, job.job_id) == first

    run_scenario(scenario)


def test_an_update_that_also_raises_the_priority_preempts_others_but_none_of_its_own() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=3)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(2))
        await harness.submit(spec("other", 1))  # the same class as the service before its update
        await fake_workers.advance(5)
        await harness.submit(service(2, "v2", priority=90))
        for _ in range(40):
            await fake_workers.process(0.25)
            assert healthy_count(harness, job.job_id) >= 2
        assert fake_workers.commands() == ["/bin/true", "v2", "v2"]
        assert [attempt.attempt for attempt in fake_workers.active.values()] == [1, 1, 2]  # the other made room

    run_scenario(scenario)


def test_an_update_without_room_that_raises_the_priority_leaves_the_service_as_it_is() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=2)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(2))
        await fake_workers.advance(5)
        before = set(fake_workers.active)
        await harness.submit(service(2, "v2", priority=90))
        for _ in range(20):
            await fake_workers.process(0.25)
            assert healthy_count(harness, job.job_id) == 2
        assert set(fake_workers.active) == before

    run_scenario(scenario)


def test_another_type_and_a_job_that_is_being_stopped_are_refused() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        fake_workers.ignores_stops = True
        [job] = await harness.submit(service(2))
        await fake_workers.process(3)
        with pytest.raises(Conflict, match="is a service job and cannot become a batch job"):
            await harness.submit(service(2, type="batch"))
        await harness.engine.stop_tasks(job.job_id, None, False)
        with pytest.raises(Conflict, match="is stopping"):
            await harness.submit(service(2, "v2"))

    run_scenario(scenario)


def test_a_restart_replaces_every_instance_by_a_fresh_one() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(3))
        await fake_workers.process(3)
        before = set(fake_workers.active)
        await harness.engine.restart(job.job_id, None, "ada")
        for _ in range(40):
            await fake_workers.process(0.25)
            assert healthy_count(harness, job.job_id) >= 3
        assert not before & set(fake_workers.active)
        assert fake_workers.indexes_on(1) == [0, 1, 2]
        await harness.engine.restart(job.job_id, ("main", 2), "ada")
        await fake_workers.advance(6)
        assert fake_workers.indexes_on(1) == [0, 1, 2]
        assert len(fake_workers.starts) == 7
        assert (await types(harness))["job.restarted"] == 1
        assert (await types(harness))["tasks.restarting"] == 1
        with pytest.raises(NotFound, match="its tasks are 0 to 2"):
            await harness.engine.restart(job.job_id, ("main", 3), "ada")

    run_scenario(scenario)


def test_an_update_of_one_node_leaves_the_others_as_they_are() -> None:
    async def scenario(harness: Harness) -> None:
        first, second = await harness.join("n1", cpu=3), await harness.join("n2", cpu=3)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(4, distinct="", needs={"cpu": 1000}))
        await fake_workers.process(3)
        on_second = fake_workers.indexes_on(second)
        assert on_second
        await harness.engine.update(job.job_id, service(4, "v2"), "ada", "n2")
        await fake_workers.advance(20)
        assert fake_workers.indexes_on(second) == on_second
        versions = {
            node: {p.spec.command[-1] for p in fake_workers.active.values() if p.node == node}
            for node in (first, second)
        }
        assert versions == {first: {"v1"}, second: {"v2"}}
        with pytest.raises(NotFound, match="node 'n9' does not exist"):
            await harness.engine.update(job.job_id, service(4, "v3"), "ada", "n9")
        await harness.submit(service(4, "v3"))
        await fake_workers.advance(30)
        assert fake_workers.commands() == ["v3"] * 4

    run_scenario(scenario)


@pytest.mark.parametrize("how", ["update", "submit"])
def test_what_was_tried_on_one_node_follows_on_the_others_when_the_same_spec_is_asked_for_all(how: str) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=3)
        second = await harness.join("n2", cpu=3)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(4, distinct="", needs={"cpu": 1000}))
        await fake_workers.process(3)
        tried = service(4, "v2", distinct="", needs={"cpu": 1000})
        await harness.engine.update(job.job_id, tried, "ada", "n2")
        await fake_workers.advance(20)
        assert fake_workers.indexes_on(second) and sorted(set(fake_workers.commands())) == ["v1", "v2"]
        if how == "update":
            await harness.engine.update(job.job_id, tried, "ada")
        else:
            [again] = await harness.submit(tried)
            assert again.updated
        await fake_workers.advance(30)
        assert fake_workers.commands() == ["v2"] * 4
        service_state = harness.engine.state.services.jobs[job.job_id]
        assert (harness.engine.state.jobs[job.job_id].version, service_state.status.wire_name, service_state.node) == (
            2,
            "steady",
            0,
        )
        [once_more] = await harness.submit(tried)
        assert not once_more.updated

    run_scenario(scenario)


def test_a_further_update_overtakes_the_one_under_way() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(4))
        await fake_workers.process(3)
        await harness.submit(service(4, "v2"))
        await fake_workers.advance(3)
        assert set(fake_workers.commands()) == {"v1", "v2"}
        await harness.submit(service(4, "v3"))
        await fake_workers.advance(20)
        assert fake_workers.commands() == ["v3"] * 4
        assert harness.counts(job.job_id) == {"running": 4}

    run_scenario(scenario)


def test_an_update_of_one_node_that_overtakes_another_leaves_one_task_of_each_instance() -> None:
    """What the overtaken one had begun is nobody's successor any more."""

    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(4))
        await fake_workers.process(3)
        await harness.submit(service(4, "v2"))
        await fake_workers.process(0.25)
        assert len(fake_workers.commands()) == 5
        await harness.join("n2", cpu=1)
        await harness.engine.update(job.job_id, service(4, "v3"), "ada", "n2")
        await fake_workers.advance(20)
        assert harness.counts(job.job_id) == {"running": 4}
        assert fake_workers.indexes_on(1) == [0, 1, 2, 3]

    run_scenario(scenario)


def test_what_was_replaced_is_remembered_up_to_a_limit() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=64)
        fake_workers = FakeWorkers(harness)
        update = Update(parallel=40, healthy_for_s=0.5)
        [job] = await harness.submit(service(30, update=update))
        await fake_workers.process(3)
        for version in range(2, 6):
            await harness.submit(service(30, f"v{version}", update=update))
            await fake_workers.advance(5)
        assert fake_workers.commands() == ["v5"] * 30
        past = harness.engine.state.services.jobs[job.job_id].replaced_tasks
        assert len(past) == REPLACED_TASKS_MAX
        assert {task.state for task in past} == {7}
        assert sum(len(group.visible_index or ()) for group in harness.engine.state.jobs[job.job_id].task_sets) == 30

    run_scenario(scenario)


@pytest.mark.parametrize(("before_s", "after_s", "ends_at_s"), [(30, 0, 0), (30, 60, 60), (0, 30, 30), (60, 30, 30)])
def test_another_timeout_of_a_service_holds_from_its_update_on(before_s: int, after_s: int, ends_at_s: int) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=4)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(2, options=JobOptions(timeout_s=before_s)))
        await fake_workers.advance(5)
        await harness.submit(service(2, options=JobOptions(timeout_s=after_s)))
        for second in range(6, 80):
            await fake_workers.process(1)
            assert (job.job_id in harness.engine.state.jobs) is (not ends_at_s or second < ends_at_s)

    run_scenario(scenario)


@pytest.mark.parametrize("type_", ["service", "system"])
@pytest.mark.parametrize("after_s", [0, 20, 60])
def test_another_start_of_a_service_that_waits_for_its_time_holds(after_s: int, type_: str) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=4)
        fake_workers = FakeWorkers(harness)
        await harness.submit(service(1, type=type_, options=JobOptions(start_in_s=30)))
        await fake_workers.advance(5)
        await harness.submit(service(1, type=type_, options=JobOptions(start_in_s=after_s)))
        for second in range(6, 70):
            await fake_workers.process(1)
            assert bool(fake_workers.starts) is (second >= after_s)

    run_scenario(scenario)
