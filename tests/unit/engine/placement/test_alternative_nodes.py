"""A retry that is to run elsewhere: on another node where there is one, and on the same where there is none."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from shunter.model.job.spec import Affinity, Restart
from shunter.model.lifecycles import NodeEvent
from tests.unit.engine.fake_workers import Players
from tests.unit.engine.harness import Stage, play, spec


def test_a_retry_elsewhere_does_not_go_to_the_same_node() -> None:
    async def scene(stage: Stage) -> None:
        first = await stage.join("n1", cpu=8)
        restart = Restart("on-failure", max=5, delay_s=0.1, elsewhere=True)
        [job] = await stage.submit(spec("picky", restart=restart))
        [(node, order)] = stage.orders()
        await stage.end(node, order, exit_code=1)
        second = await stage.join("n2", cpu=8)
        await stage.settle(1.0)
        [(node, order)] = stage.orders()
        assert (first, node, order.attempt) == (1, second, 2)
        assert stage.counts(job.job_id) == {"assigned": 1}

    play(scene)


def test_a_retry_elsewhere_takes_the_same_node_where_there_is_no_other() -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1", cpu=8)
        small = await stage.join("n2", cpu=1)
        restart = Restart("on-failure", max=5, delay_s=0.1, elsewhere=True)
        await stage.submit(spec("picky", restart=restart, needs={"cpu": 4000}))
        [(first, order)] = stage.orders()
        await stage.end(first, order, exit_code=1)
        await stage.settle(1.0)
        [(again, order)] = stage.orders()
        assert again == first != small

    play(scene)


def test_a_retry_elsewhere_goes_back_when_the_other_node_leaves() -> None:
    async def scene(stage: Stage) -> None:
        nodes = [await stage.join("n1", cpu=1), await stage.join("n2", cpu=1)]
        restart = Restart("on-failure", max=5, delay_s=0.1, elsewhere=True)
        await stage.submit(spec("picky", 2, restart=restart))
        (first, order), (other, _) = stage.orders()
        assert {first, other} == set(nodes)
        await stage.end(first, order, exit_code=1)
        await stage.settle(1.0)
        assert not stage.orders()  # the other node is busy, and this one is avoided
        await stage.engine.node_event(other, NodeEvent.LEFT, "left")
        await stage.settle(1.0)
        assert {node for node, _ in stage.orders()} == {first}

    play(scene)


AWAY_FROM_PICKY = Affinity("job", "job.name == 'picky'", require=True, anti=True)
BESIDE_DB = Affinity("job", "job.name == 'db'", require=True)


@pytest.mark.parametrize(
    ("rules", "neighbour"),
    [
        ({"distinct": "host"}, {}),  # the other one is on the other node
        ({"distinct": "rack"}, {}),
        ({}, {"exclusive": True}),
        ({"exclusive": True}, {}),
        ({}, {"affinity": (AWAY_FROM_PICKY,)}),
        ({"affinity": (replace(BESIDE_DB, match="job.name == 'neighbour'", anti=True),)}, {}),
    ],
)
def test_a_retry_elsewhere_takes_the_same_node_where_others_keep_it_from_the_rest(
    rules: dict[str, Any], neighbour: dict[str, Any]
) -> None:
    """They may be services, which never leave."""

    async def scene(stage: Stage) -> None:
        for name in ("n1", "n2"):
            await stage.join(name, cpu=4)
            await stage.engine.label_node(name, {"rack": name})
        restart = Restart("on-failure", max=5, delay_s=0.1, elsewhere=True)
        await stage.submit(spec("neighbour", constraints=("node.labels.rack == 'n2'",), **neighbour))
        stage.orders()
        await stage.submit(spec("picky", 2 if "distinct" in rules else 1, restart=restart, **rules))
        orders = stage.orders()
        for node, order in orders:
            await stage.started(node, order)
        first, order = next((node, order) for node, order in orders if node == 1)
        await stage.end(first, order, exit_code=1)
        await stage.settle(1.0)
        assert [(node, each.attempt) for node, each in stage.orders()] == [(first, 2)]

    play(scene)


def test_a_retry_elsewhere_takes_the_same_node_where_only_there_it_has_company() -> None:
    async def scene(stage: Stage) -> None:
        for name in ("n1", "n2"):
            await stage.join(name, cpu=4)
        await stage.submit(spec("db"))
        [(node, _)] = stage.orders()
        restart = Restart("on-failure", max=5, delay_s=0.1, elsewhere=True)
        await stage.submit(spec("picky", restart=restart, affinity=(BESIDE_DB,)))
        [(beside, order)] = stage.orders()
        await stage.end(beside, order, exit_code=1)
        await stage.settle(1.0)
        assert [(each, order.attempt) for each, order in stage.orders()] == [(node, 2)]

    play(scene)


@pytest.mark.parametrize("type_", ["sysbatch", "system"])
def test_what_belongs_on_a_node_is_retried_there_whatever_others_there_are(type_: str) -> None:
    async def scene(stage: Stage) -> None:
        await stage.join("n1")
        await stage.join("n2")
        players = Players(stage)
        restart = Restart("on-failure", max=5, delay_s=0.1, elsewhere=True)
        [job] = await stage.submit(spec(type=type_, restart=restart))
        await players.act()
        await players.end(players.find(1), 1)
        await players.act(1)
        assert stage.counts(job.job_id) == {"running": 2}
        assert players.starts == [(1, 0), (2, 1), (2, 1)]

    play(scene)
