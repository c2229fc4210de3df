"""The run history of a BatchJob: one entry per run, in order, with the times that the workers reported."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from shunter.model.objects.batch_jobs import BatchJob, ScheduledEvent
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import SCHEDULING
from shunter.model.objects.past_schedulings import PastScheduling
from shunter.model.protocol.worker_messages import Ended, Lost, Order, Started
from shunter.ports.store import PastQuery
from shunter.simulation.runtime.loop import VirtualClock
from tests.unit.engine.harness import Harness, run_scenario
from tests.unit.engine.object_harness import apply_drafts, command, queue, setup_testbed

A = ObjectName("default", "a")


def job(harness: Harness, name: ObjectName = A) -> BatchJob:
    return harness.engine.state.objects.batch_jobs[name]


def in_order(events: tuple[ScheduledEvent, ...]) -> bool:
    times = [each for event in events for each in (event.start_ms, event.stop_ms)]
    return times == sorted(times)


async def end_all(harness: Harness, orders: list[tuple[int, Order]], succeeds: bool) -> None:
    """Every executor ends well; or the first fails, and the others are stopped."""
    (node, first), *others = orders
    await harness.end(node, first, exit_code=0 if succeeds else 3)
    for node, order in others:
        await (harness.end(node, order) if succeeds else harness.end(node, order, exit_code=143, how="stopped"))


def test_after_n_runs_there_are_n_entries_in_order_also_over_killed_managers() -> None:
    """S0-20: successes and failures, runs whose start was never told, and another manager in their midst."""

    async def scenario(harness: Harness) -> None:
        random, expected = Random(7), []
        await setup_testbed(harness, nodes=2)
        await apply_drafts(harness, command("a"))
        for number in range(30):
            name, succeeds = f"q{number}", random.random() < 0.6
            await apply_drafts(harness, queue(name, "a", "a"))
            orders = harness.orders()
            await harness.settle(random.random())
            has_started = random.random() < 0.5
            if has_started:
                for node, order in orders:
                    await harness.started(node, order)
            if random.random() < 0.3:
                await harness.restart_manager()
                orders = harness.orders()  # the workers have nothing in hand: what ran is lost, and so is the run
                succeeds = succeeds and not has_started
            await harness.settle(random.random())
            if orders:
                await end_all(harness, orders, succeeds)
            expected.append((name, succeeds, (0, 1)))
            await harness.engine.delete_object(SCHEDULING, ObjectName("default", name))
            await harness.settle()
        events = job(harness).status.events
        assert [(each.scheduling.name, each.successful, each.slot_ids) for each in events] == expected
        assert {each.successful for each in events} == {True, False}
        assert in_order(events) and job(harness).status.runs == 30

    run_scenario(scenario)


def now_ms() -> int:
    return int(VirtualClock().now() * 1000)


async def report_ended(
    harness: Harness, node: int, order: Order, started_ms: int, ended_ms: int, exit_code: int = 0
) -> None:
    exits = [exit_code] if exit_code else []
    ended = Ended(order.job, order.group, order.attempt, order.first, exits, [started_ms], [ended_ms], 1, 0)
    await harness.report(node, ended=[ended])


@pytest.mark.parametrize("exit_code", [0, 3])
def test_a_run_that_ended_before_its_start_was_seen_has_the_times_that_the_workers_told(exit_code: int) -> None:
    """The manager was away, or the run was short: how long it took is told right all the same."""

    async def scenario(harness: Harness) -> None:
        await setup_testbed(harness, nodes=2)
        await apply_drafts(harness, command("a"), queue("q", "a", "a"))
        orders, began_ms = harness.orders(), now_ms()
        await harness.settle(60)
        for (node, order), started in zip(orders, (1_000, 2_000), strict=True):
            await report_ended(harness, node, order, began_ms + started, began_ms + 30_000 + started, exit_code)
        [event] = job(harness).status.events
        assert event.successful is (exit_code == 0)
        assert (event.start_ms, event.stop_ms) == (began_ms + 2_000, began_ms + 32_000), "when all of them ran"

    run_scenario(scenario)


def test_a_start_that_is_told_late_is_when_it_was() -> None:
    async def scenario(harness: Harness) -> None:
        await setup_testbed(harness, nodes=1)
        await apply_drafts(harness, command("a"), queue("q", "a"))
        [(node, order)], began_ms = harness.orders(), now_ms()
        await harness.settle(20)
        started = Started(order.job, order.group, order.attempt, order.first, began_ms + 500, 1, 0)
        await harness.report(node, started=[started])
        assert [(event.start_ms, event.stop_ms) for event in job(harness).status.events] == [(began_ms + 500, 0)]

    run_scenario(scenario)


@pytest.mark.parametrize("ahead_s", [3600, -3600])
def test_a_clock_that_is_wrong_puts_no_run_before_its_submit_or_into_the_future(ahead_s: int) -> None:
    """The watcher converts times, but nobody knows what a worker has sent."""

    async def scenario(harness: Harness) -> None:
        await setup_testbed(harness, nodes=1)
        ahead_ms = ahead_s * 1000
        await apply_drafts(harness, command("a"), queue("q", "a"))
        [(node, order)], began_ms = harness.orders(), now_ms()
        await harness.settle(30)
        await report_ended(harness, node, order, began_ms + 10_000 + ahead_ms, began_ms + 20_000 + ahead_ms)
        [event] = job(harness).status.events
        assert began_ms <= event.start_ms <= event.stop_ms <= now_ms()

    run_scenario(scenario)


def test_a_run_of_which_nothing_ever_started_has_an_entry_too() -> None:
    async def scenario(harness: Harness) -> None:
        await setup_testbed(harness, nodes=1)
        await apply_drafts(harness, command("a"), queue("q", "a"))
        [(_, order)] = harness.orders()
        await harness.settle(5)
        await harness.engine.stop_tasks(order.job, None, now=True)
        await harness.settle()
        await harness.report(1, lost=[Lost(order.job, order.group, order.attempt, 0, 0, "never started")])
        [event] = job(harness).status.events
        assert (event.start_ms, event.stop_ms, event.successful) == (now_ms(), now_ms(), False)

    run_scenario(scenario)


def test_history_has_all_runs_of_a_deleted_scheduling_also_of_jobs_that_were_taken_out_of_it() -> None:
    """S0-25: and none of an earlier Scheduling that had its name."""

    async def scenario(harness: Harness) -> None:
        await setup_testbed(harness, nodes=2)
        await apply_drafts(harness, command("a"), command("b"), command("c"))
        for jobs in (("c", "b"), ("a", "b")):
            await apply_drafts(harness, queue("q", *jobs))
            orders = harness.orders()
            await harness.settle(5)
            await apply_drafts(harness, queue("q", "b"))
            for node, order in orders:
                await harness.end(node, order)
            await harness.engine.delete_object(SCHEDULING, ObjectName("default", "q"))
            await harness.settle(5)
        records = await harness.store.past_schedulings(PastQuery())
        past = [msgspec.msgpack.decode(record.body, type=PastScheduling) for record in records]
        ran = [[(run.job.name, run.slot_ids, run.successful) for run in each.runs] for each in past]
        assert ran == [[("a", (0,), True), ("b", (1,), True)], [("c", (0,), True), ("b", (1,), True)]]

    run_scenario(scenario)
