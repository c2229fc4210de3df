"""Preemption in the planner: the room of victims is kept for their winner, and nobody counts on it twice."""

from __future__ import annotations

from shunter.planning.planner import Planner
from shunter.planning.view import Queued
from tests.unit.planning.cluster_builder import chosen
from tests.unit.planning.planner_harness import PLENTY, STAGES, Story, yard_of


def full_node() -> Story:
    story = Story(yard_of(4))
    for _ in range(4):
        story.run(story.yard.make_class("low", 10, cpu=1), 1, end_s=50)
    return story


def test_the_room_of_victims_is_held_for_the_winner_until_they_have_ended() -> None:
    story = full_node()
    boss = story.yard.make_class("boss", 60, cpu=2)
    story.queue(boss)
    decision = story.decide()
    assert [(each.node, each.count, each.winner) for each in decision.preemptions] == [(1, 1, boss.id)] * 2
    assert decision.reasons == {boss.id: "2 tasks are being preempted for it"}
    story.queue(late := story.yard.make_class("late", 55, cpu=1), real_s=99)
    first, second = (task for task in story.yard.tasks if task.is_stopping)
    story.yard.end(first)
    decision = story.decide()
    assert (chosen(decision), decision.preemptions) == ({}, [])
    assert decision.reasons[late.id] == "room is held for boss, which waits for tasks that are ending"
    assert decision.reasons[boss.id] == "tasks on n1 are ending, and their room is kept for it"
    story.yard.end(second)
    assert chosen(story.decide()) == {boss.id: {1: 1}}


def test_nobody_is_preempted_where_the_gap_is_too_small_or_nothing_is_known() -> None:
    story = full_node()
    story.queue(story.yard.make_class("peer", 19, cpu=1))
    assert story.decide().preemptions == []
    boss = Queued(story.yard.make_class("boss", 90, cpu=1), 1, 0)
    assert Planner(STAGES).decide(story.yard.cluster.view([boss]), 0.0, PLENTY).preemptions == []


def test_the_winner_gets_its_room_before_those_who_have_waited_longer() -> None:
    """The victim's own job has aged so much that it is ahead of the winner; it must not take the room back."""
    story = Story(yard_of(1))
    low = story.yard.make_class("low", 10, cpu=1)
    story.queue(low, 9, real_s=10_000)
    story.decide()
    story.now_ms = 3_600_000
    boss = story.yard.make_class("boss", 60, cpu=1)
    story.queue(boss, real_s=10)
    assert [each.victim for each in story.decide().preemptions] == [low.id]
    assert chosen(story.decide()) == {}, "its victim has not ended yet"
    [victim] = story.yard.tasks
    story.ends.clear()
    story.yard.end(victim)
    story.queued[0].count += 1
    decision = story.decide()
    assert (chosen(decision), decision.preemptions) == ({boss.id: {1: 1}}, [])
    assert story.decide().preemptions == []


def test_two_winners_do_not_count_on_the_same_room() -> None:
    story = full_node()
    for name in ("one", "two"):
        story.queue(story.yard.make_class(name, 60, cpu=1))
    decision = story.decide()
    assert sorted(each.winner for each in decision.preemptions) == [5, 6]
    assert sum(each.count for each in decision.preemptions) == 2


def test_the_items_that_room_is_made_for_in_one_decision_are_bounded() -> None:
    story = Story(yard_of(10))
    for _ in range(10):
        story.run(story.yard.make_class("low", 10, cpu=1), 1, end_s=50)
    for _ in range(10):
        story.queue(story.yard.make_class("boss", 60, cpu=1))
    assert len(story.decide().preemptions) == 4
    assert len(story.decide().preemptions) == 0, "what was freed is for the first four"
