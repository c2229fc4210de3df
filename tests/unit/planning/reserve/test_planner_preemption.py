"""Preemption in the planner: the room of victims is reserved for their winner, and never counted twice."""

from __future__ import annotations

from shunter.planning.planner import Planner
from shunter.planning.view import Queued
from tests.unit.planning.cluster_builder import chosen
from tests.unit.planning.planner_harness import PLENTY, STAGES, PlannerHarness, cluster_of


def full_node() -> PlannerHarness:
    harness = PlannerHarness(cluster_of(4))
    for _ in range(4):
        harness.run(harness.running_cluster.make_class("low", 10, cpu=1), 1, end_s=50)
    return harness


def test_the_room_of_victims_is_held_for_the_winner_until_they_have_ended() -> None:
    harness = full_node()
    preemptor = harness.running_cluster.make_class("boss", 60, cpu=2)
    harness.queue(preemptor)
    decision = harness.decide()
    assert [(each.node, each.count, each.winner) for each in decision.preemptions] == [(1, 1, preemptor.id)] * 2
    assert decision.reasons == {preemptor.id: "2 tasks are being preempted for it"}
    harness.queue(late := harness.running_cluster.make_class("late", 55, cpu=1), real_s=99)
    first, second = (task for task in harness.running_cluster.tasks if task.is_stopping)
    harness.running_cluster.end(first)
    decision = harness.decide()
    assert (chosen(decision), decision.preemptions) == ({}, [])
    assert decision.reasons[late.id] == "room is reserved for boss, which waits for tasks that are stopping"
    assert decision.reasons[preemptor.id] == "tasks on n1 are stopping, and their room is reserved for it"
    harness.running_cluster.end(second)
    assert chosen(harness.decide()) == {preemptor.id: {1: 1}}


def test_nobody_is_preempted_where_the_gap_is_too_small_or_nothing_is_known() -> None:
    harness = full_node()
    harness.queue(harness.running_cluster.make_class("peer", 19, cpu=1))
    assert harness.decide().preemptions == []
    preemptor = Queued(harness.running_cluster.make_class("boss", 90, cpu=1), 1, 0)
    assert Planner(STAGES).decide(harness.running_cluster.cluster.view([preemptor]), 0.0, PLENTY).preemptions == []


def test_the_winner_gets_its_room_before_those_who_have_waited_longer() -> None:
    """The victim's own job has aged so much that it is ahead of the winner; it must not take the room back."""
    harness = PlannerHarness(cluster_of(1))
    low = harness.running_cluster.make_class("low", 10, cpu=1)
    harness.queue(low, 9, real_s=10_000)
    harness.decide()
    harness.now_ms = 3_600_000
    preemptor = harness.running_cluster.make_class("boss", 60, cpu=1)
    harness.queue(preemptor, real_s=10)
    assert [each.victim for each in harness.decide().preemptions] == [low.id]
    assert chosen(harness.decide()) == {}, "its victim has not ended yet"
    [victim] = harness.running_cluster.tasks
    harness.ends.clear()
    harness.running_cluster.end(victim)
    harness.queued[0].count += 1
    decision = harness.decide()
    assert (chosen(decision), decision.preemptions) == ({preemptor.id: {1: 1}}, [])
    assert harness.decide().preemptions == []


def test_two_winners_do_not_count_on_the_same_room() -> None:
    harness = full_node()
    for name in ("one", "two"):
        harness.queue(harness.running_cluster.make_class(name, 60, cpu=1))
    decision = harness.decide()
    assert sorted(each.winner for each in decision.preemptions) == [5, 6]
    assert sum(each.count for each in decision.preemptions) == 2


def test_the_items_that_room_is_made_for_in_one_decision_are_bounded() -> None:
    harness = PlannerHarness(cluster_of(10))
    for _ in range(10):
        harness.run(harness.running_cluster.make_class("low", 10, cpu=1), 1, end_s=50)
    for _ in range(10):
        harness.queue(harness.running_cluster.make_class("boss", 60, cpu=1))
    assert len(harness.decide().preemptions) == 4
    assert len(harness.decide().preemptions) == 0, "what was freed is for the first four"
