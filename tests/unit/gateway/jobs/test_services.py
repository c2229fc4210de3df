"""Services through the gateway: what people see of instances while they are replaced."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from shunter.engine.jobs.finish import Summary
from shunter.engine.read.views import job_view
from shunter.gateway.explain.why import say_state
from shunter.model.job.spec import Affinity, Restart
from shunter.ports.gateway import TaskQuery, TaskReference
from tests.unit.engine.fake_workers import Players
from tests.unit.engine.harness import Stage, play
from tests.unit.engine.service_specs import service, system
from tests.unit.gateway.harness import ANNA, GatewayStage, reference
from tests.unit.gateway.harness import play as play_gateway


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


def test_why_says_what_has_given_up_and_how_it_comes_back() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=16)
        players = Players(stage)
        [job] = await stage.submit(service(2, restart=Restart("never")))
        await players.act(3)
        await players.end(next(iter(players.playing)), 1)
        await players.act(5)
        said = say_state(stage.engine.state, stage.engine.state.jobs[job.job_id], 0)
        assert "1 of 2 tasks are on nodes, 1 given up; `shunter restart web/INDEX` starts" in said

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


def test_instances_are_listed_by_index_whatever_was_replaced_and_page_by_page() -> None:
    async def scene(stage: GatewayStage) -> None:
        node = await stage.join("n1", cpu=16)
        await stage.run("web", 4, type="service")
        await start_all(stage, node)
        await stage.settle(5)  # now they count as healthy
        await stage.gateway.services.restart(ANNA, reference("web"), TaskReference(1))
        await stage.settle()
        names = ["web/0", "web/1", "web/1", "web/2", "web/3"]  # the old one goes on until the new one is healthy
        listed = await stage.gateway.tasks(ANNA, reference("web"), TaskQuery())
        assert [task.name for task in listed.items] == names
        paged, after = [], None
        while True:
            page = await stage.gateway.tasks(ANNA, reference("web"), TaskQuery(limit=2, after=after))
            paged += [task.name for task in page.items]
            after = page.next
            if after is None:
                break
        assert paged == names
        coming = await stage.gateway.tasks(ANNA, reference("web"), TaskQuery(states=("assigned",)))
        assert [task.name for task in coming.items] == ["web/1"]

    play_gateway(scene)


async def start_all(stage: GatewayStage, node: int) -> None:
    for _, order in stage.orders():
        await stage.started(node, order)


def test_a_port_of_the_node_is_no_resource_to_those_who_look() -> None:
    async def scene(stage: GatewayStage) -> None:
        await stage.join("n1", cpu=4)
        await stage.run("web", ports=[{"name": "web", "host_port": 8080}])
        assert (await stage.gateway.job(ANNA, reference("web"))).resources == {"cpu": "1"}
        node = await stage.gateway.node(ANNA, "n1")
        assert "port/8080" not in node.capacity and node.reserved["port/8080"] == "1"
        cluster = await stage.gateway.cluster(ANNA)
        assert "port/8080" not in {**cluster.capacity, **cluster.reserved}

    play_gateway(scene)


def test_a_sysbatch_job_has_no_version_that_it_is_updated_to() -> None:
    async def scene(stage: GatewayStage) -> None:
        await stage.join("n1")
        await stage.submit(service(1, name="once", type="sysbatch"))
        view = await stage.gateway.job(ANNA, reference("once"))
        assert (view.update, view.count) == (None, 1)

    play_gateway(scene)
