"""A node on which everything fails is switched off, with the reason and the way back; never the last ones."""

from __future__ import annotations

import pytest

from shunter.model.errors import Conflict
from shunter.model.job.spec import Restart
from tests.unit.engine.fake_workers import Players
from tests.unit.engine.harness import Stage, play, spec
from tests.unit.engine.object_harness import command, make, queue, ready, slots


async def fail_on_first(stage: Stage, players: Players, names: str) -> None:
    """Jobs of these names, all failing on node 1."""
    for name in names:
        [job] = await stage.submit(spec(name, constraints=("node.labels.bad == 'yes'",)))
        await players.act()
        await players.end(players.find(0, job.job_id), 1)


async def open_nodes(stage: Stage, count: int = 3) -> Players:
    for number in range(1, count + 1):
        await stage.join(f"n{number}")
    await stage.engine.label_node("n1", {"bad": "yes"})
    return Players(stage)


def test_where_tasks_of_three_jobs_fail_at_once_the_node_is_switched_off() -> None:
    """R-16: eligibility, and why."""

    async def scene(stage: Stage) -> None:
        players = await open_nodes(stage)
        await fail_on_first(stage, players, "ab")
        assert stage.engine.state.nodes.view.eligible[1]
        await fail_on_first(stage, players, "c")
        node = stage.engine.state.nodes.records[1]
        assert node.switched_by == "quarantine"
        assert "3 jobs failed there within 60 s" in node.switched_because
        assert node.switched_because.endswith("shunter node release n1")
        assert not stage.engine.state.nodes.view.eligible[1]
        await stage.submit(spec("next", constraints=("node.labels.bad == 'yes'",)))
        assert stage.orders() == []
        await stage.engine.release_node("n1", "quarantine")
        await stage.settle()
        assert len(stage.orders()) == 1
        types = [event.type for event in await stage.events()]
        assert types.index("node.quarantined") < types.index("node.released")

    play(scene)


def test_one_job_that_fails_often_is_its_own_fault() -> None:
    async def scene(stage: Stage) -> None:
        players = await open_nodes(stage)
        restart = Restart("on-failure", max=9, delay_s=0.1, factor=1.0)
        [job] = await stage.submit(spec("loop", restart=restart, constraints=("node.labels.bad == 'yes'",)))
        for _ in range(8):
            await players.act(1)
            await players.end(players.find(0, job.job_id), 1)
        assert len(stage.engine.state.nodes.records[1].failures or ()) == 8
        assert stage.engine.state.nodes.records[1].switched_by == ""

    play(scene)


def test_runs_of_one_name_are_one_job() -> None:
    """One that is retried, dispatched or fired by a clock, and fails each time, says nothing of the node."""

    async def scene(stage: Stage) -> None:
        players = await open_nodes(stage)
        await fail_on_first(stage, players, "aaaa")
        assert len(stage.engine.state.nodes.records[1].failures or ()) == 4
        assert stage.engine.state.nodes.records[1].switched_by == ""
        await fail_on_first(stage, players, "bc")
        assert stage.engine.state.nodes.records[1].switched_by == "quarantine"

    play(scene)


def test_a_success_clears_the_node() -> None:
    async def scene(stage: Stage) -> None:
        players = await open_nodes(stage)
        await fail_on_first(stage, players, "ab")
        [good] = await stage.submit(spec("good", constraints=("node.labels.bad == 'yes'",)))
        await players.act()
        await players.end(players.find(0, good.job_id), 0)
        await fail_on_first(stage, players, "cd")
        assert stage.engine.state.nodes.records[1].switched_by == ""

    play(scene)


def test_failures_longer_ago_than_a_minute_are_forgotten() -> None:
    async def scene(stage: Stage) -> None:
        players = await open_nodes(stage)
        await fail_on_first(stage, players, "ab")
        await stage.settle(61)
        await fail_on_first(stage, players, "c")
        assert stage.engine.state.nodes.records[1].switched_by == ""

    play(scene)


def test_the_last_node_is_never_switched_off() -> None:
    async def scene(stage: Stage) -> None:
        players = await open_nodes(stage, 1)
        await fail_on_first(stage, players, "abcdef")
        assert stage.engine.state.nodes.records[1].switched_by == ""

    play(scene)


def test_no_more_than_half_of_the_nodes_are_switched_off() -> None:
    async def scene(stage: Stage) -> None:
        players = await open_nodes(stage, 3)
        await fail_on_first(stage, players, "abc")
        await stage.engine.label_node("n1", {"bad": None})
        await stage.engine.label_node("n2", {"bad": "yes"})
        await fail_on_first(stage, players, "def")
        assert stage.engine.state.nodes.records[1].switched_by == "quarantine"
        assert stage.engine.state.nodes.records[2].switched_by == ""

    play(scene)


def test_cordon_and_quarantine_have_ways_back_of_their_own() -> None:
    async def scene(stage: Stage) -> None:
        players = await open_nodes(stage)
        await stage.engine.cordon_node("n2", "new disk")
        assert stage.engine.state.nodes.view.ineligible_because[2] == "cordon: new disk"
        with pytest.raises(Conflict, match="use: shunter node uncordon n2"):
            await stage.engine.release_node("n2", "quarantine")
        await stage.engine.release_node("n2", "cordon")
        with pytest.raises(Conflict, match="takes work already"):
            await stage.engine.release_node("n2", "cordon")
        await stage.engine.drain_node("n2", None, "tester")
        with pytest.raises(Conflict, match="use: shunter node undrain n2"):
            await stage.engine.release_node("n2", "quarantine")
        await stage.engine.undrain_node("n2")
        await fail_on_first(stage, players, "abc")
        with pytest.raises(Conflict, match="release it first"):
            await stage.engine.cordon_node("n1", "")
        assert "node.cordoned" in [event.type for event in await stage.events()]

    play(scene)


def test_failing_batch_jobs_do_not_cost_a_testbed_its_slots() -> None:
    """An executor runs where its Scheduling put it, and a slot is a promise: its failures are no fault of the node."""

    async def scene(stage: Stage) -> None:
        await ready(stage, nodes=3, slots_per_node=4)
        await make(stage, *map(command, "abcdefghi"), queue("q", *"abcdefghi"))
        for node, order in stage.orders():
            await stage.started(node, order)
            await stage.end(node, order, 1)
        assert [record.switched_by for record in stage.engine.state.nodes.records.values()] == ["", "", ""]
        assert {word for _, _, word in slots(stage)} == {"FREE"}

    play(scene)
