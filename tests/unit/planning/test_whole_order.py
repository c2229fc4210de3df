"""The planner against the slow order: ranks, shares, queues, licences and filters together, round after round."""

from __future__ import annotations

import random
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from shunter.planning.order.pending_queue import PendingQueue
from shunter.planning.order.rank import AGE_STEP_MS
from shunter.planning.planner import Planner, Stages
from shunter.planning.score.scores import SCORES
from shunter.planning.view import ClusterView, Decision, IntArray, Queued, QueueRules, TaskClass
from tests.unit.planning.cluster_builder import GI, Chosen, Cluster, chosen
from tests.unit.planning.slow_order import SlowOrder

ROUNDS = 5
PLENTY = 10**6
QUEUES = ("default", "night", "line", "other-line")
Usage = dict[tuple[str, str], IntArray]


class Scenario:
    """A cluster with tenants, queues and licences, changed between rounds as an engine would change it."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.cluster = Cluster()
        for _ in range(rng.randrange(1, 6)):
            self.add_node()
        self.waiting = PendingQueue()
        self.usage: Usage = {}
        self.licences = {"matlab": (rng.randrange(6), 0)} if rng.random() < 0.5 else {}
        self.queues = {name: self.random_rules(name) for name in QUEUES if rng.random() < 0.7}
        self.ran: list[tuple[TaskClass, int]] = []
        self.number = 0
        self.arrive(rng.randrange(1, 7))

    def add_node(self) -> None:
        rng = self.rng
        capacity = {"cpu": rng.choice([1000, 4000, 16_000]), "memory": rng.choice([4 * GI, 16 * GI])}
        attributes = {"runtime.docker": "24"} if rng.random() < 0.7 else {}
        row = self.cluster.add(capacity, labels=rng.choice([{}, {"disk": "ssd"}]), attributes=attributes)
        self.cluster.nodes.owner[row] = rng.choice([0, 0, 0, 7])

    def random_rules(self, name: str) -> QueueRules:
        rng = self.rng
        return QueueRules(name, rng.random() < 0.15, "line" in name, rng.choice([0, 0, 3, 12]), running=0)

    def arrive(self, count: int) -> None:
        rng = self.rng
        for _ in range(count):
            self.number += 1
            # small ones too, of which several make one step of a share
            needs = {"cpu": rng.choice([10, 250, 1000, 3000]), "memory": rng.choice([1, GI, 3 * GI])}
            if rng.random() < 0.3:
                needs["matlab"] = rng.choice([1, 2])
            task_class = TaskClass(
                self.number,
                needs,
                rng.choice(["red", "blue", "green"]),
                rng.choice(["ann", "bob"]),
                rng.choice([10, 50]),
                constraints=rng.choice([(), (), ("node.labels.disk == 'ssd'",)]),
                queue=rng.choice(QUEUES),
                runtime=rng.choice(["process", "process", "docker"]),
                deadline_ms=rng.choice([0, 0, 5000, 9000]),
            )
            avoid = rng.choice([frozenset(), frozenset(), frozenset({1, 2})])
            since_ms = rng.randrange(3) * AGE_STEP_MS
            self.waiting.put(Queued(task_class, rng.choice([1, 2, 9, 30]), rng.randrange(9), since_ms, avoid=avoid))

    def view(self, version: int, queued: PendingQueue | list[Queued]) -> ClusterView:
        return ClusterView(version, self.cluster.nodes, queued, self.usage, self.queues, self.licences)

    def apply(self, placed: Chosen, share_kept: float = 1.0) -> None:
        for class_id, rows in placed.items():
            queued = self.waiting.get(class_id)
            assert queued is not None
            for row, count in rows.items():
                kept = count if self.rng.random() < share_kept else self.rng.randrange(count + 1)
                self.run(queued.task_class, row, kept)
                queued = replace(queued, count=queued.count - kept)
            self.waiting.put(queued)

    def run(self, task_class: TaskClass, row: int, count: int) -> None:
        """Also ends tasks, with a negative count."""
        nodes, owner = self.cluster.nodes, (task_class.namespace, task_class.user)
        held = self.usage.get(owner, np.zeros(len(nodes.resources), np.int64)).copy()
        on_nodes = {name: need for name, need in task_class.needs.items() if name in nodes.resources}
        for resource, need in on_nodes.items():
            held[nodes.resources.index(resource)] += need * count
        self.usage[owner] = held
        self.cluster.reserve(row, on_nodes, count)
        for name, (total, used) in self.licences.items():
            self.licences[name] = (total, used + task_class.needs.get(name, 0) * count)
        if task_class.queue in self.queues:
            rules = self.queues[task_class.queue]
            self.queues[task_class.queue] = msgspec.structs.replace(rules, running=rules.running + count)
        self.ran += [(task_class, row)] * count

    def change_something(self) -> None:
        """What else happens between two rounds."""
        rng = self.rng
        rng.shuffle(self.ran)
        for _ in range(min(len(self.ran), rng.choice([0, 0, 1, 4]))):
            task_class, row = self.ran.pop()
            self.run(task_class, row, -1)
        for row in range(1, self.cluster.nodes.count):
            event = rng.random()
            if event < 0.1:
                self.cluster.set_eligible(row, not self.cluster.nodes.eligible[row])
            elif event < 0.15:
                self.cluster.nodes.owner[row] = rng.choice([0, 7])
                self.cluster.touch(row)
            elif event < 0.2:
                self.cluster.label(row, "dc1", rng.choice([{}, {"disk": "ssd"}]), {"runtime.docker": "24"})
            elif event < 0.3:
                self.cluster.set_busy(row, rng.choice([0.0, 0.5]))
        for name in list(self.queues):
            if rng.random() < 0.2:
                self.queues[name] = msgspec.structs.replace(self.random_rules(name), running=self.queues[name].running)
        for name, (total, used) in self.licences.items():
            self.licences[name] = (max(used, total + rng.choice([-1, 0, 0, 1])), used)
        for queued in list(self.waiting):
            event = rng.random()
            if event < 0.1:
                self.waiting.drop(queued.task_class.id)
            elif event < 0.2:
                self.waiting.put(replace(queued, count=queued.count + 2, since=rng.randrange(9)))
            elif event < 0.25:
                self.waiting.put(replace(queued, avoid=frozenset({1})))
        if rng.random() < 0.3:
            self.add_node()
        self.arrive(rng.choice([0, 0, 1, 3]))


@pytest.mark.parametrize("name", ["e-pvm", "bin-pack", "round-robin"])
@given(seed=st.integers(0, 2**32), tells_changes=st.booleans())
@settings(max_examples=60)
def test_every_round_equals_the_order_taken_by_its_word(name: str, seed: int, tells_changes: bool) -> None:
    rng = random.Random(seed)
    scenario, planner, slow = Scenario(rng), Planner(Stages(SCORES[name])), SlowOrder(SCORES[name])
    for version in range(ROUNDS):
        budget = rng.choice([PLENTY, rng.randrange(12), rng.randrange(90)])
        note(f"seed {seed}, round {version}, budget {budget}: {list(scenario.waiting)}")
        expected = slow.decide(scenario.view(version, scenario.waiting), budget)
        queued = scenario.waiting if tells_changes else list(scenario.waiting)
        decision = planner.decide(scenario.view(version, queued), 0.0, budget)
        assert chosen(decision) == expected
        assert_whole(decision, scenario.waiting, expected)
        scenario.apply(expected, share_kept=0.8)
        scenario.change_something()


@given(seed=st.integers(0, 2**32))
@settings(max_examples=100)
def test_slices_add_up_to_one_whole_pass(seed: int) -> None:
    """However little work a decision may do: while nothing else changes, all of them together decide as one would."""
    rng = random.Random(seed)
    scenario = Scenario(rng)
    whole = chosen(Planner(Stages(SCORES["e-pvm"])).decide(scenario.view(0, list(scenario.waiting)), 0.0, PLENTY))
    planner = Planner(Stages(SCORES["e-pvm"]), work_max=rng.choice([1, 5000, 20_000]))
    total: Chosen = {}
    for version in range(1000):
        decision = planner.decide(scenario.view(version, scenario.waiting), 0.0, rng.choice([1, 3, PLENTY]))
        for class_id, rows in chosen(decision).items():
            counts = total.setdefault(class_id, {})
            for row, count in rows.items():
                counts[row] = counts.get(row, 0) + count
        scenario.apply(chosen(decision))
        if not decision.is_partial:
            break
    assert not decision.is_partial
    assert total == whole


def assert_whole(decision: Decision, waiting: PendingQueue, placed: Chosen) -> None:
    """What waits was placed or is left, nothing twice."""
    left = {each.class_id: each.count for each in decision.left}
    assert all(left.values())
    for each in waiting:
        found = sum(placed.get(each.task_class.id, {}).values())
        assert found + left.get(each.task_class.id, 0) == each.count
