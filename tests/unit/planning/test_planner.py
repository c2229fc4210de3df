"""The planner's order, budget and memory, and policies by name."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from shunter.model.errors import Invalid
from shunter.planning.planner import POLICIES, POLICY_DEFAULT, Planner, Stages, build_policy
from shunter.planning.score import score_cache
from shunter.planning.score.score_cache import ScoreCache
from shunter.planning.score.scores import SCORES
from shunter.planning.view import Queued
from tests.unit.planning.cluster_builder import GI, Cluster, chosen, task_class

PLENTY = 10**6
STAGES = Stages(SCORES["e-pvm"])


def one_node(cpu: int = 4000) -> Cluster:
    cluster = Cluster()
    cluster.add({"cpu": cpu, "memory": 16 * GI})
    return cluster


def test_policies_are_known_by_their_names() -> None:
    assert set(POLICIES) == {"round-robin", "greedy", "e-pvm", "e-pvm-classic", "bin-pack", "spread"}
    for name in POLICIES:
        policy = build_policy(name)
        assert (policy.name, policy.fast) == (name, True)
    assert build_policy("e-pvm") is not build_policy("e-pvm")
    assert POLICY_DEFAULT in POLICIES


def test_an_unknown_policy_is_refused_with_the_nearest_known_one() -> None:
    with pytest.raises(Invalid, match=r"unknown policy \(got 'binpack'\); did you mean bin-pack\?"):
        build_policy("binpack")
    with pytest.raises(Invalid, match="known policies: round-robin, greedy"):
        build_policy("zzz")


def test_the_higher_priority_comes_first_and_then_the_longer_wait() -> None:
    queued = [
        Queued(task_class(1, priority=50, cpu=1000), 2, since=5),
        Queued(task_class(2, priority=90, cpu=1000), 2, since=9),
        Queued(task_class(3, priority=50, cpu=1000), 2, since=3),
    ]
    decision = Planner(STAGES).decide(one_node(cpu=5000).view(queued), 0.0, PLENTY)
    assert chosen(decision) == {2: {1: 2}, 3: {1: 2}, 1: {1: 1}}
    assert [(left.class_id, left.count) for left in decision.left] == [(1, 1)]


def test_another_order_can_take_the_place_of_priorities() -> None:
    planner = Planner(replace(STAGES, order=lambda queued: (-queued.since, 0)))
    queued = [Queued(task_class(id, cpu=1000), 1, since=id) for id in (1, 2)]
    assert chosen(planner.decide(one_node(cpu=1000).view(queued), 0.0, PLENTY)) == {2: {1: 1}}


def test_the_budget_ends_the_round_and_the_rest_is_left() -> None:
    queued = [Queued(task_class(id, cpu=100), 5, since=id) for id in (1, 2, 3)]
    decision = Planner(STAGES).decide(one_node().view(queued), 0.0, budget=7)
    assert chosen(decision) == {1: {1: 5}, 2: {1: 2}}
    assert [(left.class_id, left.count) for left in decision.left] == [(2, 3), (3, 5)]


def test_a_resource_that_no_node_has_leaves_the_class() -> None:
    decision = Planner(STAGES).decide(one_node().view([Queued(task_class(cpu=1, gpu=1), 3, 0)]), 0.0, PLENTY)
    assert (decision.placements, [left.count for left in decision.left]) == ([], [3])


def test_a_constraint_that_cannot_be_read_holds_back_only_its_own_class() -> None:
    queued = [Queued(task_class(1, cpu=1, constraints=("nonsense",)), 3, 0), Queued(task_class(2, cpu=1), 3, 0)]
    assert chosen(Planner(STAGES).decide(one_node().view(queued), 0.0, PLENTY)) == {2: {1: 3}}


def test_an_empty_cluster_places_nothing() -> None:
    decision = Planner(STAGES).decide(Cluster().view([Queued(task_class(), 3, 0)]), 0.0, PLENTY)
    assert (decision.placements, [left.count for left in decision.left]) == ([], [3])


def test_a_placement_that_was_refused_leaves_no_trace() -> None:
    """A refused placement does not touch the row, so its `changed` stays as it was."""
    planner, cluster = Planner(STAGES), one_node(cpu=1000)
    view = cluster.view([Queued(task_class(cpu=1000), 1, 0)])
    for _ in range(3):
        assert chosen(planner.decide(view, 0.0, PLENTY)) == {1: {1: 1}}


def test_a_change_while_the_tick_stands_still_is_seen() -> None:
    planner, cluster = Planner(STAGES), one_node(cpu=1000)
    view = cluster.view([Queued(task_class(cpu=1000), 1, 0)])
    cluster.nodes.eligible[1] = False
    assert chosen(planner.decide(view, 0.0, PLENTY)) == {}
    cluster.nodes.eligible[1] = True
    cluster.nodes.changed[1] = cluster.nodes.tick
    assert chosen(planner.decide(view, 0.0, PLENTY)) == {1: {1: 1}}


def test_a_new_view_of_other_nodes_starts_afresh() -> None:
    planner = Planner(STAGES)
    queued = [Queued(task_class(cpu=1000), 9, 0)]
    for cpu in (3000, 5000, 2000):
        assert chosen(planner.decide(one_node(cpu).view(queued), 0.0, PLENTY)) == {1: {1: cpu // 1000}}


def test_the_views_columns_are_never_written() -> None:
    planner, cluster = Planner(STAGES), one_node()
    columns = ("capacity", "reserved", "busy", "tasks", "eligible", "kind", "changed")
    for name in columns:
        getattr(cluster.nodes, name).flags.writeable = False
    decision = planner.decide(cluster.view([Queued(task_class(cpu=100), 3, 0)]), 0.0, PLENTY)
    assert chosen(decision) == {1: {1: 3}}


def test_the_prices_kept_are_bounded_and_those_used_last_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_cache, "CACHED_CELLS_MAX", 6)
    monkeypatch.setattr(score_cache, "SEEN_ONCE_MAX", 8)
    planner, cluster = Planner(STAGES), one_node(cpu=10**6)
    book: ScoreCache = planner._score_cache
    for _ in range(3):
        for id in range(5):
            planner.decide(cluster.view([Queued(task_class(id, cpu=100), 1, 0)]), 0.0, PLENTY)
            assert len(book._lists) * cluster.nodes.count <= 6
            assert len(book._seen_once) <= 8
    assert list(book._lists) == [2, 3, 4]


def test_a_class_that_comes_once_is_not_remembered() -> None:
    planner, cluster = Planner(STAGES), one_node()
    planner.decide(cluster.view([Queued(task_class(id, cpu=1), 1, 0) for id in range(9)]), 0.0, PLENTY)
    assert not planner._score_cache._lists


def test_equal_nodes_share_tasks_evenly_under_every_rising_policy() -> None:
    for name in ("round-robin", "greedy", "e-pvm", "e-pvm-classic", "spread"):
        cluster = Cluster()
        for _ in range(7):
            cluster.add({"cpu": 64_000, "memory": 64 * GI})
        queued = [Queued(task_class(cpu=1000, memory=GI), 100, 0)]
        counts = chosen(build_policy(name).decide(cluster.view(queued), 0.0, PLENTY))[1].values()
        assert set(counts) == {math.floor(100 / 7), math.ceil(100 / 7)}, name


def test_bin_pack_leaves_as_many_nodes_empty_as_it_can() -> None:
    cluster = Cluster()
    for _ in range(7):
        cluster.add({"cpu": 64_000, "memory": 64 * GI})
    queued = [Queued(task_class(cpu=1000, memory=GI), 100, 0)]
    assert chosen(build_policy("bin-pack").decide(cluster.view(queued), 0.0, PLENTY)) == {1: {1: 64, 2: 36}}
