"""What each score means, in numbers worked out by hand or by plain arithmetic."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shunter.planning.filter.node_ledger import TIE_BREAK, NodeLedger, Rows
from shunter.planning.planner import Planner, Stages, build_policy
from shunter.planning.score.scores import BASE, SCORES, More, Score, Shape
from shunter.planning.view import FloatArray, Queued, TaskClass
from tests.unit.planning.cluster_builder import GI, Cluster, chosen, task_class

LEVELS = 50
PLENTY = 10**6


def costs(name: str, of: TaskClass, cluster: Cluster) -> list[float]:
    """By row, from row 1."""
    ledger = NodeLedger(SCORES[name].keep)
    ledger.sync(cluster.nodes)
    found: list[float] = SCORES[name].cost(of, ledger, np.arange(1, cluster.nodes.count), 0).tolist()
    return found


@pytest.mark.parametrize(
    ("memory_total", "memory_used", "memory_need", "tasks", "expected"),
    [
        (1000, 250, 100, 0, 0.276950073),
        (1000, 250, 100, 1, 0.302903297),
        (1000, 800, 100, 0, 0.290107865),
        (1000, 250, 100, 3, 0.364015910),
    ],
)
def test_e_pvm_classic_agrees_with_the_reference_vectors(
    memory_total: int, memory_used: int, memory_need: int, tasks: int, expected: float
) -> None:
    cluster = Cluster()
    row = cluster.add({"cpu": 4000, "memory": memory_total}, busy=0.6)
    cluster.nodes.reserved[row, 1] = memory_used
    cluster.nodes.tasks[row] = tasks
    assert costs("e-pvm-classic", task_class(cpu=1000, memory=memory_need), cluster) == [
        pytest.approx(expected, abs=1e-9)
    ]


def test_e_pvm_classic_prices_a_node_with_very_many_tasks() -> None:
    cluster = Cluster()
    row = cluster.add({"cpu": 4000, "memory": GI})
    cluster.nodes.tasks[row] = 10**6
    assert all(map(math.isfinite, costs("e-pvm-classic", task_class(memory=1), cluster)))


def test_e_pvm_is_the_rise_of_base_to_the_used_share_of_cpu_and_memory() -> None:
    cluster = Cluster()
    for busy in (0.0, 0.5):
        row = cluster.add({"cpu": 8000, "memory": 4 * GI}, busy=busy)
        cluster.reserve(row, {"cpu": 2000, "memory": GI})
    memory = BASE ** (1.5 / 4) - BASE ** (1 / 4)
    assert costs("e-pvm", task_class(cpu=1000, memory=GI // 2), cluster) == [
        pytest.approx(BASE ** (3 / 8) - BASE ** (2 / 8) + memory, abs=1e-12),
        pytest.approx(BASE ** (5 / 8) - BASE ** (4 / 8) + memory, abs=TIE_BREAK),
    ]


@pytest.mark.parametrize("name", ["e-pvm", "greedy"])
@pytest.mark.parametrize("busy", [1.0, 0.6])
def test_among_nodes_that_are_equally_busy_the_least_allocated_comes_first(name: str, busy: float) -> None:
    cluster = Cluster()
    for reserved in (4000, 1000, 2000):
        cluster.reserve(cluster.add({"cpu": 10_000, "memory": GI}, busy=busy), {"cpu": reserved})
    first, second, third = costs(name, task_class(cpu=500), cluster)
    assert second < third < first
    decision = build_policy(name).decide(cluster.view([Queued(task_class(cpu=500), 14, 0)]), 0.0, PLENTY)
    assert chosen(decision) == {1: {1: 2, 2: 7, 3: 5}}


@pytest.mark.parametrize("name", ["e-pvm", "greedy"])
def test_what_is_measured_weighs_more_than_what_is_allocated(name: str) -> None:
    cluster = Cluster()
    for reserved, busy in ((0, 1.0), (9000, 0.95)):
        cluster.reserve(cluster.add({"cpu": 10_000, "memory": GI}, busy=busy), {"cpu": reserved})
    full, emptier = costs(name, task_class(cpu=500), cluster)
    assert emptier < full


def test_greedy_looks_at_the_larger_of_reserved_and_measured_cpu() -> None:
    cluster = Cluster()
    for reserved, busy in ((1000, 0.5), (3000, 0.1), (500, 0.2)):
        cluster.reserve(cluster.add({"cpu": 4000}, busy=busy), {"cpu": reserved})
    assert costs("greedy", task_class(cpu=100), cluster) == pytest.approx([0.5, 0.75, 0.2], abs=TIE_BREAK)


def test_spread_prefers_the_emptiest_node_and_bin_pack_the_fullest() -> None:
    cluster = Cluster()
    for reserved in (1000, 3000, 0):
        cluster.reserve(cluster.add({"cpu": 4000, "memory": 8 * GI}), {"cpu": reserved})
    a_task = task_class(cpu=500, memory=GI)
    assert costs("spread", a_task, cluster) == [0.25, 0.75, 0.0]
    assert costs("bin-pack", a_task, cluster) == [-0.25, -0.75, 0.0]


def test_nodes_of_different_sizes_that_are_equally_full_cost_the_same() -> None:
    cluster = Cluster()
    for cpu in (49_000, 7000, 3_001_000):
        cluster.reserve(cluster.add({"cpu": cpu}), {"cpu": cpu // 7})
    assert len(set(costs("spread", task_class(cpu=1), cluster)[:2])) == 1


@pytest.mark.parametrize("name", ["e-pvm", "spread"])
def test_tasks_that_need_nothing_go_where_fewest_tasks_are(name: str) -> None:
    cluster = Cluster()
    for tasks in (2, 0, 1):
        cluster.reserve(cluster.add({"cpu": 4000}), {}, tasks)
    decision = build_policy(name).decide(cluster.view([Queued(task_class(), 6, 0)]), 0.0, PLENTY)
    assert chosen(decision) == {1: {1: 1, 2: 3, 3: 2}}


def test_round_robin_deals_tasks_so_that_nodes_differ_by_one_at_most_and_goes_on_where_it_stopped() -> None:
    cluster = Cluster()
    for cpu in (64_000, 8000, 16_000):
        cluster.add({"cpu": cpu})
    planner = build_policy("round-robin")
    small, other = task_class(1, cpu=100), task_class(2, cpu=200)
    assert chosen(planner.decide(cluster.view([Queued(small, 4, 0)]), 0.0, PLENTY)) == {1: {1: 2, 2: 1, 3: 1}}
    both = [Queued(small, 1, 0), Queued(other, 3, 1)]
    assert chosen(planner.decide(cluster.view(both), 0.0, PLENTY)) == {1: {2: 1}, 2: {3: 1, 1: 1, 2: 1}}


def test_round_robin_passes_over_full_nodes() -> None:
    cluster = Cluster()
    for cpu in (1000, 3000, 2000):
        cluster.add({"cpu": cpu})
    decision = build_policy("round-robin").decide(cluster.view([Queued(task_class(cpu=1000), 9, 0)]), 0.0, PLENTY)
    assert chosen(decision) == {1: {1: 1, 2: 3, 3: 2}}


@pytest.mark.parametrize("score", SCORES.values(), ids=lambda score: score.name)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=50)
def test_a_score_has_the_shape_that_it_declares(score: Score, seed: int) -> None:
    rng = random.Random(seed)
    cluster = Cluster()
    for _ in range(5):
        row = cluster.add({"cpu": rng.randrange(1, 10**6), "memory": rng.randrange(1, 2**44)}, busy=rng.random())
        cluster.reserve(row, {"cpu": rng.randrange(5000), "memory": rng.randrange(2**30)}, rng.randrange(3))
    ledger = NodeLedger(score.keep)
    ledger.sync(cluster.nodes)
    a_task = task_class(cpu=rng.randrange(1, 5000), memory=rng.choice([1, rng.randrange(1, 2**34)]))
    levels = score.cost(a_task, ledger, np.arange(1, 6), np.arange(LEVELS)[:, np.newaxis])
    assert levels.shape == (LEVELS, 5)
    steps = np.diff(levels, axis=0)
    assert (steps <= 0).all() if score.shape is Shape.FALLING else (steps >= 0).all()


def test_a_score_of_ones_own_can_take_the_place_of_the_built_in_ones() -> None:
    cluster = Cluster()
    for _ in range(3):
        cluster.add({"cpu": 2000})

    def last_first(_: TaskClass, ledger: NodeLedger, rows: Rows, more: More) -> FloatArray:
        return (0 * more - ledger.number[rows]).astype(np.float64)

    planner = Planner(Stages(Score("last-first", Shape.RISING, last_first)))
    assert planner.name == "last-first"
    decision = planner.decide(cluster.view([Queued(task_class(cpu=1000), 3, 0)]), 0.0, PLENTY)
    assert chosen(decision) == {1: {3: 2, 2: 1}}
