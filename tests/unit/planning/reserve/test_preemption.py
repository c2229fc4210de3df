"""Victims: the fewest, the cheapest, none within the gap, none in vain."""

from __future__ import annotations

import random
from itertools import chain, combinations

import numpy as np
from hypothesis import given, note, settings
from hypothesis import strategies as st

from shunter.model.job.spec import Affinity
from shunter.planning.reserve import preemption
from shunter.planning.reserve.node_search import Slice
from shunter.planning.reserve.occupancy import Occupancy, read_occupancy
from shunter.planning.reserve.preemption import PREEMPT_GAP, Begun, Outcome, preempt
from shunter.planning.reserve.victims import Effort, Tenant, choose_victims
from shunter.planning.score.gangs import Item, place_gang
from shunter.planning.score.scores import SCORES
from shunter.planning.score.workspace import Site
from shunter.planning.view import Queued, Rules, TaskClass
from tests.unit.planning.running_cluster import Task, Yard

LARGEST_GANG = 20  # tasks of a gang in a random yard, at most


def ask(yard: Yard, item: Item) -> Outcome | None:
    site, occupancy = prepare(yard)
    outcome = preempt(item, site, occupancy)
    assert not isinstance(outcome, Begun), "nothing limits it"
    return outcome


def prepare(yard: Yard) -> tuple[Site, Occupancy]:
    """The future: whatever was told to end has ended."""
    site = yard.site(score=SCORES["bin-pack"]).scratch()
    occupancy = read_occupancy(yard.view(), site.ledger)
    assert occupancy is not None
    stopping = occupancy.stopping()
    occupancy.release(site.ledger, stopping, occupancy.running.count[stopping])
    return site, occupancy


def single(task_class: TaskClass, count: int = 1) -> Item:
    return Item((Queued(task_class, count, 0),))


def ended(yard: Yard, outcome: Outcome | None) -> set[tuple[str, int, int]]:
    assert outcome is not None
    return {(yard.names[each.victim], each.node, each.count) for each in outcome.preemptions}


def test_the_fewest_tasks_end_and_among_those_the_least_important_and_the_youngest() -> None:
    yard = Yard()
    for _ in range(4):
        yard.add(4)
    small, low, old, young = (
        yard.make_class("small", 10, cpu=1),
        yard.make_class("low", 30, cpu=4),
        yard.make_class("old", 20, cpu=4),
        yard.make_class("young", 20, cpu=4),
    )
    for _ in range(4):
        yard.run(small, 1)
    yard.run(low, 2, started_ms=900)
    yard.run(old, 3, started_ms=100)
    yard.run(young, 4, started_ms=500)
    assert ended(yard, ask(yard, single(yard.make_class("boss", 80, cpu=3)))) == {("young", 4, 1)}
    assert ended(yard, ask(yard, single(yard.make_class("boss", 80, cpu=1)))) == {("small", 1, 1)}


def test_nobody_ends_for_a_task_that_is_hardly_more_important() -> None:
    yard = Yard()
    yard.add(4)
    yard.run(yard.make_class("low", 50, cpu=4), 1)
    assert ask(yard, single(yard.make_class("boss", 50 + PREEMPT_GAP - 1, cpu=1))) is None
    assert ended(yard, ask(yard, single(yard.make_class("boss", 50 + PREEMPT_GAP, cpu=1)))) == {("low", 1, 1)}


def test_nobody_ends_for_what_no_node_has() -> None:
    yard = Yard()
    yard.add(4)
    yard.run(yard.make_class("low", 10, cpu=4), 1)
    assert ask(yard, single(yard.make_class("boss", 90, cpu=1, gpu=1))) is None
    assert ask(yard, single(yard.make_class("boss", 90, cpu=5))) is None


def test_nobody_ends_while_enough_room_is_coming() -> None:
    yard = Yard()
    yard.add(4)
    yard.run(yard.make_class("low", 10, cpu=2), 1, stopping=True)
    yard.run(yard.make_class("other", 10, cpu=2), 1)
    outcome = ask(yard, single(yard.make_class("boss", 90, cpu=2)))
    assert ended(yard, outcome) == set()
    assert ended(yard, ask(yard, single(yard.make_class("boss", 90, cpu=3)))) == {("other", 1, 1)}


def test_the_room_of_one_victim_serves_several_winners() -> None:
    yard = Yard()
    yard.add(4)
    yard.add(4)
    yard.run(yard.make_class("large", 10, cpu=4), 1)
    yard.run(yard.make_class("large", 10, cpu=4), 2)
    outcome = ask(yard, single(yard.make_class("boss", 90, cpu=1), count=4))
    assert ended(yard, outcome) == {("large", 1, 1)}


def test_as_many_winners_as_find_room_are_served_and_a_gang_only_as_a_whole() -> None:
    yard = Yard()
    yard.add(4)
    yard.run(yard.make_class("low", 10, cpu=2), 1)
    yard.run(yard.make_class("high", 90, cpu=2), 1)
    boss = yard.make_class("boss", 90, cpu=2, rules=Rules(0, gang=1))
    assert ended(yard, ask(yard, single(boss, 3))) == {("low", 1, 1)}
    assert ask(yard, Item((Queued(boss, 3, 0),), gang=1)) is None
    assert ended(yard, ask(yard, Item((Queued(boss, 1, 0),), gang=1))) == {("low", 1, 1)}


def test_a_gang_makes_room_over_several_nodes_and_across_its_groups() -> None:
    yard = Yard()
    yard.add(4)
    yard.add(2)
    yard.run(yard.make_class("one", 10, cpu=4), 1)
    yard.run(yard.make_class("two", 10, cpu=2), 2)
    large = yard.make_class("boss", 90, cpu=4, rules=Rules(0, gang=1))
    small = yard.make_class("boss", 90, cpu=2, rules=Rules(0, gang=1))
    gang = Item((Queued(small, 1, 0), Queued(large, 1, 0)), gang=1)
    assert ended(yard, ask(yard, gang)) == {("one", 1, 1), ("two", 2, 1)}


def test_rules_hold_for_winners() -> None:
    yard = Yard()
    yard.add(4, rack="a")
    yard.add(4, rack="b")
    for row in (1, 2):
        for _ in range(4):
            yard.run(yard.make_class("low", 10, cpu=1), row)
    boss = yard.make_class("boss", 90, cpu=1, rules=Rules(0, distinct="rack"))
    outcome = ask(yard, single(boss, 3))
    assert outcome is not None
    assert sorted(each.node for each in outcome.preemptions) == [1, 2]


def test_nobody_ends_beside_whom_the_winner_must_be() -> None:
    """Without them it could not start: they would have ended for nobody."""
    yard = Yard()
    cache, other = yard.make_class("cache", 10, cpu=1), yard.make_class("other", 20, cpu=1)
    for row in (yard.add(2), yard.add(2)):
        yard.run(cache, row)
        yard.run(other if row == 1 else cache, row)
    beside = Rules(0, affinity=(Affinity("job", "cache", require=True),))
    assert ended(yard, ask(yard, single(yard.make_class("boss", 80, beside, cpu=1), 2))) == {("other", 1, 1)}
    assert ask(yard, single(yard.make_class("boss", 80, beside, cpu=2))) is None


def test_for_an_exclusive_task_everybody_leaves_the_node_or_nobody_does() -> None:
    yard = Yard()
    yard.add(4)
    yard.add(4)
    low, high = yard.make_class("low", 10, cpu=1), yard.make_class("high", 90, cpu=1)
    yard.run(low, 1)
    yard.run(high, 1)
    alone = single(yard.make_class("alone", 90, cpu=1, rules=Rules(0, exclusive=True)))
    yard.run(low, 2)
    yard.run(low, 2)
    assert ended(yard, ask(yard, alone)) == {("low", 2, 2)}
    yard.run(high, 2)
    assert ask(yard, alone) is None


def test_the_search_on_a_crowded_node_is_bounded_and_still_ends_nobody_in_vain() -> None:
    rng = random.Random(5)
    tenants = [
        Tenant(entry, (rng.randrange(1, 9), rng.randrange(1, 9)), 2, rng.randrange(40), 0) for entry in range(40)
    ]
    effort = Effort(10)
    found = choose_victims(tenants, (60, 70), effort)
    assert effort.steps <= 0
    assert found is not None
    assert_needed(tenants, found.chosen, (60, 70))


def test_the_winners_looked_at_in_one_decision_are_bounded(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(preemption, "WINNERS_MAX", 3)
    yard = Yard()
    yard.add(10)
    for _ in range(10):
        yard.run(yard.make_class("low", 10, cpu=1), 1)
    outcome = ask(yard, single(yard.make_class("boss", 90, cpu=1), 8))
    assert outcome is not None
    assert sum(outcome.chosen.values()) == 3


@given(seed=st.integers(0, 2**32))
@settings(max_examples=200)
def test_victims_of_one_task_are_the_cheapest_of_all_choices(seed: int) -> None:
    rng = random.Random(seed)
    yard = random_yard(rng)
    boss = yard.make_class("boss", rng.choice([30, 50, 90]), cpu=rng.randrange(1, 7), memory=rng.randrange(1, 9))
    note(f"seed {seed}: {boss.needs}, {[(task.task_class.needs, task.row) for task in yard.tasks]}")
    expected = cheapest(yard, boss)
    outcome = ask(yard, single(boss))
    if expected is None:
        assert outcome is None
        return
    assert outcome is not None
    by_task = [yard.tasks[entry] for entry in outcome.chosen]
    assert all(task.task_class.priority <= boss.priority - PREEMPT_GAP and not task.is_stopping for task in by_task)
    assert price(by_task) == expected


@given(seed=st.integers(0, 2**32))
@settings(max_examples=100)
def test_no_victim_is_ended_in_vain_whoever_wins(seed: int) -> None:
    rng = random.Random(seed)
    yard = random_yard(rng)
    boss = yard.make_class("boss", 60, cpu=rng.randrange(1, 4), memory=rng.randrange(1, 4), rules=Rules(0, gang=1))
    count = rng.randrange(1, 5)
    item = Item((Queued(boss, count, 0),), gang=rng.choice([0, 1]))
    note(f"seed {seed}: {boss.needs} x {count}, {[(task.task_class.needs, task.row) for task in yard.tasks]}")
    outcome = ask(yard, item)
    site, occupancy = prepare(yard)
    if outcome is None:
        assert not item.is_whole or place_gang(item.members, site) is None
        return
    placed = sum(int(picked.counts.sum()) for _, picked in outcome.placed)
    assert placed == count or not item.is_whole
    for entry in outcome.chosen:
        assert occupancy.running.priority[entry] <= boss.priority - PREEMPT_GAP
    for spared in [None, *outcome.chosen]:
        site, occupancy = prepare(yard)
        entries = np.array([entry for entry in outcome.chosen if entry != spared], dtype=np.int64)
        occupancy.release(site.ledger, entries, np.ones(len(entries), dtype=np.int64))
        room = site.ledger.room(boss, np.arange(1, site.ledger.count), count).sum()
        assert (room >= placed) == (spared is None), "exactly these tasks are needed"


@given(seed=st.integers(0, 2**32))
@settings(max_examples=200)
def test_a_victim_costs_its_whole_gang_and_the_cheapest_are_found(seed: int) -> None:
    rng = random.Random(seed)
    yard = random_yard(rng, gangs=2)
    boss = yard.make_class("boss", rng.choice([30, 50, 90]), cpu=rng.randrange(1, 7), memory=rng.randrange(1, 9))
    note(f"seed {seed}: {boss.needs}, {[(gang_number(task), task.task_class.needs, task.row) for task in yard.tasks]}")
    expected = cheapest(yard, boss)
    outcome = ask(yard, single(boss))
    if expected is None:
        assert outcome is None
        return
    assert outcome is not None
    by_task = [yard.tasks[entry] for entry in outcome.chosen]
    assert {id(task) for task in by_task} == {id(task) for task in with_gangs(yard, by_task)}, "gangs end whole"
    assert price(by_task)[:2] == expected[:2]


def test_the_room_of_a_gang_that_ends_serves_winners_on_all_its_nodes() -> None:
    yard = Yard()
    for _ in range(3):
        yard.add(4)
    gang, single_task = yard.make_class("gang", 10, cpu=3, rules=Rules(0, gang=7)), yard.make_class("old", 10, cpu=3)
    yard.run(gang, 1)
    yard.run(gang, 2)
    yard.run(single_task, 3)
    assert ended(yard, ask(yard, single(yard.make_class("boss", 90, cpu=2)))) == {("old", 3, 1)}
    boss = yard.make_class("boss", 90, cpu=2, rules=Rules(0, distinct="host", gang=9))
    two = Item((Queued(boss, 2, 0),), gang=9)
    assert ended(yard, ask(yard, two)) == {("gang", 1, 1), ("gang", 2, 1)}, "and the old one goes on"


@given(seed=st.integers(0, 2**32))
@settings(max_examples=100)
def test_a_search_in_slices_ends_as_one_without(seed: int) -> None:
    """As many are placed, nobody ends in vain, and no more than a task or so more, since each slice looks anew."""
    rng = random.Random(seed)
    yard = random_yard(rng, gangs=1)
    boss = yard.make_class("boss", 90, cpu=rng.randrange(1, 4), memory=rng.randrange(1, 4), rules=Rules(0, gang=9))
    item = Item((Queued(boss, rng.randrange(1, 6), 0),), gang=rng.choice([0, 9]))
    note(f"seed {seed}: {boss.needs} x {item.count}, {[(task.task_class.needs, task.row) for task in yard.tasks]}")
    whole = ask(yard, item)
    begun: Begun | None = None
    for _ in range(100):
        site, occupancy = prepare(yard)
        outcome = preempt(item, site, occupancy, slice=Slice(1), begun=begun)
        if not isinstance(outcome, Begun):
            break
        begun = outcome
    assert (whole is None) == (outcome is None)
    if whole is None or outcome is None:
        return
    assert not isinstance(outcome, Begun)
    counts = [sum(int(picked.counts.sum()) for _, picked in each.placed) for each in (whole, outcome)]
    assert counts[0] == counts[1]
    assert sum(outcome.chosen.values()) <= sum(whole.chosen.values()) + LARGEST_GANG


def test_a_begun_search_starts_over_when_its_victims_are_gone() -> None:
    yard = Yard()
    for _ in range(3):
        yard.add(4)
    low = yard.make_class("low", 10, cpu=4)
    first, *_ = [yard.run(low, row) for row in (1, 2, 3)]
    boss = yard.make_class("boss", 90, cpu=4, rules=Rules(0, gang=9))
    item = Item((Queued(boss, 2, 0),), gang=9)
    site, occupancy = prepare(yard)
    begun = preempt(item, site, occupancy, slice=Slice(1))
    assert isinstance(begun, Begun) and sum(begun.ends.values()) == 1
    (_, node) = next(iter(begun.ends))
    yard.end(next(task for task in yard.tasks if task.row == node))
    site, occupancy = prepare(yard)
    outcome = preempt(item, site, occupancy, begun=begun)
    assert isinstance(outcome, Outcome)
    assert sum(outcome.chosen.values()) == 1 and first.row in (1, 2, 3), "one is enough now"


def random_yard(rng: random.Random, gangs: int = 0) -> Yard:
    yard = Yard()
    classes = [
        yard.make_class(f"c{n}", rng.choice([10, 20, 45, 60]), cpu=rng.randrange(1, 4), memory=rng.randrange(1, 5))
        for n in range(4)
    ]
    for number in range(1, gangs + 1):
        priority = rng.choice([10, 45, 60])
        for _ in range(2):
            needs = {"cpu": rng.randrange(1, 4), "memory": rng.randrange(1, 5)}
            classes.append(yard.make_class(f"gang{number}", priority, rules=Rules(0, gang=number), **needs))
    for _ in range(rng.randrange(1, 4)):
        row = yard.add(rng.randrange(3, 8), memory=rng.randrange(4, 10))
        for _ in range(rng.randrange(7)):
            each = rng.choice(classes)
            free = yard.cluster.nodes.capacity[row] - yard.cluster.nodes.reserved[row]
            if each.needs["cpu"] <= free[0] and each.needs["memory"] <= free[1]:
                yard.run(each, row, rng.randrange(5), stopping=each.rules is None and rng.random() < 0.1)
    return yard


def price(tasks: list[Task]) -> tuple[int, int, int]:
    return len(tasks), sum(task.task_class.priority for task in tasks), -sum(task.started_ms for task in tasks)


def cheapest(yard: Yard, boss: TaskClass) -> tuple[int, int, int] | None:
    """Every set of tasks on every node."""
    prices = []
    for row in range(1, yard.cluster.nodes.count):
        here = [task for task in yard.tasks if task.row == row]
        coming = [task for task in here if task.is_stopping]
        may_end = [t for t in here if not t.is_stopping and t.task_class.priority <= boss.priority - PREEMPT_GAP]
        for chosen in chain.from_iterable(combinations(may_end, size) for size in range(len(may_end) + 1)):
            free = yard.cluster.nodes.capacity[row] - yard.cluster.nodes.reserved[row]
            all_ended = with_gangs(yard, list(chosen))
            for task in (*coming, *(task for task in all_ended if task.row == row)):
                free[:2] += [task.task_class.needs["cpu"], task.task_class.needs["memory"]]
            if free[0] >= boss.needs["cpu"] and free[1] >= boss.needs["memory"]:
                prices.append(price(all_ended))
    return min(prices, default=None)


def gang_number(task: Task) -> int:
    return task.task_class.rules.gang if task.task_class.rules is not None else 0


def with_gangs(yard: Yard, tasks: list[Task]) -> list[Task]:
    """These tasks, and all of the gangs of any of them."""
    gangs = {gang_number(task) for task in tasks} - {0}
    return [task for task in yard.tasks if any(task is each for each in tasks) or gang_number(task) in gangs]


def assert_needed(tenants: list[Tenant], chosen: dict[int, int], lacking: tuple[int, int]) -> None:
    def held(chosen: dict[int, int], number: int) -> int:
        return sum(each.amounts[number] * chosen.get(each.entry, 0) for each in tenants)

    assert all(held(chosen, number) >= lacking[number] for number in (0, 1))
    for entry in chosen:
        fewer = {**chosen, entry: chosen[entry] - 1}
        assert any(held(fewer, number) < lacking[number] for number in (0, 1))
