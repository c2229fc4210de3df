"""The planner against the slow greedy: the same answer, round after round, whatever happens to the nodes in between."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from shunter.planning.filter.node_ledger import NodeLedger, Rows
from shunter.planning.planner import Planner, Stages
from shunter.planning.score.scores import SCORES, More, Score, Shape
from shunter.planning.view import FloatArray, Nodes, Queued, TaskClass
from tests.unit.planning.cluster_builder import GI, Chosen, Cluster, SlowGreedy, admits, chosen

ROUNDS = 4
SEED = 11
PLENTY = 10**6


def unordered(_: TaskClass, ledger: NodeLedger, rows: Rows, more: More = 0) -> FloatArray:
    """Goes up and down with every task, so that only the one-at-a-time way can follow it."""
    tasks = ledger.tasks[rows] + more
    return ((tasks * 7 + ledger.number[rows] * 3) % 5).astype(np.float64)


ALL_SCORES = [*SCORES.values(), Score("fickle", Shape.ANY, unordered)]


@pytest.mark.parametrize("score", ALL_SCORES, ids=lambda score: score.name)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=40)
def test_every_round_equals_the_greedy_that_places_one_task_at_a_time(score: Score, seed: int) -> None:
    rng = random.Random(seed)
    cluster, classes = random_cluster(rng), random_classes(rng)
    planner, slow = Planner(Stages(score)), SlowGreedy(score)
    for version in range(ROUNDS):
        queued = random_queue(rng, classes)
        budget = rng.choice([PLENTY, PLENTY, rng.randrange(60)])
        expected = slow.decide(cluster.view(queued, version), budget)
        decision = planner.decide(cluster.view(queued, version), 0.0, budget)
        note(f"seed {seed}, round {version}, {[(each.task_class.needs, each.count) for each in queued]}")
        assert chosen(decision) == expected
        assert decision.based_on == version
        assert_whole(decision.left, queued, expected, budget)
        assert_sound(expected, queued, cluster.nodes)
        apply_some(rng, cluster, expected, classes)
        change_something(rng, cluster, classes)


@pytest.mark.parametrize("name", ["round-robin", "e-pvm", "bin-pack", "spread"])
def test_thousands_of_nodes_are_filled_as_the_one_at_a_time_heap_would(name: str) -> None:
    """Large enough that the waterline is looked for in a sample; the heap takes the same prices one by one."""
    rng = random.Random(SEED)
    cluster = Cluster()
    for _ in range(3000):
        add_random_node(rng, cluster)
    classes = [TaskClass(id, {"cpu": rng.randrange(50, 900)}, "default", "tester", 50) for id in range(4)]
    at_once = Planner(Stages(SCORES[name]))
    one_by_one = Planner(Stages(replace(SCORES[name], shape=Shape.ANY)))
    for version in range(2):
        view = cluster.view([Queued(each, rng.randrange(20, 4000), each.id) for each in classes], version)
        decision = at_once.decide(view, 0.0, PLENTY)
        assert chosen(decision) == chosen(one_by_one.decide(view, 0.0, PLENTY)), f"seed {SEED}"
        apply_some(rng, cluster, chosen(decision), classes)


def random_cluster(rng: random.Random) -> Cluster:
    cluster = Cluster()
    for _ in range(rng.randrange(0, 9)):
        add_random_node(rng, cluster)
    return cluster


def add_random_node(rng: random.Random, cluster: Cluster) -> None:
    capacity = {
        "cpu": rng.choice([0, 1000, 2000, 8000, 8000, 8000, 30_000]),
        "memory": rng.choice([GI, 8 * GI, 8 * GI, 100 * GI + 12345]),
        "disk": rng.choice([0, 10 * GI]),
    }
    if rng.random() < 0.2:
        capacity["gpu"] = rng.randrange(1, 5)
    cluster.add(
        capacity,
        busy=rng.choice([0.0, 0.0, 0.05, 0.5, 1.0]),
        datacenter=rng.choice(["berlin", "paris"]),
        labels=rng.choice([{}, {"disk": "ssd"}, {"disk": "hdd"}]),
    )


def random_classes(rng: random.Random) -> list[TaskClass]:
    classes = []
    for id in range(rng.randrange(1, 6)):
        wishes = {  # how much, and how likely
            "cpu": (rng.choice([100, 250, 1000, 1001, 9000]), 0.9),
            "memory": (rng.choice([1, GI // 3, GI]), 0.6),
            "disk": (GI, 0.2),
            "gpu": (1, 0.1),
        }
        needs = {resource: need for resource, (need, chance) in wishes.items() if rng.random() < chance}
        datacenters = rng.choice([(), (), (), ("berlin",), ("paris", "rome")])
        constraints = rng.choice([(), (), (), ("node.labels.disk == 'ssd'",)])
        classes.append(TaskClass(id, needs, "default", "tester", rng.choice([10, 50]), datacenters, constraints))
    return classes


def random_queue(rng: random.Random, classes: list[TaskClass]) -> list[Queued]:
    queued = [Queued(each, rng.choice([1, 1, 2, 7, 40]), rng.randrange(3)) for each in classes if rng.random() < 0.8]
    rng.shuffle(queued)
    return queued


def assert_whole(left: Iterable[object], queued: list[Queued], placed: Chosen, budget: int) -> None:
    """What was queued is placed or left, nothing twice and nothing beyond the budget."""
    remaining = {each.class_id: each.count for each in left}  # type: ignore[attr-defined]
    assert all(remaining.values())
    for each in queued:
        found = sum(placed.get(each.task_class.id, {}).values())
        assert found + remaining.get(each.task_class.id, 0) == each.count
    assert sum(sum(rows.values()) for rows in placed.values()) <= budget


def assert_sound(placed: Chosen, queued: list[Queued], nodes: Nodes) -> None:
    """No node gets more than it has free, and none a task that it does not admit."""
    reserved = nodes.reserved.copy()
    for each in queued:
        for row, count in placed.get(each.task_class.id, {}).items():
            assert count > 0
            assert admits(each.task_class, nodes, row)
            for resource, need in each.task_class.needs.items():
                reserved[row, nodes.resources.index(resource)] += count * need
    grown = reserved > nodes.reserved
    assert (reserved[grown] <= nodes.capacity[grown]).all()


def apply_some(rng: random.Random, cluster: Cluster, placed: Chosen, classes: list[TaskClass]) -> None:
    """As the engine does: most placements hold, some are refused whole or in part."""
    needs = {each.id: each.needs for each in classes}
    for class_id, rows in placed.items():
        for row, count in rows.items():
            kept = count if rng.random() < 0.8 else rng.randrange(count + 1)
            if kept:
                cluster.reserve(row, needs[class_id], kept)


def change_something(rng: random.Random, cluster: Cluster, classes: list[TaskClass]) -> None:
    """What else happens between two rounds."""
    for row in range(1, cluster.nodes.count):
        event = rng.random()
        if event < 0.1:
            cluster.set_eligible(row, not cluster.nodes.eligible[row])
        elif event < 0.2:
            cluster.set_busy(row, rng.choice([0.0, 0.3, 0.95]))
        elif event < 0.3:
            cluster.label(row, "berlin", {"disk": "ssd"})
        elif event < 0.5:
            cluster.nodes.reserved[row] //= 2
            cluster.nodes.tasks[row] //= 2
            cluster.touch(row)
        elif event < 0.55:
            cluster.nodes.capacity[row] //= 2  # may leave less than is reserved
            cluster.touch(row)
    if rng.random() < 0.5:
        add_random_node(rng, cluster)
    if rng.random() < 0.2:
        cluster.add_resource("licence")
    if rng.random() < 0.2 and classes:
        old = classes.pop()
        classes.append(TaskClass(old.id, {"cpu": 500}, "default", "tester", 50))  # an id that means something else now
