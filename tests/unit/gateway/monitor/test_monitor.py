"""What screens show at once: counts, search, the map of tasks, the time line, the map of nodes."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import pytest

from shunter.engine.state.records import STATE_COUNT
from shunter.gateway.monitor.task_map import cell_edges, count_cells
from shunter.gateway.monitor.timeline import count_running
from shunter.gateway.tokens import ADMIN
from shunter.model.errors import Invalid, NotFound
from shunter.model.lifecycles import TaskState
from shunter.model.protocol.worker_messages import Ended
from shunter.ports.jobs import TaskQuery
from shunter.ports.monitor import TaskMapQuery
from shunter.ports.principals import Principal
from shunter.simulation.runtime.loop import VirtualClock
from tests.unit.gateway.harness import GatewayHarness, reference, run_scenario

RUNNING, FAILED = int(TaskState.RUNNING), int(TaskState.FAILED)


async def end_all(harness: GatewayHarness, node: int, failing: dict[int, int]) -> None:
    """End all tasks that were ordered; those in `failing` with this exit code."""
    while orders := harness.orders():
        for _, order in orders:
            now_ms, indexes = int(VirtualClock().now() * 1000), range(order.first, order.last + 1)
            exits, times = [failing.get(index, 0) for index in indexes], [now_ms] * len(indexes)
            begun = [now_ms - 1000] * len(indexes)
            ended = Ended(order.job, order.group, order.attempt, order.first, exits, begun, times, 1, 0)
            await harness.report(node, ended=[ended])


def test_a_map_counts_the_states_of_all_tasks_while_they_wait_and_after_they_ended() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=8)
        await harness.run("render", count=100)
        monitor = harness.gateway.monitor
        found = await monitor.task_map(reference("render"), TaskMapQuery(cells=10))
        assert (found.name, found.group, found.groups, found.total) == ("render@1", "main", ["main"], 100)
        assert (found.sizes, found.starts) == ([10] * 10, list(range(0, 100, 10)))
        assert sum(map(sum, found.counts.values())) == 100
        assert sum(found.counts["queued"]) == sum(
            task.state == "queued"
            for task in (await harness.gateway.tasks.page(reference("render"), TaskQuery(limit=10_000))).items
        )
        await end_all(harness, node, {3: 137, 4: 137, 55: 2})
        ended = await monitor.task_map(reference("render"), TaskMapQuery(cells=10))
        assert ended.counts["failed"] == [2, 0, 0, 0, 0, 1, 0, 0, 0, 0]
        assert sum(ended.counts["succeeded"]) == 97
        assert [(each.exit_code, each.tasks, each.first) for each in ended.failures] == [(137, 2, 3), (2, 1, 55)]
        zoomed = await monitor.task_map(reference("render"), TaskMapQuery(first=50, last=59, cells=10_000))
        assert (zoomed.starts, zoomed.sizes) == (list(range(50, 60)), [1] * 10)
        assert zoomed.counts["failed"] == [0] * 5 + [1] + [0] * 4
        with pytest.raises(Invalid, match="at most 99"):
            await monitor.task_map(reference("render"), TaskMapQuery(first=100))
        with pytest.raises(NotFound, match="no group 'other'"):
            await monitor.task_map(reference("render"), TaskMapQuery(group="other"))

    run_scenario(scenario)


def test_a_map_names_tasks_of_an_array_by_their_index_and_takes_the_first_group() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.run("odd", array="1-9:2", count=5)
        found = await harness.gateway.monitor.task_map(reference("odd"), TaskMapQuery(cells=2))
        assert (found.starts, found.sizes) == ([1, 5], [2, 3])
        groups = [{"name": name, "command": ["x"], "count": 3} for name in ("a", "b")]
        document = {
            "apiVersion": "shunter.dev/v1", "kind": "Job", "metadata": {"name": "two"}, "spec": {"groups": groups},
        }  # fmt: skip
        await harness.gateway.jobs.submit([document], namespace="default", key=None)
        found = await harness.gateway.monitor.task_map(reference("two"), TaskMapQuery())
        assert (found.group, found.groups, found.total) == ("a", ["a", "b"], 3)

    run_scenario(scenario)


@pytest.mark.parametrize("seed", range(20))
def test_cells_are_counted_as_one_task_after_another(seed: int) -> None:
    random = np.random.default_rng(seed)
    tasks, cells = int(random.integers(1, 300)), int(random.integers(1, 100))
    states = random.integers(0, STATE_COUNT, tasks).astype(np.uint8)
    states[: tasks // 2] = RUNNING
    edges = cell_edges(tasks, cells)
    assert len(edges) == min(tasks, cells) + 1
    assert np.ptp(np.diff(edges)) <= 1
    counts = count_cells(states, edges)
    for cell, (start, end) in enumerate(pairwise(edges.tolist())):
        assert counts[cell].tolist() == np.bincount(states[start:end], minlength=STATE_COUNT).tolist()


def test_a_million_tasks_are_counted_within_20_ms() -> None:
    random = np.random.default_rng(1)
    for states in (
        np.full(1_000_000, RUNNING, np.uint8),
        random.choice(np.array([2, 3, 5, 6], np.uint8), 1_000_000, p=[0.1, 0.2, 0.69, 0.01]),
    ):
        edges = cell_edges(len(states), 4096)
        times = []
        for _ in range(5):
            start = time.thread_time()
            counts = count_cells(states, edges)
            times.append(time.thread_time() - start)
        assert counts.sum() == 1_000_000
        assert count_cells(states, cell_edges(len(states), 3)).sum(axis=0).tolist() == counts.sum(axis=0).tolist()
        assert min(times) < 0.020, times


def test_a_time_line_shows_what_failed_first_and_says_how_many_there_are() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=8)
        await harness.run("render", count=20)
        empty = await harness.gateway.monitor.timeline(reference("render"), 10, 5)
        assert (empty.total, empty.running) == (0, [])
        await end_all(harness, node, {7: 1})
        found = await harness.gateway.monitor.timeline(reference("render"), 10, 5)
        assert (found.total, len(found.indexes)) == (20, 5)
        assert dict(zip(found.indexes, found.states, strict=True))[7] == "failed"
        assert set(found.nodes) == {"n1"}
        assert max(found.running) <= 20
        assert len(found.running) <= 10

    run_scenario(scenario)


def test_running_attempts_are_counted_in_every_step_that_they_touch() -> None:
    start, stop = np.array([0, 100, 150]), np.array([250, 120, 399])
    assert count_running(start, stop, 0, 100, 4) == [1, 3, 2, 1]


def test_jobs_are_counted_by_what_they_have_in_common() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=1)
        await harness.run_to_end(node, "done")
        await harness.run("a", count=3, queue="night")
        await harness.run("b", namespace="film")
        counts = harness.gateway.monitor.counts
        by_queue = await counts(None, "queue")
        assert {each.key: each.jobs for each in by_queue.items} == {"night": 1, "default": 1}
        by_state = await counts("default", "state")
        assert {each.key: each.jobs for each in by_state.items}["succeeded"] == 1
        assert by_state.with_finished
        assert [each.key for each in (await counts("film", "namespace")).items] == ["film"]
        assert [(each.key, sum(each.tasks.values())) for each in (await counts(None, "user")).items] == [("anna", 4)]

    run_scenario(scenario)


def test_search_finds_every_kind_the_same_name_first() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=1, name="render-node")
        await harness.run_to_end(node, "rendered")
        await harness.run("my-render")
        await harness.run("render", count=5)
        found = await harness.gateway.monitor.search("RENDER", 10)
        assert [(hit.kind, hit.name) for hit in found.items] == [
            ("job", "render@1"), ("job", "rendered@1"), ("node", "render-node"), ("job", "my-render@1"),
        ]  # fmt: skip
        assert len((await harness.gateway.monitor.search("render", 2)).items) == 2
        bound = Principal("eve", ADMIN, "k", namespace="film")
        monitor = harness.local_gateway.for_caller(bound, "search").monitor
        assert (await monitor.search("render", 10)).items == []
        assert (await monitor.counts(None, "user")).items == []

    run_scenario(scenario)


def test_nodes_are_columns_and_have_their_tasks() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=4, name="n1")
        await harness.join(cpu=4, name="n2")
        await harness.gateway.nodes.cordon("n2", "disk")
        await harness.run("render", count=3)
        for _, order in harness.orders():
            await harness.start_task(node, order, 1)
        found = await harness.gateway.monitor.node_map("datacenter")
        assert (found.names, found.eligible) == (["n1", "n2"], [True, False])
        assert found.tasks == [3, 0]
        assert found.cpu[0] > 0
        assert "disk" in found.reasons["n2"]
        await harness.gateway.nodes.set_labels("n1", {"zone": "z1"})
        by_zone = await harness.gateway.monitor.node_map("zone")
        assert [by_zone.group_names[group] for group in by_zone.groups] == ["z1", ""]
        first = await harness.gateway.monitor.node_tasks("n1", 2, None)
        assert ([task.name for task in first.items], first.total) == (["render/0", "render/1"], 3)
        rest = await harness.gateway.monitor.node_tasks("n1", 2, first.next)
        assert ([task.name for task in rest.items], rest.next) == (["render/2"], None)
        with pytest.raises(NotFound):
            await harness.gateway.monitor.node_tasks("nowhere", 2, None)

    run_scenario(scenario)
