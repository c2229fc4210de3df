"""The planner alone, without an engine: placements per second.

Run: python -m benchmarks.planner"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from benchmarks.measure import Bar, Report, interleave, read_options
from shunter.planning.order.pending_queue import PendingQueue
from shunter.planning.planner import build_policy
from shunter.planning.view import ClusterView, Decision, NodeKind, Nodes, Policy, Queued, TaskClass

GI = 2**30
NODE_SIZES = ((64_000, 256 * GI), (96_000, 384 * GI), (128_000, 512 * GI), (192_000, 768 * GI))
SEED = 20
POLICIES = ("e-pvm", "bin-pack", "spread")
AT_ONCE = Bar(at_least=3_000_000)
IN_ROUNDS = Bar(at_least=100_000)
ALONE = Bar(at_least=10_000)


@dataclass(frozen=True)
class Size:
    """How much is placed; the bars hold for FULL."""

    nodes: int
    classes: int
    tasks: int
    tasks_a_round: int  # of each class
    lone_nodes: int
    lone_classes: int


FULL = Size(nodes=10_000, classes=20, tasks=1_000_000, tasks_a_round=100, lone_nodes=5_000, lone_classes=10_000)
SMALL = Size(nodes=500, classes=5, tasks=20_000, tasks_a_round=20, lone_nodes=200, lone_classes=500)


def main() -> None:
    options = read_options(__doc__)
    report = Report("planner", options)
    size = SMALL if options.small else FULL
    scenarios: tuple[tuple[str, Callable[[str, Size], float], Bar], ...] = (
        (f"{size.tasks:,} tasks of {size.classes} classes on {size.nodes:,} nodes, one plan", at_once, AT_ONCE),
        (f"the same in rounds of {size.tasks_a_round} tasks a class", in_rounds, IN_ROUNDS),
        (f"every task a class of its own, {size.lone_nodes:,} nodes", alone, ALONE),
    )
    for what, measure, bar in scenarios:
        rates = interleave({policy: partial(measure, policy, size) for policy in POLICIES}, options.rounds)
        for policy, rate in rates.items():
            report.figure(f"{what}, {policy}", "placements/s", rate, bar)


def at_once(policy_name: str, size: Size) -> float:
    """All tasks of all classes at once, in as many slices as the planner makes of it; they are applied in between."""
    nodes, classes = make_nodes(size.nodes), make_classes(size.classes)
    pending_queue = make_pending_queue([Queued(each, size.tasks // size.classes, since=each.id) for each in classes])
    return size.tasks / sum(place_all(build_policy(policy_name), nodes, pending_queue, expected=size.tasks))


def in_rounds(policy_name: str, size: Size) -> float:
    """A few tasks of each class a round; every round is applied as the engine would, within the time measured."""
    nodes, classes = make_nodes(size.nodes), make_classes(size.classes)
    policy = build_policy(policy_name)
    a_round = size.tasks_a_round * size.classes
    started = time.perf_counter()
    for version in range(1, size.tasks // a_round + 1):
        pending_queue = make_pending_queue([Queued(each, size.tasks_a_round, since=version) for each in classes])
        decision = policy.decide(ClusterView(version, nodes, pending_queue), now=0.0, budget=a_round)
        assert count_placed(decision) == a_round
        apply(decision, nodes, pending_queue)
    return size.tasks / (time.perf_counter() - started)


def alone(policy_name: str, size: Size) -> float:
    """No two tasks alike, so that every task looks at every node."""
    nodes, classes = make_nodes(size.lone_nodes), make_classes(size.lone_classes)
    pending_queue = make_pending_queue([Queued(each, 1, since=each.id) for each in classes])
    return size.lone_classes / sum(
        place_all(build_policy(policy_name), nodes, pending_queue, expected=size.lone_classes)
    )


def make_pending_queue(queued: list[Queued]) -> PendingQueue:
    pending_queue = PendingQueue()
    for each in queued:
        pending_queue.put(each)
    return pending_queue


def place_all(policy: Policy, nodes: Nodes, pending_queue: PendingQueue, expected: int) -> list[float]:
    """Decide until the decision is whole, applying every slice as the engine would; how long each slice took."""
    slices: list[float] = []
    placed, is_partial = 0, True
    while is_partial:
        started = time.perf_counter()
        decision = policy.decide(ClusterView(len(slices), nodes, pending_queue), now=0.0, budget=expected)
        slices.append(time.perf_counter() - started)
        placed += count_placed(decision)
        is_partial = decision.is_partial
        apply(decision, nodes, pending_queue)
    assert placed == expected, f"{placed} of {expected} tasks placed"  # a fast answer counts only if it is a whole one
    return slices


def make_nodes(count: int) -> Nodes:
    """Nodes of a few sizes in a random order, some of their cpu already measured as busy."""
    rng = np.random.default_rng(SEED)
    rows = count + 1
    capacity = np.zeros((rows, 3), dtype=np.int64)
    capacity[1:, :2] = np.array(NODE_SIZES)[rng.integers(0, len(NODE_SIZES), count)]
    capacity[1:, 2] = 1000 * GI
    eligible = np.ones(rows, dtype=np.bool_)
    eligible[0] = False
    return Nodes(
        resources=["cpu", "memory", "disk"],
        capacity=capacity,
        reserved=np.zeros((rows, 3), dtype=np.int64),
        busy=rng.integers(0, 7, rows).astype(np.float64) * 0.05,
        tasks=np.zeros(rows, dtype=np.int64),
        eligible=eligible,
        owner=np.zeros(rows, dtype=np.int64),
        kind=np.zeros(rows, dtype=np.int32),
        changed=np.ones(rows, dtype=np.int64),
        kinds=[NodeKind("dc1", {}, {})],
        names=["", *(f"node-{number}" for number in range(1, rows))],
        count=rows,
        tick=1,
    )


def make_classes(count: int) -> list[TaskClass]:
    rng = random.Random(SEED)
    return [
        TaskClass(
            id=number,
            needs={"cpu": rng.randrange(100, 1000), "memory": rng.randrange(GI // 4, 3 * GI)},
            namespace="default",
            user="benchmark",
            priority=50,
        )
        for number in range(count)
    ]


def apply(decision: Decision, nodes: Nodes, pending_queue: PendingQueue) -> None:
    """Reserve what was placed, and take it off what waits."""
    nodes.tick += 1
    for placement in decision.placements:
        queued = pending_queue.get(placement.class_id)
        assert queued is not None, "only what waits is placed"
        for column, resource in enumerate(nodes.resources):
            need = queued.task_class.needs.get(resource, 0)
            nodes.reserved[placement.nodes, column] += placement.counts * need
        nodes.tasks[placement.nodes] += placement.counts
        nodes.changed[placement.nodes] = nodes.tick
        pending_queue.put(replace(queued, count=queued.count - int(placement.counts.sum())))


def count_placed(decision: Decision) -> int:
    return sum(int(placement.counts.sum()) for placement in decision.placements)


if __name__ == "__main__":
    main()
