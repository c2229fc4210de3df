"""Ranks: priority with ageing, deadlines, and no starvation."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shunter.planning.order.pending_queue import PendingQueue
from shunter.planning.order.rank import AGE_STEP_MS, by_urgency
from shunter.planning.planner import Planner, Stages
from shunter.planning.score.scores import SCORES
from shunter.planning.view import ClusterView, Queued, TaskClass
from tests.unit.planning.cluster_builder import Cluster, chosen

PLENTY = 10**6
CPU = 1000


def queued(
    id: int = 1, priority: int = 50, since_ms: int = 0, deadline_ms: int = 0, since: int = 0, count: int = 1
) -> Queued:
    task_class = TaskClass(id, {"cpu": CPU}, "default", "tester", priority, deadline_ms=deadline_ms)
    return Queued(task_class, count, since, since_ms)


def placement_order(*waiting: Queued) -> list[int]:
    """The order in which classes of one task get the only place, one decision after another."""
    cluster, planner, order = Cluster(), Planner(Stages(SCORES["spread"])), []
    cluster.add({"cpu": CPU})
    left = list(waiting)
    while left:
        (class_id,) = chosen(planner.decide(cluster.view(left), 0.0, PLENTY))
        order.append(class_id)
        left = [each for each in left if each.task_class.id != class_id]
    return order


waiting_classes = st.builds(
    queued,
    id=st.integers(0, 10**6),
    priority=st.integers(0, 100),
    since_ms=st.integers(0, 100 * AGE_STEP_MS),
    deadline_ms=st.sampled_from([0, 1, 5000, 10**12]),
    since=st.integers(0, 5),
)


@given(st.lists(waiting_classes, min_size=2, max_size=5, unique_by=lambda each: each.task_class.id), st.randoms())
@settings(max_examples=60)
def test_the_order_is_total_and_does_not_depend_on_how_classes_are_listed(
    classes: list[Queued], rng: random.Random
) -> None:
    expected = sorted(classes, key=lambda each: (by_urgency(each), each.since, each.task_class.id))
    rng.shuffle(classes)
    assert placement_order(*classes) == [each.task_class.id for each in expected]


def test_each_step_of_waiting_counts_as_much_as_a_point_of_priority() -> None:
    now_ms = 2000 * AGE_STEP_MS
    waited = [by_urgency(queued(priority=10, since_ms=now_ms - steps * AGE_STEP_MS)) for steps in (0, 1, 2, 1000)]
    assert waited == [by_urgency(queued(priority=points, since_ms=now_ms)) for points in (10, 11, 12, 1010)]
    assert by_urgency(queued(since_ms=AGE_STEP_MS - 1)) == by_urgency(queued(since_ms=0))


def test_who_has_waited_long_enough_goes_before_a_higher_priority() -> None:
    old = queued(1, priority=50, since_ms=0)
    assert placement_order(old, queued(2, priority=60, since_ms=9 * AGE_STEP_MS)) == [2, 1]
    assert placement_order(old, queued(3, priority=60, since_ms=11 * AGE_STEP_MS)) == [1, 3]


@pytest.mark.parametrize("listed", list(permutations([1, 2, 3, 4])))
def test_within_a_point_the_earlier_deadline_goes_first_and_none_goes_last(listed: tuple[int, ...]) -> None:
    classes = {
        1: queued(1, deadline_ms=0, since=1),
        2: queued(2, deadline_ms=9000, since=9),
        3: queued(3, deadline_ms=5000, since=9),
        4: queued(4, priority=51, since=9),
    }
    assert placement_order(*(classes[id] for id in listed)) == [4, 3, 2, 1]


@given(
    seed=st.integers(0, 2**32), slots=st.integers(1, 3), gap=st.integers(0, 20), tasks=st.integers(1, 6),
    work_max=st.sampled_from([1, 10**9]),
)  # fmt: skip
@settings(max_examples=40)
def test_every_task_starts_within_a_bound_under_constant_load_of_higher_priority(
    seed: int, slots: int, gap: int, tasks: int, work_max: int
) -> None:
    """Each step as many important tasks come as there is room, or one more, and all that runs ends. Newcomers are `gap`
    points more important; after `gap` steps they are no longer ahead, and those that are get done in as many steps."""
    rng = random.Random(seed)
    cluster, planner, waiting = Cluster(), Planner(Stages(SCORES["e-pvm"]), work_max), PendingQueue()
    for _ in range(slots):
        cluster.add({"cpu": CPU})
    waiting.put(queued(1, priority=50, count=tasks))
    bound = 2 * gap + tasks + 1
    for step in range(bound):
        newcomer = queued(100 + step, 50 + gap, since_ms=step * AGE_STEP_MS, since=step, count=slots + rng.randrange(2))
        waiting.put(newcomer)
        is_partial = True
        while is_partial:
            decision = planner.decide(ClusterView(step, cluster.nodes, waiting), 0.0, PLENTY)
            is_partial = decision.is_partial
            for class_id, rows in chosen(decision).items():
                entry = waiting.get(class_id)
                assert entry is not None
                waiting.put(replace(entry, count=entry.count - sum(rows.values())))
                for row, count in rows.items():
                    cluster.reserve(row, {"cpu": CPU}, count)
        if waiting.get(1) is None:
            return
        for row in range(1, slots + 1):
            cluster.reserve(row, {"cpu": CPU}, -int(cluster.nodes.tasks[row]))
    raise AssertionError(f"class 1 still waits after {bound} steps")
