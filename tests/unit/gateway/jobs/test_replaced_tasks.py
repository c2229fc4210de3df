"""Replaced tasks of a service are listed with their end and reason, and their logs can be read."""

from __future__ import annotations

import pytest

from shunter.model.errors import NotFound
from shunter.ports.jobs import LogQuery, TaskQuery
from shunter.ports.principals import TaskReference
from tests.unit.engine.fake_workers import FakeWorkers
from tests.unit.engine.service_specs import service
from tests.unit.gateway.harness import GatewayHarness, reference, run_scenario

ALL = TaskQuery(all=True)
WEB = reference("web")


async def updated(harness: GatewayHarness) -> FakeWorkers:
    """A service of two, of which both have been replaced by version 2."""
    await harness.join("n1", cpu=16)
    fake_workers = FakeWorkers(harness)
    await harness.submit(service(2))
    await fake_workers.advance(5)
    await harness.submit(service(2, "v2"))
    await fake_workers.advance(15)
    return fake_workers


def test_replaced_tasks_are_listed_on_request_with_their_end_and_reason() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await updated(harness)
        now = await harness.gateway.tasks.page(WEB, TaskQuery())
        assert [task.name for task in now.items] == ["web/0", "web/1"]
        page = await harness.gateway.tasks.page(WEB, ALL)
        *earlier, first, second = page.items
        assert [task.name for task in earlier] == ["web/0~0", "web/1~0"]
        assert [first, second] == now.items
        for task in earlier:
            assert (task.state, task.node, task.attempt, task.current) == ("cancelled", "n1", 1, False)
            assert task.reason == "replaced by version 2" and task.ended_at is not None
        assert (page.total, page.next) == (4, None)

    run_scenario(scenario)


def test_pages_and_states_count_replaced_tasks_too() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await updated(harness)
        names, after = [], None
        for _ in range(4):
            page = await harness.gateway.tasks.page(WEB, TaskQuery(limit=1, after=after, all=True))
            names += [task.name for task in page.items]
            after = page.next
        assert (names, after) == (["web/0~0", "web/1~0", "web/0", "web/1"], None)
        ended = await harness.gateway.tasks.page(WEB, TaskQuery(("cancelled",), all=True))
        assert ([task.name for task in ended.items], ended.total) == (["web/0~0", "web/1~0"], 2)

    run_scenario(scenario)


def test_the_log_of_a_replaced_task_is_read_by_its_name() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await updated(harness)
        [*_, past] = harness.engine.state.services.jobs[1].replaced_tasks
        harness.log_workers.write(past.log >> 32, b"by the old one")
        old = TaskReference(1, piece=past.task_set_number)
        assert (await harness.gateway.tasks.get(WEB, old)).name == f"web/1~{past.task_set_number}"
        assert (await harness.gateway.streams.read_log(WEB, old, LogQuery())).data == b"by the old one"
        assert [each.attempt for each in (await harness.gateway.tasks.attempts(WEB, old)).items] == [1]
        with pytest.raises(NotFound, match="earlier task 1~77 does not exist; known tasks: 1~0"):
            await harness.gateway.tasks.get(WEB, TaskReference(1, piece=77))
        with pytest.raises(NotFound, match="has only attempt 1"):
            await harness.gateway.streams.read_log(WEB, old, LogQuery(attempt=2))

    run_scenario(scenario)


def test_history_keeps_what_was_replaced_and_why() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        fake_workers = await updated(harness)
        await harness.engine.restart(1, ("main", 1), "ada")
        await fake_workers.advance(10)
        await harness.engine.stop_tasks(1, None, now=False)
        await fake_workers.process(1)
        page = await harness.gateway.tasks.page(WEB, ALL)
        by_name = {task.name: task.reason for task in page.items if "~" in task.name}
        assert list(by_name.values()) == ["replaced by version 2", "replaced by version 2", "replaced: restarted"]
        assert (await harness.gateway.tasks.get(WEB, TaskReference(0, piece=0))).name == "web/0~0"

    run_scenario(scenario)


def test_tasks_that_a_lower_count_removed_are_listed_on_request_only() -> None:
    async def names(harness: GatewayHarness, *, all: bool) -> list[str]:
        page = await harness.gateway.tasks.page(reference("web"), TaskQuery(limit=10, all=all))
        assert page.total == len(page.items)
        return [task.name for task in page.items]

    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        await harness.submit(service(3))
        await fake_workers.process(3)
        await harness.gateway.services.scale(reference("web"), {"": 1})
        await fake_workers.process(3)
        assert await names(harness, all=False) == ["web/0"]
        assert await names(harness, all=True) == ["web/1~0", "web/2~0", "web/0"]
        await harness.gateway.jobs.stop(reference("web"), None, now=False)
        await fake_workers.process(3)
        assert await names(harness, all=False) == ["web/0"]
        assert await names(harness, all=True) == ["web/1~0", "web/2~0", "web/0"]

    run_scenario(scenario)


def test_a_batch_job_has_none() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.submit(service(2, type="batch"))
        assert len((await harness.gateway.tasks.page(WEB, ALL)).items) == 2

    run_scenario(scenario)
