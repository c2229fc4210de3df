"""When the tasks of a node that is down run elsewhere: `disconnect`, `at_most_once` and `node forget`."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from shunter.engine.nodes.disconnect import replacement_due_ms
from shunter.model.errors import Conflict, NotFound
from shunter.model.job.spec import JobSpec
from shunter.model.lifecycles import NodeEvent
from shunter.model.protocol.worker_messages import Held, Hello, Inventory, Order, Refused, Welcome
from tests.unit.engine.harness import Harness, run_scenario, spec


def _spec(replace_after_s: float = 0.0, stop_after_s: float = 0.0, at_most_once: bool = False) -> JobSpec:
    job = spec()
    [group] = job.groups
    task = replace(group.task, stop_after_s=stop_after_s, stop_grace_s=5.0)
    group = replace(group, task=task, replace_after_s=replace_after_s, at_most_once=at_most_once)
    return replace(job, groups=(group,))


async def _lose_node(harness: Harness, job: JobSpec, **hello: str) -> tuple[int, int, Order]:
    """The task runs on the first node, which goes down; there is another one."""
    first = await harness.join("n1", cpu=1)
    if hello:
        await _return(harness, first, "b1", None, **hello)
    await harness.submit(job)
    [(_, order)] = harness.orders()
    await harness.started(first, order)
    second = await harness.join("n2", cpu=1)
    await harness.engine.node_event(first, NodeEvent.TIMED_OUT, "no heartbeat for 10 s")
    await harness.settle()
    return first, second, order


def _hello(boot: str, **fields: str) -> Hello:
    return Hello(1, "n1", boot, {"cpu": 1000, "memory": 2**30}, datacenter="", **fields)  # type: ignore[arg-type]


async def _return(harness: Harness, node: int, boot: str, order: Order | None, **hello: str) -> None:
    """The node's worker connects and reports what it has."""
    answer = await harness.engine.hello(_hello(boot, **hello))
    assert isinstance(answer, Welcome)
    held = [Held(order.job, order.group, order.attempt, 0, 0, True, 1, 1, 0)] if order else []
    await harness.engine.inventory(node, Inventory(1, held, []))
    await harness.settle()


def test_by_default_the_tasks_of_a_down_node_run_on_another_one_at_once() -> None:
    async def scenario(harness: Harness) -> None:
        _, second, _ = await _lose_node(harness, _spec())
        assert [node for node, _ in harness.orders()] == [second]

    run_scenario(scenario)


def test_replace_after_keeps_a_task_on_its_node_for_a_while() -> None:
    async def scenario(harness: Harness) -> None:
        first, second, _ = await _lose_node(harness, _spec(replace_after_s=60))
        await harness.settle(59.0)
        assert harness.orders() == []
        assert harness.reserved_cpu(first) == 1000
        await harness.settle(1.1)
        assert [node for node, _ in harness.orders()] == [second]
        assert harness.reserved_cpu(first) == 0

    run_scenario(scenario)


def test_a_node_that_returns_in_time_goes_on_with_its_task() -> None:
    async def scenario(harness: Harness) -> None:
        first, _, order = await _lose_node(harness, _spec(replace_after_s=60))
        await harness.settle(30.0)
        await _return(harness, first, "b1", order)
        await harness.settle(120.0)
        assert harness.orders() == []
        assert harness.stops() == []
        await harness.end(first, order)
        assert not harness.engine.state.jobs

    run_scenario(scenario)


def test_a_task_that_is_stopped_while_its_node_is_down_ends_at_once() -> None:
    async def scenario(harness: Harness) -> None:
        _, _, order = await _lose_node(harness, _spec(replace_after_s=600))
        await harness.engine.stop_tasks(order.job, None, now=False)
        await harness.settle()
        assert not harness.engine.state.jobs

    run_scenario(scenario)


def test_at_most_once_waits_for_the_node() -> None:
    async def scenario(harness: Harness) -> None:
        await _lose_node(harness, _spec(at_most_once=True))
        await harness.settle(100_000.0)
        assert harness.orders() == []

    run_scenario(scenario)


def test_at_most_once_takes_a_restarted_worker_without_the_task_as_proof() -> None:
    async def scenario(harness: Harness) -> None:
        first, second, _ = await _lose_node(harness, _spec(at_most_once=True))
        await _return(harness, first, "b2", None)
        [(node, order)] = harness.orders()
        assert (node in (first, second), order.attempt) == (True, 2)

    run_scenario(scenario)


OLD_HOME = {"worker_id": "one", "machine": "m", "machine_boot": "1"}
OTHER_HOME = {"worker_id": "two", "machine": "m", "machine_boot": "1"}


def test_at_most_once_does_not_take_a_worker_of_another_home_as_proof() -> None:
    async def scenario(harness: Harness) -> None:
        first, second, _ = await _lose_node(harness, _spec(at_most_once=True), **OLD_HOME)
        for other in (OTHER_HOME, {**OTHER_HOME, "machine": "n", "machine_boot": "2"}):
            refused = await harness.engine.hello(_hello("b2", **other))
            assert isinstance(refused, Refused)
            assert (refused.code, refused.retry) == ("other_home", False)
            assert "`shunter node forget n1`" in refused.reason
        await harness.settle(100.0)
        assert harness.orders() == []
        await harness.engine.forget_node("n1", "ada")
        await _return(harness, first, "b2", None, **OTHER_HOME)
        [(node, order)] = harness.orders()
        assert (node in (first, second), order.attempt) == (True, 2)

    run_scenario(scenario)


def test_a_restarted_manager_still_knows_the_home_of_a_worker() -> None:
    async def scenario(harness: Harness) -> None:
        await _lose_node(harness, _spec(at_most_once=True), **OLD_HOME)
        harness.crash()
        harness.engine = harness._new_engine()
        await harness.open()
        assert isinstance(await harness.engine.hello(_hello("b2", **OTHER_HOME)), Refused)

    run_scenario(scenario)


@pytest.mark.parametrize(
    "hello", [{**OLD_HOME, "machine_boot": "2"}, {**OTHER_HOME, "machine_boot": "2"}, OLD_HOME, {}],
    ids=["machine restarted", "machine restarted without its home", "worker restarted", "old worker"],
)  # fmt: skip
def test_at_most_once_takes_the_same_home_or_a_restart_of_the_machine_as_proof(hello: dict[str, str]) -> None:
    async def scenario(harness: Harness) -> None:
        first, second, _ = await _lose_node(harness, _spec(at_most_once=True), **OLD_HOME)
        await _return(harness, first, "b2", None, **hello)
        [(node, order)] = harness.orders()
        assert (node in (first, second), order.attempt) == (True, 2)

    run_scenario(scenario)


def test_a_worker_of_another_home_replaces_one_without_such_tasks() -> None:
    async def scenario(harness: Harness) -> None:
        first, _, _ = await _lose_node(harness, _spec(replace_after_s=60), **OLD_HOME)
        await _return(harness, first, "b2", None, **OTHER_HOME)
        assert [order.attempt for _, order in harness.orders()] == [2]

    run_scenario(scenario)


def test_at_most_once_takes_an_expired_stop_after_as_proof() -> None:
    async def scenario(harness: Harness) -> None:
        _, second, _ = await _lose_node(harness, _spec(stop_after_s=30, at_most_once=True))
        await harness.settle(44.0)  # 30 s, a grace of 5 s, and the margin
        assert harness.orders() == []
        await harness.settle(1.1)
        assert [node for node, _ in harness.orders()] == [second]

    run_scenario(scenario)


def test_stop_after_is_no_proof_for_a_container_which_has_no_keeper() -> None:
    [group] = _spec(stop_after_s=30, at_most_once=True).groups
    assert replacement_due_ms(group, 0) == 45_000
    assert replacement_due_ms(replace(group, task=replace(group.task, runtime="docker")), 0) is None


def test_a_restart_of_the_manager_does_not_shorten_the_wait() -> None:
    async def scenario(harness: Harness) -> None:
        _, second, _ = await _lose_node(harness, _spec(stop_after_s=30, at_most_once=True))
        await harness.settle(40.0)
        harness.crash()
        harness.engine = harness._new_engine()
        await harness.open()
        harness._seq[second] = 1
        await harness.engine.inventory(second, Inventory(1, [], []))
        await harness.settle(44.0)
        assert harness.orders() == []
        await harness.settle(1.1)
        assert [node for node, _ in harness.orders()] == [second]

    run_scenario(scenario)


def test_at_most_once_takes_the_word_of_an_operator_as_proof() -> None:
    async def scenario(harness: Harness) -> None:
        _, second, _ = await _lose_node(harness, _spec(at_most_once=True))
        await harness.engine.forget_node("n1", "ada")
        await harness.settle()
        assert [node for node, _ in harness.orders()] == [second]
        [attempt] = [event for event in await harness.events() if event.type == "tasks.lost"]
        assert "ada declared" in str(attempt)

    run_scenario(scenario)


def test_a_task_that_was_stopped_waits_for_proof_too() -> None:
    async def scenario(harness: Harness) -> None:
        first, _, order = await _lose_node(harness, _spec(at_most_once=True))
        await harness.engine.stop_tasks(order.job, None, now=False)
        await harness.settle()
        assert harness.counts(order.job) == {"stopping": 1}
        await _return(harness, first, "b2", None)
        assert not harness.engine.state.jobs

    run_scenario(scenario)


def test_a_node_that_is_not_down_cannot_be_forgotten() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1")
        with pytest.raises(Conflict, match="is ready, and only a node that is down can be forgotten"):
            await harness.engine.forget_node("n1", "ada")
        with pytest.raises(NotFound):
            await harness.engine.forget_node("n9", "ada")

    run_scenario(scenario)


def test_the_old_attempt_of_a_forgotten_node_is_stopped_when_it_returns() -> None:
    async def scenario(harness: Harness) -> None:
        first, _, order = await _lose_node(harness, _spec(at_most_once=True))
        await harness.engine.forget_node("n1", "ada")
        await _return(harness, first, "b1", order)
        [stop] = harness.stops()
        assert (stop.job, stop.attempt) == (order.job, order.attempt)

    run_scenario(scenario)
