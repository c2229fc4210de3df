"""Limited queues and licences are held for items ahead, and an item that needs several gets them."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from shunter.planning.planner import Stages
from shunter.planning.reserve.wait_thresholds import WaitThresholds
from shunter.planning.view import QueueRules, Rules, TaskClass
from tests.unit.planning.cluster_builder import chosen
from tests.unit.planning.planner_harness import STAGES, PlannerHarness, cluster_of

LIMITS = ("queue", "licence")
IMPATIENT = replace(STAGES, wait_thresholds=WaitThresholds(reserve_after_s=5, hold_after_s=20))


def limited(limit: str, most: int, *cpus: int, stages: Stages = IMPATIENT) -> PlannerHarness:
    harness = PlannerHarness(cluster_of(*cpus), stages)
    if limit == "queue":
        harness.running_cluster.queues["narrow"] = QueueRules("narrow", running_max=most)
    else:
        harness.running_cluster.licences["seat"] = most
    return harness


def limited_class(
    harness: PlannerHarness, name: str, priority: int = 50, rules: Rules | None = None, cpu: int = 1
) -> TaskClass:
    """A class of which every task needs one of what is limited."""
    if harness.running_cluster.queues:
        return harness.running_cluster.put_in_queue(
            harness.running_cluster.make_class(name, priority, rules, cpu=cpu), "narrow"
        )
    return harness.running_cluster.make_class(name, priority, rules, cpu=cpu, seat=1)


# ---- preemption ----


@pytest.mark.parametrize("limit", LIMITS)
def test_nobody_ends_for_a_second_winner_that_the_limit_does_not_let_through(limit: str) -> None:
    harness = limited(limit, 1, 4)
    for _ in range(4):
        harness.run(harness.running_cluster.make_class("low", 10), 1, end_s=50)
    one, two = limited_class(harness, "one", 90), limited_class(harness, "two", 80)
    harness.queue(one, real_s=30)
    harness.queue(two, real_s=30)
    decision = harness.decide()
    assert [(each.winner, each.count) for each in decision.preemptions] == [(one.id, 1)]
    assert decision.reasons[two.id].startswith("the rest of") and decision.reasons[two.id].endswith("reserved for one")
    [victim] = [task for task in harness.running_cluster.tasks if task.is_stopping]
    assert harness.decide().preemptions == [], "while the victim ends, the place is the winner's"
    harness.ends = [each for each in harness.ends if each[1] is not victim]
    harness.running_cluster.end(victim)
    decision = harness.decide()
    assert (chosen(decision), decision.preemptions) == ({one.id: {1: 1}}, [])


@pytest.mark.parametrize("limit", LIMITS)
def test_nobody_takes_the_place_of_a_winner_whose_victims_have_not_ended(limit: str) -> None:
    """There is room for it on another node, but then the victim would have ended for nobody."""
    harness = limited(limit, 1, 4, 4)
    harness.run(harness.running_cluster.make_class("low", 10, cpu=4), 1, end_s=50)
    harness.run(harness.running_cluster.make_class("high", 90, cpu=3), 2, end_s=50)
    harness.queue(preemptor := limited_class(harness, "boss", 90, cpu=4))
    harness.queue(small := limited_class(harness, "small", 50))
    decision = harness.decide()
    assert ([each.winner for each in decision.preemptions], chosen(decision)) == ([preemptor.id], {})
    assert decision.reasons[small.id].endswith("is reserved for boss")


# ---- reservations ----


@pytest.mark.parametrize("limit", LIMITS)
def test_what_a_reserved_gang_needs_of_a_limit_is_kept_for_it(limit: str) -> None:
    harness = limited(limit, 2, 4, 4, 4)
    harness.run(harness.running_cluster.make_class("early", cpu=4), 1, end_s=10)
    harness.run(harness.running_cluster.make_class("long", cpu=2), 3, end_s=500)
    gang = limited_class(harness, "gang", rules=Rules(0, gang=7), cpu=4)
    harness.queue(gang, 2, estimate_s=5)
    harness.queue(long := limited_class(harness, "long"), estimate_s=100)
    harness.queue(short := limited_class(harness, "short"), estimate_s=8)
    decision = harness.decide()
    assert chosen(decision) == {}, "the short one may end late, and would then have its place"
    assert decision.reasons[long.id] == decision.reasons[short.id]
    assert decision.reasons[long.id].endswith("is reserved for gang gang")
    assert harness.run_until_started(gang.id) == 10_000


@given(seed=st.integers(0, 2**32), limit=st.sampled_from(LIMITS))
@settings(max_examples=60)
def test_a_limit_never_delays_a_reserved_gang_by_those_who_go_ahead(seed: int, limit: str) -> None:
    stages = replace(STAGES, wait_thresholds=WaitThresholds(preempt_gap=1000))
    started = []
    for is_alone in (True, False):
        rng = random.Random(seed)
        harness = limited(limit, 4, *(rng.randrange(2, 7) for _ in range(rng.randrange(1, 4))), stages=stages)
        for row in range(1, harness.running_cluster.cluster.nodes.count):
            harness.run(
                harness.running_cluster.make_class("running", cpu=rng.randrange(1, 3)), row, end_s=rng.randrange(1, 9)
            )
        gang = limited_class(harness, "gang", rules=Rules(0, gang=7), cpu=2)
        harness.queue(
            gang, rng.randrange(1, min(4, sum(harness.running_cluster.cluster.nodes.capacity[:, 0] // 2)) + 1), 3
        )
        for _ in range(0 if is_alone else rng.randrange(1, 6)):
            seconds = rng.choice([0, 1, 2, 5, 20])
            other = (
                limited_class(harness, "other")
                if rng.random() < 0.7
                else harness.running_cluster.make_class("other", cpu=1)
            )
            harness.queue(other, rng.randrange(1, 4), seconds, real_s=seconds or rng.randrange(1, 30))
        started.append(harness.run_until_started(gang.id))
    note(f"seed {seed}: alone after {started[0]} ms, with others after {started[1]} ms")
    assert started[1] <= started[0]


# ---- several at once ----


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("is_known", [True, False])
def test_a_gang_that_needs_all_of_a_limit_does_not_starve_behind_small_ones(limit: str, is_known: bool) -> None:
    """Each of them leaves one place, which is too little for the gang; nodes have room enough."""
    harness = limited(limit, 4, *[4] * 8)
    for number in range(4):
        harness.run(limited_class(harness, "first"), 1 + number, end_s=1 + 2 * number)
    gang = limited_class(harness, "gang", rules=Rules(0, gang=7))
    harness.queue(gang, 4, estimate_s=5)
    for _ in range(100):
        harness.queue(limited_class(harness, "small"), 1, estimate_s=8 if is_known else 0, real_s=8)
        decision = harness.decide()
        if gang.id in harness.started_ms:
            break
        harness.step()
    assert 20_000 <= harness.started_ms[gang.id] <= 40_000
    assert decision.reasons == {}


def test_a_task_that_needs_several_licences_does_not_starve_behind_those_that_need_one() -> None:
    harness = limited("licence", 4, *[4] * 8)
    for number in range(4):
        harness.run(limited_class(harness, "first"), 1 + number, end_s=1 + 2 * number)
    harness.queue(large := harness.running_cluster.make_class("large", cpu=1, seat=4), estimate_s=5)
    seen = set[str]()
    for _ in range(100):
        harness.queue(limited_class(harness, "small"), 1, estimate_s=8)
        seen |= set(harness.decide().reasons.values())
        if large.id in harness.started_ms:
            break
        harness.step()
    assert 20_000 <= harness.started_ms[large.id] <= 40_000
    assert seen == {
        "queue capacity and licences are reserved for it as they become free",
        "the rest of seat is reserved for large",
    }


@pytest.mark.parametrize("seats, cpu", [(5, 1), (4, 9)])
def test_nothing_is_kept_for_what_could_not_start_with_all_of_the_limit(seats: int, cpu: int) -> None:
    harness = limited("licence", 4, 4)
    harness.run(limited_class(harness, "first"), 1, end_s=500)
    harness.queue(harness.running_cluster.make_class("never", cpu=cpu, seat=seats))
    harness.now_ms = 60_000
    harness.queue(small := limited_class(harness, "small"))
    assert chosen(harness.decide()) == {small.id: {1: 1}}
