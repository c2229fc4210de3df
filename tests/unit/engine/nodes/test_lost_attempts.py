"""Attempts lost with a node, a worker or the manager, and how the engine treats attempts that return."""

from __future__ import annotations

import asyncio

import pytest

from shunter.model.errors import Unavailable
from shunter.model.job.spec import Restart
from shunter.model.lifecycles import NodeEvent
from shunter.model.protocol.worker_messages import (
    LOST_RUNNING,
    LOST_WAITING,
    Ended,
    Held,
    Inventory,
    Lost,
    Order,
    Report,
    Started,
)
from tests.unit.engine.harness import Harness, run_scenario, spec


def test_a_lost_attempt_is_queued_again_whatever_the_restart_policy() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        await harness.submit(spec())
        [(_, order)] = harness.orders()
        await harness.report_lost(node, order)
        [(_, again)] = harness.orders()
        assert again.attempt == order.attempt + 1

    run_scenario(scenario)


def test_a_task_that_is_lost_too_often_fails_with_that_reason() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        await harness.submit(spec())
        for _ in range(4):
            [(_, order)] = harness.orders()
            await harness.report_lost(node, order, "the machine burns")
        finished = await harness.store.finished_run("default", "job", None)
        assert finished is not None
        assert finished.state == "failed"
        assert b"lost 4 times; last reason: the machine burns" in finished.summary

    run_scenario(scenario, lost_max=4)


def test_reports_of_old_attempts_other_nodes_and_unknown_jobs_are_dropped() -> None:
    async def scenario(harness: Harness) -> None:
        one = await harness.join("n1", cpu=1)
        two = await harness.join("n2", cpu=1)
        [job] = await harness.submit(spec())
        [(node, order)] = harness.orders()
        other = two if node == one else one
        await harness.end(other, order)
        assert harness.counts(job.job_id) == {"assigned": 1}
        await harness.report_lost(node, order)
        [(node, newer)] = harness.orders()
        await harness.end(node, order)  # the first attempt, late
        assert harness.counts(job.job_id) == {"assigned": 1}
        await harness.report(
            node, ended=[Ended(999, 0, 1, 0, [], [1], [1], 1, 0), Ended(order.job, 0, 2, 5, [], [1], [1], 1, 0)]
        )
        assert harness.counts(job.job_id) == {"assigned": 1}
        await harness.end(node, newer)
        assert not harness.engine.state.jobs

    run_scenario(scenario)


def test_the_tasks_of_a_lost_node_run_on_another_node() -> None:
    async def scenario(harness: Harness) -> None:
        first = await harness.join("n1", cpu=2)
        [job] = await harness.submit(spec(count=2))
        assert {node for node, _ in harness.orders()} == {first}
        second = await harness.join("n2", cpu=2)
        await harness.engine.node_event(first, NodeEvent.TIMED_OUT, "no heartbeat for 3 s")
        await harness.settle()
        assert {node for node, _ in harness.orders()} == {second}
        assert harness.counts(job.job_id) == {"assigned": 2}
        assert harness.reserved_cpu(first) == 0

    run_scenario(scenario)


def test_a_returning_nodes_stale_attempts_are_stopped() -> None:
    async def scenario(harness: Harness) -> None:
        first = await harness.join("n1", cpu=1)
        await harness.submit(spec())
        [(_, order)] = harness.orders()
        await harness.join("n2", cpu=1)
        await harness.engine.node_event(first, NodeEvent.TIMED_OUT, "silent")
        await harness.settle()
        held = Held(order.job, 0, order.attempt, 0, 0, True, 1, 1, 0)
        await harness.engine.inventory(first, Inventory(1, [held], []))
        await harness.settle()
        [stop] = harness.stops()
        assert (stop.job, stop.first, stop.last) == (order.job, 0, 0)

    run_scenario(scenario)


def test_an_inventory_makes_the_engine_send_again_what_the_worker_lacks() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=3)
        [job] = await harness.submit(spec(count=3))
        [(_, order)] = harness.orders()
        assert (order.first, order.last) == (0, 2)
        now_ms = 1_700_000_000_000
        held = Held(order.job, 0, 1, 1, 1, True, now_ms, 1, 7)
        ended = Ended(order.job, 0, 1, 2, [], [now_ms], [now_ms], 1, 8)
        await harness.engine.inventory(node, Inventory(2, [held], [ended]))
        await harness.settle()
        [(_, again)] = harness.orders()
        assert (again.first, again.last, again.attempt) == (0, 0, 1)
        assert harness.counts(job.job_id) == {"assigned": 1, "running": 1, "succeeded": 1}

    run_scenario(scenario)


def test_what_ends_behind_an_inventory_that_lacks_it_is_not_sent_again() -> None:
    """The order was on its way when the worker wrote the inventory; one round hears of both."""

    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=4)
        [job] = await harness.submit(spec(count=4))
        [(_, order)] = harness.orders()
        now_ms = 1_700_000_000_000
        ended = Ended(order.job, 0, 1, 1, [], [now_ms], [now_ms], 1, 8)
        lost = Lost(order.job, 0, 1, 3, 3, "the keeper died")
        await harness.engine.inventory(node, Inventory(1, [], []))
        await harness.engine.report(node, Report(2, ended=[ended], lost=[lost]))
        await harness.settle()
        again = {(index, each.attempt) for _, each in harness.orders() for index in range(each.first, each.last + 1)}
        assert again == {(0, 1), (2, 1), (3, 2)}
        assert harness.counts(job.job_id) == {"assigned": 3, "succeeded": 1}

    run_scenario(scenario)


def test_a_running_task_that_a_worker_does_not_know_any_more_is_lost() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=1)
        await harness.submit(spec())
        [(_, order)] = harness.orders()
        await harness.report(node, started=[Started(order.job, 0, 1, 0, 5, 1, 0)])
        await harness.engine.inventory(node, Inventory(1, [], []))
        await harness.settle()
        [(_, again)] = harness.orders()
        assert again.attempt == 2

    run_scenario(scenario)


def test_a_crashed_manager_finds_everything_again() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=2)
        [job] = await harness.submit(spec(count=5, restart=Restart("on-failure", delay_s=30.0)))
        orders = harness.orders()
        await harness.end(node, orders[0][1], exit_code=1)
        before = await harness.recovered_fingerprint()
        harness.crash()
        second = await Harness(harness.store, harness.engine.settings).open()
        assert await second.recovered_fingerprint() == before
        assert second.engine.epoch == harness.engine.epoch + 1
        assert not second.engine.state.nodes.view.eligible.any()
        assert second.counts(job.job_id) == harness.counts(job.job_id)
        second.crash()
        await asyncio.sleep(0)
        harness.engine = second.engine

    run_scenario(scenario)


def test_a_manager_that_stops_decides_nothing_more_and_leaves_a_snapshot() -> None:
    async def scenario(harness: Harness) -> None:
        [job] = await harness.submit(spec(count=3))
        stopping = asyncio.ensure_future(harness.engine.stop())
        with pytest.raises(Unavailable, match="stopping"):
            await harness.engine.submit([spec("late")], "tester")
        await stopping
        snapshot = await harness.store.snapshot()
        assert snapshot is not None
        assert snapshot.version == await harness.store.last_version()
        assert harness.counts(job.job_id) == {"queued": 3}

    run_scenario(scenario)


def test_an_order_is_sent_again_to_a_worker_that_comes_back_with_an_older_attempt() -> None:
    """The order may have been lost with the connection over which it was sent."""

    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=1)
        [job] = await harness.submit(spec())
        [(_, first)] = harness.orders()
        await harness.engine.node_event(node, NodeEvent.TIMED_OUT, "silent")
        held = Held(first.job, 0, first.attempt, 0, 0, True, 1, 1, 0)
        await harness.engine.inventory(node, Inventory(1, [held], []))
        await harness.settle()
        [(_, second)] = harness.orders()
        assert second.attempt == 2
        await harness.engine.inventory(node, Inventory(1, [held], []))
        await harness.settle()
        assert {order.attempt for _, order in harness.orders()} == {2}
        assert harness.stops()[-1].attempt == 1
        assert harness.counts(job.job_id) == {"assigned": 1}

    run_scenario(scenario)


def test_orders_that_a_restarted_worker_lacks_get_the_next_attempt_number() -> None:
    """Nobody knows whether they have run. It counts as no loss."""

    async def scenario(harness: Harness) -> None:
        node = await harness.join(boot="b1")
        [job] = await harness.submit(spec(count=2))
        [(_, order)] = harness.orders()
        assert (order.attempt, order.first, order.last) == (1, 0, 1)
        assert await harness.join(boot="b2") == node
        assert [(each.attempt, each.first, each.last) for _, each in harness.orders()] == [(2, 0, 1)]
        assert harness.counts(job.job_id) == {"assigned": 2}
        assert not harness.engine.state.table.lost[:2].any()

    run_scenario(scenario)


def test_orders_that_the_same_worker_has_not_received_are_sent_again() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join(boot="b1")
        await harness.submit(spec(count=2))
        [(_, order)] = harness.orders()
        await harness.join(boot="b1")
        assert [each for _, each in harness.orders()] == [order]

    run_scenario(scenario)


def _lost_with_keeper(order: Order, with_keeper: str, first: int | None = None, last: int | None = None) -> Lost:
    first, last = order.first if first is None else first, order.last if last is None else last
    return Lost(order.job, order.group, order.attempt, first, last, "its keeper (process 7) died", with_keeper)


def test_an_attempt_that_is_lost_with_its_keeper_backs_off() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        await harness.submit(spec())
        [(_, order)] = harness.orders()
        await harness.report(node, lost=[_lost_with_keeper(order, LOST_RUNNING)])
        assert harness.orders() == []
        await harness.settle(0.9)
        assert harness.orders() == []
        await harness.settle(0.2)
        [(_, again)] = harness.orders()
        assert again.attempt == order.attempt + 1

    run_scenario(scenario)


def test_a_task_that_takes_its_keeper_down_twice_fails_with_that_reason() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        await harness.submit(spec())
        for _ in range(2):
            [(_, order)] = harness.orders()
            await harness.report(node, lost=[_lost_with_keeper(order, LOST_RUNNING)])
            await harness.settle(2.0)
        assert harness.orders() == []
        finished = await harness.store.finished_run("default", "job", None)
        assert finished is not None
        assert finished.state == "failed"
        assert b"its keeper died twice while it ran" in finished.summary

    run_scenario(scenario)


def test_a_restart_of_the_manager_keeps_the_back_off_and_the_count() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        await harness.submit(spec())
        [(_, order)] = harness.orders()
        await harness.report(node, lost=[_lost_with_keeper(order, LOST_RUNNING)])
        await harness.restart_manager()
        assert harness.orders() == []
        await harness.settle(2.0)
        [(_, order)] = harness.orders()
        await harness.report(node, lost=[_lost_with_keeper(order, LOST_RUNNING)])
        assert not harness.engine.state.jobs

    run_scenario(scenario)


def test_a_task_that_ran_long_before_its_keeper_died_gets_another_attempt() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        [job] = await harness.submit(spec())
        for _ in range(3):
            [(_, order)] = harness.orders()
            await harness.started(node, order)
            await harness.settle(601.0)
            await harness.report(node, lost=[_lost_with_keeper(order, LOST_RUNNING)])
            await harness.settle(2.0)
        assert harness.counts(job.job_id) == {"assigned": 1}

    run_scenario(scenario)


def test_tasks_behind_the_one_that_ran_in_a_dead_keeper_are_queued_again_at_once() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join(cpu=4)
        [job] = await harness.submit(spec(count=3))
        orders = harness.orders()
        await harness.report(node, lost=[_lost_with_keeper(order, LOST_WAITING) for _, order in orders])
        assert {order.attempt for _, order in harness.orders()} == {2}
        table = harness.engine.state.table
        assert table.lost[: table.used].max() == 0
        assert harness.counts(job.job_id) == {"assigned": 3}

    run_scenario(scenario)


def test_a_task_that_was_told_to_stop_has_stopped_with_its_keeper() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join()
        [job] = await harness.submit(spec())
        [(_, order)] = harness.orders()
        await harness.started(node, order)
        await harness.engine.stop_tasks(job.job_id, None, now=False)
        await harness.report(node, lost=[_lost_with_keeper(order, LOST_RUNNING)])
        assert not harness.engine.state.jobs

    run_scenario(scenario)
