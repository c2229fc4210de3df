"""What a BatchJob remembers of its runs: one entry for each, in order, with the times that the workers told."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from shunter.model.objects.batch_jobs import BatchJob, ScheduledEvent
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import SCHEDULING
from shunter.model.objects.past_schedulings import PastScheduling
from shunter.model.protocol.worker_messages import Ended, Lost, MachineStats, Order, Started
from shunter.ports.store import PastQuery
from shunter.simulation.runtime.loop import VirtualClock
from tests.unit.engine.harness import Stage, play
from tests.unit.engine.object_harness import command, make, queue, ready

A = ObjectName("default", "a")


def job(stage: Stage, name: ObjectName = A) -> BatchJob:
    return stage.engine.state.objects.batch_jobs[name]


def in_order(events: tuple[ScheduledEvent, ...]) -> bool:
    times = [each for event in events for each in (event.start_ms, event.stop_ms)]
    return times == sorted(times)


async def end_all(stage: Stage, orders: list[tuple[int, Order]], succeeds: bool) -> None:
    """Every executor ends well; or the first fails, and the others are stopped."""
    (node, first), *others = orders
    await stage.end(node, first, exit_code=0 if succeeds else 3)
    for node, order in others:
        await (stage.end(node, order) if succeeds else stage.end(node, order, exit_code=143, how="stopped"))


def test_after_n_runs_there_are_n_entries_in_order_also_over_killed_managers() -> None:
    """S0-20: successes and failures, runs whose start was never told, and another manager in their midst."""

    async def scene(stage: Stage) -> None:
        random, expected = Random(7), []
        await ready(stage, nodes=2)
        await make(stage, command("a"))
        for number in range(30):
            name, succeeds = f"q{number}", random.random() < 0.6
            await make(stage, queue(name, "a", "a"))
            orders = stage.orders()
            await stage.settle(random.random())
            if random.random() < 0.5:
                for node, order in orders:
                    await stage.started(node, order)
            if random.random() < 0.3:
                await stage.revive()
                orders = stage.orders()  # the workers have nothing in hand
            await stage.settle(random.random())
            await end_all(stage, orders, succeeds)
            expected.append((name, succeeds, (0, 1)))
            await stage.engine.delete_object(SCHEDULING, ObjectName("default", name))
            await stage.settle()
        events = job(stage).status.events
        assert [(each.scheduling.name, each.successful, each.slot_ids) for each in events] == expected
        assert {each.successful for each in events} == {True, False}
        assert in_order(events) and job(stage).status.runs == 30

    play(scene)


def now_ms() -> int:
    return int(VirtualClock().now() * 1000)


async def report_ended(
    stage: Stage, node: int, order: Order, started_ms: int, ended_ms: int, exit_code: int = 0
) -> None:
    exits = [exit_code] if exit_code else []
    ended = Ended(order.job, order.group, order.attempt, order.first, exits, [started_ms], [ended_ms], 1, 0)
    await stage.report(node, ended=[ended])


@pytest.mark.parametrize("exit_code", [0, 3])
def test_a_run_that_ended_before_its_start_was_seen_has_the_times_that_the_workers_told(exit_code: int) -> None:
    """The manager was away, or the run was short: how long it took is told right all the same."""

    async def scene(stage: Stage) -> None:
        await ready(stage, nodes=2)
        await make(stage, command("a"), queue("q", "a", "a"))
        orders, began_ms = stage.orders(), now_ms()
        await stage.settle(60)
        for (node, order), started in zip(orders, (1_000, 2_000), strict=True):
            await report_ended(stage, node, order, began_ms + started, began_ms + 30_000 + started, exit_code)
        [event] = job(stage).status.events
        assert event.successful is (exit_code == 0)
        assert (event.start_ms, event.stop_ms) == (began_ms + 2_000, began_ms + 32_000), "when all of them ran"

    play(scene)


def test_a_start_that_is_told_late_is_when_it_was() -> None:
    async def scene(stage: Stage) -> None:
        await ready(stage, nodes=1)
        await make(stage, command("a"), queue("q", "a"))
        [(node, order)], began_ms = stage.orders(), now_ms()
        await stage.settle(20)
        started = Started(order.job, order.group, order.attempt, order.first, began_ms + 500, 1, 0)
        await stage.report(node, started=[started])
        assert [(event.start_ms, event.stop_ms) for event in job(stage).status.events] == [(began_ms + 500, 0)]

    play(scene)


@pytest.mark.parametrize("is_heard", [True, False])
@pytest.mark.parametrize("ahead_s", [3600, -3600])
def test_a_clock_that_is_wrong_puts_no_run_before_its_submit_or_into_the_future(ahead_s: int, is_heard: bool) -> None:
    """Where the worker's heartbeats tell by how much it is wrong, the times are right."""

    async def scene(stage: Stage) -> None:
        [node_id] = await ready(stage, nodes=1)
        ahead_ms = ahead_s * 1000
        if is_heard:
            stage.engine.heartbeat(node_id, MachineStats(now_ms() + ahead_ms))
        await make(stage, command("a"), queue("q", "a"))
        [(node, order)], began_ms = stage.orders(), now_ms()
        await stage.settle(30)
        await report_ended(stage, node, order, began_ms + 10_000 + ahead_ms, began_ms + 20_000 + ahead_ms)
        [event] = job(stage).status.events
        assert began_ms <= event.start_ms <= event.stop_ms <= now_ms()
        if is_heard:
            assert (event.start_ms, event.stop_ms) == (began_ms + 10_000, began_ms + 20_000)

    play(scene)


def test_a_run_of_which_nothing_ever_started_has_an_entry_too() -> None:
    async def scene(stage: Stage) -> None:
        await ready(stage, nodes=1)
        await make(stage, command("a"), queue("q", "a"))
        [(_, order)] = stage.orders()
        await stage.settle(5)
        await stage.engine.stop_tasks(order.job, None, now=True)
        await stage.settle()
        await stage.report(1, lost=[Lost(order.job, order.group, order.attempt, 0, 0, "never started")])
        [event] = job(stage).status.events
        assert (event.start_ms, event.stop_ms, event.successful) == (now_ms(), now_ms(), False)

    play(scene)


def test_history_has_all_runs_of_a_deleted_scheduling_also_of_jobs_that_were_taken_out_of_it() -> None:
    """S0-25: and none of an earlier Scheduling that had its name."""

    async def scene(stage: Stage) -> None:
        await ready(stage, nodes=2)
        await make(stage, command("a"), command("b"), command("c"))
        for jobs in (("c", "b"), ("a", "b")):
            await make(stage, queue("q", *jobs))
            orders = stage.orders()
            await stage.settle(5)
            await make(stage, queue("q", "b"))
            for node, order in orders:
                await stage.end(node, order)
            await stage.engine.delete_object(SCHEDULING, ObjectName("default", "q"))
            await stage.settle(5)
        records = await stage.store.past_schedulings(PastQuery())
        past = [msgspec.msgpack.decode(record.body, type=PastScheduling) for record in records]
        ran = [[(run.job.name, run.slot_ids, run.successful) for run in each.runs] for each in past]
        assert ran == [[("a", (0,), True), ("b", (1,), True)], [("c", (0,), True), ("b", (1,), True)]]

    play(scene)
