"""What a BatchJob remembers of its runs: one entry for each, in order, with the times that the workers told."""

from __future__ import annotations

from random import Random

from shunter.model.batch_jobs import BatchJob, ScheduledEvent
from shunter.model.messages import Order
from shunter.model.object_meta import ObjectName
from shunter.model.objects import SCHEDULING

from .stage import Stage, play
from .test_testbeds import command, make, queue, ready

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
