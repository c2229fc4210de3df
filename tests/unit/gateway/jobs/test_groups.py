"""A job of several groups: its tasks are JOB/GROUP/INDEX, alive and in history alike."""

from __future__ import annotations

import pytest

from shunter.model.errors import Invalid, NotFound
from shunter.model.job.spec import GroupSpec, JobSpec, TaskSpec
from shunter.ports.jobs import LogQuery, TaskQuery
from shunter.ports.principals import TaskReference
from tests.unit.gateway.harness import GatewayHarness, reference, run_scenario


def pair() -> JobSpec:
    task = TaskSpec(("/bin/true",))
    groups = (GroupSpec("api", 2, task, {"cpu": 1000}), GroupSpec("db", 1, task, {"cpu": 2000}))
    return JobSpec("default", "shop", groups)


def test_tasks_are_named_by_group_and_listed_group_by_group() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=8)
        await harness.submit(pair())
        orders = harness.orders()
        names = ["shop/api/0", "shop/api/1", "shop/db/0"]

        view = await harness.gateway.jobs.get(reference("shop"))
        assert (view.count, [(group.name, group.count) for group in view.groups]) == (3, [("api", 2), ("db", 1)])
        listed = await harness.gateway.tasks.page(reference("shop"), TaskQuery(limit=2))
        rest = await harness.gateway.tasks.page(reference("shop"), TaskQuery(limit=2, after=listed.next))
        assert [task.name for task in (*listed.items, *rest.items)] == names
        assert (listed.total, rest.next) == (3, None)

        for _, order in orders:
            await harness.end(node, order)
        ended = await harness.gateway.tasks.page(reference("shop"), TaskQuery())
        assert [(task.name, task.state) for task in ended.items] == [(name, "succeeded") for name in names]
        events = [event.name for event in await harness.events() if event.type == "tasks.succeeded"]
        assert sorted(events) == ["shop/api/0-1", "shop/db/0"]

    run_scenario(scenario)


def test_a_task_is_found_in_its_group_with_its_log_and_attempts() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=8)
        await harness.submit(pair())
        for _, order in harness.orders():
            harness.log_workers.write(7 + order.group, f"of group {order.group}".encode())
            await harness.end_task(node, order, 7 + order.group)
        task = await harness.gateway.tasks.get(reference("shop"), TaskReference(0, "db"))
        assert (task.name, task.group, task.index) == ("shop/db/0", "db", 0)
        piece = await harness.gateway.streams.read_log(reference("shop"), TaskReference(0, "db"), LogQuery())
        assert piece.data == b"of group 1"
        attempts = await harness.gateway.tasks.attempts(reference("shop"), TaskReference(1, "api"))
        assert [attempt.name for attempt in attempts.items] == ["shop/api/1#1"]

    run_scenario(scenario)


def test_stopping_one_task_leaves_the_other_groups_alone() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join(cpu=8)
        await harness.submit(pair())
        await harness.gateway.jobs.stop(reference("shop"), TaskReference(0, "db"), now=False)
        states = [task.state for task in (await harness.gateway.tasks.page(reference("shop"), TaskQuery())).items]
        assert states == ["assigned", "assigned", "stopping"]

    run_scenario(scenario)


def test_the_group_must_be_named_and_exist() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.submit(pair())
        with pytest.raises(Invalid, match="has groups api, db"):
            await harness.gateway.tasks.get(reference("shop"), TaskReference(0))
        with pytest.raises(NotFound, match="its groups are api, db"):
            await harness.gateway.tasks.get(reference("shop"), TaskReference(0, "web"))
        with pytest.raises(NotFound, match="its tasks are 0 to 0"):
            await harness.gateway.tasks.get(reference("shop"), TaskReference(5, "db"))

    run_scenario(scenario)
