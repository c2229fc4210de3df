"""Draining a node: services start elsewhere first, batch is waited for, system tasks end last."""

from __future__ import annotations

from collections import Counter

import pytest

from shunter.engine.read.views import node_view
from shunter.engine.recovery import recover
from shunter.model.errors import Conflict, NotFound
from shunter.model.job.spec import Spread, Update
from shunter.model.lifecycles import NodeEvent, NodeState
from tests.unit.engine.fake_workers import Players, healthy
from tests.unit.engine.harness import Stage, play, spec
from tests.unit.engine.service_specs import service, system


def state_of(stage: Stage, node: int) -> NodeState:
    return stage.engine.state.nodes.records[node].state


def test_services_start_elsewhere_before_they_leave() -> None:
    async def scene(stage: Stage) -> None:
        first = await stage.join("n1", cpu=4)
        players = Players(stage)
        [job] = await stage.submit(service(3))
        await players.act(3)
        second = await stage.join("n2", cpu=4)
        await stage.engine.drain_node("n1", None, "ada")
        for _ in range(20):
            await players.act(0.25)
            assert healthy(stage, job.job_id) >= 3
        assert (players.on(first), players.on(second)) == ([], [0, 1, 2])
        assert state_of(stage, first) is NodeState.DRAINED
        assert stage.counts(job.job_id) == {"running": 3}
        types = [event.type for event in await stage.events()]
        assert types.index("node.draining") < types.index("node.drained")

    play(scene)


async def racked(stage: Stage, **racks: str) -> dict[str, int]:
    """Nodes with a label `rack` each."""
    nodes = {}
    for name, rack in racks.items():
        nodes[name] = await stage.join(name, cpu=8)
        await stage.engine.label_node(name, {"rack": rack})
    return nodes


def by_rack(players: Players, nodes: dict[str, int], **racks: str) -> Counter[str]:
    return Counter(racks[name] for name, node in nodes.items() for _ in players.on(node))


def test_successors_of_a_drained_node_keep_the_spread() -> None:
    """The tasks that leave count no more: else those that come would keep away from the rack that they leave."""

    async def scene(stage: Stage) -> None:
        racks = {"n1": "a", "n2": "b", "n3": "a", "n4": "c"}
        nodes = await racked(stage, n1="a", n2="b", n4="c")
        players = Players(stage)
        [job] = await stage.submit(service(9, spread=(Spread("rack"),)))
        await players.act(3)
        assert by_rack(players, nodes, **racks) == {"a": 3, "b": 3, "c": 3}
        nodes |= await racked(stage, n3="a")
        await stage.engine.drain_node("n1", None, "ada")
        for _ in range(20):
            await players.act(0.25)
            assert healthy(stage, job.job_id) >= 9
        assert state_of(stage, nodes["n1"]) is NodeState.DRAINED
        assert by_rack(players, nodes, **racks) == {"a": 3, "b": 3, "c": 3}

    play(scene)


@pytest.mark.parametrize("unavailable_max", [0, 2])
def test_a_rolling_update_keeps_the_spread(unavailable_max: int) -> None:
    async def scene(stage: Stage) -> None:
        racks = {"n1": "a", "n2": "b", "n3": "c"}
        nodes = await racked(stage, **racks)
        players = Players(stage)
        update = Update(parallel=2, unavailable_max=unavailable_max, healthy_for_s=2.0, deadline_s=60.0)
        await stage.submit(service(6, spread=(Spread("rack"),), update=update))
        await players.act(3)
        await stage.submit(service(6, "v2", spread=(Spread("rack"),), update=update))
        await players.pass_time(30)
        assert players.commands() == ["v2"] * 6
        assert by_rack(players, nodes, **racks) == {"a": 2, "b": 2, "c": 2}

    play(scene)


def test_batch_is_waited_for_and_system_tasks_end_last() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join("n1", cpu=4)
        players = Players(stage)
        [agent] = await stage.submit(system())
        [batch] = await stage.submit(spec("batch"))
        await players.act(1)
        await stage.engine.drain_node("n1", None, "ada")
        [later] = await stage.submit(spec("later"))
        await players.act(60)
        assert len(players.on(node)) == 2
        assert state_of(stage, node) is NodeState.DRAINING
        await players.end(players.find(0, batch.job_id), 0)
        await players.act(1)
        assert players.on(node) == []
        assert state_of(stage, node) is NodeState.DRAINED
        assert stage.counts(later.job_id) == {"queued": 1}
        assert stage.counts(agent.job_id) == {}
        await stage.engine.undrain_node("n1")
        await players.act(1)
        assert stage.counts(later.job_id) == stage.counts(agent.job_id) == {"running": 1}

    play(scene)


def test_at_the_deadline_batch_is_stopped_and_runs_again_elsewhere() -> None:
    async def scene(stage: Stage) -> None:
        first = await stage.join("n1", cpu=2)
        players = Players(stage)
        [batch] = await stage.submit(spec("batch", 2))
        await players.act(1)
        second = await stage.join("n2", cpu=2)
        await stage.engine.drain_node("n1", 30, "ada")
        await players.act(29)
        assert players.on(first) == [0, 1]
        await players.act(2)
        assert (players.on(first), players.on(second)) == ([], [0, 1])
        assert state_of(stage, first) is NodeState.DRAINED
        assert stage.counts(batch.job_id) == {"running": 2}
        row = stage.engine.state.jobs[batch.job_id].groups[0].base
        assert stage.engine.state.table.restarts[row] == 0

    play(scene)


def test_a_service_without_room_elsewhere_stays_until_the_deadline() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join("n1", cpu=2)
        players = Players(stage)
        [job] = await stage.submit(service(2))
        await players.act(3)
        await stage.engine.drain_node("n1", 30, "ada")
        await players.act(20)
        assert players.on(node) == [0, 1]
        await players.act(11)
        assert players.on(node) == []
        assert state_of(stage, node) is NodeState.DRAINED
        second = await stage.join("n2", cpu=2)
        await players.act(3)
        assert players.on(second) == [0, 1]
        assert stage.counts(job.job_id) == {"running": 2}

    play(scene)


def test_a_draining_node_that_comes_back_from_being_down_is_still_drained() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join("n1", cpu=2)
        players = Players(stage)
        await stage.submit(spec("batch", 2))
        await players.act(1)
        await stage.engine.drain_node("n1", None, "ada")
        players.playing.clear()
        await stage.engine.node_event(node, NodeEvent.TIMED_OUT, "no heartbeat for 3 s")
        await stage.settle()
        assert state_of(stage, node) is NodeState.DOWN
        await stage.join("n1", cpu=2, boot="b2")
        assert state_of(stage, node) is NodeState.DRAINED
        assert stage.orders() == []
        await stage.engine.undrain_node("n1")
        await players.act()
        assert state_of(stage, node) is NodeState.READY
        assert players.on(node) == [0, 1]

    play(scene)


def test_a_drain_of_a_node_that_is_down_begins_when_it_is_back() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join("n1", cpu=2)
        await stage.engine.node_event(node, NodeEvent.TIMED_OUT, "gone")
        await stage.engine.drain_node("n1", None, "ada")
        assert state_of(stage, node) is NodeState.DOWN
        await stage.join("n1", cpu=2, boot="b2")
        assert state_of(stage, node) is NodeState.DRAINED

    play(scene)


def test_a_manager_that_takes_over_knows_the_deadline() -> None:
    async def scene(stage: Stage) -> None:
        node = await stage.join("n1", cpu=2)
        players = Players(stage)
        await stage.submit(spec("batch"))
        await players.act(1)
        await stage.engine.drain_node("n1", 30, "ada")
        state, timers = await recover(stage.store)
        record = state.nodes.records[node]
        assert record.is_drain_asked and timers.next_ms == record.drain_deadline_ms
        assert state.nodes.draining == {node}

    play(scene)


def test_only_a_node_that_is_drained_can_be_undrained() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1")
        with pytest.raises(Conflict, match="is not being drained"):
            await stage.engine.undrain_node("n1")
        with pytest.raises(NotFound, match="no node n9"):
            await stage.engine.drain_node("n9", None, "ada")

    play(scene)


def test_every_state_of_a_node_is_reached_and_says_why() -> None:
    """R-16: ready, suspect, down, draining, drained; and who has switched it off."""

    async def scene(stage: Stage) -> None:
        node = await stage.join("n1", cpu=2)
        players = Players(stage)
        [job] = await stage.submit(spec("batch"))
        await players.act(1)
        seen: list[tuple[str, str | None, bool]] = []

        def look() -> None:
            view = node_view(stage.engine.state, stage.engine.state.nodes.records[node], 0, 0)
            seen.append((view.state, view.reason, view.eligible))

        look()
        await stage.engine.cordon_node("n1", "new disk")
        look()
        await stage.engine.release_node("n1", "cordon")
        await stage.engine.drain_node("n1", None, "ada")
        look()
        await players.end(players.find(0, job.job_id), 0)
        await players.act()
        look()
        await stage.engine.undrain_node("n1")
        for event, reason in ((NodeEvent.SILENT, "silent for 2 s"), (NodeEvent.TIMED_OUT, "no heartbeat for 3 s")):
            await stage.engine.node_event(node, event, reason)
            await stage.settle()
            look()
        assert seen == [
            ("ready", None, True), ("ready", "cordon: new disk", False), ("draining", "draining: asked by ada", False),
            ("drained", "drained", False), ("suspect", "suspect: silent for 2 s", False),
            ("down", "down: no heartbeat for 3 s", False),
        ]  # fmt: skip

    play(scene)
