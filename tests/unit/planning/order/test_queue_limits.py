"""Queues and licences: which classes wait although nodes have room."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from shunter.planning.planner import Planner, Stages
from shunter.planning.score.scores import SCORES
from shunter.planning.view import ClusterView, Queued, QueueRules, TaskClass
from tests.unit.planning.cluster_builder import Cluster, chosen

PLENTY = 10**6
Licences = dict[str, tuple[int, int]]


def waiting(
    id: int, queue: str = "default", count: int = 1, since: int = 0, priority: int = 50, **needs: int
) -> Queued:
    return Queued(TaskClass(id, needs or {"cpu": 1000}, "default", "ann", priority, queue=queue), count, since)


class QueueHarness:
    """One planner over a node, asked again and again; nothing is applied in between."""

    def __init__(self, cpu: int = 10_000) -> None:
        self.cluster = Cluster()
        self.cluster.add({"cpu": cpu})
        self.planner = Planner(Stages(SCORES["e-pvm"]))

    def placed(
        self, *queued: Queued, queues: dict[str, QueueRules] | None = None, licences: Licences | None = None
    ) -> dict[int, int]:
        view = ClusterView(1, self.cluster.nodes, queued, {}, queues or {}, licences or {})
        decision = self.planner.decide(view, 0.0, PLENTY)
        assert not decision.is_partial
        return {class_id: sum(rows.values()) for class_id, rows in chosen(decision).items()}


def test_a_paused_queue_gets_nothing_until_it_is_resumed() -> None:
    harness, both = QueueHarness(), (waiting(1, "night", 3), waiting(2, "day", 3))
    assert harness.placed(*both, queues={"night": QueueRules("night", is_paused=True)}) == {2: 3}
    assert harness.placed(*both, queues={"night": QueueRules("night")}) == {1: 3, 2: 3}


def test_a_queue_runs_no_more_than_its_limit_over_all_its_classes() -> None:
    harness, queued = (
        QueueHarness(),
        (waiting(1, "night", 3, since=1), waiting(2, "night", 3, since=2), waiting(3, "day", 2)),
    )
    assert harness.placed(*queued, queues={"night": QueueRules("night", running_max=5, running=1)}) == {
        1: 3,
        2: 1,
        3: 2,
    }
    assert harness.placed(*queued, queues={"night": QueueRules("night", running_max=5, running=7)}) == {3: 2}
    assert harness.placed(*queued, queues={"night": QueueRules("night", running_max=9, running=7)}) == {1: 2, 3: 2}


def test_in_a_strict_queue_the_first_that_finds_no_room_keeps_all_behind_it_waiting() -> None:
    harness, strict = QueueHarness(), {"line": QueueRules("line", is_strict=True)}
    large = waiting(2, "line", since=2, cpu=64_000)
    queued = (waiting(1, "line", 2, since=1), large, waiting(3, "line", since=3), waiting(4, "day", since=4))
    assert harness.placed(*queued, queues=strict) == {1: 2, 4: 1}
    assert harness.placed(*queued, queues=strict) == {1: 2, 4: 1}
    harness.cluster.add({"cpu": 80_000})
    assert harness.placed(*queued, queues=strict) == {1: 2, 2: 1, 3: 1, 4: 1}


def test_a_strict_queue_goes_by_age_even_where_a_later_one_has_a_higher_priority() -> None:
    harness = QueueHarness(cpu=1000)
    queued = [waiting(1, "line", since=1, priority=10), waiting(2, "line", since=2, priority=90)]
    assert harness.placed(*queued, queues={"line": QueueRules("line", is_strict=True)}) == {1: 1}
    assert harness.placed(
        *queued, waiting(3, since=3, priority=50), queues={"line": QueueRules("line", is_strict=True)}
    ) == {3: 1}


def test_behind_the_first_of_a_strict_queue_a_higher_priority_counts_again() -> None:
    harness = QueueHarness(cpu=2000)
    queued = [waiting(1, "line", since=1, priority=10), waiting(2, "line", since=2, priority=90)]
    queued.append(waiting(3, since=0, priority=10))
    assert harness.placed(*queued, queues={"line": QueueRules("line", is_strict=True)}) == {3: 1, 1: 1}
    harness = QueueHarness(cpu=2000)
    queued[2] = waiting(3, since=5, priority=10)
    assert harness.placed(*queued, queues={"line": QueueRules("line", is_strict=True)}) == {1: 1, 2: 1}


@given(seed=st.integers(0, 2**32))
@settings(max_examples=100)
def test_a_strict_queue_never_reorders(seed: int) -> None:
    """Nobody behind gets a task while somebody ahead lacks one."""
    rng = random.Random(seed)
    harness = QueueHarness(cpu=rng.randrange(1000, 9000))
    queued = [
        waiting(id, "line", rng.randrange(1, 4), rng.randrange(4), rng.choice([10, 50]), cpu=rng.choice([500, 2500]))
        for id in range(rng.randrange(1, 6))
    ]
    got = harness.placed(*queued, queues={"line": QueueRules("line", is_strict=True, running_max=rng.choice([0, 3]))})
    line = sorted(queued, key=lambda each: (each.since, each.task_class.id))
    lacking = [each for each in line if got.get(each.task_class.id, 0) < each.count]
    if lacking:
        behind = line[line.index(lacking[0]) + 1 :]
        assert not any(each.task_class.id in got for each in behind)


def test_licences_are_counted_over_the_whole_cluster_and_not_looked_for_on_nodes() -> None:
    harness = QueueHarness()
    harness.cluster.add({"cpu": 10_000})
    queued = waiting(1, count=9, cpu=100, solver=2)
    assert harness.placed(queued, licences={"solver": (10, 3)}) == {1: 3}
    assert harness.placed(queued, licences={"solver": (10, 9)}) == {}
    assert harness.placed(queued, licences={"solver": (100, 9)}) == {1: 9}
    assert harness.placed(queued) == {}  # no licence and no node has any


def test_who_needs_a_licence_that_is_out_does_not_keep_others_waiting() -> None:
    queued = (waiting(1, count=3, since=1, cpu=100, solver=1), waiting(2, count=3, since=2, cpu=100))
    assert QueueHarness().placed(*queued, licences={"solver": (4, 4)}) == {2: 3}


@given(seed=st.integers(0, 2**32))
@settings(max_examples=100)
def test_licences_and_limits_are_never_exceeded(seed: int) -> None:
    rng = random.Random(seed)
    harness = QueueHarness(cpu=rng.randrange(1000, 20_000))
    queued = [
        waiting(
            id, rng.choice(["day", "night"]), rng.randrange(1, 9), rng.randrange(4), cpu=100, solver=rng.randrange(1, 4)
        )
        for id in range(rng.randrange(1, 6))
    ]
    total, used, running = rng.randrange(12), rng.randrange(4), rng.randrange(4)
    rules = {"night": QueueRules("night", running_max=5, running=running)}
    got = harness.placed(*queued, queues=rules, licences={"solver": (total, used)})
    needs = {each.task_class.id: each.task_class for each in queued}
    assert sum(needs[id].needs["solver"] * count for id, count in got.items()) <= max(0, total - used)
    assert sum(count for id, count in got.items() if needs[id].queue == "night") <= 5 - running
