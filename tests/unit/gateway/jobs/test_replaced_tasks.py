"""What stood for the instances of a service before: listed with its end and its reason, and its logs can be read."""

from __future__ import annotations

import pytest

from shunter.model.errors import NotFound
from shunter.ports.gateway import LogQuery, TaskQuery, TaskReference
from tests.unit.engine.fake_workers import Players
from tests.unit.engine.service_specs import service
from tests.unit.gateway.harness import ANNA, GatewayStage, play, reference

ALL = TaskQuery(all=True)
WEB = reference("web")


async def updated(stage: GatewayStage) -> Players:
    """A service of two, of which both have been replaced by version 2."""
    await stage.join("n1", cpu=16)
    players = Players(stage)
    await stage.submit(service(2))
    await players.pass_time(5)
    await stage.submit(service(2, "v2"))
    await players.pass_time(15)
    return players


def test_replaced_tasks_are_listed_on_request_with_their_end_and_reason() -> None:
    async def scene(stage: GatewayStage) -> None:
        await updated(stage)
        now = await stage.gateway.tasks(ANNA, WEB, TaskQuery())
        assert [task.name for task in now.items] == ["web/0", "web/1"]
        page = await stage.gateway.tasks(ANNA, WEB, ALL)
        *earlier, first, second = page.items
        assert [task.name for task in earlier] == ["web/0~0", "web/1~0"]
        assert [first, second] == now.items
        for task in earlier:
            assert (task.state, task.node, task.attempt, task.current) == ("cancelled", "n1", 1, False)
            assert task.reason == "replaced by version 2" and task.ended_at is not None
        assert (page.total, page.next) == (4, None)

    play(scene)


def test_pages_and_states_count_replaced_tasks_too() -> None:
    async def scene(stage: GatewayStage) -> None:
        await updated(stage)
        names, after = [], None
        for _ in range(4):
            page = await stage.gateway.tasks(ANNA, WEB, TaskQuery(limit=1, after=after, all=True))
            names += [task.name for task in page.items]
            after = page.next
        assert (names, after) == (["web/0~0", "web/1~0", "web/0", "web/1"], None)
        ended = await stage.gateway.tasks(ANNA, WEB, TaskQuery(("cancelled",), all=True))
        assert ([task.name for task in ended.items], ended.total) == (["web/0~0", "web/1~0"], 2)

    play(scene)


def test_the_log_of_a_replaced_task_is_read_by_its_name() -> None:
    async def scene(stage: GatewayStage) -> None:
        await updated(stage)
        [*_, past] = stage.engine.state.lasting.jobs[1].past
        stage.writing.write(past.log >> 32, b"by the old one")
        old = TaskReference(1, piece=past.piece)
        assert (await stage.gateway.task(ANNA, WEB, old)).name == f"web/1~{past.piece}"
        assert (await stage.gateway.read_log(ANNA, WEB, old, LogQuery())).data == b"by the old one"
        assert [each.attempt for each in (await stage.gateway.attempts(ANNA, WEB, old)).items] == [1]
        with pytest.raises(NotFound, match="there is no earlier task 1~77: known are 1~0"):
            await stage.gateway.task(ANNA, WEB, TaskReference(1, piece=77))
        with pytest.raises(NotFound, match="only attempt 1 is known"):
            await stage.gateway.read_log(ANNA, WEB, old, LogQuery(attempt=2))

    play(scene)


def test_history_keeps_what_was_replaced_and_why() -> None:
    async def scene(stage: GatewayStage) -> None:
        players = await updated(stage)
        await stage.engine.restart(1, ("main", 1), "ada")
        await players.pass_time(10)
        await stage.engine.stop_tasks(1, None, now=False)
        await players.act(1)
        page = await stage.gateway.tasks(ANNA, WEB, ALL)
        by_name = {task.name: task.reason for task in page.items if "~" in task.name}
        assert list(by_name.values()) == ["replaced by version 2", "replaced by version 2", "replaced: restarted"]
        assert (await stage.gateway.task(ANNA, WEB, TaskReference(0, piece=0))).name == "web/0~0"

    play(scene)


def test_a_batch_job_has_none() -> None:
    async def scene(stage: GatewayStage) -> None:
        await stage.submit(service(2, type="batch"))
        assert len((await stage.gateway.tasks(ANNA, WEB, ALL)).items) == 2

    play(scene)
