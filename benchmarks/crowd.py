"""A full cluster and a gang that finds no room: it preempts others, or gets a reservation. `benchmarks.order` measures
the longest slice."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.planner import GI, SEED, make_nodes
from shunter.planning.planner import build_policy
from shunter.planning.view import ClusterView, Queued, Rules, Running, TaskClass

NOW_MS = 10_000_000
HOUR_MS = 3_600_000
CLASSES = 50
SKIPPED_MAX = 3  # tasks that find no room on a node, after which it counts as full
BUDGET = 20_000
GANG, SMALL = 1_000, 1_001  # numbers of classes that wait


@dataclass(frozen=True)
class Duration:
    """On a machine with other work only processor time says something about the planner."""

    wall_s: float
    cpu_s: float


class FullCluster:
    """Nodes full of tasks of many classes, each with an end of its own."""

    def __init__(self, nodes: int) -> None:
        rng = random.Random(SEED)
        self.nodes = make_nodes(nodes)
        self.classes = {number: _some_class(rng, number) for number in range(CLASSES)}
        rows = [each for row in range(1, self.nodes.count) for each in self._fill(rng, row)]
        ids, node, count, priority, started_ms, end_ms = np.array(sorted(rows), dtype=np.int64).T
        self.running = Running(ids, node, count, priority, started_ms, end_ms, np.zeros(len(rows), np.bool_))

    def start_gang(self, policy_name: str, count: int, priority: int) -> Iterator[Duration]:
        """How long each slice takes of deciding about a gang that comes, with small tasks behind it."""
        rules = Rules(1, gang=1)
        gang = TaskClass(GANG, {"cpu": 16_000, "memory": 32 * GI}, "team", "ann", priority, rules=rules)
        small = TaskClass(SMALL, {"cpu": 1_000, "memory": GI}, "team", "bob", 10)
        self.classes |= {GANG: gang, SMALL: small}
        policy = build_policy(policy_name)
        policy.decide(self._view([]), NOW_MS / 1000, BUDGET)  # it knows the nodes before
        queued = [Queued(gang, count, 0, NOW_MS, 60.0), Queued(small, 1_000, 1, NOW_MS, 10.0)]
        is_partial = True
        while is_partial:
            started_s, started_cpu_s = time.perf_counter(), time.process_time()
            decision = policy.decide(self._view(queued), NOW_MS / 1000, BUDGET)
            yield Duration(time.perf_counter() - started_s, time.process_time() - started_cpu_s)
            is_partial = decision.is_partial
        assert decision.preemptions or GANG in decision.reasons, "room is made or kept for it"

    def _view(self, queued: list[Queued]) -> ClusterView:
        return ClusterView(
            1,
            self.nodes,
            queued,
            running=lambda: self.running,
            classes=self.classes.__getitem__,
            tally=lambda _: {},
            presence=lambda _: np.zeros(self.nodes.count, np.int64),
            matches=lambda _match, _id: False,
            lowest_priority=lambda: 10,
            called=str,
        )

    def _fill(self, rng: random.Random, row: int) -> Iterator[tuple[int, ...]]:
        nodes, skipped = self.nodes, 0
        while skipped < SKIPPED_MAX:
            task_class = self.classes[rng.randrange(CLASSES)]
            needs = np.array([task_class.needs["cpu"], task_class.needs["memory"], 0])
            if (nodes.reserved[row] + needs > nodes.capacity[row]).any():
                skipped += 1
                continue
            nodes.reserved[row] += needs
            nodes.tasks[row] += 1
            started_ms, end_ms = rng.randrange(1, NOW_MS), NOW_MS + rng.randrange(1, HOUR_MS)
            yield task_class.id, row, 1, task_class.priority, started_ms, end_ms


def _some_class(rng: random.Random, number: int) -> TaskClass:
    needs = {"cpu": rng.choice([2_000, 4_000, 6_000]), "memory": rng.choice([4, 8, 16]) * GI}
    return TaskClass(number, needs, "team", "cyd", rng.choice([10, 20, 30]))
