"""Services through the gateway: what people see of instances while they are replaced."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from shunter.api.http.parameters import AFTER_TASK
from shunter.engine.jobs.finish import Summary
from shunter.model.errors import Invalid
from shunter.model.job.spec import Affinity
from shunter.model.schema.problems import Problems
from shunter.ports.jobs import TaskQuery
from shunter.ports.principals import TaskReference
from tests.unit.engine.fake_workers import FakeWorkers
from tests.unit.engine.service_specs import service, system
from tests.unit.gateway.harness import GatewayHarness, reference, run_scenario


def test_a_view_counts_instances_and_not_what_was_replaced() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        await harness.submit(service(3))
        await fake_workers.process(3)
        await harness.submit(service(3, "v2"))
        await fake_workers.process(2.5)  # one is replaced, and the next one begins
        view = await harness.gateway.jobs.get(reference("web"))
        assert (view.count, view.counts, view.version) == (3, {"running": 3}, 2)
        assert view.update is not None
        assert (view.update.status, view.update.wanted, view.update.healthy) == ("updating", 3, 3)
        assert 0 < view.update.updated < 3
        await fake_workers.advance(15)
        view = await harness.gateway.jobs.get(reference("web"))
        assert view.update is not None
        assert (view.update.status, view.update.updated, view.update.good_version) == ("steady", 3, 2)

    run_scenario(scenario)


def test_an_event_of_a_task_set_names_the_visible_index() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(2))
        await fake_workers.process(3)
        await harness.engine.restart(job.job_id, ("main", 1), "ada")
        await fake_workers.advance(6)
        unblocked = [event.name for event in await harness.events() if event.type == "tasks.unblocked"]
        assert unblocked == ["web/1"]

    run_scenario(scenario)


def test_groups_of_a_service_are_counted_by_instances_too() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        web = service(2)
        back = replace(web.groups[0], name="back", count=3)
        [job] = await harness.submit(replace(web, groups=(*web.groups, back)))
        await fake_workers.process(3)
        await harness.engine.scale(job.job_id, {"back": 1}, "ada")
        await fake_workers.process(3)
        view = await harness.gateway.jobs.get(reference("web"))
        assert {group.name: group.counts for group in view.groups} == {"main": {"running": 2}, "back": {"running": 1}}
        await harness.engine.stop_tasks(job.job_id, None, False)
        await fake_workers.process(1)
        finished = await harness.store.finished_job(job.job_id)
        assert finished is not None
        ended = msgspec.msgpack.decode(finished.summary, type=Summary).view
        assert (ended.state, ended.count, ended.counts) == ("cancelled", 3, {"cancelled": 3})

    run_scenario(scenario)


def test_why_says_what_was_taken_down_and_how_it_comes_back() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(2))
        await fake_workers.process(3)
        await harness.engine.stop_tasks(job.job_id, ("main", 1), False)
        await fake_workers.process(5)
        said = (await harness.gateway.explain.why(reference("web"))).sentence
        assert said == (
            "web is running: 1 of 2 tasks is running, 1 stopped by a user. Start it again with `shunter restart web/1`."
        )

    run_scenario(scenario)


def test_why_says_what_nodes_lack_for_a_system_job_that_none_matches() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        beside = Affinity("job", "job.name == 'db'", require=True)
        await harness.submit(system(affinity=(beside,)))
        begin = "agent runs on every matching node, but no node matches"
        assert (await harness.gateway.explain.why(reference("agent"))).sentence.startswith(begin)
        await harness.join("n1")
        assert (await harness.gateway.explain.why(reference("agent"))).sentence == (
            f"{begin}: affinity: no job on the node matches job.name == 'db'."
        )

    run_scenario(scenario)


def test_instances_are_listed_by_index_whatever_was_replaced_and_page_by_page() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join("n1", cpu=16)
        await harness.run("web", 4, type="service")
        await start_all(harness, node)
        await harness.settle(5)  # now they count as healthy
        await harness.gateway.services.restart(reference("web"), TaskReference(1))
        await harness.settle()
        names = ["web/0", "web/1~0", "web/1", "web/2", "web/3"]  # the old one goes on until the new one is healthy
        listed = await harness.gateway.tasks.page(reference("web"), TaskQuery())
        assert [task.name for task in listed.items] == names
        paged, after = [], None
        while True:
            page = await harness.gateway.tasks.page(reference("web"), TaskQuery(limit=2, after=after))
            paged += [task.name for task in page.items]
            after = page.next
            if after is None:
                break
            problems = Problems()
            AFTER_TASK.read(after, "query.after", problems)
            problems.raise_any()  # what a page returns is what the API takes
        assert paged == names
        coming = await harness.gateway.tasks.page(reference("web"), TaskQuery(states=("assigned",)))
        assert [task.name for task in coming.items] == ["web/1"]

    run_scenario(scenario)


def test_a_cursor_of_a_service_is_refused_for_a_batch_job() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join("n1", cpu=16)
        await harness.run_to_end(node, "job")
        with pytest.raises(Invalid, match="is not a cursor of this job"):
            await harness.gateway.tasks.page(reference("job"), TaskQuery(limit=2, after="0.1.2"))

    run_scenario(scenario)


async def start_all(harness: GatewayHarness, node: int) -> None:
    for _, order in harness.orders():
        await harness.started(node, order)


def test_a_port_of_the_node_is_no_resource_to_those_who_look() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=4)
        await harness.run("web", ports=[{"name": "web", "host_port": 8080}])
        assert (await harness.gateway.jobs.get(reference("web"))).resources == {"cpu": "1"}
        node = await harness.gateway.nodes.get("n1")
        assert "port/8080" not in node.capacity and node.reserved["port/8080"] == "1"
        cluster = await harness.gateway.cluster.info()
        assert "port/8080" not in {**cluster.capacity, **cluster.reserved}

    run_scenario(scenario)


def test_a_sysbatch_job_has_no_version_that_it_is_updated_to() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1")
        await harness.submit(service(1, name="once", type="sysbatch"))
        view = await harness.gateway.jobs.get(reference("once"))
        assert (view.update, view.count) == (None, 1)

    run_scenario(scenario)
