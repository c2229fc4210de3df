"""Why a moved task waits."""

from __future__ import annotations

from tests.unit.gateway.harness import GatewayHarness, reference, run_scenario


def test_why_of_a_moved_task_says_where_it_must_run_and_what_it_waits_for_there() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=1)
        await harness.run("full")
        await harness.join("n2", cpu=1)
        moved = await harness.run("moved")
        await harness.engine.move(moved.id, ("main", 0), "n1", "anna")
        await harness.report_lost(*harness.orders()[-1])
        found = await harness.gateway.explain.why(reference("moved"))
        assert found.sentence == "Pending: must run on n1: cpu: needs 1, at most 0 free (1 node)."
        assert found.start is not None
        assert (found.start.at, found.start.basis) == (None, "it was moved to n1 and waits for room there")

    run_scenario(scenario)
