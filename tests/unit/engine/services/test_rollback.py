"""Updates that go wrong: what is rolled back, what stalls, and what it says."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from shunter.model.errors import Conflict
from shunter.model.job.spec import HealthCheck, JobSpec, TaskSpec, Update
from tests.unit.engine.fake_workers import Players, healthy
from tests.unit.engine.harness import Stage, play
from tests.unit.engine.service_specs import service, types

CHECK = (HealthCheck("tcp", port="80"),)


def checked(count: int, word: str, update: Update) -> JobSpec:
    return service(count, word, task=TaskSpec(("serve", word), health=CHECK), update=update)


def is_v2(spec: TaskSpec, _: int) -> bool:
    return spec.command[-1] == "v2"


def test_a_version_that_is_never_healthy_is_rolled_back_with_the_reason() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=16)
        players = Players(stage, is_sick=is_v2)
        update = Update(healthy_for_s=1.0, deadline_s=10.0)
        [job] = await stage.submit(checked(3, "v1", update))
        await players.act(3)
        await stage.submit(checked(3, "v2", update))
        for _ in range(60):
            await players.act(0.5)
            assert healthy(stage, job.job_id) >= 3
        assert players.commands() == ["v1"] * 3
        assert len(players.starts) == 4  # one of the bad version was tried, and none of the good one started again
        state = stage.engine.state
        assert (state.jobs[job.job_id].version, state.lasting.jobs[job.job_id].status) == (3, "steady")
        [event] = [event for event in await stage.events() if event.type == "job.rolled_back"]
        assert event.reason == (
            "rolled back to version 1: task web/0 was not healthy within 10 s of its start; it is running, "
            "and its checks fail"
        )
        assert (await types(stage))["tasks.healthy"] == 3
        assert (await types(stage))["tasks.unhealthy"] == 1

    play(scene)


@pytest.mark.parametrize("rollback", [True, False])
def test_successors_that_a_further_update_leaves_as_they_are_must_be_healthy_in_its_time(rollback: bool) -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=16)
        players = Players(stage, is_sick=is_v2)
        update = Update(healthy_for_s=1.0, deadline_s=10.0, rollback=rollback)
        [job] = await stage.submit(checked(3, "v1", update))
        await players.act(3)
        await stage.submit(checked(3, "v2", update))
        await players.pass_time(8 if rollback else 30)
        await stage.submit(checked(3, "v2", replace(update, unavailable_max=1)))
        await players.pass_time(8)
        lasting = stage.engine.state.lasting.jobs[job.job_id]
        assert lasting.status == "updating"
        await players.pass_time(20)
        assert lasting.status == ("steady" if rollback else "stalled")
        assert players.commands() == (["v1"] * 3 if rollback else ["v1", "v1", "v1", "v2"])

    play(scene)


def test_a_version_that_crashes_is_rolled_back_as_soon_as_it_gives_up() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=16)
        players = Players(stage)
        [job] = await stage.submit(service(2))
        await players.act(3)
        await stage.submit(service(2, "v2"))
        for _ in range(4):
            await players.act()
            crashing = [task for task, playing in players.playing.items() if playing.spec.command[-1] == "v2"]
            await players.end(crashing[0], 1)
            await players.act(10)
        assert players.commands() == ["v1", "v1"]
        [event] = [event for event in await stage.events() if event.type == "job.rolled_back"]
        assert event.reason == "rolled back to version 1: task web/0 failed: exit code 1"
        assert stage.counts(job.job_id) == {"running": 2}

    play(scene)


def test_without_rollback_an_update_that_goes_wrong_stays_where_it_is() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=16)
        players = Players(stage, is_sick=is_v2)
        update = Update(healthy_for_s=1.0, deadline_s=10.0, rollback=False)
        [job] = await stage.submit(checked(3, "v1", update))
        await players.act(3)
        await stage.submit(checked(3, "v2", update))
        await players.pass_time(30)
        assert players.commands() == ["v1", "v1", "v1", "v2"]
        assert stage.engine.state.lasting.jobs[job.job_id].status == "stalled"
        assert (await types(stage))["job.stalled"] == 1
        await stage.engine.roll_back(job.job_id, "ada")
        await players.pass_time(5)
        assert players.commands() == ["v1"] * 3

    play(scene)


def test_someone_may_go_back_to_the_version_before_and_keeps_the_count() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=16)
        players = Players(stage)
        [job] = await stage.submit(service(2))
        await players.act(3)
        with pytest.raises(Conflict, match="no earlier version"):
            await stage.engine.roll_back(job.job_id, "ada")
        await stage.submit(service(2, "v2"))
        await players.pass_time(10)
        await stage.engine.scale(job.job_id, {"": 3}, "ada")
        await players.pass_time(3)
        await stage.engine.roll_back(job.job_id, "ada")
        await players.pass_time(15)
        assert players.commands() == ["v1"] * 3
        await stage.engine.roll_back(job.job_id, "ada")
        await players.pass_time(15)
        assert players.commands() == ["v2"] * 3

    play(scene)


def test_a_count_that_was_set_during_a_bad_update_outlives_the_way_back() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=16)
        players = Players(stage, is_sick=is_v2)
        update = Update(healthy_for_s=1.0, deadline_s=10.0)
        [job] = await stage.submit(checked(2, "v1", update))
        await players.act(3)
        await stage.submit(checked(2, "v2", update))
        await players.act(1)
        await stage.engine.scale(job.job_id, {"": 4}, "ada")
        await players.pass_time(30)
        assert players.commands() == ["v1"] * 4

    play(scene)


async def give_up(players: Players, shown: int) -> None:
    for _ in range(4):
        await players.end(players.find(shown), 7)
        await players.act(10)


def test_a_way_back_that_may_replace_nothing_more_stalls_and_says_what_to_do() -> None:
    """Two have given up as they shall be, the third one is healthy and no other may be unavailable."""

    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=16)
        await stage.join("n2", cpu=1)
        players = Players(stage)
        update = Update(unavailable_max=1, healthy_for_s=1.0)
        [job] = await stage.submit(service(2, update=update, needs={"cpu": 2000}))
        await players.act(3)
        await stage.engine.update(job.job_id, service(3, "v2", update=update, needs={"cpu": 2000}), "ada", "n2")
        await players.act(3)
        await give_up(players, 0)
        await give_up(players, 1)
        assert stage.counts(job.job_id) == {"running": 1, "failed": 2}
        await stage.engine.roll_back(job.job_id, "ada")
        await players.act(3)
        lasting = stage.engine.state.lasting.jobs[job.job_id]
        assert (lasting.status, players.commands()) == ("stalled", ["v2"])
        assert lasting.reason == (
            "task web/0 has given up, and no more than 1 may be unavailable; to try it again: shunter restart web"
        )
        await stage.engine.restart(job.job_id, None, "ada")
        await players.pass_time(10)
        assert (lasting.status, players.commands()) == ("steady", ["v1"] * 3)

    play(scene)


def test_what_has_given_up_does_not_keep_a_new_version_from_being_tried() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=16)
        players = Players(stage)
        update = Update(unavailable_max=1, healthy_for_s=1.0)
        [job] = await stage.submit(service(3, update=update))
        await players.act(3)
        await give_up(players, 0)
        await give_up(players, 1)
        await stage.submit(service(3, "v2", update=update))
        await players.pass_time(10)
        assert stage.engine.state.lasting.jobs[job.job_id].status == "steady"
        assert players.commands() == ["v2"] * 3

    play(scene)
