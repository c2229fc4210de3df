"""Updates and restarts of jobs of which something else is the matter: instances that are not healthy anyway, nodes that
take no work, a hold, groups that wait for others. None waits for ever, and none touches what it does not concern."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.model.errors import Rejected
from shunter.model.job.spec import GroupAfter, GroupSpec, HealthCheck, JobSpec, Restart, TaskSpec, Update
from tests.unit.engine.fake_workers import Players, healthy
from tests.unit.engine.harness import Stage, play
from tests.unit.engine.service_specs import ALWAYS, service

UPDATE = Update(healthy_for_s=1.0, deadline_s=10.0)


def checked(word: str) -> TaskSpec:
    return TaskSpec(("serve", word), health=(HealthCheck("tcp", port="80"),))


def group(name: str, count: int, word: str, **fields: Any) -> GroupSpec:
    restart = fields.pop("restart", ALWAYS)
    return GroupSpec(name, count, checked(word), {"cpu": 1000}, restart, update=UPDATE, **fields)


def web(*groups: GroupSpec) -> JobSpec:
    return JobSpec("default", "web", groups, type="service")


def status(stage: Stage, job_id: int) -> tuple[str, str]:
    lasting = stage.engine.state.lasting.jobs[job_id]
    return lasting.status, lasting.reason


def test_an_instance_is_restarted_also_while_another_one_is_not_healthy() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=5)
        players = Players(stage)
        [job] = await stage.submit(service(3, task=checked("v1"), update=UPDATE))
        await players.pass_time(5)
        sick = players.find(2)
        await players.end(sick, 1)
        players.is_sick = lambda _, shown: shown == 2
        await players.pass_time(5)
        first = players.find(0)
        await stage.engine.restart(job.job_id, ("main", 0), "ada")
        await players.pass_time(5)
        assert players.find(0) != first
        assert status(stage, job.job_id) == ("steady", "")

    play(scene)


def test_an_update_of_one_group_does_not_wait_for_an_instance_of_another_that_it_leaves_as_it_is() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=20)
        players = Players(stage)
        [job] = await stage.submit(web(group("a", 2, "a1"), group("b", 2, "b1")))
        await players.pass_time(5)
        players.is_sick = lambda spec, shown: spec.command[-1] == "b1" and shown == 1
        await players.end(
            next(task for task, each in players.playing.items() if players.is_sick(each.spec, each.shown)), 1
        )
        await players.pass_time(5)
        await stage.submit(web(group("a", 2, "a2"), group("b", 2, "b1")))
        await players.pass_time(10)
        assert players.commands() == ["a2", "a2", "b1", "b1"]
        assert status(stage, job.job_id) == ("steady", "")

    play(scene)


def test_an_update_of_a_service_that_never_was_well_says_what_is_not() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=20)
        players = Players(stage, is_sick=lambda spec, shown: spec.command[-1] == "b1" and shown == 1)
        [job] = await stage.submit(web(group("a", 2, "a1"), group("b", 2, "b1")))
        await players.pass_time(5)
        await stage.submit(web(group("a", 2, "a2"), group("b", 2, "b1")))
        await players.pass_time(20)
        word, reason = status(stage, job.job_id)
        assert (word, players.commands()) == ("stalled", ["a2", "a2", "b1", "b1"])
        assert reason.startswith("task web/b/1 was not healthy within 10 s of its start")

    play(scene)


def test_a_restart_that_may_end_nothing_more_says_who_is_not_healthy() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=20)
        players = Players(stage)
        update = Update(unavailable_max=1, healthy_for_s=1.0, deadline_s=10.0)
        [job] = await stage.submit(service(3, task=checked("v1"), update=update))
        await players.pass_time(5)
        players.is_sick = lambda _, shown: shown == 2
        await players.end(players.find(2), 1)
        await players.pass_time(5)
        await stage.engine.restart(job.job_id, ("main", 0), "ada")
        await players.pass_time(5)
        assert status(stage, job.job_id)[0] == "restarting"  # web/2 may get well yet
        await players.pass_time(10)
        assert status(stage, job.job_id) == (
            "stalled",
            "task web/2 is not healthy, and no more than 1 may be unavailable; to try it again: shunter restart web",
        )
        assert healthy(stage, job.job_id) == 2

    play(scene)


def test_one_instance_of_a_stalled_update_is_restarted_alone_and_does_not_try_for_ever() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=20)
        update = Update(healthy_for_s=1.0, deadline_s=10.0, rollback=False)
        players = Players(stage, is_sick=lambda spec, _: spec.command[-1] == "v2")
        [job] = await stage.submit(service(3, task=checked("v1"), update=update))
        await players.pass_time(5)
        await stage.submit(service(3, task=checked("v2"), update=update))
        await players.pass_time(15)
        assert status(stage, job.job_id)[0] == "stalled"
        starts = len(players.starts)
        await stage.engine.restart(job.job_id, ("main", 2), "ada")
        await players.pass_time(60)
        assert players.starts[starts:] == [(1, 2)]
        word, reason = status(stage, job.job_id)
        assert word == "stalled" and reason.startswith("task web/2 was not healthy within 10 s of its start")
        assert healthy(stage, job.job_id) == 3

    play(scene)


@pytest.mark.parametrize("gives_up", [False, True])
def test_beside_an_update_of_one_node_an_instance_elsewhere_can_be_restarted(gives_up: bool) -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=2)
        away = await stage.join("n2", cpu=6)
        players = Players(stage)
        update = Update(unavailable_max=1, healthy_for_s=1.0, deadline_s=10.0)
        [job] = await stage.submit(service(4, update=update))
        await players.pass_time(5)
        [shown, *_] = players.on(away)
        await stage.engine.update(job.job_id, service(4, "v2", update=update), "ada", "n1")
        await players.pass_time(15)
        assert (status(stage, job.job_id), players.commands()) == (("steady", ""), ["v1", "v1", "v2", "v2"])
        first = players.find(shown)
        for _ in range(4 if gives_up else 0):
            await players.end(players.find(shown), 7)
            await players.act(10)
        await stage.engine.restart(job.job_id, ("main", shown), "ada")
        await players.pass_time(10)
        assert players.find(shown) != first
        assert (status(stage, job.job_id), players.commands()) == (("steady", ""), ["v1", "v2", "v2", "v2"])

    play(scene)


@pytest.mark.parametrize("how", ["drain", "move"])
@pytest.mark.parametrize("is_stalled", [False, True])
def test_what_an_update_has_not_reached_keeps_its_version_wherever_it_goes(is_stalled: bool, how: str) -> None:
    """The new version is bad: whoever stays with the old one is to be well."""

    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=2)
        away = await stage.join("n2", cpu=3)
        players = Players(stage, is_sick=lambda spec, _: spec.command[-1] == "v2")
        update = Update(healthy_for_s=1.0, deadline_s=10.0, rollback=False)
        [job] = await stage.submit(service(4, task=checked("v1"), update=update))
        await players.pass_time(5)
        await stage.engine.update(
            job.job_id, service(4, task=checked("v2"), update=update), "ada", None if is_stalled else "n1"
        )
        await players.pass_time(15)
        third = await stage.join("n3", cpu=8)
        gone = [shown for shown in players.on(away) if shown in (2, 3)]
        assert gone
        if how == "drain":
            await stage.engine.drain_node("n2", None, "ada")
        else:
            for shown in gone:
                await stage.engine.move(job.job_id, ("main", shown), "n3", "ada")
        await players.pass_time(10)
        assert set(gone) <= set(players.on(third))
        at = {players.playing[players.find(shown)].spec.command[-1] for shown in gone}
        assert (at, healthy(stage, job.job_id)) == ({"v1"}, 4)

    play(scene)


@pytest.mark.parametrize("how", ["restart", "bad update"])
def test_counts_that_were_set_meanwhile_leave_the_version_before_to_go_back_to(how: str) -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=20)
        players = Players(stage, is_sick=lambda spec, _: spec.command[-1] == "v3")
        [job] = await stage.submit(service(2, task=checked("v1"), update=UPDATE))
        await players.pass_time(5)
        await stage.submit(service(2, task=checked("v2"), update=UPDATE))
        await players.pass_time(10)
        if how == "restart":
            await stage.engine.restart(job.job_id, None, "ada")
        else:
            await stage.submit(service(2, task=checked("v3"), update=UPDATE))
        await stage.engine.scale(job.job_id, {"": 3}, "ada")
        await players.pass_time(30)
        assert (status(stage, job.job_id)[0], players.commands()) == ("steady", ["v2"] * 3)
        await stage.engine.roll_back(job.job_id, "ada")
        await players.pass_time(15)
        assert (status(stage, job.job_id)[0], players.commands()) == ("steady", ["v1"] * 3)

    play(scene)


def test_a_scaled_service_of_one_version_has_none_to_go_back_to() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=20)
        players = Players(stage)
        [job] = await stage.submit(service(2, update=UPDATE))
        await players.pass_time(5)
        await stage.engine.restart(job.job_id, None, "ada")
        await stage.engine.scale(job.job_id, {"": 3}, "ada")
        await players.pass_time(15)
        with pytest.raises(Rejected, match="no earlier version"):
            await stage.engine.roll_back(job.job_id, "ada")

    play(scene)


@pytest.mark.parametrize("unavailable_max", [0, 1])
def test_what_runs_on_a_cordoned_node_goes_on_while_others_are_updated_and_follows_later(unavailable_max: int) -> None:
    async def scene(stage: Stage) -> None:
        for number in range(1, 4):
            await stage.join(f"n{number}", cpu=4)
        players = Players(stage)
        update = Update(unavailable_max=unavailable_max, healthy_for_s=1.0, deadline_s=10.0)
        [job] = await stage.submit(service(1, type="system", update=update))
        await players.pass_time(5)
        await stage.engine.cordon_node("n2", "looked at")
        await stage.submit(service(1, "v2", type="system", update=update))
        await players.pass_time(20)
        assert (status(stage, job.job_id), players.commands()) == (("steady", ""), ["v1", "v2", "v2"])
        await stage.engine.release_node("n2", "cordon")
        await players.pass_time(5)
        assert (status(stage, job.job_id), players.commands()) == (("steady", ""), ["v2"] * 3)

    play(scene)


def test_an_instance_that_came_to_its_end_is_no_failure_of_the_update() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=10)
        players = Players(stage)
        update = Update(unavailable_max=1, healthy_for_s=1.0, deadline_s=10.0)
        fields: dict[str, Any] = {"restart": Restart("on-failure"), "update": update}
        [job] = await stage.submit(service(3, **fields))
        await players.pass_time(5)
        await stage.submit(service(3, "v2", **fields))
        await players.act(0.5)
        await players.end(next(task for task, each in players.playing.items() if each.spec.command[-1] == "v2"), 0)
        await players.pass_time(10)
        assert (status(stage, job.job_id), players.commands()) == (("steady", ""), ["v2"] * 2)

    play(scene)


def test_the_deadline_of_an_update_does_not_run_while_the_job_is_held() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=10)
        players = Players(stage)
        [job] = await stage.submit(service(3, update=UPDATE))
        await players.pass_time(5)
        await stage.submit(service(3, "v2", update=UPDATE))
        await players.act(0.2)
        await stage.engine.hold(job.job_id, True)
        await players.pass_time(30)
        assert status(stage, job.job_id)[0] == "updating"
        await stage.engine.hold(job.job_id, False)
        await players.pass_time(10)
        assert (status(stage, job.job_id)[0], players.commands()) == ("steady", ["v2"] * 3)

    play(scene)


def test_after_its_release_a_successor_without_room_is_late_in_its_time() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=3)
        players = Players(stage)
        [job] = await stage.submit(service(3, update=UPDATE))
        await players.pass_time(5)
        await stage.engine.hold(job.job_id, True)
        await stage.engine.restart(job.job_id, None, "ada")
        await players.pass_time(30)
        await stage.engine.hold(job.job_id, False)
        await players.pass_time(9)
        assert status(stage, job.job_id)[0] == "restarting"
        await players.pass_time(2)
        assert status(stage, job.job_id)[0] == "stalled"

    play(scene)


def test_what_is_added_to_a_service_or_a_node_gives_up_when_it_was_queued_for_too_long() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=2)
        players = Players(stage)
        [job] = await stage.submit(service(2, update=UPDATE, queue_timeout_s=5.0))
        await players.pass_time(10)
        [other] = await stage.submit(service(1, name="each", type="sysbatch", queue_timeout_s=5.0))
        await stage.engine.scale(job.job_id, {"": 3}, "ada")
        await players.pass_time(10)
        assert stage.counts(job.job_id) == {"running": 2, "failed": 1}
        assert other.job_id not in stage.engine.state.jobs  # it has failed

    play(scene)


def test_a_group_that_was_to_wait_for_another_is_not_started_when_that_fails() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=20)
        players = Players(stage)
        once = group("once", 1, "once", restart=Restart())
        later = group("later", 2, "later", after=(GroupAfter("once"),))
        [job] = await stage.submit(web(group("on", 1, "on"), once, later))
        await players.pass_time(5)
        await players.end(next(task for task, each in players.playing.items() if each.spec.command[-1] == "once"), 3)
        await players.pass_time(5)
        assert players.commands() == ["on"]
        assert stage.counts(job.job_id) == {"running": 1, "failed": 1, "cancelled": 2}

    play(scene)


def test_a_group_is_scaled_up_from_nothing_after_what_it_waits_for_is_gone() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=20)
        players = Players(stage)
        [job] = await stage.submit(web(group("a", 1, "a"), group("b", 0, "b", after=(GroupAfter("a", "finished"),))))
        await players.pass_time(5)
        await stage.engine.scale(job.job_id, {"a": 0}, "ada")
        await players.act(1)
        await stage.engine.scale(job.job_id, {"b": 2}, "ada")
        await players.act(1)
        assert players.commands() == ["b", "b"]

    play(scene)
