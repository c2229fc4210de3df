"""Rules, gangs and reservations inside decisions: their turn, their budget, their queues, and slices."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from shunter.model.job.spec import Affinity
from shunter.planning.planner import Planner, Stages
from shunter.planning.reserve import node_search, reservations
from shunter.planning.score.scores import SCORES
from shunter.planning.view import Decision, Queued, QueueRules, Rules, TaskClass
from tests.unit.planning.cluster_builder import chosen
from tests.unit.planning.planner_harness import PLENTY, STAGES, cluster_of
from tests.unit.planning.running_cluster import RunningCluster


def member(
    running_cluster: RunningCluster, count: int, gang: int = 1, priority: int = 50, since: int = 0, **needs: int
) -> Queued:
    return Queued(running_cluster.make_class("gang", priority, Rules(0, gang=gang), **needs), count, since)


def decide(running_cluster: RunningCluster, queued: list[Queued], budget: int = PLENTY) -> Decision:
    return Planner(STAGES).decide(running_cluster.view(queued), 0.0, budget)


def test_two_versions_of_a_group_keep_apart_also_when_both_start_in_one_decision() -> None:
    """As those of a service that is updated do, whose nodes come free together."""
    running_cluster = cluster_of(4, 4)
    versions = [running_cluster.make_class("web", rules=Rules(7, distinct="host", group=1), cpu=cpu) for cpu in (1, 2)]
    placed = chosen(decide(running_cluster, [Queued(each, 1, 0) for each in versions]))
    assert sorted(row for rows in placed.values() for row in rows) == [1, 2]
    third = running_cluster.make_class("web", rules=Rules(7, distinct="host", group=1), cpu=1)
    assert len(chosen(decide(running_cluster, [Queued(each, 1, 0) for each in (*versions, third)]))) == 2


# ---- gangs ----


def test_a_gang_starts_across_its_groups_or_not_at_all() -> None:
    running_cluster = cluster_of(4)
    gang = [member(running_cluster, 2, cpu=1), member(running_cluster, 1, cpu=2)]
    assert chosen(decide(running_cluster, gang)) == {1: {1: 2}, 2: {1: 1}}
    larger = replace(gang[0], count=3)
    decision = decide(running_cluster, [larger, gang[1]])
    assert chosen(decision) == {}
    assert {left.class_id: left.count for left in decision.left} == {1: 3, 2: 1}


def test_a_gang_has_its_turn_with_its_most_urgent_member() -> None:
    running_cluster = cluster_of(4)
    gang = [member(running_cluster, 1, priority=20, cpu=2), member(running_cluster, 1, priority=90, cpu=2)]
    rival = Queued(running_cluster.make_class("rival", 50, cpu=1), 4, 0)
    assert chosen(decide(running_cluster, [rival, *gang])) == {1: {1: 1}, 2: {1: 1}}


def test_a_gang_that_cannot_start_takes_nothing_from_those_behind_it_for_good() -> None:
    """No node can ever hold it, so there is nothing to keep for it."""
    running_cluster = cluster_of(4)
    gang = member(running_cluster, 1, cpu=5)
    other = Queued(running_cluster.make_class("other", cpu=1), 4, 1)
    assert chosen(decide(running_cluster, [gang, other])) == {2: {1: 4}}


def test_a_gang_avoids_a_node_only_while_all_of_it_fits_on_other_nodes() -> None:
    running_cluster = cluster_of(8, 1, 4)
    gang = replace(member(running_cluster, 4, cpu=1), avoid=frozenset({1}))
    assert chosen(decide(running_cluster, [gang])) == {1: {2: 1, 3: 3}}
    small = cluster_of(8, 1)
    gang = replace(member(small, 4, cpu=1), avoid=frozenset({1}))
    assert chosen(decide(small, [gang])) == {1: {1: 4}}


def test_others_yield_to_a_gang_on_a_node_that_it_would_rather_avoid() -> None:
    running_cluster = cluster_of(4, 1)
    low = running_cluster.make_class("low", 10, cpu=1)
    running_cluster.run(low, 1), running_cluster.run(low, 1)
    gang = replace(member(running_cluster, 4, priority=90, cpu=1), avoid=frozenset({1}))
    decision = decide(running_cluster, [gang])
    assert [(each.node, each.count) for each in decision.preemptions] == [(1, 1)]


def test_a_gang_beyond_the_budget_waits_for_a_decision_of_its_own() -> None:
    running_cluster = cluster_of(40)
    first, gang = Queued(running_cluster.make_class("first", cpu=1), 3, 0), member(running_cluster, 20, since=1, cpu=1)
    planner = Planner(STAGES)
    decision = planner.decide(running_cluster.view([first, gang]), 0.0, 10)
    assert (chosen(decision), decision.is_partial) == ({1: {1: 3}}, True)
    decision = planner.decide(running_cluster.view([gang]), 0.0, 10)
    assert (chosen(decision), decision.is_partial) == ({2: {1: 20}}, False)


def test_queues_and_licences_admit_a_gang_only_as_a_whole() -> None:
    running_cluster = cluster_of(8)
    gang = [member(running_cluster, 2, cpu=1, matlab=1), member(running_cluster, 1, cpu=1, matlab=1)]
    for licences, fits in ((2, False), (3, True)):
        view = replace(running_cluster.view(gang), licences={"matlab": (licences, 0)})
        assert bool(chosen(Planner(STAGES).decide(view, 0.0, PLENTY))) == fits
    for running_max, fits in ((2, False), (3, True)):
        view = replace(
            running_cluster.view(gang),
            licences={"matlab": (9, 0)},
            queues={"default": QueueRules("default", running_max=running_max)},
        )
        assert bool(chosen(Planner(STAGES).decide(view, 0.0, PLENTY))) == fits


def test_a_gang_starts_as_soon_as_its_queue_or_its_licences_let_it() -> None:
    """No node has to change for that."""
    running_cluster = cluster_of(8)
    gang = [member(running_cluster, 2, cpu=1, matlab=1), member(running_cluster, 1, cpu=1, matlab=1)]
    planner, unlimited = Planner(STAGES), replace(running_cluster.view(gang), licences={"matlab": (9, 0)})
    few = replace(unlimited, licences={"matlab": (2, 0)})
    for view in (replace(unlimited, queues={"default": QueueRules("default", running_max=2)}), few):
        assert chosen(planner.decide(view, 0.0, PLENTY)) == {}
    assert chosen(planner.decide(unlimited, 0.0, PLENTY)) == {1: {1: 2}, 2: {1: 1}}


def test_nobody_is_preempted_for_a_class_that_its_queue_keeps_back() -> None:
    running_cluster = cluster_of(1)
    running_cluster.run(running_cluster.make_class("low", 10, cpu=1), 1)
    preemptor = Queued(running_cluster.make_class("boss", 90, cpu=1), 1, 0)
    planner = Planner(STAGES)
    view = replace(running_cluster.view([preemptor]), queues={"default": QueueRules("default", is_paused=True)})
    assert planner.decide(view, 0.0, PLENTY).preemptions == []
    assert len(planner.decide(running_cluster.view([preemptor]), 0.0, PLENTY).preemptions) == 1
    assert planner.decide(view, 0.0, PLENTY).preemptions == []


def test_no_more_end_for_a_class_than_its_queue_and_its_licences_let_through() -> None:
    running_cluster = cluster_of(4)
    for _ in range(4):
        running_cluster.run(running_cluster.make_class("low", 10, cpu=1), 1)
    preemptor = Queued(running_cluster.make_class("boss", 90, cpu=1, matlab=1), 4, 0)
    planner = Planner(STAGES)
    for licences, running_max, victims in ((9, 3, 3), (2, 9, 2), (9, 2, 2), (9, 9, 4)):
        view = replace(
            running_cluster.view([preemptor]),
            licences={"matlab": (licences, 0)},
            queues={"default": QueueRules("default", running_max=running_max)},
        )
        assert sum(each.count for each in planner.decide(view, 0.0, PLENTY).preemptions) == victims


def test_nobody_is_preempted_for_a_gang_that_is_not_let_through_as_a_whole_any_more() -> None:
    running_cluster = cluster_of(4)
    for _ in range(4):
        running_cluster.run(running_cluster.make_class("low", 10, cpu=1), 1)
    gang = [member(running_cluster, 2, priority=90, cpu=1), member(running_cluster, 1, priority=90, cpu=1)]
    planner = Planner(STAGES)
    assert sum(each.count for each in planner.decide(running_cluster.view(gang), 0.0, PLENTY).preemptions) == 3
    view = replace(running_cluster.view(gang), queues={"default": QueueRules("default", running_max=2)})
    assert planner.decide(view, 0.0, PLENTY).preemptions == []


def test_a_winner_behind_a_gang_that_took_more_than_the_budget_waits_for_the_next_decision() -> None:
    running_cluster = cluster_of(1, 1, 1, 1)
    low = running_cluster.make_class("low", 10, cpu=1)
    victims = [running_cluster.run(low, row) for row in (1, 2, 3, 4)]
    gang, single = (
        member(running_cluster, 3, priority=90, cpu=1),
        Queued(running_cluster.make_class("boss", 90, cpu=1), 1, 5),
    )
    planner = Planner(Stages(SCORES["e-pvm"]))
    assert planner.decide(running_cluster.view([gang, single]), 0.0, PLENTY).preemptions
    for victim in victims:
        running_cluster.end(victim)
    decision = planner.decide(running_cluster.view([gang, single], version=2), 1.0, 2)
    assert list(chosen(decision)) == [gang.task_class.id]
    assert decision.is_partial


def test_a_gang_starts_when_enough_has_come_free() -> None:
    running_cluster = cluster_of(2, 2)
    busy = [running_cluster.run(running_cluster.make_class("busy", cpu=2), row) for row in (1, 2)]
    gang, planner = member(running_cluster, 2, cpu=2), Planner(STAGES)
    for task in busy:
        assert chosen(planner.decide(running_cluster.view([gang]), 0.0, PLENTY)) == {}
        running_cluster.end(task)
    assert chosen(planner.decide(running_cluster.view([gang]), 0.0, PLENTY)) == {3: {1: 1, 2: 1}}


# ---- rules ----


def test_an_exclusive_node_is_shut_to_others_in_the_same_decision() -> None:
    running_cluster = cluster_of(4, 4)
    alone = Queued(running_cluster.make_class("alone", rules=Rules(0, exclusive=True), cpu=1), 1, 0)
    other = Queued(running_cluster.make_class("other", cpu=1), 9, 1)
    assert chosen(decide(running_cluster, [alone, other])) == {1: {1: 1}, 2: {2: 4}}


def test_a_class_without_rules_keeps_away_from_one_that_shuns_it() -> None:
    running_cluster = cluster_of(4, 4)
    shy = running_cluster.make_class(
        "shy", rules=Rules(0, affinity=(Affinity("job", "other", require=True, anti=True),)), cpu=1
    )
    other = running_cluster.make_class("other", cpu=1)
    assert chosen(decide(running_cluster, [Queued(shy, 1, 0), Queued(other, 9, 1)])) == {1: {1: 1}, 2: {2: 4}}


def test_a_class_that_waits_for_company_goes_when_it_comes() -> None:
    running_cluster = cluster_of(4, 4)
    db = running_cluster.make_class("db", cpu=1)
    web = Queued(
        running_cluster.make_class("web", rules=Rules(0, affinity=(Affinity("job", "db", require=True),)), cpu=1), 2, 0
    )
    planner = Planner(STAGES)
    assert chosen(planner.decide(running_cluster.view([web]), 0.0, PLENTY)) == {}
    running_cluster.run(db, 2)
    assert chosen(planner.decide(running_cluster.view([web]), 0.0, PLENTY)) == {2: {2: 2}}


def test_blocked_classes_with_rules_do_not_keep_a_sliced_pass_from_its_end() -> None:
    running_cluster = cluster_of(4)
    stuck = [
        Queued(running_cluster.make_class("stuck", rules=Rules(0, distinct="rack"), cpu=1), 1, number)
        for number in range(30)
    ]
    last = Queued(running_cluster.make_class("last", cpu=1), 4, 99)
    planner = Planner(STAGES, work_max=10_000)
    for _ in range(40):
        decision = planner.decide(running_cluster.view([*stuck, last]), 0.0, PLENTY)
        if chosen(decision):
            break
    assert chosen(decision) == {last.task_class.id: {1: 4}}


def test_whoever_nobody_could_end_for_is_looked_at_again_as_soon_as_there_is_another_node() -> None:
    """Otherwise somebody less important has it a moment later."""
    running_cluster = cluster_of(2)
    running_cluster.run(running_cluster.make_class("low", 50, cpu=2), 1)
    gang = Queued(running_cluster.make_class("gang", 60, Rules(0, gang=1), cpu=2), 2, 0)
    peer = Queued(running_cluster.make_class("peer", 50, cpu=2), 1, 1)
    planner = Planner(STAGES)
    assert not planner.decide(running_cluster.view([gang, peer]), 0.0, PLENTY).preemptions
    running_cluster.add(2)
    decision = planner.decide(running_cluster.view([gang, peer], 2), 0.1, PLENTY)
    assert (chosen(decision), [each.winner for each in decision.preemptions]) == ({}, [gang.task_class.id])


# ---- whatever happens ----


@given(seed=st.integers(0, 2**32))
@settings(max_examples=150)
def test_decisions_are_sound_whatever_waits_and_runs(seed: int) -> None:
    """No gang in part, nothing beyond what is free, no victim within the gap, nothing preempted that is not there."""
    rng = random.Random(seed)
    running_cluster = cluster_of(*(rng.randrange(1, 6) for _ in range(rng.randrange(1, 5))))
    planner = Planner(Stages(SCORES[rng.choice(["bin-pack", "spread", "round-robin", "e-pvm"])]))
    queued = [random_queued(rng, running_cluster) for _ in range(rng.randrange(1, 6))]
    for version in range(6):
        note(f"seed {seed}, round {version}")
        waiting = [replace(each) for each in queued if each.count]
        decision = planner.decide(running_cluster.view(waiting, version), version * 40.0, PLENTY)
        assert_gangs_whole(decision, waiting)
        for end in decision.preemptions:
            victim, winner = running_cluster.classes[end.victim], running_cluster.classes[end.winner]
            there = [
                t for t in running_cluster.tasks if t.task_class is victim and t.row == end.node and not t.is_stopping
            ]
            assert victim.priority <= winner.priority - 10
            assert end.count <= len(there)
            for task in there[: end.count]:
                task.is_stopping = True
        placed = chosen(decision)
        for each in queued:
            for row, count in placed.get(each.task_class.id, {}).items():
                each.count -= count
                for _ in range(count):
                    end_ms = version * 40_000 + int(each.estimate_s * 1000) if each.estimate_s else 0
                    running_cluster.run(each.task_class, row, version * 40_000, end_ms)
        nodes = running_cluster.cluster.nodes
        assert (nodes.reserved <= nodes.capacity).all()
        for task in list(running_cluster.tasks):
            if task.is_stopping or rng.random() < 0.3:
                running_cluster.end(task)


def random_queued(rng: random.Random, running_cluster: RunningCluster) -> Queued:
    rules = Rules(
        0,
        gang=rng.choice([0, 0, 1, 2]),
        exclusive=rng.random() < 0.1,
        distinct=rng.choice(["", "", "host"]),
        affinity=rng.choice([(), (), (Affinity("job", "a", rng.random() < 0.5, anti=rng.random() < 0.5),)]),
    )
    task_class: TaskClass = running_cluster.make_class(
        rng.choice("ab"), rng.choice([10, 30, 50, 90]), rng.choice([None, rules]), cpu=rng.randrange(1, 4)
    )
    return Queued(task_class, rng.randrange(1, 5), rng.randrange(3), estimate_s=rng.choice([0, 50, 500]))


def assert_gangs_whole(decision: Decision, queued: list[Queued]) -> None:
    placed = {class_id: sum(rows.values()) for class_id, rows in chosen(decision).items()}
    gangs: dict[int, list[bool]] = {}
    for each in queued:
        if each.task_class.rules is not None and each.task_class.rules.gang:
            started = placed.get(each.task_class.id, 0)
            assert started in (0, each.count)
            gangs.setdefault(each.task_class.rules.gang, []).append(started > 0)
    assert all(all(each) or not any(each) for each in gangs.values())


def test_a_search_for_victims_takes_several_decisions_and_nobody_behind_is_served_before_it_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(node_search, "SEARCHES_MIN", 1)
    monkeypatch.setattr(reservations, "SearchBudget", lambda: node_search.SearchBudget(1))
    running_cluster = RunningCluster()
    low = running_cluster.make_class("low", 10, cpu=3)
    for _ in range(3):
        running_cluster.run(low, running_cluster.add(4))
    gang = running_cluster.make_class("gang", 90, cpu=4, rules=Rules(0, gang=1))
    small = running_cluster.make_class("small", 10, cpu=1)
    queued = [Queued(gang, 3, 0), Queued(small, 3, 1)]
    planner, decisions = Planner(STAGES), list[Decision]()
    while not decisions or decisions[-1].is_partial:
        decisions.append(planner.decide(running_cluster.view(queued), 0.0, 100))
        assert len(decisions) < 20
    *slices, last = decisions
    assert len(slices) >= 2
    assert not any(each.preemptions or each.placements for each in slices)
    assert sorted((each.node, each.count) for each in last.preemptions) == [(1, 1), (2, 1), (3, 1)]
    assert not last.placements, "the room of the small ones is the gang's"
