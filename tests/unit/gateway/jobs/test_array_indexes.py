"""An index has one meaning: the value of SHUNTER_TASK_INDEX, in names, references, errors, events and dead letters."""

from __future__ import annotations

import pytest

from shunter.model.errors import NotFound
from shunter.model.protocol.worker_messages import Ended, TaskStats
from shunter.model.rest.job_views import FollowLine
from shunter.ports.jobs import LogQuery, TaskQuery
from shunter.ports.principals import TaskReference
from shunter.simulation.runtime.loop import VirtualClock
from tests.unit.gateway.harness import GatewayHarness, read_all, reference, run_scenario

ODD = "1-9:2"


async def names(harness: GatewayHarness, job: str) -> list[tuple[str, int, int | None]]:
    page = await harness.gateway.tasks.page(reference(job), TaskQuery())
    return [(task.name, task.index, task.array_index) for task in page.items]


async def fail_some(harness: GatewayHarness, node: int, failing: set[int]) -> None:
    """End all tasks that were ordered; those at these positions fail."""
    while orders := harness.orders():
        for _, order in orders:
            now_ms, indexes = int(VirtualClock().now() * 1000), range(order.first, order.last + 1)
            exits, times = [3 if index in failing else 0 for index in indexes], [now_ms] * len(indexes)
            ended = Ended(order.job, order.group, order.attempt, order.first, exits, times, times, 1, 0)
            await harness.report(node, ended=[ended])


def test_tasks_are_named_by_their_index_while_they_run_and_afterwards() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=8)
        await harness.run("odd", array=ODD, count=5)
        expected = [(f"odd/{index}", index, index) for index in (1, 3, 5, 7, 9)]
        assert await names(harness, "odd") == expected
        assert (await harness.gateway.tasks.get(reference("odd"), TaskReference(3))).name == "odd/3"
        await fail_some(harness, node, set())
        assert await names(harness, "odd") == expected
        assert (await harness.gateway.tasks.get(reference("odd"), TaskReference(9))).name == "odd/9"

    run_scenario(scenario)


@pytest.mark.parametrize("ended", [False, True])
def test_an_error_lists_the_indexes_that_there_are(ended: bool) -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=8)
        await harness.run("odd", array="1-9:4,20", count=4)
        if ended:
            await fail_some(harness, node, set())
        for index in (0, 2, 10, 21):
            with pytest.raises(NotFound, match=rf"job 'odd' has no task {index}: its tasks are 1-9:4,20"):
                await harness.gateway.tasks.get(reference("odd"), TaskReference(index))
            if not ended:
                with pytest.raises(NotFound, match=rf"job 'odd' has no task {index}: its tasks are 1-9:4,20"):
                    await harness.gateway.services.move(reference("odd"), TaskReference(index), "n1")

    run_scenario(scenario)


def test_stopping_a_task_by_its_index_stops_that_one() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.run("odd", array=ODD, count=5)
        await harness.gateway.jobs.stop(reference("odd"), TaskReference(3), False)
        page = await harness.gateway.tasks.page(reference("odd"), TaskQuery(states=("cancelled",)))
        assert [task.name for task in page.items] == ["odd/3"]

    run_scenario(scenario)


def test_a_retry_of_failed_tasks_has_their_indexes() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=8)
        await harness.run("odd", array=ODD, count=5, restart={"policy": "never"})
        await fail_some(harness, node, {1, 4})
        failed = await harness.gateway.tasks.page(reference("odd"), TaskQuery(states=("failed",)))
        assert [task.index for task in failed.items] == [3, 9]
        job = await harness.gateway.jobs.get(reference("odd"))
        assert job.reason == "2 of 5 tasks failed; first failure: task 3: exit code 3"
        await harness.gateway.jobs.retry(reference("odd"), True, None)
        assert await names(harness, "odd") == [("odd/3", 3, 3), ("odd/9", 9, 9)]
        await fail_some(harness, node, {1})
        await harness.gateway.jobs.retry(reference("odd"), True, None)
        assert await names(harness, "odd") == [("odd/9", 9, 9)]

    run_scenario(scenario)


def test_the_output_of_the_only_task_is_followed_whatever_its_index_is() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        await harness.run("one", array="7", count=1)
        [(_, order)] = harness.orders()
        await harness.start_task(node, order, 1)
        harness.log_workers.write(1, b"hello\n")
        await harness.end_task(node, order, 1)
        lines: list[FollowLine] = []
        await read_all(await harness.gateway.streams.follow_job(reference("one"), "logs"), lines)
        assert [line.log.data for line in lines if line.log] == [b"hello\n"]
        chunk = await harness.gateway.streams.read_log(reference("one"), TaskReference(7), LogQuery())
        assert chunk.data == b"hello\n"

    run_scenario(scenario)


def test_a_dead_letter_and_statistics_name_the_index() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=8)
        restart = {"policy": "on-failure", "max": 0}
        submitted = await harness.run("odd", array=ODD, count=5, restart=restart)
        harness.log_workers.running = [TaskStats(submitted.id, 0, 2, 1, 0.5, 4096, 1)]
        stats = await harness.gateway.nodes.stats("n1")
        assert [(task.name, task.index) for task in stats.tasks] == [("odd/5", 5)]
        await fail_some(harness, node, {1})
        page = await harness.gateway.dead_letters.page(None, None, 10, None)
        assert [(letter.name, letter.index) for letter in page.items] == [("odd@1/3", 3)]

    run_scenario(scenario)


def test_events_name_the_indexes() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=8)
        await harness.run("odd", array="1-9:4,20", count=4)
        await harness.run("next", array="5-7", count=3)
        await fail_some(harness, node, {1})
        events = [event for event in await harness.events() if event.tasks]
        placed = {event.job: event.tasks for event in events if event.type == "tasks.placed"}
        assert placed == {"odd": "1-9:4,20", "next": "5-7"}
        failed = [event for event in events if event.type == "tasks.failed"]
        assert {(event.name, event.tasks) for event in failed} == {("odd/5", "5"), ("next/6", "6")}

    run_scenario(scenario)
