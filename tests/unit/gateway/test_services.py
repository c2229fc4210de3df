"""Services through the gateway: what people see of instances while they are replaced."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from shunter.engine.endings import Summary
from shunter.engine.views import job_view
from shunter.gateway.reasons import say_state
from shunter.model.jobs import Affinity
from tests.unit.engine.players import Players
from tests.unit.engine.stage import Stage, play
from tests.unit.engine.test_everywhere import system
from tests.unit.engine.test_services import service


def test_a_view_counts_instances_and_not_what_was_replaced() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=16)
        players = Players(stage)
        [job] = await stage.submit(service(3))
        await players.act(3)
        await stage.submit(service(3, "v2"))
        await players.act(2.5)  # one is replaced, and the next one begins
        live = stage.engine.state.jobs[job.job_id]
        view = job_view(live, stage.engine.state)
        assert (view.count, view.counts, view.version) == (3, {"running": 3}, 2)
        assert view.update is not None
        assert (view.update.status, view.update.wanted, view.update.healthy) == ("updating", 3, 3)
        assert 0 < view.update.updated < 3
        await players.pass_time(15)
        view = job_view(live, stage.engine.state)
        assert view.update is not None
        assert (view.update.status, view.update.updated, view.update.good_version) == ("steady", 3, 2)

    play(scene)


def test_an_event_of_a_piece_names_the_index_that_people_see() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=16)
        players = Players(stage)
        [job] = await stage.submit(service(2))
        await players.act(3)
        await stage.engine.restart(job.job_id, ("main", 1), "ada")
        await players.pass_time(6)
        unblocked = [event.name for event in await stage.events() if event.type == "tasks.unblocked"]
        assert unblocked == ["web/1"]

    play(scene)


def test_groups_of_a_service_are_counted_by_instances_too() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=16)
        players = Players(stage)
        web = service(2)
        back = replace(web.groups[0], name="back", count=3)
        [job] = await stage.submit(replace(web, groups=(*web.groups, back)))
        await players.act(3)
        await stage.engine.scale(job.job_id, {"back": 1}, "ada")
        await players.act(3)
        view = job_view(stage.engine.state.jobs[job.job_id], stage.engine.state)
        assert {group.name: group.counts for group in view.groups} == {"main": {"running": 2}, "back": {"running": 1}}
        await stage.engine.stop_tasks(job.job_id, None, False)
        await players.act(1)
        finished = await stage.store.finished_job(job.job_id)
        assert finished is not None
        ended = msgspec.msgpack.decode(finished.summary, type=Summary).view
        assert (ended.state, ended.count, ended.counts) == ("cancelled", 3, {"cancelled": 3})

    play(scene)


def test_why_says_what_was_taken_down_and_how_it_comes_back() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=16)
        players = Players(stage)
        [job] = await stage.submit(service(2))
        await players.act(3)
        await stage.engine.stop_tasks(job.job_id, ("main", 1), False)
        await players.act(5)
        said = say_state(stage.engine.state, stage.engine.state.jobs[job.job_id], 0)
        assert "1 of 2 tasks are on nodes, 1 taken down" in said and "`shunter restart web/INDEX`" in said

    play(scene)


def test_why_says_what_nodes_lack_for_a_system_job_that_none_matches() -> None:
    async def scene(stage: Stage) -> None:
        beside = Affinity("job", "job.name == 'db'", require=True)
        [job] = await stage.submit(system(affinity=(beside,)))
        live, now_ms = stage.engine.state.jobs[job.job_id], 0
        begin = "agent runs on every node that matches, and there is none"
        assert say_state(stage.engine.state, live, now_ms).startswith(begin)
        await stage.join("n1")
        assert say_state(stage.engine.state, live, now_ms) == (
            f"{begin}: affinity: no job runs there for which job.name == 'db'."
        )

    play(scene)
