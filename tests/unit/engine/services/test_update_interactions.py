"""Updates and restarts of jobs with other problems: unhealthy instances, nodes that accept no work, a hold, groups that
wait for others. No update waits for ever, and none touches unrelated instances."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.model.errors import Rejected
from shunter.model.job.spec import GroupAfter, GroupSpec, HealthCheck, JobSpec, Restart, TaskSpec, Update
from tests.unit.engine.fake_workers import FakeWorkers, healthy_count
from tests.unit.engine.harness import Harness, run_scenario
from tests.unit.engine.service_specs import ALWAYS, service

UPDATE = Update(healthy_for_s=1.0, deadline_s=10.0)


def checked_task(word: str) -> TaskSpec:
    return TaskSpec(("serve", word), health=(HealthCheck("tcp", port="80"),))


def group(name: str, count: int, word: str, **fields: Any) -> GroupSpec:
    restart = fields.pop("restart", ALWAYS)
    return GroupSpec(name, count, checked_task(word), {"cpu": 1000}, restart, update=UPDATE, **fields)


def web_job(*groups: GroupSpec) -> JobSpec:
    return JobSpec("default", "web", groups, type="service")


def status(harness: Harness, job_id: int) -> tuple[str, str]:
    service_state = harness.engine.state.services.jobs[job_id]
    return service_state.status.wire_name, service_state.reason


def test_an_instance_is_restarted_also_while_another_one_is_not_healthy() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=5)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(3, task=checked_task("v1"), update=UPDATE))
        await fake_workers.advance(5)
        sick = fake_workers.find(2)
        await fake_workers.end(sick, 1)
        fake_workers.is_unhealthy = lambda _, visible_index: visible_index == 2
        await fake_workers.advance(5)
        first = fake_workers.find(0)
        await harness.engine.restart(job.job_id, ("main", 0), "ada")
        await fake_workers.advance(5)
        assert fake_workers.find(0) != first
        assert status(harness, job.job_id) == ("steady", "")

    run_scenario(scenario)


def test_an_update_of_one_group_does_not_wait_for_an_instance_of_another_that_it_leaves_as_it_is() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=20)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(web_job(group("a", 2, "a1"), group("b", 2, "b1")))
        await fake_workers.advance(5)
        fake_workers.is_unhealthy = lambda spec, visible_index: spec.command[-1] == "b1" and visible_index == 1
        await fake_workers.end(
            next(
                task
                for task, each in fake_workers.active.items()
                if fake_workers.is_unhealthy(each.spec, each.visible_index)
            ),
            1,
        )
        await fake_workers.advance(5)
        await harness.submit(web_job(group("a", 2, "a2"), group("b", 2, "b1")))
        await fake_workers.advance(10)
        assert fake_workers.commands() == ["a2", "a2", "b1", "b1"]
        assert status(harness, job.job_id) == ("steady", "")

    run_scenario(scenario)


def test_an_update_of_a_service_that_never_was_well_says_what_is_not() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=20)
        fake_workers = FakeWorkers(
            harness, is_unhealthy=lambda spec, visible_index: spec.command[-1] == "b1" and visible_index == 1
        )
        [job] = await harness.submit(web_job(group("a", 2, "a1"), group("b", 2, "b1")))
        await fake_workers.advance(5)
        await harness.submit(web_job(group("a", 2, "a2"), group("b", 2, "b1")))
        await fake_workers.advance(20)
        word, reason = status(harness, job.job_id)
        assert (word, fake_workers.commands()) == ("stalled", ["a2", "a2", "b1", "b1"])
        assert reason.startswith("task web/b/1 did not become healthy within 10 s")

    run_scenario(scenario)


def test_a_restart_that_may_end_nothing_more_says_who_is_not_healthy() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=20)
        fake_workers = FakeWorkers(harness)
        update = Update(unavailable_max=1, healthy_for_s=1.0, deadline_s=10.0)
        [job] = await harness.submit(service(3, task=checked_task("v1"), update=update))
        await fake_workers.advance(5)
        fake_workers.is_unhealthy = lambda _, visible_index: visible_index == 2
        await fake_workers.end(fake_workers.find(2), 1)
        await fake_workers.advance(5)
        await harness.engine.restart(job.job_id, ("main", 0), "ada")
        await fake_workers.advance(5)
        assert status(harness, job.job_id)[0] == "restarting"  # web/2 may get well yet
        await fake_workers.advance(10)
        assert status(harness, job.job_id) == (
            "stalled",
            "task web/2 is not healthy, and at most 1 may be unavailable; retry with: shunter restart web",
        )
        assert healthy_count(harness, job.job_id) == 2

    run_scenario(scenario)


def test_one_instance_of_a_stalled_update_is_restarted_alone_and_does_not_try_for_ever() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=20)
        update = Update(healthy_for_s=1.0, deadline_s=10.0, rollback=False)
        fake_workers = FakeWorkers(harness, is_unhealthy=lambda spec, _: spec.command[-1] == "v2")
        [job] = await harness.submit(service(3, task=checked_task("v1"), update=update))
        await fake_workers.advance(5)
        await harness.submit(service(3, task=checked_task("v2"), update=update))
        await fake_workers.advance(15)
        assert status(harness, job.job_id)[0] == "stalled"
        starts = len(fake_workers.starts)
        await harness.engine.restart(job.job_id, ("main", 2), "ada")
        await fake_workers.advance(60)
        assert fake_workers.starts[starts:] == [(1, 2)]
        word, reason = status(harness, job.job_id)
        assert word == "stalled" and reason.startswith("task web/2 did not become healthy within 10 s")
        assert healthy_count(harness, job.job_id) == 3

    run_scenario(scenario)


@pytest.mark.parametrize("gives_up", [False, True])
def test_during_an_update_of_one_node_an_instance_on_another_can_be_restarted(gives_up: bool) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=2)
        away = await harness.join("n2", cpu=6)
        fake_workers = FakeWorkers(harness)
        update = Update(unavailable_max=1, healthy_for_s=1.0, deadline_s=10.0)
        [job] = await harness.submit(service(4, update=update))
        await fake_workers.advance(5)
        [visible_index, *_] = fake_workers.indexes_on(away)
        await harness.engine.update(job.job_id, service(4, "v2", update=update), "ada", "n1")
        await fake_workers.advance(15)
        assert (status(harness, job.job_id), fake_workers.commands()) == (("steady", ""), ["v1", "v1", "v2", "v2"])
        first = fake_workers.find(visible_index)
        for _ in range(4 if gives_up else 0):
            await fake_workers.end(fake_workers.find(visible_index), 7)
            await fake_workers.process(10)
        await harness.engine.restart(job.job_id, ("main", visible_index), "ada")
        await fake_workers.advance(10)
        assert fake_workers.find(visible_index) != first
        assert (status(harness, job.job_id), fake_workers.commands()) == (("steady", ""), ["v1", "v2", "v2", "v2"])

    run_scenario(scenario)


@pytest.mark.parametrize("how", ["drain", "move"])
@pytest.mark.parametrize("is_stalled", [False, True])
def test_what_an_update_has_not_reached_keeps_its_version_wherever_it_goes(is_stalled: bool, how: str) -> None:
    """The new version is bad: whoever stays with the old one is to be well."""

    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=2)
        away = await harness.join("n2", cpu=3)
        fake_workers = FakeWorkers(harness, is_unhealthy=lambda spec, _: spec.command[-1] == "v2")
        update = Update(healthy_for_s=1.0, deadline_s=10.0, rollback=False)
        [job] = await harness.submit(service(4, task=checked_task("v1"), update=update))
        await fake_workers.advance(5)
        await harness.engine.update(
            job.job_id, service(4, task=checked_task("v2"), update=update), "ada", None if is_stalled else "n1"
        )
        await fake_workers.advance(15)
        third = await harness.join("n3", cpu=8)
        gone = [visible_index for visible_index in fake_workers.indexes_on(away) if visible_index in (2, 3)]
        assert gone
        if how == "drain":
            await harness.engine.drain_node("n2", None, "ada")
        else:
            for visible_index in gone:
                await harness.engine.move(job.job_id, ("main", visible_index), "n3", "ada")
        await fake_workers.advance(10)
        assert set(gone) <= set(fake_workers.indexes_on(third))
        at = {fake_workers.active[fake_workers.find(visible_index)].spec.command[-1] for visible_index in gone}
        assert (at, healthy_count(harness, job.job_id)) == ({"v1"}, 4)

    run_scenario(scenario)


@pytest.mark.parametrize("how", ["restart", "bad update"])
def test_counts_that_were_set_meanwhile_leave_the_version_before_to_go_back_to(how: str) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=20)
        fake_workers = FakeWorkers(harness, is_unhealthy=lambda spec, _: spec.command[-1] == "v3")
        [job] = await harness.submit(service(2, task=checked_task("v1"), update=UPDATE))
        await fake_workers.advance(5)
        await harness.submit(service(2, task=checked_task("v2"), update=UPDATE))
        await fake_workers.advance(10)
        if how == "restart":
            await harness.engine.restart(job.job_id, None, "ada")
        else:
            await harness.submit(service(2, task=checked_task("v3"), update=UPDATE))
        await harness.engine.scale(job.job_id, {"": 3}, "ada")
        await fake_workers.advance(30)
        assert (status(harness, job.job_id)[0], fake_workers.commands()) == ("steady", ["v2"] * 3)
        await harness.engine.roll_back(job.job_id, "ada")
        await fake_workers.advance(15)
        assert (status(harness, job.job_id)[0], fake_workers.commands()) == ("steady", ["v1"] * 3)

    run_scenario(scenario)


def test_a_scaled_service_of_one_version_has_none_to_go_back_to() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=20)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(2, update=UPDATE))
        await fake_workers.advance(5)
        await harness.engine.restart(job.job_id, None, "ada")
        await harness.engine.scale(job.job_id, {"": 3}, "ada")
        await fake_workers.advance(15)
        with pytest.raises(Rejected, match="no earlier stable version"):
            await harness.engine.roll_back(job.job_id, "ada")

    run_scenario(scenario)


@pytest.mark.parametrize("unavailable_max", [0, 1])
def test_what_runs_on_a_cordoned_node_goes_on_while_others_are_updated_and_follows_later(unavailable_max: int) -> None:
    async def scenario(harness: Harness) -> None:
        for number in range(1, 4):
            await harness.join(f"n{number}", cpu=4)
        fake_workers = FakeWorkers(harness)
        update = Update(unavailable_max=unavailable_max, healthy_for_s=1.0, deadline_s=10.0)
        [job] = await harness.submit(service(1, type="system", update=update))
        await fake_workers.advance(5)
        await harness.engine.cordon_node("n2", "looked at")
        await harness.submit(service(1, "v2", type="system", update=update))
        await fake_workers.advance(20)
        assert (status(harness, job.job_id), fake_workers.commands()) == (("steady", ""), ["v1", "v2", "v2"])
        await harness.engine.release_node("n2", "cordon")
        await fake_workers.advance(5)
        assert (status(harness, job.job_id), fake_workers.commands()) == (("steady", ""), ["v2"] * 3)

    run_scenario(scenario)


def test_an_instance_that_came_to_its_end_is_no_failure_of_the_update() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=10)
        fake_workers = FakeWorkers(harness)
        update = Update(unavailable_max=1, healthy_for_s=1.0, deadline_s=10.0)
        fields: dict[str, Any] = {"restart": Restart("on-failure"), "update": update}
        [job] = await harness.submit(service(3, **fields))
        await fake_workers.advance(5)
        await harness.submit(service(3, "v2", **fields))
        await fake_workers.process(0.5)
        await fake_workers.end(
            next(task for task, each in fake_workers.active.items() if each.spec.command[-1] == "v2"), 0
        )
        await fake_workers.advance(10)
        assert (status(harness, job.job_id), fake_workers.commands()) == (("steady", ""), ["v2"] * 2)

    run_scenario(scenario)


def test_the_deadline_of_an_update_does_not_run_while_the_job_is_held() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=10)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(3, update=UPDATE))
        await fake_workers.advance(5)
        await harness.submit(service(3, "v2", update=UPDATE))
        await fake_workers.process(0.2)
        await harness.engine.hold(job.job_id, True)
        await fake_workers.advance(30)
        assert status(harness, job.job_id)[0] == "updating"
        await harness.engine.hold(job.job_id, False)
        await fake_workers.advance(10)
        assert (status(harness, job.job_id)[0], fake_workers.commands()) == ("steady", ["v2"] * 3)

    run_scenario(scenario)


def test_after_its_release_a_successor_without_room_is_late_in_its_time() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=3)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(3, update=UPDATE))
        await fake_workers.advance(5)
        await harness.engine.hold(job.job_id, True)
        await harness.engine.restart(job.job_id, None, "ada")
        await fake_workers.advance(30)
        await harness.engine.hold(job.job_id, False)
        await fake_workers.advance(9)
        assert status(harness, job.job_id)[0] == "restarting"
        await fake_workers.advance(2)
        assert status(harness, job.job_id)[0] == "stalled"

    run_scenario(scenario)


def test_what_is_added_to_a_service_or_a_node_gives_up_when_it_was_queued_for_too_long() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=2)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(2, update=UPDATE, queue_timeout_s=5.0))
        await fake_workers.advance(10)
        [other] = await harness.submit(service(1, name="each", type="sysbatch", queue_timeout_s=5.0))
        await harness.engine.scale(job.job_id, {"": 3}, "ada")
        await fake_workers.advance(10)
        assert harness.counts(job.job_id) == {"running": 2, "failed": 1}
        assert other.job_id not in harness.engine.state.jobs  # it has failed

    run_scenario(scenario)


def test_a_group_that_was_to_wait_for_another_is_not_started_when_that_fails() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=20)
        fake_workers = FakeWorkers(harness)
        once = group("once", 1, "once", restart=Restart())
        later = group("later", 2, "later", after=(GroupAfter("once"),))
        [job] = await harness.submit(web_job(group("on", 1, "on"), once, later))
        await fake_workers.advance(5)
        await fake_workers.end(
            next(task for task, each in fake_workers.active.items() if each.spec.command[-1] == "once"), 3
        )
        await fake_workers.advance(5)
        assert fake_workers.commands() == ["on"]
        assert harness.counts(job.job_id) == {"running": 1, "failed": 1, "cancelled": 2}

    run_scenario(scenario)


def test_a_group_is_scaled_up_from_nothing_after_what_it_waits_for_is_gone() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=20)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(
            web_job(group("a", 1, "a"), group("b", 0, "b", after=(GroupAfter("a", "finished"),)))
        )
        await fake_workers.advance(5)
        await harness.engine.scale(job.job_id, {"a": 0}, "ada")
        await fake_workers.process(1)
        await harness.engine.scale(job.job_id, {"b": 2}, "ada")
        await fake_workers.process(1)
        assert fake_workers.commands() == ["b", "b"]

    run_scenario(scenario)
