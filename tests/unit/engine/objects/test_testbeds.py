"""Testbeds in the engine: slots reserved on labelled nodes, beside other work and under running executors."""

from __future__ import annotations

from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import SCHEDULING, TESTBED, Draft
from shunter.model.objects.schedulings import SchedulingState
from shunter.model.objects.testbeds import SlotState, TestbedSpec, TestbedState
from tests.unit.engine.harness import Stage, play, spec
from tests.unit.engine.object_harness import BED, bed, command, label, make, queue, ready, scheduling, slots


def test_a_testbed_reserves_slots_breadth_first_and_other_work_cannot_use_them() -> None:
    """S0-07, S0-08."""

    async def scene(stage: Stage) -> None:
        await ready(stage)
        assert slots(stage) == [("n0", 0, "FREE"), ("n1", 0, "FREE"), ("n0", 1, "FREE"), ("n1", 1, "FREE")]
        await stage.submit(spec("wide", 10))
        assert sorted(node for node, _ in stage.orders()) == [1, 2]  # one of two cpu is left on each node
        nodes = stage.engine.state.nodes.view
        assert nodes.reserved[1:3, 0].tolist() == [2000, 2000]

    play(scene)


def test_a_testbed_that_does_not_fit_says_where_and_comes_when_there_is_room() -> None:
    """S0-10."""

    async def scene(stage: Stage) -> None:
        await stage.join("n0", cpu=2)
        await stage.join("n1", cpu=2)
        await label(stage, "n0", "n1")
        await stage.submit(spec("hog", 1, needs={"cpu": 2000}))
        [(node, order)] = stage.orders()
        await make(stage, bed())
        status = stage.engine.state.objects.testbeds[BED].status
        assert status.state is TestbedState.ERROR
        assert list(status.node_problems) == [f"n{node - 1}"]
        await stage.end(node, order)
        assert stage.engine.state.objects.testbeds[BED].status.state is TestbedState.SUCCESS
        assert len(slots(stage)) == 4

    play(scene)


def test_a_testbed_changes_under_running_executors_only_when_they_end() -> None:
    """S1-34."""

    async def scene(stage: Stage) -> None:
        await ready(stage, nodes=1)
        await make(stage, command("a"), queue("q", "a"))
        [(node, order)] = stage.orders()
        await stage.started(node, order)
        await make(stage, bed(slots_per_node=1, cpu=300))
        found = stage.engine.state.objects.testbeds[BED].status.slots
        assert [(slot.state, slot.size["cpu"], slot.is_leaving) for slot in found] == [(SlotState.OCCUPIED, 500, True)]
        await stage.end(node, order)
        found = stage.engine.state.objects.testbeds[BED].status.slots
        assert [(slot.state, slot.size["cpu"], slot.is_leaving) for slot in found] == [(SlotState.FREE, 300, False)]
        assert int(stage.engine.state.nodes.view.reserved[1, 0]) == 300
        await stage.engine.delete_object(SCHEDULING, ObjectName("default", "q"))
        await stage.engine.delete_object(TESTBED, BED)
        await stage.settle()
        assert not stage.engine.state.objects.testbeds
        assert int(stage.engine.state.nodes.view.reserved[1, 0]) == 0

    play(scene)


def test_two_testbeds_on_disjoint_nodes_run_schedulings_at_once_and_know_nothing_of_each_other() -> None:
    """S0-22."""

    async def scene(stage: Stage) -> None:
        beds = {name: ObjectName("default", name) for name in ("left", "right")}
        for name, testbed in beds.items():
            await stage.join(name)
            await stage.engine.label_node(name, {f"example.org/{name}": "0"})
            size = {"cpu": 500, "memory": 2**20}
            await make(stage, Draft(TESTBED, testbed, TestbedSpec(2, f"example.org/{name}", size)))
        await make(stage, command("a"), command("b"))
        await make(stage, queue("l", "a", "a", testbed=beds["left"]), queue("r", "b", "b", testbed=beds["right"]))
        orders = stage.orders()
        assert sorted((node, order.job_name) for node, order in orders) == [
            (1, "bj.a"),
            (1, "bj.a"),
            (2, "bj.b"),
            (2, "bj.b"),
        ]
        for node, order in orders:
            await stage.started(node, order)
        book = stage.engine.state.objects
        before = book.testbeds[beds["right"]], book.batch_jobs[ObjectName("default", "b")]
        for node, order in orders:
            if node == 1:  # what goes wrong in one is nothing to the other
                failed = order is orders[0][1]
                await stage.end(node, order, exit_code=3 if failed else 143, how="" if failed else "stopped")
        assert scheduling(stage, "l") is SchedulingState.FAILED
        await stage.engine.delete_object(SCHEDULING, ObjectName("default", "l"))
        await stage.engine.delete_object(TESTBED, beds["left"])
        await stage.settle()
        book = stage.engine.state.objects
        assert (book.testbeds[beds["right"]], book.batch_jobs[ObjectName("default", "b")]) == before
        for node, order in orders:
            if node == 2:
                await stage.end(node, order)
        assert scheduling(stage, "r") is SchedulingState.COMPLETED

    play(scene)
