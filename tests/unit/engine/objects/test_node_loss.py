"""A node that is lost under a running BatchJob: the run fails as a whole, or restarts as a whole."""

from __future__ import annotations

import pytest

from shunter.model.lifecycles import NodeEvent
from shunter.model.objects.batch_jobs import (
    FAIL,
    NODE_LOSS_RESTARTS_MAX,
    RESTART,
    BatchJob,
    BatchJobSpec,
    BatchJobState,
)
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import BATCH_JOB, SCHEDULING, TESTBED, Draft
from shunter.model.objects.schedulings import Scheduling, SchedulingState
from shunter.model.objects.testbeds import TestbedSpec
from shunter.model.protocol.worker_messages import Inventory, Order
from tests.unit.engine.harness import Harness, run_scenario
from tests.unit.engine.object_harness import (
    LABEL,
    TESTBED_NAME,
    apply_drafts,
    label,
    queue,
    setup_testbed,
    slots,
    state_of,
)

A, Q = ObjectName("default", "a"), ObjectName("default", "q")
SILENT = "no heartbeat for 3 s"


def command(on_node_loss: str = FAIL) -> Draft:
    spec = BatchJobSpec(command={"command": ["/bin/true"]}, on_node_loss=on_node_loss)
    return Draft(BATCH_JOB, A, spec)


def job(harness: Harness) -> BatchJob:
    return harness.engine.state.objects.batch_jobs[A]


def decision(harness: Harness) -> Scheduling:
    return harness.engine.state.objects.schedulings[Q]


async def run_pair(harness: Harness, on_node_loss: str = FAIL, nodes: int = 2) -> list[tuple[int, Order]]:
    """Two executors run, on the nodes n0 and n1."""
    await setup_testbed(harness, nodes=nodes, slots_per_node=1)
    await apply_drafts(harness, command(on_node_loss), queue("q", "a", "a"))
    orders = harness.orders()
    await start(harness, orders)
    assert state_of(harness, "a") is BatchJobState.RUNNING
    return orders


async def start(harness: Harness, orders: list[tuple[int, Order]]) -> None:
    for node, order in orders:
        await harness.started(node, order)


async def lose(harness: Harness, node: int) -> None:
    await harness.engine.node_event(node, NodeEvent.TIMED_OUT, SILENT)
    await harness.settle()


async def stop(harness: Harness, node: int, order: Order) -> None:
    await harness.end(node, order, exit_code=143, how="stopped")


async def come_back(harness: Harness, node: int) -> None:
    await harness.engine.inventory(node, Inventory(1, [], []))
    await harness.settle()


def test_a_run_whose_node_is_lost_fails_at_once_with_node_and_reason() -> None:
    async def scenario(harness: Harness) -> None:
        (kept, kept_order), (lost, _) = await run_pair(harness)
        began_ms = job(harness).status.events[-1].start_ms
        await harness.settle(30)
        await lose(harness, lost)
        reason = f"executor 1 was lost: node n1 is down: {SILENT}"
        assert (state_of(harness, "a"), job(harness).status.problems) == (BatchJobState.FAILED_SUBMISSION, [reason])
        assert decision(harness).status.state is SchedulingState.FAILED
        assert reason in decision(harness).status.problems[0]
        [event] = job(harness).status.events
        assert (event.start_ms, event.successful) == (began_ms, False)
        assert 30_000 <= event.stop_ms - began_ms < 31_000, "it ran until its node was lost"
        assert [(each.job, each.group) for each in harness.stops()] == [(kept_order.job, kept_order.group)]
        assert slots(harness) == [("n0", 0, "OCCUPIED"), ("n1", 0, "ERROR")]
        await stop(harness, kept, kept_order)
        assert slots(harness) == [("n0", 0, "FREE"), ("n1", 0, "ERROR")]
        await come_back(harness, lost)
        assert slots(harness) == [("n0", 0, "FREE"), ("n1", 0, "FREE")]
        assert harness.orders() == [], "nothing runs again alone"
        ends = [event for event in await harness.events() if event.type == "job.failed"]
        assert [event.reason for event in ends] == [reason]

    run_scenario(scenario)


def test_a_result_that_a_lost_node_reports_later_does_not_count() -> None:
    """Its first attempt had succeeded, but the manager had not heard of it."""

    async def scenario(harness: Harness) -> None:
        (kept, kept_order), (lost, lost_order) = await run_pair(harness)
        await harness.end(kept, kept_order)
        await lose(harness, lost)
        assert state_of(harness, "a") is BatchJobState.FAILED_SUBMISSION
        events = job(harness).status.events
        await come_back(harness, lost)
        await harness.end(lost, lost_order)
        assert (job(harness).status.events, job(harness).status.runs) == (events, 1)
        assert harness.orders() == []

    run_scenario(scenario)


def test_a_drain_whose_deadline_has_passed_fails_the_run() -> None:
    async def scenario(harness: Harness) -> None:
        orders = await run_pair(harness)
        await harness.engine.drain_node("n1", 5.0, "ann")
        await harness.settle(4)
        assert state_of(harness, "a") is BatchJobState.RUNNING
        await harness.settle(2)
        reason = "executor 1 was stopped: node n1 is draining and its deadline has passed"
        assert (state_of(harness, "a"), job(harness).status.problems) == (BatchJobState.FAILED_SUBMISSION, [reason])
        for node, order in orders:
            await stop(harness, node, order)
        assert slots(harness) == [("n0", 0, "FREE"), ("n1", 0, "ERROR")]
        assert harness.orders() == []

    run_scenario(scenario)


def test_an_executor_that_is_lost_with_its_keeper_fails_the_run_too() -> None:
    async def scenario(harness: Harness) -> None:
        orders = await run_pair(harness)
        await harness.report_lost(*orders[1])
        assert job(harness).status.problems == ["executor 1 on node n1 was lost: the keeper died"]
        assert harness.orders() == []

    run_scenario(scenario)


def test_a_run_that_is_to_restart_starts_again_as_a_whole_in_free_slots() -> None:
    """S1-17: when its last process is gone."""

    async def scenario(harness: Harness) -> None:
        (kept, kept_order), (lost, _) = await run_pair(harness, RESTART, nodes=3)
        first = job(harness).status.application
        await harness.settle(30)
        await lose(harness, lost)
        assert state_of(harness, "a") is BatchJobState.PENDING_DELETION
        assert job(harness).status.problems == [f"executor 1 was lost: node n1 is down: {SILENT}"]
        assert decision(harness).status.state is SchedulingState.ACQUIRE
        assert SILENT in decision(harness).status.problems[0]
        assert harness.orders() == []
        await stop(harness, kept, kept_order)
        orders = harness.orders()
        assert [node for node, _ in orders] == [1, 3], "the slots of the nodes that are left"
        assert {order.attempt for _, order in orders} == {1}
        await start(harness, orders)
        assert state_of(harness, "a") is BatchJobState.RUNNING
        assert job(harness).status.application != first
        await harness.settle(10)
        for node, order in orders:
            await harness.end(node, order)
        assert decision(harness).status.state is SchedulingState.COMPLETED
        assert [event.successful for event in job(harness).status.events] == [False, True]
        assert 30_000 <= job(harness).status.events[0].stop_ms - job(harness).status.events[0].start_ms < 31_000

    run_scenario(scenario)


def test_a_run_that_is_to_restart_waits_for_its_node() -> None:
    async def scenario(harness: Harness) -> None:
        (kept, kept_order), (lost, _) = await run_pair(harness, RESTART)
        await lose(harness, lost)
        await stop(harness, kept, kept_order)
        assert (state_of(harness, "a"), harness.orders()) == (BatchJobState.IN_QUEUE, [])
        assert decision(harness).status.state is SchedulingState.SUBMISSION
        await harness.restart_manager()
        await harness.settle()
        orders = harness.orders()
        assert [(node, order.attempt) for node, order in orders] == [(1, 1), (2, 1)]

    run_scenario(scenario)


def test_a_run_that_cannot_restart_because_its_testbed_was_deleted_fails() -> None:
    async def scenario(harness: Harness) -> None:
        (kept, kept_order), (lost, _) = await run_pair(harness, RESTART)
        await harness.engine.delete_object(TESTBED, TESTBED_NAME)
        await lose(harness, lost)
        await stop(harness, kept, kept_order)
        assert harness.engine.state.objects.testbeds == {}
        assert decision(harness).status.state is SchedulingState.FAILED
        assert decision(harness).status.problems == [
            f"Testbed {TESTBED_NAME} was deleted, but batch job default/a must run again: "
            f"executor 1 was lost: node n1 is down: {SILENT}"
        ]
        await harness.engine.delete_object(SCHEDULING, Q)
        await harness.settle()
        assert state_of(harness, "a") is BatchJobState.READY

    run_scenario(scenario)


def test_a_run_that_lost_its_nodes_too_often_fails() -> None:
    async def scenario(harness: Harness) -> None:
        orders = await run_pair(harness, RESTART)
        for number in range(NODE_LOSS_RESTARTS_MAX):
            await harness.report_lost(*orders[1])
            assert state_of(harness, "a") is BatchJobState.PENDING_DELETION, number
            await stop(harness, *orders[0])
            orders = harness.orders()
            await start(harness, orders)
        assert job(harness).status.restarts == NODE_LOSS_RESTARTS_MAX
        await harness.report_lost(*orders[1])
        assert state_of(harness, "a") is BatchJobState.FAILED_SUBMISSION
        await stop(harness, *orders[0])
        await harness.engine.delete_object(SCHEDULING, Q)
        await harness.settle()
        assert (state_of(harness, "a"), job(harness).status.restarts) == (BatchJobState.READY, 0)

    run_scenario(scenario)


@pytest.mark.parametrize("on_node_loss", [FAIL, RESTART])
def test_a_deleted_scheduling_leaves_nothing_of_a_lost_run(on_node_loss: str) -> None:
    async def scenario(harness: Harness) -> None:
        (kept, kept_order), (lost, _) = await run_pair(harness, on_node_loss)
        await lose(harness, lost)
        await harness.engine.delete_object(SCHEDULING, Q)
        await harness.settle()
        await stop(harness, kept, kept_order)
        await come_back(harness, lost)
        assert state_of(harness, "a") is BatchJobState.READY
        assert [word for *_, word in slots(harness)] == ["FREE", "FREE"]
        assert (harness.orders(), harness.engine.state.objects.schedulings) == ([], {})

    run_scenario(scenario)


def test_a_driver_that_has_no_executors_yet_may_start_on_another_node() -> None:
    async def scenario(harness: Harness) -> None:
        nodes = [await harness.join(f"n{number}", cpu=4, memory=2**33) for number in range(2)]
        await label(harness, "n0", "n1")
        for name in ("n0", "n1"):
            await harness.engine.attribute_node(name, {"runtime.spark": "true"})
        testbed = Draft(TESTBED, TESTBED_NAME, TestbedSpec(1, LABEL, {"cpu": 1000, "memory": 2**31}))
        spark = BatchJobSpec(spark={"type": "Python", "mainApplicationFile": "local:///a.py"})
        await apply_drafts(harness, testbed, Draft(BATCH_JOB, A, spark), queue("q", "a"))
        [(node, driver)] = harness.orders()
        await lose(harness, node)
        [(other, again)] = harness.orders()
        assert ({node, other}, again.job, again.attempt) == (set(nodes), driver.job, 2)
        await come_back(harness, node)
        await harness.started(other, again)
        [(at, executor)] = harness.orders()
        await harness.started(at, executor)
        assert state_of(harness, "a") is BatchJobState.RUNNING
        await harness.report_lost(other, again)
        assert job(harness).status.problems == [f"driver on node n{other - 1} was lost: the keeper died"]

    run_scenario(scenario)
