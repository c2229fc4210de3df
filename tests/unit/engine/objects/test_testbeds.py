"""Testbeds in the engine: slots reserved on labelled nodes, next to other work and under running executors."""

from __future__ import annotations

from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import SCHEDULING, TESTBED, Draft
from shunter.model.objects.schedulings import SchedulingState
from shunter.model.objects.testbeds import SlotState, TestbedSpec, TestbedState
from tests.unit.engine.harness import Harness, run_scenario, spec
from tests.unit.engine.object_harness import (
    TESTBED_NAME,
    apply_drafts,
    command,
    label,
    queue,
    scheduling,
    setup_testbed,
    slots,
    testbed_draft,
)


def test_a_testbed_reserves_slots_breadth_first_and_other_work_cannot_use_them() -> None:
    """S0-07, S0-08."""

    async def scenario(harness: Harness) -> None:
        await setup_testbed(harness)
        assert slots(harness) == [("n0", 0, "FREE"), ("n1", 0, "FREE"), ("n0", 1, "FREE"), ("n1", 1, "FREE")]
        await harness.submit(spec("wide", 10))
        assert sorted(node for node, _ in harness.orders()) == [1, 2]  # one of two cpu is left on each node
        nodes = harness.engine.state.nodes.view
        assert nodes.reserved[1:3, 0].tolist() == [2000, 2000]

    run_scenario(scenario)


def test_a_testbed_that_does_not_fit_says_where_and_comes_when_there_is_room() -> None:
    """S0-10."""

    async def scenario(harness: Harness) -> None:
        await harness.join("n0", cpu=2)
        await harness.join("n1", cpu=2)
        await label(harness, "n0", "n1")
        await harness.submit(spec("hog", 1, needs={"cpu": 2000}))
        [(node, order)] = harness.orders()
        await apply_drafts(harness, testbed_draft())
        status = harness.engine.state.objects.testbeds[TESTBED_NAME].status
        assert status.state is TestbedState.ERROR
        assert list(status.node_problems) == [f"n{node - 1}"]
        await harness.end(node, order)
        assert harness.engine.state.objects.testbeds[TESTBED_NAME].status.state is TestbedState.SUCCESS
        assert len(slots(harness)) == 4

    run_scenario(scenario)


def test_a_testbed_changes_under_running_executors_only_when_they_end() -> None:
    """S1-34."""

    async def scenario(harness: Harness) -> None:
        await setup_testbed(harness, nodes=1)
        await apply_drafts(harness, command("a"), queue("q", "a"))
        [(node, order)] = harness.orders()
        await harness.started(node, order)
        await apply_drafts(harness, testbed_draft(slots_per_node=1, cpu=300))
        found = harness.engine.state.objects.testbeds[TESTBED_NAME].status.slots
        assert [(slot.state, slot.size["cpu"], slot.is_leaving) for slot in found] == [(SlotState.OCCUPIED, 500, True)]
        await harness.end(node, order)
        found = harness.engine.state.objects.testbeds[TESTBED_NAME].status.slots
        assert [(slot.state, slot.size["cpu"], slot.is_leaving) for slot in found] == [(SlotState.FREE, 300, False)]
        assert int(harness.engine.state.nodes.view.reserved[1, 0]) == 300
        await harness.engine.delete_object(SCHEDULING, ObjectName("default", "q"))
        await harness.engine.delete_object(TESTBED, TESTBED_NAME)
        await harness.settle()
        assert not harness.engine.state.objects.testbeds
        assert int(harness.engine.state.nodes.view.reserved[1, 0]) == 0

    run_scenario(scenario)


def test_two_testbeds_on_disjoint_nodes_run_schedulings_at_once_and_know_nothing_of_each_other() -> None:
    """S0-22."""

    async def scenario(harness: Harness) -> None:
        beds = {name: ObjectName("default", name) for name in ("left", "right")}
        for name, testbed in beds.items():
            await harness.join(name)
            await harness.engine.label_node(name, {f"example.org/{name}": "0"})
            size = {"cpu": 500, "memory": 2**20}
            await apply_drafts(harness, Draft(TESTBED, testbed, TestbedSpec(2, f"example.org/{name}", size)))
        await apply_drafts(harness, command("a"), command("b"))
        await apply_drafts(
            harness, queue("l", "a", "a", testbed=beds["left"]), queue("r", "b", "b", testbed=beds["right"])
        )
        orders = harness.orders()
        assert sorted((node, order.job_name) for node, order in orders) == [
            (1, "bj.a"),
            (1, "bj.a"),
            (2, "bj.b"),
            (2, "bj.b"),
        ]
        for node, order in orders:
            await harness.started(node, order)
        registry = harness.engine.state.objects
        before = registry.testbeds[beds["right"]], registry.batch_jobs[ObjectName("default", "b")]
        for node, order in orders:
            if node == 1:  # what goes wrong in one is nothing to the other
                failed = order is orders[0][1]
                await harness.end(node, order, exit_code=3 if failed else 143, how="" if failed else "stopped")
        assert scheduling(harness, "l") is SchedulingState.FAILED
        await harness.engine.delete_object(SCHEDULING, ObjectName("default", "l"))
        await harness.engine.delete_object(TESTBED, beds["left"])
        await harness.settle()
        registry = harness.engine.state.objects
        assert (registry.testbeds[beds["right"]], registry.batch_jobs[ObjectName("default", "b")]) == before
        for node, order in orders:
            if node == 2:
                await harness.end(node, order)
        assert scheduling(harness, "r") is SchedulingState.COMPLETED

    run_scenario(scenario)


def test_a_scheduling_completes_if_its_testbed_was_deleted_while_its_last_job_ran() -> None:
    async def scenario(harness: Harness) -> None:
        await setup_testbed(harness, nodes=1)
        await apply_drafts(harness, command("a"), queue("q", "a"))
        [(node, order)] = harness.orders()
        await harness.started(node, order)
        await harness.engine.delete_object(TESTBED, TESTBED_NAME)
        await harness.settle()
        assert scheduling(harness, "q") is SchedulingState.AWAITING_COMPLETION
        await harness.end(node, order)
        assert scheduling(harness, "q") is SchedulingState.COMPLETED
        assert not harness.engine.state.objects.testbeds
        await harness.engine.delete_object(SCHEDULING, ObjectName("default", "q"))
        await harness.settle()
        assert not harness.engine.state.objects.schedulings

    run_scenario(scenario)


def test_a_scheduling_with_a_job_that_has_not_run_fails_if_its_testbed_is_gone() -> None:
    """The executor ends before its start is seen, so the testbed is dropped while the Scheduling awaits its start."""

    async def scenario(harness: Harness) -> None:
        await setup_testbed(harness, nodes=1, slots_per_node=1)
        await apply_drafts(harness, command("a"), command("b"), queue("q", "a", "b"))
        [(node, order)] = harness.orders()
        await harness.engine.delete_object(TESTBED, TESTBED_NAME)
        await harness.end(node, order)
        assert not harness.engine.state.objects.testbeds
        status = harness.engine.state.objects.schedulings[ObjectName("default", "q")].status
        assert status.state is SchedulingState.FAILED
        assert "default/b has not run" in status.problems[0]

    run_scenario(scenario)
