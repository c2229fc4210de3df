"""A retry avoids the node of its last attempt, unless there is no other."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from shunter.model.job.spec import Affinity, Restart
from shunter.model.lifecycles import NodeEvent
from tests.unit.engine.fake_workers import FakeWorkers
from tests.unit.engine.harness import Harness, run_scenario, spec


def test_a_retry_avoids_the_node_of_the_last_attempt() -> None:
    async def scenario(harness: Harness) -> None:
        first = await harness.join("n1", cpu=8)
        restart = Restart("on-failure", max=5, delay_s=0.1, elsewhere=True)
        [job] = await harness.submit(spec("picky", restart=restart))
        [(node, order)] = harness.orders()
        await harness.end(node, order, exit_code=1)
        second = await harness.join("n2", cpu=8)
        await harness.settle(1.0)
        [(node, order)] = harness.orders()
        assert (first, node, order.attempt) == (1, second, 2)
        assert harness.counts(job.job_id) == {"assigned": 1}

    run_scenario(scenario)


def test_a_retry_takes_the_same_node_where_there_is_no_other() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=8)
        small = await harness.join("n2", cpu=1)
        restart = Restart("on-failure", max=5, delay_s=0.1, elsewhere=True)
        await harness.submit(spec("picky", restart=restart, needs={"cpu": 4000}))
        [(first, order)] = harness.orders()
        await harness.end(first, order, exit_code=1)
        await harness.settle(1.0)
        [(again, order)] = harness.orders()
        assert again == first != small

    run_scenario(scenario)


def test_a_retry_goes_back_when_the_other_node_leaves() -> None:
    async def scenario(harness: Harness) -> None:
        nodes = [await harness.join("n1", cpu=1), await harness.join("n2", cpu=1)]
        restart = Restart("on-failure", max=5, delay_s=0.1, elsewhere=True)
        await harness.submit(spec("picky", 2, restart=restart))
        (first, order), (other, _) = harness.orders()
        assert {first, other} == set(nodes)
        await harness.end(first, order, exit_code=1)
        await harness.settle(1.0)
        assert not harness.orders()  # the other node is busy, and this one is avoided
        await harness.engine.node_event(other, NodeEvent.LEFT, "left")
        await harness.settle(1.0)
        assert {node for node, _ in harness.orders()} == {first}

    run_scenario(scenario)


AWAY_FROM_PICKY = Affinity("job", "job.name == 'picky'", require=True, anti=True)
WITH_DB = Affinity("job", "job.name == 'db'", require=True)


@pytest.mark.parametrize(
    ("rules", "neighbour"),
    [
        ({"distinct": "host"}, {}),  # the other one is on the other node
        ({"distinct": "rack"}, {}),
        ({}, {"exclusive": True}),
        ({"exclusive": True}, {}),
        ({}, {"affinity": (AWAY_FROM_PICKY,)}),
        ({"affinity": (replace(WITH_DB, match="job.name == 'neighbour'", anti=True),)}, {}),
    ],
)
def test_a_retry_takes_the_same_node_where_anti_affinity_excludes_the_rest(
    rules: dict[str, Any], neighbour: dict[str, Any]
) -> None:
    """They may be services, which never leave."""

    async def scenario(harness: Harness) -> None:
        for name in ("n1", "n2"):
            await harness.join(name, cpu=4)
            await harness.engine.label_node(name, {"rack": name})
        restart = Restart("on-failure", max=5, delay_s=0.1, elsewhere=True)
        await harness.submit(spec("neighbour", constraints=("node.labels.rack == 'n2'",), **neighbour))
        harness.orders()
        await harness.submit(spec("picky", 2 if "distinct" in rules else 1, restart=restart, **rules))
        orders = harness.orders()
        for node, order in orders:
            await harness.started(node, order)
        first, order = next((node, order) for node, order in orders if node == 1)
        await harness.end(first, order, exit_code=1)
        await harness.settle(1.0)
        assert [(node, each.attempt) for node, each in harness.orders()] == [(first, 2)]

    run_scenario(scenario)


def test_a_retry_takes_the_same_node_where_only_there_its_affinity_holds() -> None:
    async def scenario(harness: Harness) -> None:
        for name in ("n1", "n2"):
            await harness.join(name, cpu=4)
        await harness.submit(spec("db"))
        [(node, _)] = harness.orders()
        restart = Restart("on-failure", max=5, delay_s=0.1, elsewhere=True)
        await harness.submit(spec("picky", restart=restart, affinity=(WITH_DB,)))
        [(colocated_node, order)] = harness.orders()
        await harness.end(colocated_node, order, exit_code=1)
        await harness.settle(1.0)
        assert [(each, order.attempt) for each, order in harness.orders()] == [(node, 2)]

    run_scenario(scenario)


@pytest.mark.parametrize("type_", ["sysbatch", "system"])
def test_what_belongs_on_a_node_is_retried_there_whatever_others_there_are(type_: str) -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1")
        await harness.join("n2")
        fake_workers = FakeWorkers(harness)
        restart = Restart("on-failure", max=5, delay_s=0.1, elsewhere=True)
        [job] = await harness.submit(spec(type=type_, restart=restart))
        await fake_workers.process()
        await fake_workers.end(fake_workers.find(1), 1)
        await fake_workers.process(1)
        assert harness.counts(job.job_id) == {"running": 2}
        assert fake_workers.starts == [(1, 0), (2, 1), (2, 1)]

    run_scenario(scenario)
