"""Drains: services start on other nodes first, batch tasks may finish, system tasks stop last."""

from __future__ import annotations

from collections import Counter

import pytest

from shunter.engine.read.views import node_view
from shunter.engine.recovery import create_timers, load_state
from shunter.model.errors import Conflict, NotFound
from shunter.model.job.spec import Spread, Update
from shunter.model.lifecycles import NodeEvent, NodeState
from tests.unit.engine.fake_workers import FakeWorkers, healthy_count
from tests.unit.engine.harness import Harness, run_scenario, spec
from tests.unit.engine.service_specs import service, system


def state_of(harness: Harness, node: int) -> NodeState:
    return harness.engine.state.nodes.records[node].state


def test_services_start_on_another_node_before_they_leave() -> None:
    async def scenario(harness: Harness) -> None:
        first = await harness.join("n1", cpu=4)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(3))
        await fake_workers.process(3)
        second = await harness.join("n2", cpu=4)
        await harness.engine.drain_node("n1", None, "ada")
        for _ in range(20):
            await fake_workers.process(0.25)
            assert healthy_count(harness, job.job_id) >= 3
        assert (fake_workers.indexes_on(first), fake_workers.indexes_on(second)) == ([], [0, 1, 2])
        assert state_of(harness, first) is NodeState.DRAINED
        assert harness.counts(job.job_id) == {"running": 3}
        types = [event.type for event in await harness.events()]
        assert types.index("node.draining") < types.index("node.drained")

    run_scenario(scenario)


async def join_racked_nodes(harness: Harness, **racks: str) -> dict[str, int]:
    """Nodes with a label `rack` each."""
    nodes = {}
    for name, rack in racks.items():
        nodes[name] = await harness.join(name, cpu=8)
        await harness.engine.label_node(name, {"rack": rack})
    return nodes


def tasks_per_rack(fake_workers: FakeWorkers, nodes: dict[str, int], **racks: str) -> Counter[str]:
    return Counter(racks[name] for name, node in nodes.items() for _ in fake_workers.indexes_on(node))


def test_successors_of_a_drained_node_keep_the_spread() -> None:
    """The tasks that leave count no more: else those that come would keep away from the rack that they leave."""

    async def scenario(harness: Harness) -> None:
        racks = {"n1": "a", "n2": "b", "n3": "a", "n4": "c"}
        nodes = await join_racked_nodes(harness, n1="a", n2="b", n4="c")
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(9, spread=(Spread("rack"),)))
        await fake_workers.process(3)
        assert tasks_per_rack(fake_workers, nodes, **racks) == {"a": 3, "b": 3, "c": 3}
        nodes |= await join_racked_nodes(harness, n3="a")
        await harness.engine.drain_node("n1", None, "ada")
        for _ in range(20):
            await fake_workers.process(0.25)
            assert healthy_count(harness, job.job_id) >= 9
        assert state_of(harness, nodes["n1"]) is NodeState.DRAINED
        assert tasks_per_rack(fake_workers, nodes, **racks) == {"a": 3, "b": 3, "c": 3}

    run_scenario(scenario)


@pytest.mark.parametrize("unavailable_max", [0, 2])
def test_a_rolling_update_keeps_the_spread(unavailable_max: int) -> None:
    async def scenario(harness: Harness) -> None:
        racks = {"n1": "a", "n2": "b", "n3": "c"}
        nodes = await join_racked_nodes(harness, **racks)
        fake_workers = FakeWorkers(harness)
        update = Update(parallel=2, unavailable_max=unavailable_max, healthy_for_s=2.0, deadline_s=60.0)
        await harness.submit(service(6, spread=(Spread("rack"),), update=update))
        await fake_workers.process(3)
        await harness.submit(service(6, "v2", spread=(Spread("rack"),), update=update))
        await fake_workers.advance(30)
        assert fake_workers.commands() == ["v2"] * 6
        assert tasks_per_rack(fake_workers, nodes, **racks) == {"a": 2, "b": 2, "c": 2}

    run_scenario(scenario)


def test_batch_is_waited_for_and_system_tasks_end_last() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=4)
        fake_workers = FakeWorkers(harness)
        [agent] = await harness.submit(system())
        [batch] = await harness.submit(spec("batch"))
        await fake_workers.process(1)
        await harness.engine.drain_node("n1", None, "ada")
        [later] = await harness.submit(spec("later"))
        await fake_workers.process(60)
        assert len(fake_workers.indexes_on(node)) == 2
        assert state_of(harness, node) is NodeState.DRAINING
        await fake_workers.end(fake_workers.find(0, batch.job_id), 0)
        await fake_workers.process(1)
        assert fake_workers.indexes_on(node) == []
        assert state_of(harness, node) is NodeState.DRAINED
        assert harness.counts(later.job_id) == {"queued": 1}
        assert harness.counts(agent.job_id) == {}
        await harness.engine.undrain_node("n1")
        await fake_workers.process(1)
        assert harness.counts(later.job_id) == harness.counts(agent.job_id) == {"running": 1}

    run_scenario(scenario)


def test_at_the_deadline_batch_is_stopped_and_runs_again_on_another_node() -> None:
    async def scenario(harness: Harness) -> None:
        first = await harness.join("n1", cpu=2)
        fake_workers = FakeWorkers(harness)
        [batch] = await harness.submit(spec("batch", 2))
        await fake_workers.process(1)
        second = await harness.join("n2", cpu=2)
        await harness.engine.drain_node("n1", 30, "ada")
        await fake_workers.process(29)
        assert fake_workers.indexes_on(first) == [0, 1]
        await fake_workers.process(2)
        assert (fake_workers.indexes_on(first), fake_workers.indexes_on(second)) == ([], [0, 1])
        assert state_of(harness, first) is NodeState.DRAINED
        assert harness.counts(batch.job_id) == {"running": 2}
        row = harness.engine.state.jobs[batch.job_id].task_sets[0].base
        assert harness.engine.state.table.restarts[row] == 0

    run_scenario(scenario)


def test_a_service_that_fits_no_other_node_stays_until_the_deadline() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=2)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(2))
        await fake_workers.process(3)
        await harness.engine.drain_node("n1", 30, "ada")
        await fake_workers.process(20)
        assert fake_workers.indexes_on(node) == [0, 1]
        await fake_workers.process(11)
        assert fake_workers.indexes_on(node) == []
        assert state_of(harness, node) is NodeState.DRAINED
        second = await harness.join("n2", cpu=2)
        await fake_workers.process(3)
        assert fake_workers.indexes_on(second) == [0, 1]
        assert harness.counts(job.job_id) == {"running": 2}

    run_scenario(scenario)


def test_a_draining_node_that_comes_back_from_being_down_is_still_drained() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=2)
        fake_workers = FakeWorkers(harness)
        await harness.submit(spec("batch", 2))
        await fake_workers.process(1)
        await harness.engine.drain_node("n1", None, "ada")
        fake_workers.active.clear()
        await harness.engine.node_event(node, NodeEvent.TIMED_OUT, "no heartbeat for 3 s")
        await harness.settle()
        assert state_of(harness, node) is NodeState.DOWN
        await harness.join("n1", cpu=2, boot="b2")
        assert state_of(harness, node) is NodeState.DRAINED
        assert harness.orders() == []
        await harness.engine.undrain_node("n1")
        await fake_workers.process()
        assert state_of(harness, node) is NodeState.READY
        assert fake_workers.indexes_on(node) == [0, 1]

    run_scenario(scenario)


def test_a_drain_of_a_node_that_is_down_begins_when_it_is_back() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=2)
        await harness.engine.node_event(node, NodeEvent.TIMED_OUT, "gone")
        await harness.engine.drain_node("n1", None, "ada")
        assert state_of(harness, node) is NodeState.DOWN
        await harness.join("n1", cpu=2, boot="b2")
        assert state_of(harness, node) is NodeState.DRAINED

    run_scenario(scenario)


def test_a_manager_that_takes_over_knows_the_deadline() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=2)
        fake_workers = FakeWorkers(harness)
        await harness.submit(spec("batch"))
        await fake_workers.process(1)
        await harness.engine.drain_node("n1", 30, "ada")
        state = await load_state(harness.store)
        timers = create_timers(state)
        record = state.nodes.records[node]
        assert record.is_drain_requested and timers.next_ms == record.drain_deadline_ms
        assert state.nodes.draining == {node}

    run_scenario(scenario)


def test_only_a_node_that_is_drained_can_be_undrained() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1")
        with pytest.raises(Conflict, match="is not being drained"):
            await harness.engine.undrain_node("n1")
        with pytest.raises(NotFound, match="node 'n9' does not exist"):
            await harness.engine.drain_node("n9", None, "ada")

    run_scenario(scenario)


def test_every_state_of_a_node_is_reached_and_says_why() -> None:
    """R-16: ready, suspect, down, draining, drained; and who has switched it off."""

    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=2)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(spec("batch"))
        await fake_workers.process(1)
        seen: list[tuple[str, str | None, bool]] = []

        def observe() -> None:
            view = node_view(harness.engine.state, harness.engine.state.nodes.records[node], 0, 0)
            seen.append((view.state, view.reason, view.eligible))

        observe()
        await harness.engine.cordon_node("n1", "new disk")
        observe()
        await harness.engine.release_node("n1", "cordon")
        await harness.engine.drain_node("n1", None, "ada")
        observe()
        await fake_workers.end(fake_workers.find(0, job.job_id), 0)
        await fake_workers.process()
        observe()
        await harness.engine.undrain_node("n1")
        for event, reason in ((NodeEvent.SILENT, "silent for 2 s"), (NodeEvent.TIMED_OUT, "no heartbeat for 3 s")):
            await harness.engine.node_event(node, event, reason)
            await harness.settle()
            observe()
        assert seen == [
            ("ready", None, True), ("ready", "cordon: new disk", False),
            ("draining", "draining: requested by ada", False), ("drained", "drained", False),
            ("suspect", "suspect: silent for 2 s", False),
            ("down", "down: no heartbeat for 3 s", False),
        ]  # fmt: skip

    run_scenario(scenario)
