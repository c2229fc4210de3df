"""A task whose attempt was lost says why: while it waits, and to `why` while its next attempt runs."""

from __future__ import annotations

from shunter.ports.jobs import TaskQuery
from shunter.ports.principals import TaskReference
from tests.unit.gateway.harness import GatewayHarness, reference, run_scenario


def test_a_lost_attempt_is_the_reason_of_the_waiting_task() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join("n1", cpu=1)
        await harness.run("job")
        [(_, order)] = harness.orders()
        await harness.start_task(node, order, 4)
        await harness.engine.cordon_node("n1", "")
        await harness.report_lost(node, order, "the keeper died")
        [task] = (await harness.gateway.tasks.page(reference("job"), TaskQuery())).items
        assert (task.state, task.lost, task.reason) == ("queued", 1, "the keeper died")

    run_scenario(scenario)


def test_why_of_a_running_task_names_its_last_loss() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join("n1", cpu=1)
        await harness.run("job")
        for number in (1, 2):
            [(_, order)] = harness.orders()
            await harness.start_task(node, order, 4)
            if number == 1:
                await harness.report_lost(node, order, "the keeper died")
        [task] = (await harness.gateway.tasks.page(reference("job"), TaskQuery())).items
        assert (task.state, task.reason) == ("running", None)
        found = await harness.gateway.explain.why(reference("job"), TaskReference(0))
        assert found.sentence.endswith("It was lost once before, last because: the keeper died.")

    run_scenario(scenario)
