"""System jobs have one task on each matching node, also on nodes that join later; sysbatch jobs run once on each."""

from __future__ import annotations

from shunter.model.job.spec import Restart, Update
from shunter.model.lifecycles import NodeEvent
from shunter.model.protocol.worker_messages import Hello, Inventory, Welcome
from tests.unit.engine.fake_workers import FakeWorkers
from tests.unit.engine.harness import Harness, run_scenario, spec
from tests.unit.engine.service_specs import service, system


def test_each_node_gets_one_also_a_node_that_joins_later() -> None:
    """C-04: system."""

    async def scenario(harness: Harness) -> None:
        nodes = [await harness.join(f"n{number}") for number in (1, 2)]
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(system())
        await fake_workers.process(1)
        assert [fake_workers.indexes_on(node) for node in nodes] == [[0], [1]]
        third = await harness.join("n3")
        await fake_workers.process(1)
        assert fake_workers.indexes_on(third) == [2]
        assert harness.counts(job.job_id) == {"running": 3}

    run_scenario(scenario)


def test_what_belongs_on_a_node_is_not_ended_for_others() -> None:
    """It would be back before whoever it was ended for, and be ended again."""

    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=2)
        fake_workers = FakeWorkers(harness)
        [agent] = await harness.submit(system())
        await fake_workers.process(1)
        [urgent] = await harness.submit(spec("urgent", needs={"cpu": 2000}, priority=90))
        await fake_workers.process(1)
        assert harness.counts(agent.job_id) == {"running": 1}
        assert harness.stops() == []
        await harness.engine.stop_tasks(agent.job_id, None, False)
        await fake_workers.process(1)
        assert harness.counts(urgent.job_id) == {"running": 1}

    run_scenario(scenario)


def test_a_system_job_waits_for_its_first_node_and_ends_only_when_stopped() -> None:
    async def scenario(harness: Harness) -> None:
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(system())
        await fake_workers.process(1)
        assert harness.engine.state.jobs[job.job_id].state.wire_name == "pending"
        await harness.join("n1")
        await fake_workers.process(1)
        assert harness.counts(job.job_id) == {"running": 1}
        await harness.engine.stop_tasks(job.job_id, None, False)
        await fake_workers.process(1)
        assert job.job_id not in harness.engine.state.jobs

    run_scenario(scenario)


def test_only_matching_nodes_have_it_and_labels_are_followed() -> None:
    async def scenario(harness: Harness) -> None:
        first, second = await harness.join("n1"), await harness.join("n2")
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(system(constraints=("node.labels.disk == 'ssd'",)))
        await fake_workers.process(1)
        assert fake_workers.active == {}
        await harness.engine.label_node("n2", {"disk": "ssd"})
        await fake_workers.process(1)
        assert (fake_workers.indexes_on(first), fake_workers.indexes_on(second)) == ([], [1])
        await harness.engine.label_node("n1", {"disk": "ssd"})
        await harness.engine.label_node("n2", {"disk": None})
        await fake_workers.process(1)
        assert (fake_workers.indexes_on(first), fake_workers.indexes_on(second)) == ([0], [])
        assert harness.counts(job.job_id) == {"running": 1}

    run_scenario(scenario)


def test_attributes_set_by_hand_are_followed_too() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1")
        fake_workers = FakeWorkers(harness)
        await harness.submit(system(constraints=("node.attributes.role == 'edge'",)))
        await fake_workers.process(1)
        assert fake_workers.active == {}
        await harness.engine.attribute_node("n1", {"role": "edge"})
        await fake_workers.process(1)
        assert fake_workers.indexes_on(1) == [0]
        await harness.engine.attribute_node("n1", {"role": None})
        await fake_workers.process(1)
        assert fake_workers.active == {}
        reasons = [event.reason for event in await harness.events() if event.type == "node.attributed"]
        assert reasons == ["role=edge", "role-"]

    run_scenario(scenario)


def test_where_it_does_not_fit_yet_it_waits_for_room() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=1)
        fake_workers = FakeWorkers(harness)
        [other] = await harness.submit(service(1, name="web"))
        await fake_workers.process(1)
        [job] = await harness.submit(system())
        await fake_workers.process(1)
        assert harness.counts(job.job_id) == {"queued": 1}
        await harness.engine.stop_tasks(other.job_id, None, False)
        await fake_workers.process(1)
        assert fake_workers.indexes_on(node) == [0]
        assert harness.counts(job.job_id) == {"running": 1}

    run_scenario(scenario)


def test_a_node_that_goes_down_takes_its_task_along_and_gets_one_when_it_is_back() -> None:
    async def scenario(harness: Harness) -> None:
        first, second = await harness.join("n1"), await harness.join("n2")
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(system())
        await fake_workers.process(1)
        fake_workers.active = {task: each for task, each in fake_workers.active.items() if each.node != first}
        await harness.engine.node_event(first, NodeEvent.TIMED_OUT, "no heartbeat for 3 s")
        await fake_workers.process(1)
        assert harness.counts(job.job_id) == {"running": 1}
        await harness.join("n1", boot="b2")
        await fake_workers.process(1)
        assert (fake_workers.indexes_on(first), fake_workers.indexes_on(second)) == ([0], [1])

    run_scenario(scenario)


def test_a_cordoned_node_keeps_what_it_has_and_gets_nothing_new() -> None:
    async def scenario(harness: Harness) -> None:
        first, second = await harness.join("n1"), await harness.join("n2")
        fake_workers = FakeWorkers(harness)
        await harness.submit(system())
        await fake_workers.process(1)
        await harness.engine.cordon_node("n1", "")
        await fake_workers.process(1)
        assert fake_workers.indexes_on(first) == [0]
        await harness.submit(system(name="other"))
        await fake_workers.process(1)
        assert (len(fake_workers.indexes_on(first)), len(fake_workers.indexes_on(second))) == (1, 2)
        await harness.engine.release_node("n1", "cordon")
        await fake_workers.process(1)
        assert len(fake_workers.indexes_on(first)) == 2

    run_scenario(scenario)


def test_a_system_job_is_updated_node_by_node() -> None:
    async def scenario(harness: Harness) -> None:
        nodes = [await harness.join(f"n{number}", cpu=2) for number in range(1, 5)]
        fake_workers = FakeWorkers(harness)
        update = Update(parallel=2, unavailable_max=1, healthy_for_s=1.0)
        [job] = await harness.submit(system(update=update))
        await fake_workers.process(1)
        await harness.submit(system("v2", update=update))
        for _ in range(40):
            await fake_workers.process(0.25)
            assert len(fake_workers.active) >= 3
        assert fake_workers.commands() == ["v2"] * 4
        assert [fake_workers.indexes_on(node) for node in nodes] == [[0], [1], [2], [3]]
        assert harness.engine.state.services.jobs[job.job_id].status.wire_name == "steady"

    run_scenario(scenario)


def test_nodes_that_take_no_work_do_not_hold_up_an_update_of_the_others() -> None:
    async def scenario(harness: Harness) -> None:
        nodes = [await harness.join(f"n{number}", cpu=2) for number in range(1, 6)]
        for name in ("n4", "n5"):
            await harness.engine.cordon_node(name, "")
        fake_workers = FakeWorkers(harness)
        update = Update(unavailable_max=1, healthy_for_s=1.0)
        [job] = await harness.submit(system(update=update))
        await fake_workers.process(1)
        await harness.submit(system("v2", update=update))
        await fake_workers.advance(10)
        assert fake_workers.commands() == ["v2"] * 3
        assert [fake_workers.indexes_on(node) for node in nodes] == [[0], [1], [2], [], []]
        assert harness.engine.state.services.jobs[job.job_id].status.wire_name == "steady"

    run_scenario(scenario)


def test_one_node_of_a_system_job_can_be_updated_alone() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=2)
        second = await harness.join("n2", cpu=2)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(system())
        await fake_workers.process(3)
        await harness.engine.update(job.job_id, system("v2"), "ada", "n2")
        await fake_workers.advance(10)
        assert fake_workers.commands() == ["v1", "v2"]
        assert [each.spec.command[-1] for each in fake_workers.active.values() if each.node == second] == ["v2"]

    run_scenario(scenario)


def test_a_sysbatch_runs_once_on_each_matching_node_and_ends() -> None:
    """C-04: sysbatch."""

    async def scenario(harness: Harness) -> None:
        for number in range(1, 4):
            await harness.join(f"n{number}")
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(system(type="sysbatch", restart=Restart()))
        await fake_workers.process()
        assert sorted(fake_workers.starts) == [(1, 0), (2, 1), (3, 2)]
        for task in list(fake_workers.active):
            assert job.job_id in harness.engine.state.jobs
            await fake_workers.end(task, 0)
        await fake_workers.process(1)
        finished = await harness.store.finished_job(job.job_id)
        assert finished is not None and finished.state == "succeeded"
        assert len(fake_workers.starts) == 3

    run_scenario(scenario)


def test_a_sysbatch_does_not_wait_for_a_node_that_is_down() -> None:
    async def scenario(harness: Harness) -> None:
        first, _ = await harness.join("n1"), await harness.join("n2")
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(system(type="sysbatch", restart=Restart()))
        await fake_workers.process()
        del fake_workers.active[fake_workers.find(0)]
        await harness.engine.node_event(first, NodeEvent.TIMED_OUT, "gone")
        await fake_workers.process()
        await fake_workers.end(fake_workers.find(1), 0)
        await fake_workers.process(1)
        finished = await harness.store.finished_job(job.job_id)
        assert finished is not None and finished.state == "succeeded"

    run_scenario(scenario)


def test_five_thousand_nodes_get_one_each_and_a_change_of_one_looks_at_one() -> None:
    async def scenario(harness: Harness) -> None:
        hellos = [Hello(1, f"n{number:04}", "b", {"cpu": 2000}) for number in range(5_000)]
        welcomes = await harness.engine.hello_many(hellos)
        for welcome in welcomes:
            assert isinstance(welcome, Welcome)
            await harness.engine.inventory(welcome.node, Inventory(1, [], []))
        await harness.settle()
        [job] = await harness.submit(system())
        assert harness.counts(job.job_id) == {"assigned": 5_000}
        version = harness.engine.state.version
        await harness.engine.label_node("n0007", {"disk": "ssd"})
        await harness.settle()
        assert harness.engine.state.version == version + 1
        live = harness.engine.state.jobs[job.job_id]
        assert live.task_set(4_999) is live.task_sets[4_999]

    run_scenario(scenario)


def test_a_node_that_another_job_has_for_itself_gets_its_task_when_it_is_free() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1")
        await harness.submit(spec("alone", exclusive=True))
        [(_, order)] = harness.orders()
        [job] = await harness.submit(system())
        fake_workers = FakeWorkers(harness)
        await fake_workers.process(1)
        assert harness.counts(job.job_id) == {"queued": 1}
        await harness.end(node, order)
        await fake_workers.process(1)
        assert harness.counts(job.job_id) == {"running": 1}

    run_scenario(scenario)
