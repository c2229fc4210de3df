"""Updates of services: step by step, gated by health, never below the minimum, on all nodes or on one."""

from __future__ import annotations

import pytest

from shunter.engine.jobs.queue_admin import QueuePatch
from shunter.engine.state.registries.services import PAST_MAX
from shunter.model.errors import Conflict, NotFound
from shunter.model.job.spec import JobOptions, Update
from tests.unit.engine.fake_workers import Players, healthy
from tests.unit.engine.harness import Stage, play, spec
from tests.unit.engine.service_specs import service, types


def test_an_update_replaces_one_after_another_and_starts_before_it_stops() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=16)
        players = Players(stage)
        [job] = await stage.submit(service(3))
        await players.act(3)
        [updated] = await stage.submit(service(3, "v2"))
        assert (updated.job_id, updated.updated) == (job.job_id, True)
        seen: list[tuple[str, ...]] = []
        for _ in range(40):
            await players.act(0.25)
            assert healthy(stage, job.job_id) >= 3
            if not seen or seen[-1] != tuple(players.commands()):
                seen.append(tuple(players.commands()))
        assert seen == [
            ("v1", "v1", "v1", "v2"), ("v1", "v1", "v2", "v2"), ("v1", "v2", "v2", "v2"), ("v2", "v2", "v2"),
        ]  # fmt: skip
        assert players.on(1) == [0, 1, 2]
        live = stage.engine.state.jobs[job.job_id]
        assert (live.version, stage.engine.state.lasting.jobs[job.job_id].status) == (2, "steady")
        assert stage.counts(job.job_id) == {"running": 3}
        assert (await types(stage))["job.updated"] == 1
        assert (await types(stage))["job.settled"] == 2  # the first version too

    play(scene)


def test_another_estimate_replaces_nothing() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=8)
        players = Players(stage)
        await stage.submit(service(3))
        await players.act(3)
        before = set(players.playing)
        await stage.submit(service(3, estimate_s=600.0))
        await players.act(3)
        assert set(players.playing) == before

    play(scene)


def test_as_many_at_a_time_as_parallel_says() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=32)
        players = Players(stage)
        await stage.submit(service(6))
        await players.act(3)
        await stage.submit(service(6, "v2", update=Update(parallel=3, healthy_for_s=2.0)))
        most = 0
        for _ in range(30):
            await players.act(0.25)
            most = max(most, len(players.playing))
        assert most == 9
        assert players.commands() == ["v2"] * 6

    play(scene)


def test_an_update_without_room_goes_on_when_some_may_be_unavailable() -> None:
    """Its successor waits already for the room that only its predecessor can give."""

    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=3)
        players = Players(stage)
        [job] = await stage.submit(service(3))
        await players.act(3)
        await stage.submit(service(3, "v2"))
        await players.act(5)
        assert players.commands() == ["v1"] * 3
        assert stage.counts(job.job_id) == {"running": 3, "queued": 1}
        await stage.submit(service(3, "v2", update=Update(unavailable_max=1, healthy_for_s=2.0)))
        for _ in range(40):
            await players.act(0.25)
            assert healthy(stage, job.job_id) >= 2
        assert players.commands() == ["v2"] * 3
        assert stage.engine.state.lasting.jobs[job.job_id].status == "steady"

    play(scene)


def test_with_unavailable_max_the_old_one_stops_first() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=4)  # no room for a fifth
        players = Players(stage)
        update = Update(parallel=4, unavailable_max=1, healthy_for_s=2.0)
        [job] = await stage.submit(service(4, update=update))
        await players.act(3)
        await stage.submit(service(4, "v2", update=update))
        for _ in range(60):
            await players.act(0.25)
            assert healthy(stage, job.job_id) >= 3
            assert len(players.playing) <= 4
        assert players.commands() == ["v2"] * 4

    play(scene)


def test_labels_and_priority_change_in_place() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=16)
        players = Players(stage)
        [job] = await stage.submit(service(2))
        await players.act(3)
        await stage.submit(service(2, labels={"team": "film"}, priority=70))
        await players.pass_time(5)
        assert len(players.starts) == 2
        live = stage.engine.state.jobs[job.job_id]
        assert (live.version, live.labels, live.priority) == (2, {"team": "film"}, 70)
        assert stage.engine.state.lasting.jobs[job.job_id].status == "steady"

    play(scene)


def test_what_waits_of_a_service_takes_its_new_priority_and_queue() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=2)
        players = Players(stage)
        await stage.submit(spec("other", 2))
        await players.act(1)
        await stage.engine.patch_queue("night", QueuePatch(is_paused=True))
        [job] = await stage.submit(service(1))
        await players.act(3)
        await stage.submit(service(1, priority=90, options=JobOptions(queue="night")))
        await players.act(3)
        assert "running" not in stage.counts(job.job_id)
        await stage.submit(service(1, priority=90))
        await players.pass_time(5)
        assert players.find(0, job.job_id)
        assert stage.engine.state.lasting.jobs[job.job_id].status == "steady"

    play(scene)


def test_a_higher_priority_of_a_service_ends_none_of_its_own() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=2)
        players = Players(stage)
        await stage.submit(spec("other", 1))
        [job] = await stage.submit(service(2))
        await players.pass_time(5)
        first = players.find(0, job.job_id)
        await stage.submit(service(2, priority=90))
        await players.pass_time(5)
        assert players.find(0, job.job_id) == first
        await stage.engine.scale(job.job_id, {"": 3}, "ada")
        await players.pass_time(5)
        assert players.find(0, job.job_id) == first
        assert players.find(2, job.job_id)

    play(scene)


def test_another_type_and_a_job_that_is_being_stopped_are_refused() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=16)
        players = Players(stage)
        players.ignores_stops = True
        [job] = await stage.submit(service(2))
        await players.act(3)
        with pytest.raises(Conflict, match="is a service job, and cannot become a batch job"):
            await stage.submit(service(2, type="batch"))
        await stage.engine.stop_tasks(job.job_id, None, False)
        with pytest.raises(Conflict, match="is being stopped"):
            await stage.submit(service(2, "v2"))

    play(scene)


def test_a_restart_replaces_every_instance_by_a_fresh_one() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=16)
        players = Players(stage)
        [job] = await stage.submit(service(3))
        await players.act(3)
        before = set(players.playing)
        await stage.engine.restart(job.job_id, None, "ada")
        for _ in range(40):
            await players.act(0.25)
            assert healthy(stage, job.job_id) >= 3
        assert not before & set(players.playing)
        assert players.on(1) == [0, 1, 2]
        await stage.engine.restart(job.job_id, ("main", 2), "ada")
        await players.pass_time(6)
        assert players.on(1) == [0, 1, 2]
        assert len(players.starts) == 7
        assert (await types(stage))["job.restarted"] == 1
        assert (await types(stage))["tasks.restarting"] == 1
        with pytest.raises(NotFound, match="its tasks are 0 to 2"):
            await stage.engine.restart(job.job_id, ("main", 3), "ada")

    play(scene)


def test_an_update_of_one_node_leaves_the_others_as_they_are() -> None:
    async def scene(stage: Stage) -> None:
        first, second = await stage.join("n1", cpu=3), await stage.join("n2", cpu=3)
        players = Players(stage)
        [job] = await stage.submit(service(4, distinct="", needs={"cpu": 1000}))
        await players.act(3)
        on_second = players.on(second)
        assert on_second
        await stage.engine.update(job.job_id, service(4, "v2"), "ada", "n2")
        await players.pass_time(20)
        assert players.on(second) == on_second
        words = {
            node: {p.spec.command[-1] for p in players.playing.values() if p.node == node} for node in (first, second)
        }
        assert words == {first: {"v1"}, second: {"v2"}}
        with pytest.raises(NotFound, match="no node n9"):
            await stage.engine.update(job.job_id, service(4, "v3"), "ada", "n9")
        await stage.submit(service(4, "v3"))
        await players.pass_time(30)
        assert players.commands() == ["v3"] * 4

    play(scene)


@pytest.mark.parametrize("how", ["update", "submit"])
def test_what_was_tried_on_one_node_follows_on_the_others_when_the_same_spec_is_asked_for_everywhere(how: str) -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=3)
        second = await stage.join("n2", cpu=3)
        players = Players(stage)
        [job] = await stage.submit(service(4, distinct="", needs={"cpu": 1000}))
        await players.act(3)
        tried = service(4, "v2", distinct="", needs={"cpu": 1000})
        await stage.engine.update(job.job_id, tried, "ada", "n2")
        await players.pass_time(20)
        assert players.on(second) and sorted(set(players.commands())) == ["v1", "v2"]
        if how == "update":
            await stage.engine.update(job.job_id, tried, "ada")
        else:
            [again] = await stage.submit(tried)
            assert again.updated
        await players.pass_time(30)
        assert players.commands() == ["v2"] * 4
        lasting = stage.engine.state.lasting.jobs[job.job_id]
        assert (stage.engine.state.jobs[job.job_id].version, lasting.status, lasting.node) == (2, "steady", 0)
        [once_more] = await stage.submit(tried)
        assert not once_more.updated

    play(scene)


def test_a_further_update_overtakes_the_one_under_way() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=16)
        players = Players(stage)
        [job] = await stage.submit(service(4))
        await players.act(3)
        await stage.submit(service(4, "v2"))
        await players.pass_time(3)
        assert set(players.commands()) == {"v1", "v2"}
        await stage.submit(service(4, "v3"))
        await players.pass_time(20)
        assert players.commands() == ["v3"] * 4
        assert stage.counts(job.job_id) == {"running": 4}

    play(scene)


def test_an_update_of_one_node_that_overtakes_another_leaves_one_task_of_each_instance() -> None:
    """What the overtaken one had begun is nobody's successor any more."""

    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=16)
        players = Players(stage)
        [job] = await stage.submit(service(4))
        await players.act(3)
        await stage.submit(service(4, "v2"))
        await players.act(0.25)
        assert len(players.commands()) == 5
        await stage.join("n2", cpu=1)
        await stage.engine.update(job.job_id, service(4, "v3"), "ada", "n2")
        await players.pass_time(20)
        assert stage.counts(job.job_id) == {"running": 4}
        assert players.on(1) == [0, 1, 2, 3]

    play(scene)


def test_what_was_replaced_is_remembered_up_to_a_limit() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=64)
        players = Players(stage)
        update = Update(parallel=40, healthy_for_s=0.5)
        [job] = await stage.submit(service(30, update=update))
        await players.act(3)
        for version in range(2, 6):
            await stage.submit(service(30, f"v{version}", update=update))
            await players.pass_time(5)
        assert players.commands() == ["v5"] * 30
        past = stage.engine.state.lasting.jobs[job.job_id].past
        assert len(past) == PAST_MAX
        assert {task.state for task in past} == {7}
        assert sum(len(group.shown or ()) for group in stage.engine.state.jobs[job.job_id].groups) == 30

    play(scene)


@pytest.mark.parametrize(("before_s", "after_s", "ends_at_s"), [(30, 0, 0), (30, 60, 60), (0, 30, 30), (60, 30, 30)])
def test_another_timeout_of_a_service_holds_from_its_update_on(before_s: int, after_s: int, ends_at_s: int) -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=4)
        players = Players(stage)
        [job] = await stage.submit(service(2, options=JobOptions(timeout_s=before_s)))
        await players.pass_time(5)
        await stage.submit(service(2, options=JobOptions(timeout_s=after_s)))
        for second in range(6, 80):
            await players.act(1)
            assert (job.job_id in stage.engine.state.jobs) is (not ends_at_s or second < ends_at_s)

    play(scene)


@pytest.mark.parametrize("type_", ["service", "system"])
@pytest.mark.parametrize("after_s", [0, 20, 60])
def test_another_start_of_a_service_that_waits_for_its_time_holds(after_s: int, type_: str) -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=4)
        players = Players(stage)
        await stage.submit(service(1, type=type_, options=JobOptions(start_in_s=30)))
        await players.pass_time(5)
        await stage.submit(service(1, type=type_, options=JobOptions(start_in_s=after_s)))
        for second in range(6, 70):
            await players.act(1)
            assert bool(players.starts) is (second >= after_s)

    play(scene)
