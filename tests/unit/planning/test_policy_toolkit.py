"""`Room`, for authors of policies: what fits where, whole gangs, and distinct tasks."""

from __future__ import annotations

import numpy as np

from shunter.planning.policy_toolkit import Room
from shunter.planning.view import ClusterView, Decision, Queued, Rules, TaskClass
from tests.unit.planning.cluster_builder import Cluster


def view_of(*waiting: Queued, nodes: tuple[int, ...] = (2, 2), racks: str = "") -> ClusterView:
    """Nodes with so many cpus each."""
    cluster = Cluster()
    for number, cpus in enumerate(nodes):
        cluster.add({"cpu": cpus}, labels={"rack": racks[number]} if racks else {})
    return ClusterView(1, cluster.nodes, list(waiting))


def waiting(id: int, count: int, rules: Rules | None = None, cpu: int = 1, avoid: tuple[int, ...] = ()) -> Queued:
    task_class = TaskClass(id, {"cpu": cpu}, "default", "anna", 50, rules=rules)
    return Queued(task_class, count, id, avoid=frozenset(avoid))


def filled(view: ClusterView, *, most: int | None = None) -> tuple[list[int], dict[int, dict[int, int]]]:
    """What `fill` says of all that waits, in order, on all rows, and where it went."""
    decision, room = Decision(based_on=1), Room(view)
    filled_counts = []
    for queued in view.queued:
        filled_counts.append(room.fill(decision, queued, np.arange(view.nodes.count), most))
        most = None if most is None else most - filled_counts[-1]
    return filled_counts, {
        each.class_id: dict(zip(each.nodes, each.counts, strict=True)) for each in decision.placements
    }


def test_rows_are_filled_in_order_up_to_the_budget() -> None:
    view = view_of(waiting(1, 3), waiting(2, 3))
    assert filled(view) == ([3, 1], {1: {1: 2, 2: 1}, 2: {2: 1}})
    assert filled(view, most=2) == ([2, 0], {1: {1: 2}})


def test_a_gang_goes_whole_or_not_at_all() -> None:
    gang = Rules(job=1, gang=7)
    assert filled(view_of(waiting(1, 5, gang), waiting(2, 4))) == ([0, 4], {2: {1: 2, 2: 2}})
    assert filled(view_of(waiting(1, 4, gang), waiting(2, 4))) == ([4, 0], {1: {1: 2, 2: 2}})


def test_the_classes_of_a_gang_go_together() -> None:
    large, small = waiting(1, 1, Rules(job=1, gang=7), cpu=2), waiting(2, 2, Rules(job=1, gang=7))
    assert filled(view_of(large, small)) == ([3, 0], {1: {1: 1}, 2: {2: 2}})
    assert filled(view_of(large, small, nodes=(2, 1))) == ([0, 0], {})


def test_a_gang_that_is_larger_than_the_budget_goes_by_itself() -> None:
    gang = waiting(1, 4, Rules(job=1, gang=7))
    assert filled(view_of(gang, waiting(2, 1), nodes=(9,)), most=2) == ([4, 0], {1: {1: 4}})
    assert filled(view_of(waiting(2, 1), gang, nodes=(9,)), most=2) == ([1, 0], {2: {1: 1}})


def test_tasks_that_keep_apart_go_to_different_nodes_or_labels() -> None:
    hosts, racks = Rules(job=1, distinct="host"), Rules(job=1, distinct="rack")
    assert filled(view_of(waiting(1, 4, hosts))) == ([2], {1: {1: 1, 2: 1}})
    view = view_of(waiting(1, 4, racks), nodes=(0, 2, 2, 2), racks="aaab")
    assert filled(view) == ([2], {1: {2: 1, 4: 1}})
    assert filled(view_of(waiting(1, 1, racks))) == ([0], {}), "a node without the label takes none"


def test_tasks_do_not_return_to_a_row_that_all_of_them_avoid() -> None:
    assert filled(view_of(waiting(1, 3, avoid=(1,)))) == ([2], {1: {2: 2}})


def test_a_gang_uses_a_row_that_it_avoids_only_if_it_must() -> None:
    gang = Rules(job=1, gang=7)
    assert filled(view_of(waiting(1, 2, gang, avoid=(1,)))) == ([2], {1: {2: 2}})
    assert filled(view_of(waiting(1, 4, gang, avoid=(1,)))) == ([4], {1: {1: 2, 2: 2}})
