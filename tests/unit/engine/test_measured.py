"""Planning uses what workers measure: the manager's own records have only reservations."""

from __future__ import annotations

from collections import Counter

from shunter.model.protocol.worker_messages import MachineStats
from shunter.planning.planner import build_policy
from tests.unit.engine.harness import Harness, run_scenario, spec


def test_a_busy_node_gets_fewer_tasks() -> None:
    """C-11: two equal nodes, one of which is busy with something else."""

    async def scenario(harness: Harness) -> None:
        harness.engine.policy = build_policy("e-pvm")
        busy, idle = await harness.join("busy", cpu=10), await harness.join("idle", cpu=10)
        harness.engine.heartbeat(busy, MachineStats(0, cpu_busy=0.7))
        harness.engine.heartbeat(idle, MachineStats(0, cpu_busy=0.0))
        await harness.submit(spec(count=10))
        placed = Counter({busy: 0})
        for node, order in harness.orders():
            placed[node] += order.last - order.first + 1
        assert placed[idle] > placed[busy]
        assert placed.total() == 10

    run_scenario(scenario)


def test_a_node_that_calmed_down_is_an_equal_again() -> None:
    """C-11: the latest sample counts, not the worst one."""

    async def scenario(harness: Harness) -> None:
        harness.engine.policy = build_policy("e-pvm")
        first, second = await harness.join("first", cpu=10), await harness.join("second", cpu=10)
        for cpu_busy in (0.9, 0.0):
            harness.engine.heartbeat(first, MachineStats(0, cpu_busy=cpu_busy))
        await harness.submit(spec(count=10))
        placed = Counter(node for node, order in harness.orders() for _ in range(order.first, order.last + 1))
        assert placed == {first: 5, second: 5}

    run_scenario(scenario)
