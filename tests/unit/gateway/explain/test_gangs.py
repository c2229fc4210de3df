"""What `why` says of a gang that does not start."""

from __future__ import annotations

from typing import Any

from shunter.model.rest.plan_views import WhyView
from tests.unit.gateway.harness import GatewayHarness, reference, run_scenario


async def why_gang(harness: GatewayHarness, count: int, **fields: Any) -> WhyView:
    await harness.run("gang", count, gang=True, resources={"cpu": 2}, **fields)
    return await harness.gateway.explain.why(reference("gang"))


def test_a_gang_that_is_too_large_says_how_much_of_it_has_room() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=2)
        await harness.join("n2", cpu=2)
        found = await why_gang(harness, 3)
        lack = "the gang of 3 tasks starts as a whole, and nodes have room for 2 of them now (2 if nothing else ran)"
        assert found.sentence == f"All 3 tasks are pending: {lack}; cpu: needs 6 together, nodes have 4."
        assert found.start is not None
        assert found.start.basis == (
            "the gang could not start even if nothing else ran: 2 of its 3 tasks would have room"
        )
        assert "count 3 → 2: this many tasks of the gang fit" in [each.text for each in found.suggestions]

    run_scenario(scenario)


def test_a_gang_that_waits_for_others_says_what_is_free() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=2)
        await harness.join("n2", cpu=2)
        await harness.run("other", 1, resources={"cpu": 1})
        found = await why_gang(harness, 2)
        lack = "the gang of 2 tasks starts as a whole, and nodes have room for 1 of them now"
        assert found.sentence == f"Both tasks are pending: {lack}; cpu: needs 4 together, 3 of 4 free."

    run_scenario(scenario)


def test_a_gang_of_distinct_tasks_needs_as_many_nodes() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=16)
        found = await why_gang(harness, 2, distinct="host")
        assert "nodes have room for 1 of them now (1 if nothing else ran)" in found.sentence

    run_scenario(scenario)


def test_a_gang_whose_tasks_no_node_can_run_says_that() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=1)
        found = await why_gang(harness, 2)
        assert "gang" not in found.sentence and "the largest node has 1" in found.sentence
        assert found.start is not None and found.start.basis == "no node could run it, even if nothing else ran"

    run_scenario(scenario)
