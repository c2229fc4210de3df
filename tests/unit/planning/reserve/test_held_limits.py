"""Limited queues and licences: what items ahead are to use of them is theirs, and who needs several gets them."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from shunter.planning.planner import Stages
from shunter.planning.reserve.reservations import Patience
from shunter.planning.view import QueueRules, Rules, TaskClass
from tests.unit.planning.cluster_builder import chosen
from tests.unit.planning.planner_harness import STAGES, Story, yard_of

LIMITS = ("queue", "licence")
IMPATIENT = replace(STAGES, patience=Patience(reserve_after_s=5, hold_after_s=20))


def limited(limit: str, most: int, *cpus: int, stages: Stages = IMPATIENT) -> Story:
    story = Story(yard_of(*cpus), stages)
    if limit == "queue":
        story.yard.queues["narrow"] = QueueRules(running_max=most)
    else:
        story.yard.licences["seat"] = most
    return story


def through(story: Story, name: str, priority: int = 50, rules: Rules | None = None, cpu: int = 1) -> TaskClass:
    """A class of which every task needs one of what is limited."""
    if story.yard.queues:
        return story.yard.put_in_queue(story.yard.make_class(name, priority, rules, cpu=cpu), "narrow")
    return story.yard.make_class(name, priority, rules, cpu=cpu, seat=1)


# ---- preemption ----


@pytest.mark.parametrize("limit", LIMITS)
def test_nobody_ends_for_a_second_winner_that_the_limit_does_not_let_through(limit: str) -> None:
    story = limited(limit, 1, 4)
    for _ in range(4):
        story.run(story.yard.make_class("low", 10), 1, end_s=50)
    one, two = through(story, "one", 90), through(story, "two", 80)
    story.queue(one, real_s=30)
    story.queue(two, real_s=30)
    decision = story.decide()
    assert [(each.winner, each.count) for each in decision.preemptions] == [(one.id, 1)]
    assert decision.reasons[two.id].startswith("what is left of") and decision.reasons[two.id].endswith("kept for one")
    [victim] = [task for task in story.yard.tasks if task.is_stopping]
    assert story.decide().preemptions == [], "while the victim ends, the place is the winner's"
    story.ends = [each for each in story.ends if each[1] is not victim]
    story.yard.end(victim)
    decision = story.decide()
    assert (chosen(decision), decision.preemptions) == ({one.id: {1: 1}}, [])


@pytest.mark.parametrize("limit", LIMITS)
def test_nobody_takes_the_place_of_a_winner_whose_victims_have_not_ended(limit: str) -> None:
    """There is room for it on another node, but then the victim would have ended for nobody."""
    story = limited(limit, 1, 4, 4)
    story.run(story.yard.make_class("low", 10, cpu=4), 1, end_s=50)
    story.run(story.yard.make_class("high", 90, cpu=3), 2, end_s=50)
    story.queue(boss := through(story, "boss", 90, cpu=4))
    story.queue(small := through(story, "small", 50))
    decision = story.decide()
    assert ([each.winner for each in decision.preemptions], chosen(decision)) == ([boss.id], {})
    assert decision.reasons[small.id].endswith("is kept for boss")


# ---- reservations ----


@pytest.mark.parametrize("limit", LIMITS)
def test_what_a_reserved_gang_needs_of_a_limit_is_kept_for_it(limit: str) -> None:
    story = limited(limit, 2, 4, 4, 4)
    story.run(story.yard.make_class("early", cpu=4), 1, end_s=10)
    story.run(story.yard.make_class("long", cpu=2), 3, end_s=500)
    gang = through(story, "gang", rules=Rules(0, gang=7), cpu=4)
    story.queue(gang, 2, estimate_s=5)
    story.queue(long := through(story, "long"), estimate_s=100)
    story.queue(short := through(story, "short"), estimate_s=8)
    decision = story.decide()
    assert chosen(decision) == {}, "the short one may end late, and would then have its place"
    assert decision.reasons[long.id] == decision.reasons[short.id]
    assert decision.reasons[long.id].endswith("is kept for gang gang")
    assert story.play(gang.id) == 10_000


@given(seed=st.integers(0, 2**32), limit=st.sampled_from(LIMITS))
@settings(max_examples=60)
def test_a_limit_never_delays_a_reserved_gang_by_those_who_go_ahead(seed: int, limit: str) -> None:
    stages = replace(STAGES, patience=Patience(preempt_gap=1000))
    started = []
    for is_alone in (True, False):
        rng = random.Random(seed)
        story = limited(limit, 4, *(rng.randrange(2, 7) for _ in range(rng.randrange(1, 4))), stages=stages)
        for row in range(1, story.yard.cluster.nodes.count):
            story.run(story.yard.make_class("running", cpu=rng.randrange(1, 3)), row, end_s=rng.randrange(1, 9))
        gang = through(story, "gang", rules=Rules(0, gang=7), cpu=2)
        story.queue(gang, rng.randrange(1, min(4, sum(story.yard.cluster.nodes.capacity[:, 0] // 2)) + 1), 3)
        for _ in range(0 if is_alone else rng.randrange(1, 6)):
            seconds = rng.choice([0, 1, 2, 5, 20])
            other = through(story, "other") if rng.random() < 0.7 else story.yard.make_class("other", cpu=1)
            story.queue(other, rng.randrange(1, 4), seconds, real_s=seconds or rng.randrange(1, 30))
        started.append(story.play(gang.id))
    note(f"seed {seed}: alone after {started[0]} ms, with others after {started[1]} ms")
    assert started[1] <= started[0]


# ---- several at once ----


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("is_known", [True, False])
def test_a_gang_that_needs_all_of_a_limit_does_not_starve_behind_small_ones(limit: str, is_known: bool) -> None:
    """Each of them leaves one place, which is too little for the gang; nodes have room enough."""
    story = limited(limit, 4, *[4] * 8)
    for number in range(4):
        story.run(through(story, "first"), 1 + number, end_s=1 + 2 * number)
    gang = through(story, "gang", rules=Rules(0, gang=7))
    story.queue(gang, 4, estimate_s=5)
    for _ in range(100):
        story.queue(through(story, "small"), 1, estimate_s=8 if is_known else 0, real_s=8)
        decision = story.decide()
        if gang.id in story.started_ms:
            break
        story.step()
    assert 20_000 <= story.started_ms[gang.id] <= 40_000
    assert decision.reasons == {}


def test_a_task_that_needs_several_licences_does_not_starve_behind_those_that_need_one() -> None:
    story = limited("licence", 4, *[4] * 8)
    for number in range(4):
        story.run(through(story, "first"), 1 + number, end_s=1 + 2 * number)
    story.queue(large := story.yard.make_class("large", cpu=1, seat=4), estimate_s=5)
    seen = set[str]()
    for _ in range(100):
        story.queue(through(story, "small"), 1, estimate_s=8)
        seen |= set(story.decide().reasons.values())
        if large.id in story.started_ms:
            break
        story.step()
    assert 20_000 <= story.started_ms[large.id] <= 40_000
    assert seen == {
        "what comes free of its queue and licences is kept for it",
        "what is left of seat is kept for large",
    }


@pytest.mark.parametrize("seats, cpu", [(5, 1), (4, 9)])
def test_nothing_is_kept_for_what_could_not_start_with_all_of_the_limit(seats: int, cpu: int) -> None:
    story = limited("licence", 4, 4)
    story.run(through(story, "first"), 1, end_s=500)
    story.queue(story.yard.make_class("never", cpu=cpu, seat=seats))
    story.now_ms = 60_000
    story.queue(small := through(story, "small"))
    assert chosen(story.decide()) == {small.id: {1: 1}}
