"""Victims: the fewest, the cheapest, none within the priority gap, none unnecessarily."""

from __future__ import annotations

import random
from itertools import chain, combinations

import numpy as np
from hypothesis import given, note, settings
from hypothesis import strategies as st

from shunter.model.job.spec import Affinity
from shunter.planning.reserve import preemption
from shunter.planning.reserve.node_search import SearchBudget
from shunter.planning.reserve.occupancy import Occupancy, read_occupancy
from shunter.planning.reserve.preemption import PREEMPT_GAP, PreemptionPlan, SuspendedAttempt, preempt
from shunter.planning.reserve.victims import StepBudget, VictimCandidate, choose_victims
from shunter.planning.score.gangs import Item, place_gang
from shunter.planning.score.scores import SCORES
from shunter.planning.score.workspace import Workspace
from shunter.planning.view import Queued, Rules, TaskClass
from tests.unit.planning.running_cluster import RunningCluster, Task

LARGEST_GANG = 20  # tasks of a gang in a random cluster, at most


def find_plan(running_cluster: RunningCluster, item: Item) -> PreemptionPlan | None:
    workspace, occupancy = prepare(running_cluster)
    plan = preempt(item, workspace, occupancy)
    assert not isinstance(plan, SuspendedAttempt), "nothing limits it"
    return plan


def prepare(running_cluster: RunningCluster) -> tuple[Workspace, Occupancy]:
    """The future: whatever was told to end has ended."""
    workspace = running_cluster.workspace(score=SCORES["bin-pack"]).scratch()
    occupancy = read_occupancy(running_cluster.view(), workspace.ledger)
    assert occupancy is not None
    stopping = occupancy.stopping()
    occupancy.release(workspace.ledger, stopping, occupancy.running.count[stopping])
    return workspace, occupancy


def item_of(task_class: TaskClass, count: int = 1) -> Item:
    return Item((Queued(task_class, count, 0),))


def victims(running_cluster: RunningCluster, plan: PreemptionPlan | None) -> set[tuple[str, int, int]]:
    assert plan is not None
    return {(running_cluster.names[each.victim], each.node, each.count) for each in plan.preemptions}


def test_the_fewest_tasks_end_and_among_those_the_least_important_and_the_youngest() -> None:
    running_cluster = RunningCluster()
    for _ in range(4):
        running_cluster.add(4)
    small, low, old, young = (
        running_cluster.make_class("small", 10, cpu=1),
        running_cluster.make_class("low", 30, cpu=4),
        running_cluster.make_class("old", 20, cpu=4),
        running_cluster.make_class("young", 20, cpu=4),
    )
    for _ in range(4):
        running_cluster.run(small, 1)
    running_cluster.run(low, 2, started_ms=900)
    running_cluster.run(old, 3, started_ms=100)
    running_cluster.run(young, 4, started_ms=500)
    assert victims(
        running_cluster, find_plan(running_cluster, item_of(running_cluster.make_class("boss", 80, cpu=3)))
    ) == {("young", 4, 1)}
    assert victims(
        running_cluster, find_plan(running_cluster, item_of(running_cluster.make_class("boss", 80, cpu=1)))
    ) == {("small", 1, 1)}


def test_nobody_ends_for_a_task_that_is_hardly_more_important() -> None:
    running_cluster = RunningCluster()
    running_cluster.add(4)
    running_cluster.run(running_cluster.make_class("low", 50, cpu=4), 1)
    assert find_plan(running_cluster, item_of(running_cluster.make_class("boss", 50 + PREEMPT_GAP - 1, cpu=1))) is None
    assert victims(
        running_cluster,
        find_plan(running_cluster, item_of(running_cluster.make_class("boss", 50 + PREEMPT_GAP, cpu=1))),
    ) == {("low", 1, 1)}


def test_nobody_ends_for_what_no_node_has() -> None:
    running_cluster = RunningCluster()
    running_cluster.add(4)
    running_cluster.run(running_cluster.make_class("low", 10, cpu=4), 1)
    assert find_plan(running_cluster, item_of(running_cluster.make_class("boss", 90, cpu=1, gpu=1))) is None
    assert find_plan(running_cluster, item_of(running_cluster.make_class("boss", 90, cpu=5))) is None


def test_nobody_ends_while_enough_room_is_coming() -> None:
    running_cluster = RunningCluster()
    running_cluster.add(4)
    running_cluster.run(running_cluster.make_class("low", 10, cpu=2), 1, stopping=True)
    running_cluster.run(running_cluster.make_class("other", 10, cpu=2), 1)
    plan = find_plan(running_cluster, item_of(running_cluster.make_class("boss", 90, cpu=2)))
    assert victims(running_cluster, plan) == set()
    assert victims(
        running_cluster, find_plan(running_cluster, item_of(running_cluster.make_class("boss", 90, cpu=3)))
    ) == {("other", 1, 1)}


def test_the_room_of_one_victim_serves_several_winners() -> None:
    running_cluster = RunningCluster()
    running_cluster.add(4)
    running_cluster.add(4)
    running_cluster.run(running_cluster.make_class("large", 10, cpu=4), 1)
    running_cluster.run(running_cluster.make_class("large", 10, cpu=4), 2)
    plan = find_plan(running_cluster, item_of(running_cluster.make_class("boss", 90, cpu=1), count=4))
    assert victims(running_cluster, plan) == {("large", 1, 1)}


def test_as_many_winners_as_find_room_are_served_and_a_gang_only_as_a_whole() -> None:
    running_cluster = RunningCluster()
    running_cluster.add(4)
    running_cluster.run(running_cluster.make_class("low", 10, cpu=2), 1)
    running_cluster.run(running_cluster.make_class("high", 90, cpu=2), 1)
    preemptor = running_cluster.make_class("boss", 90, cpu=2, rules=Rules(0, gang=1))
    assert victims(running_cluster, find_plan(running_cluster, item_of(preemptor, 3))) == {("low", 1, 1)}
    assert find_plan(running_cluster, Item((Queued(preemptor, 3, 0),), gang=1)) is None
    assert victims(running_cluster, find_plan(running_cluster, Item((Queued(preemptor, 1, 0),), gang=1))) == {
        ("low", 1, 1)
    }


def test_a_gang_makes_room_over_several_nodes_and_across_its_groups() -> None:
    running_cluster = RunningCluster()
    running_cluster.add(4)
    running_cluster.add(2)
    running_cluster.run(running_cluster.make_class("one", 10, cpu=4), 1)
    running_cluster.run(running_cluster.make_class("two", 10, cpu=2), 2)
    large = running_cluster.make_class("boss", 90, cpu=4, rules=Rules(0, gang=1))
    small = running_cluster.make_class("boss", 90, cpu=2, rules=Rules(0, gang=1))
    gang = Item((Queued(small, 1, 0), Queued(large, 1, 0)), gang=1)
    assert victims(running_cluster, find_plan(running_cluster, gang)) == {("one", 1, 1), ("two", 2, 1)}


def test_rules_hold_for_winners() -> None:
    running_cluster = RunningCluster()
    running_cluster.add(4, rack="a")
    running_cluster.add(4, rack="b")
    for row in (1, 2):
        for _ in range(4):
            running_cluster.run(running_cluster.make_class("low", 10, cpu=1), row)
    preemptor = running_cluster.make_class("boss", 90, cpu=1, rules=Rules(0, distinct="rack"))
    plan = find_plan(running_cluster, item_of(preemptor, 3))
    assert plan is not None
    assert sorted(each.node for each in plan.preemptions) == [1, 2]


def test_nobody_ends_beside_whom_the_winner_must_be() -> None:
    """Without them it could not start: they would have ended for nobody."""
    running_cluster = RunningCluster()
    cache, other = running_cluster.make_class("cache", 10, cpu=1), running_cluster.make_class("other", 20, cpu=1)
    for row in (running_cluster.add(2), running_cluster.add(2)):
        running_cluster.run(cache, row)
        running_cluster.run(other if row == 1 else cache, row)
    beside = Rules(0, affinity=(Affinity("job", "cache", require=True),))
    assert victims(
        running_cluster, find_plan(running_cluster, item_of(running_cluster.make_class("boss", 80, beside, cpu=1), 2))
    ) == {("other", 1, 1)}
    assert find_plan(running_cluster, item_of(running_cluster.make_class("boss", 80, beside, cpu=2))) is None


def test_for_an_exclusive_task_everybody_leaves_the_node_or_nobody_does() -> None:
    running_cluster = RunningCluster()
    running_cluster.add(4)
    running_cluster.add(4)
    low, high = running_cluster.make_class("low", 10, cpu=1), running_cluster.make_class("high", 90, cpu=1)
    running_cluster.run(low, 1)
    running_cluster.run(high, 1)
    alone = item_of(running_cluster.make_class("alone", 90, cpu=1, rules=Rules(0, exclusive=True)))
    running_cluster.run(low, 2)
    running_cluster.run(low, 2)
    assert victims(running_cluster, find_plan(running_cluster, alone)) == {("low", 2, 2)}
    running_cluster.run(high, 2)
    assert find_plan(running_cluster, alone) is None


def test_the_search_on_a_crowded_node_is_bounded_and_still_ends_nobody_in_vain() -> None:
    rng = random.Random(5)
    candidates = [
        VictimCandidate(entry, (rng.randrange(1, 9), rng.randrange(1, 9)), 2, rng.randrange(40), 0)
        for entry in range(40)
    ]
    step_budget = StepBudget(10)
    found = choose_victims(candidates, (60, 70), step_budget)
    assert step_budget.steps <= 0
    assert found is not None
    assert_needed(candidates, found.chosen, (60, 70))


def test_the_winners_looked_at_in_one_decision_are_bounded(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(preemption, "WINNERS_MAX", 3)
    running_cluster = RunningCluster()
    running_cluster.add(10)
    for _ in range(10):
        running_cluster.run(running_cluster.make_class("low", 10, cpu=1), 1)
    plan = find_plan(running_cluster, item_of(running_cluster.make_class("boss", 90, cpu=1), 8))
    assert plan is not None
    assert sum(plan.chosen.values()) == 3


@given(seed=st.integers(0, 2**32))
@settings(max_examples=200)
def test_victims_of_one_task_are_the_cheapest_of_all_choices(seed: int) -> None:
    rng = random.Random(seed)
    running_cluster = random_cluster(rng)
    preemptor = running_cluster.make_class(
        "boss", rng.choice([30, 50, 90]), cpu=rng.randrange(1, 7), memory=rng.randrange(1, 9)
    )
    note(f"seed {seed}: {preemptor.needs}, {[(task.task_class.needs, task.row) for task in running_cluster.tasks]}")
    expected = cheapest(running_cluster, preemptor)
    plan = find_plan(running_cluster, item_of(preemptor))
    if expected is None:
        assert plan is None
        return
    assert plan is not None
    by_task = [running_cluster.tasks[entry] for entry in plan.chosen]
    assert all(
        task.task_class.priority <= preemptor.priority - PREEMPT_GAP and not task.is_stopping for task in by_task
    )
    assert victim_cost(by_task) == expected


@given(seed=st.integers(0, 2**32))
@settings(max_examples=100)
def test_no_victim_is_ended_in_vain_whoever_wins(seed: int) -> None:
    rng = random.Random(seed)
    running_cluster = random_cluster(rng)
    preemptor = running_cluster.make_class(
        "boss", 60, cpu=rng.randrange(1, 4), memory=rng.randrange(1, 4), rules=Rules(0, gang=1)
    )
    count = rng.randrange(1, 5)
    item = Item((Queued(preemptor, count, 0),), gang=rng.choice([0, 1]))
    note(
        f"seed {seed}: {preemptor.needs} x {count}, "
        f"{[(task.task_class.needs, task.row) for task in running_cluster.tasks]}"
    )
    plan = find_plan(running_cluster, item)
    workspace, occupancy = prepare(running_cluster)
    if plan is None:
        assert not item.is_all_or_nothing or place_gang(item.members, workspace) is None
        return
    placed = sum(int(picked.counts.sum()) for _, picked in plan.placed)
    assert placed == count or not item.is_all_or_nothing
    for entry in plan.chosen:
        assert occupancy.running.priority[entry] <= preemptor.priority - PREEMPT_GAP
    for spared in [None, *plan.chosen]:
        workspace, occupancy = prepare(running_cluster)
        entries = np.array([entry for entry in plan.chosen if entry != spared], dtype=np.int64)
        occupancy.release(workspace.ledger, entries, np.ones(len(entries), dtype=np.int64))
        room = workspace.ledger.room(preemptor, np.arange(1, workspace.ledger.count), count).sum()
        assert (room >= placed) == (spared is None), "exactly these tasks are needed"


@given(seed=st.integers(0, 2**32))
@settings(max_examples=200)
def test_a_victim_costs_its_whole_gang_and_the_cheapest_are_found(seed: int) -> None:
    rng = random.Random(seed)
    running_cluster = random_cluster(rng, gangs=2)
    preemptor = running_cluster.make_class(
        "boss", rng.choice([30, 50, 90]), cpu=rng.randrange(1, 7), memory=rng.randrange(1, 9)
    )
    note(
        f"seed {seed}: {preemptor.needs}, "
        f"{[(gang_number(task), task.task_class.needs, task.row) for task in running_cluster.tasks]}"
    )
    expected = cheapest(running_cluster, preemptor)
    plan = find_plan(running_cluster, item_of(preemptor))
    if expected is None:
        assert plan is None
        return
    assert plan is not None
    by_task = [running_cluster.tasks[entry] for entry in plan.chosen]
    assert {id(task) for task in by_task} == {id(task) for task in with_gangs(running_cluster, by_task)}, (
        "gangs end whole"
    )
    assert victim_cost(by_task)[:2] == expected[:2]


def test_the_room_of_a_gang_that_ends_serves_winners_on_all_its_nodes() -> None:
    running_cluster = RunningCluster()
    for _ in range(3):
        running_cluster.add(4)
    gang, single_task = (
        running_cluster.make_class("gang", 10, cpu=3, rules=Rules(0, gang=7)),
        running_cluster.make_class("old", 10, cpu=3),
    )
    running_cluster.run(gang, 1)
    running_cluster.run(gang, 2)
    running_cluster.run(single_task, 3)
    assert victims(
        running_cluster, find_plan(running_cluster, item_of(running_cluster.make_class("boss", 90, cpu=2)))
    ) == {("old", 3, 1)}
    preemptor = running_cluster.make_class("boss", 90, cpu=2, rules=Rules(0, distinct="host", gang=9))
    two = Item((Queued(preemptor, 2, 0),), gang=9)
    assert victims(running_cluster, find_plan(running_cluster, two)) == {("gang", 1, 1), ("gang", 2, 1)}, (
        "and the old one goes on"
    )


@given(seed=st.integers(0, 2**32))
@settings(max_examples=100)
def test_a_search_in_slices_ends_as_one_without(seed: int) -> None:
    """As many are placed, nobody ends in vain, and no more than a task or so more, since each slice looks anew."""
    rng = random.Random(seed)
    running_cluster = random_cluster(rng, gangs=1)
    preemptor = running_cluster.make_class(
        "boss", 90, cpu=rng.randrange(1, 4), memory=rng.randrange(1, 4), rules=Rules(0, gang=9)
    )
    item = Item((Queued(preemptor, rng.randrange(1, 6), 0),), gang=rng.choice([0, 9]))
    note(
        f"seed {seed}: {preemptor.needs} x {item.count}, "
        f"{[(task.task_class.needs, task.row) for task in running_cluster.tasks]}"
    )
    whole = find_plan(running_cluster, item)
    suspended: SuspendedAttempt | None = None
    for _ in range(100):
        workspace, occupancy = prepare(running_cluster)
        plan = preempt(item, workspace, occupancy, search_budget=SearchBudget(1), suspended=suspended)
        if not isinstance(plan, SuspendedAttempt):
            break
        suspended = plan
    assert (whole is None) == (plan is None)
    if whole is None or plan is None:
        return
    assert not isinstance(plan, SuspendedAttempt)
    counts = [sum(int(picked.counts.sum()) for _, picked in each.placed) for each in (whole, plan)]
    assert counts[0] == counts[1]
    assert sum(plan.chosen.values()) <= sum(whole.chosen.values()) + LARGEST_GANG


def test_a_begun_search_starts_over_when_its_victims_are_gone() -> None:
    running_cluster = RunningCluster()
    for _ in range(3):
        running_cluster.add(4)
    low = running_cluster.make_class("low", 10, cpu=4)
    first, *_ = [running_cluster.run(low, row) for row in (1, 2, 3)]
    preemptor = running_cluster.make_class("boss", 90, cpu=4, rules=Rules(0, gang=9))
    item = Item((Queued(preemptor, 2, 0),), gang=9)
    workspace, occupancy = prepare(running_cluster)
    suspended = preempt(item, workspace, occupancy, search_budget=SearchBudget(1))
    assert isinstance(suspended, SuspendedAttempt) and sum(suspended.victim_counts.values()) == 1
    (_, node) = next(iter(suspended.victim_counts))
    running_cluster.end(next(task for task in running_cluster.tasks if task.row == node))
    workspace, occupancy = prepare(running_cluster)
    plan = preempt(item, workspace, occupancy, suspended=suspended)
    assert isinstance(plan, PreemptionPlan)
    assert sum(plan.chosen.values()) == 1 and first.row in (1, 2, 3), "one is enough now"


def random_cluster(rng: random.Random, gangs: int = 0) -> RunningCluster:
    running_cluster = RunningCluster()
    classes = [
        running_cluster.make_class(
            f"c{n}", rng.choice([10, 20, 45, 60]), cpu=rng.randrange(1, 4), memory=rng.randrange(1, 5)
        )
        for n in range(4)
    ]
    for number in range(1, gangs + 1):
        priority = rng.choice([10, 45, 60])
        for _ in range(2):
            needs = {"cpu": rng.randrange(1, 4), "memory": rng.randrange(1, 5)}
            classes.append(running_cluster.make_class(f"gang{number}", priority, rules=Rules(0, gang=number), **needs))
    for _ in range(rng.randrange(1, 4)):
        row = running_cluster.add(rng.randrange(3, 8), memory=rng.randrange(4, 10))
        for _ in range(rng.randrange(7)):
            each = rng.choice(classes)
            free = running_cluster.cluster.nodes.capacity[row] - running_cluster.cluster.nodes.reserved[row]
            if each.needs["cpu"] <= free[0] and each.needs["memory"] <= free[1]:
                running_cluster.run(each, row, rng.randrange(5), stopping=each.rules is None and rng.random() < 0.1)
    return running_cluster


def victim_cost(tasks: list[Task]) -> tuple[int, int, int]:
    return len(tasks), sum(task.task_class.priority for task in tasks), -sum(task.started_ms for task in tasks)


def cheapest(running_cluster: RunningCluster, preemptor: TaskClass) -> tuple[int, int, int] | None:
    """Every set of tasks on every node."""
    costs = []
    for row in range(1, running_cluster.cluster.nodes.count):
        here = [task for task in running_cluster.tasks if task.row == row]
        coming = [task for task in here if task.is_stopping]
        may_end = [t for t in here if not t.is_stopping and t.task_class.priority <= preemptor.priority - PREEMPT_GAP]
        for chosen in chain.from_iterable(combinations(may_end, size) for size in range(len(may_end) + 1)):
            free = running_cluster.cluster.nodes.capacity[row] - running_cluster.cluster.nodes.reserved[row]
            all_ended = with_gangs(running_cluster, list(chosen))
            for task in (*coming, *(task for task in all_ended if task.row == row)):
                free[:2] += [task.task_class.needs["cpu"], task.task_class.needs["memory"]]
            if free[0] >= preemptor.needs["cpu"] and free[1] >= preemptor.needs["memory"]:
                costs.append(victim_cost(all_ended))
    return min(costs, default=None)


def gang_number(task: Task) -> int:
    return task.task_class.rules.gang if task.task_class.rules is not None else 0


def with_gangs(running_cluster: RunningCluster, tasks: list[Task]) -> list[Task]:
    """These tasks, and all of the gangs of any of them."""
    gangs = {gang_number(task) for task in tasks} - {0}
    return [task for task in running_cluster.tasks if any(task is each for each in tasks) or gang_number(task) in gangs]


def assert_needed(candidates: list[VictimCandidate], chosen: dict[int, int], lacking: tuple[int, int]) -> None:
    def held(chosen: dict[int, int], number: int) -> int:
        return sum(each.amounts[number] * chosen.get(each.entry, 0) for each in candidates)

    assert all(held(chosen, number) >= lacking[number] for number in (0, 1))
    for entry in chosen:
        fewer = {**chosen, entry: chosen[entry] - 1}
        assert any(held(fewer, number) < lacking[number] for number in (0, 1))
