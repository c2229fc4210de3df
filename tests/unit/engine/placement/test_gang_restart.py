"""A gang is always all or nothing: a task that must run again restarts the whole gang."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec.structs import replace

from shunter.model.job.spec import JobOptions, Restart
from shunter.model.lifecycles import NodeEvent, TaskState
from shunter.model.protocol.worker_messages import Order
from tests.unit.engine.harness import Harness, run_scenario, spec

RESTART = Restart("on-failure", max=2, delay_s=10.0, factor=1.0, jitter=0.0)


@dataclass
class Gang:
    """The tasks of a job that are on nodes, by index, as its workers know them."""

    harness: Harness
    job_id: int
    indexes_on: dict[int, tuple[int, Order]] = field(default_factory=dict)

    async def start(self) -> Gang:
        """Its new orders are taken and run."""
        for node, order in self.harness.orders():
            if order.job != self.job_id:
                continue
            await self.harness.started(node, order)
            for index in range(order.first, order.last + 1):
                self.indexes_on[index] = node, replace(order, first=index, last=index)
        return self

    async def end(self, indexes: Iterable[int], exit_code: int = 0) -> None:
        for index in indexes:
            node, order = self.indexes_on.pop(index)
            await self.harness.end(node, order, exit_code)

    def states(self) -> list[str]:
        group = self.harness.engine.state.jobs[self.job_id].task_sets[0]
        rows = self.harness.engine.state.table.state[group.base : group.base + group.count]
        return [TaskState(each).wire_name for each in rows.tolist()]

    def attempts(self) -> list[int]:
        group = self.harness.engine.state.jobs[self.job_id].task_sets[0]
        rows = self.harness.engine.state.table.attempt[group.base : group.base + group.count]
        return [int(each) for each in rows]


async def begin(harness: Harness, count: int, **fields: object) -> Gang:
    [job] = await harness.submit(spec("gang", count, gang=True, **fields))
    gang = await Gang(harness, job.job_id).start()
    assert set(gang.states()) == {"running"}
    return gang


def test_when_one_task_of_a_gang_must_yield_all_of_it_does() -> None:
    async def scenario(harness: Harness) -> None:
        nodes = [await harness.join(f"n{number}", cpu=1) for number in range(3)]
        gang = await begin(harness, 3, priority=10)
        [boss] = await harness.submit(spec("boss", priority=90))
        assert gang.states() == ["stopping"] * 3
        assert {(each.first, each.last) for each in harness.stops()} == {(0, 0), (1, 1), (2, 2)}
        events = [event for event in await harness.events() if event.type == "tasks.preempted"]
        assert {event.reason for event in events} == {"preempted by default/boss@1"}
        first = next(index for index, (node, _) in gang.indexes_on.items() if node == nodes[0])
        await gang.end([first], 143)
        assert harness.counts(boss.job_id) == {"assigned": 1}
        await gang.end(list(gang.indexes_on), 143)
        assert gang.states() == ["queued"] * 3, "two of three fit, and that is not enough"
        [(node, order)] = harness.orders()
        await harness.end(node, order)
        assert gang.states() == ["assigned"] * 3 and gang.attempts() == [2, 2, 2]

    run_scenario(scenario)


def test_no_task_of_a_gang_starts_again_while_others_of_it_are_still_ending() -> None:
    async def scenario(harness: Harness) -> None:
        first, second = await harness.join("n1", cpu=1), await harness.join("n2", cpu=1)
        gang = await begin(harness, 2)
        lost = next(index for index, (node, _) in gang.indexes_on.items() if node == first)
        await harness.report_lost(first, gang.indexes_on.pop(lost)[1])
        assert sorted(gang.states()) == ["queued", "stopping"], "its node has room, and it waits for the other"
        assert harness.orders() == []
        await gang.end(list(gang.indexes_on), 143)
        assert gang.states() == ["assigned", "assigned"]
        assert {node for node, _ in harness.orders()} == {first, second}

    run_scenario(scenario)


def test_a_gang_that_lost_a_node_starts_again_as_a_whole_when_all_of_it_fits() -> None:
    async def scenario(harness: Harness) -> None:
        first, _ = await harness.join("n1", cpu=1), await harness.join("n2", cpu=1)
        gang = await begin(harness, 2, restart=Restart("never"))
        await harness.engine.node_event(first, NodeEvent.TIMED_OUT, "no heartbeat")
        await harness.settle()
        await gang.end([index for index, (node, _) in gang.indexes_on.items() if node != first], 143)
        assert gang.states() == ["queued", "queued"], "half of it could run, and must not"
        await harness.join("n3", cpu=1)
        assert gang.states() == ["assigned", "assigned"]

    run_scenario(scenario)


def test_a_task_of_a_gang_that_is_retried_brings_the_others_along_after_its_back_off() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=3)
        gang = await begin(harness, 3, restart=RESTART)
        await gang.end([2])
        await gang.end([0], 1)
        assert gang.states() == ["queued", "stopping", "succeeded"]
        await gang.end([1], 143)
        assert gang.states() == ["queued", "queued", "succeeded"], "there is room, and a back-off to wait out"
        await harness.settle(10.0)
        assert gang.states() == ["assigned", "assigned", "succeeded"] and gang.attempts() == [2, 2, 1]
        group = harness.engine.state.jobs[gang.job_id].task_sets[0]
        restarts = harness.engine.state.table.restarts[group.base : group.base + 3].tolist()
        assert restarts == [1, 0, 0], "who was called back has failed nothing"

    run_scenario(scenario)


def test_a_task_that_fails_for_good_leaves_the_others_of_its_gang_alone() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=2)
        gang = await begin(harness, 2, restart=Restart("never"))
        await gang.end([0], 1)
        assert gang.states() == ["failed", "running"]

    run_scenario(scenario)


def test_a_gang_is_drained_as_a_whole_when_the_deadline_has_passed() -> None:
    async def scenario(harness: Harness) -> None:
        first, second = await harness.join("n1", cpu=1), await harness.join("n2", cpu=1)
        gang = await begin(harness, 2)
        await harness.engine.drain_node("n1", 30, "ada")
        await harness.settle(20.0)
        assert gang.states() == ["running", "running"], "batch is waited for"
        await harness.settle(11.0)
        assert gang.states() == ["stopping", "stopping"]
        await gang.end(list(gang.indexes_on), 143)
        third = await harness.join("n3", cpu=1)
        assert {node for node, _ in harness.orders()} == {second, third}
        assert first not in (second, third)

    run_scenario(scenario)


def test_a_gang_across_groups_is_called_back_across_groups() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=3)
        one = spec("gang", 1, gang=True, options=JobOptions(gang=True))
        two = spec("gang", 2, gang=True, needs={"cpu": 500}).groups[0]
        [job] = await harness.submit(type(one)("default", "gang", (one.groups[0], two), options=one.options))
        orders = harness.orders()
        assert harness.counts(job.job_id) == {"assigned": 3}
        for _, order in orders:
            await harness.started(node, order)
        lost = next(order for _, order in orders if order.group == 0)
        await harness.report_lost(node, lost)
        assert harness.counts(job.job_id) == {"queued": 1, "stopping": 2}
        for _, order in orders:
            if order.group == 1:
                await harness.end(node, order, 143)
        assert harness.counts(job.job_id) == {"assigned": 3}

    run_scenario(scenario)


def test_a_gang_that_gathers_still_does_so_under_another_manager() -> None:
    async def scenario(harness: Harness) -> None:
        first, _ = await harness.join("n1", cpu=1), await harness.join("n2", cpu=1)
        gang = await begin(harness, 2, restart=RESTART)
        failed = next(index for index, (node, _) in gang.indexes_on.items() if node == first)
        await gang.end([failed], 1)
        await harness.restart_manager()
        assert gang.states() == ["queued", "queued"], "the new manager's workers have nothing any more"
        await harness.settle(9.0)
        assert gang.states() == ["queued", "queued"]
        await harness.settle(1.5)
        assert gang.states() == ["assigned", "assigned"]

    run_scenario(scenario)


def test_tasks_of_a_gang_change_places_so_that_none_runs_where_it_failed() -> None:
    async def scenario(harness: Harness) -> None:
        nodes = [await harness.join(f"n{number}", cpu=1) for number in range(2)]
        restart = Restart("on-failure", max=2, delay_s=1.0, jitter=0.0, elsewhere=True)
        gang = await begin(harness, 2, restart=restart)
        index, (node, _) = next(iter(gang.indexes_on.items()))
        await gang.end([index], 1)
        await gang.end(list(gang.indexes_on), 143)
        await harness.settle(2.0)
        await gang.start()
        assert gang.indexes_on[index][0] != node and {place for place, _ in gang.indexes_on.values()} == set(nodes)

    run_scenario(scenario)


def test_a_gang_that_has_one_node_starts_there_again_whoever_failed() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=2)
        await harness.join("n2", cpu=1)
        restart = Restart("on-failure", max=2, delay_s=1.0, jitter=0.0, elsewhere=True)
        gang = await begin(harness, 2, restart=restart)
        place = gang.indexes_on[0][0]
        assert place == gang.indexes_on[1][0], "packed"
        await gang.end([0], 1)
        await gang.end([1], 143)
        await harness.settle(2.0)
        assert gang.states() == ["assigned", "assigned"], "all of it, wherever that is"

    run_scenario(scenario)
