"""Random rules between tasks: placed as a plain greedy places them, one task at a time."""

from __future__ import annotations

import math
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from shunter.model.job.spec import Affinity, Spread
from shunter.planning.score.scores import SCORES
from shunter.planning.score.workspace import Workspace
from shunter.planning.view import Queued, Rules, TaskClass
from tests.unit.planning.running_cluster import SSD, RunningCluster, as_dict

Occupants = list[tuple[TaskClass, int]]


@pytest.mark.parametrize("name", ["round-robin", "e-pvm", "bin-pack", "spread"])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=60)
def test_coupled_classes_are_placed_as_the_plain_greedy_would_place_them(name: str, seed: int) -> None:
    rng = random.Random(seed)
    running_cluster = random_cluster(rng)
    classes = [running_cluster.make_class(rng.choice(["web", "db"]), rules=random_rules(rng)) for _ in range(3)]
    for each in classes:
        row = rng.randrange(1, running_cluster.cluster.nodes.count)
        if rng.random() < 0.5 and running_cluster.cluster.nodes.tasks[row] == 0:
            running_cluster.run(each, row)
    workspace, earlier = running_cluster.workspace(score=SCORES[name]), Occupants()
    for each in classes:
        count = rng.choice([1, 2, 5, 20])
        note(f"seed {seed}: {each.rules}, {count} tasks, {[(e.id, row) for e, row in earlier]} before")
        expected = slow_greedy(running_cluster, workspace, earlier, each, count)
        found = workspace.pick(Queued(each, count, 0), count)
        assert as_dict(found) == expected
        workspace.put(each, found)
        earlier += [(each, row) for row, more in as_dict(found).items() for _ in range(more)]


def random_cluster(rng: random.Random) -> RunningCluster:
    running_cluster = RunningCluster()
    for _ in range(rng.randrange(1, 8)):
        labels = {"rack": rng.choice("abc"), "disk": rng.choice(["ssd", "hdd"])}
        labels = {key: value for key, value in labels.items() if rng.random() < 0.8}
        running_cluster.cluster.add({"cpu": rng.choice([1, 2, 4, 7])}, labels=labels)
    others = [running_cluster.make_class(name) for name in ("web", "db")]
    for row in range(1, running_cluster.cluster.nodes.count):
        if rng.random() < 0.3:
            running_cluster.run(rng.choice(others), row)
    return running_cluster


def random_rules(rng: random.Random) -> Rules:
    affinity = [
        Affinity("node", SSD, require=rng.random() < 0.5, weight=rng.choice([0.3, 1, 4]), anti=rng.random() < 0.5),
        Affinity("job", rng.choice(["web", "db"]), rng.random() < 0.5, rng.choice([0.3, 1]), rng.random() < 0.7),
    ]
    return Rules(
        job=0,
        exclusive=rng.random() < 0.1,
        distinct=rng.choice(["", "", "host", "rack"]),
        spread=tuple(
            Spread(label, rng.choice([0.2, 1, 3])) for label in ("rack", "disk", "host") if rng.random() < 0.3
        ),
        affinity=tuple(each for each in affinity if rng.random() < 0.3),
    )


def slow_greedy(
    running_cluster: RunningCluster, workspace: Workspace, earlier: Occupants, task_class: TaskClass, count: int
) -> dict[int, int]:
    """One task at a time over all nodes, every rule taken by its word."""
    rules, nodes, ledger = task_class.rules, running_cluster.cluster.nodes, workspace.ledger
    assert rules is not None
    before = [(task.task_class, task.row) for task in running_cluster.tasks] + earlier
    found = Counter[int]()

    def next_score(row: int) -> float:
        return float(workspace.score.cost(task_class, ledger, np.array([row]), found[row])[0])

    def candidates() -> list[int]:
        now = before + [(task_class, row) for row in found.elements()]
        return [
            row
            for row in range(1, nodes.count)
            if ledger.room(task_class, np.array([row]), 99)[0] > found[row]
            and is_admitted(running_cluster, task_class, row, now)
        ]

    scores = [next_score(row) for row in candidates()]
    low = min(scores, default=0.0)
    score_range = (max(scores, default=0.0) - low) or 1.0
    is_soft = rules.spread or rules.distinct not in ("", "host") or any(not each.require for each in rules.affinity)
    for _ in range(count):
        best, least = None, math.inf
        now = before + [(task_class, row) for row in found.elements()]
        for row in candidates():
            total = next_score(row)
            if is_soft:
                total = (total - low) / score_range + affinity_bias(
                    running_cluster, task_class, row, before, found[row]
                )
                total += sum(
                    each.weight * domain_tasks(running_cluster, task_class, row, each.label, now)
                    for each in rules.spread
                )
            if total < least:
                best, least = row, total
        if best is None:
            break
        found[best] += 1
    return dict(found)


def is_admitted(running_cluster: RunningCluster, task_class: TaskClass, row: int, occupants: Occupants) -> bool:
    rules, name = task_class.rules, running_cluster.names[task_class.id]
    assert rules is not None
    here = [each for each, where in occupants if where == row]
    for each in here:
        if each.rules is not None and each.rules.exclusive and each.rules.job != rules.job:
            return False
        if each is not task_class and each.rules is not None and any(hard_anti(a, name) for a in each.rules.affinity):
            return False
    if rules.exclusive and here and not any(each.rules is not None and each.rules.job == rules.job for each in here):
        return False
    if rules.distinct:
        value = domain_of(running_cluster, row, rules.distinct)
        if value is None or any(
            each is task_class and domain_of(running_cluster, where, rules.distinct) == value
            for each, where in occupants
        ):
            return False
    for rule in rules.affinity:
        if not rule.require:
            continue
        if rule.to == "node":
            holds = domain_of(running_cluster, row, "disk") == "ssd"
        else:
            holds = any(running_cluster.names[each.id] == rule.match for each in here)
            is_lonely = not any(running_cluster.names[each.id] == rule.match for each, _ in occupants)
            holds = holds or (not rule.anti and rule.match == name and is_lonely)
        if holds == rule.anti:
            return False
    return True


def hard_anti(rule: Affinity, name: str) -> bool:
    return rule.to == "job" and rule.anti and rule.require and rule.match == name


def affinity_bias(
    running_cluster: RunningCluster, task_class: TaskClass, row: int, before: Occupants, more: int
) -> float:
    """What soft affinities add to the price, once more after the first task if the job means itself."""
    assert task_class.rules is not None
    bias = repeat_bias = 0.0
    for rule in task_class.rules.affinity:
        weight = rule.weight if rule.anti else -rule.weight
        if rule.require:
            continue
        if rule.to == "node":
            bias += weight * (domain_of(running_cluster, row, "disk") == "ssd")
        elif any(running_cluster.names[each.id] == rule.match for each, where in before if where == row):
            bias += weight
        elif rule.match == running_cluster.names[task_class.id]:
            repeat_bias += weight
    return bias + (repeat_bias if more else 0.0)


def domain_tasks(
    running_cluster: RunningCluster, task_class: TaskClass, row: int, label: str, occupants: Occupants
) -> int:
    value = domain_of(running_cluster, row, label)
    return sum(each is task_class and domain_of(running_cluster, where, label) == value for each, where in occupants)


def domain_of(running_cluster: RunningCluster, row: int, label: str) -> str | None:
    nodes = running_cluster.cluster.nodes
    return str(row) if label == "host" else nodes.kinds[nodes.kind[row]].labels.get(label)
