"""Distinct, spread, affinity, exclusive: what each rule does, its reason, and the greedy that all must equal."""

from __future__ import annotations

import math
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from shunter.model.jobs import Affinity, Spread
from shunter.planning.candidates import FILTERS
from shunter.planning.coupling import Couplings, coupling_filter
from shunter.planning.explain import Reason, explain
from shunter.planning.ledger import Ledger
from shunter.planning.pick import Picked
from shunter.planning.scores import SCORES
from shunter.planning.site import Site
from shunter.planning.view import Queued, Rules, TaskClass
from tests.unit.planning.yards import Yard

SSD = "node.labels.disk == 'ssd'"
Occupants = list[tuple[TaskClass, int]]


def picked(yard: Yard, task_class: TaskClass, count: int, score: str = "spread") -> dict[int, int]:
    return as_dict(yard.site(score=SCORES[score]).pick(Queued(task_class, count, 0), count))


def as_dict(picked: Picked) -> dict[int, int]:
    found = dict(zip(picked.rows.tolist(), picked.counts.tolist(), strict=True))
    assert len(found) == len(picked.rows), "a row is named twice"
    return found


def reasons(yard: Yard, task_class: TaskClass) -> list[Reason]:
    ledger = Ledger()
    ledger.sync(yard.cluster.nodes)
    couplings = Couplings(yard.view(), ledger)
    return explain(task_class, yard.cluster.nodes, (*FILTERS, coupling_filter(couplings)))


def racks(*names: str) -> Yard:
    yard = Yard()
    for name in names:
        yard.add(rack=name) if name else yard.add()
    return yard


# ---- distinct ----


def test_distinct_hosts_take_one_task_each_also_beside_what_runs_already() -> None:
    yard = racks("a", "a", "b")
    web = yard.make_class("web", rules=Rules(0, distinct="host"))
    yard.run(web, 2)
    assert picked(yard, web, 5) == {1: 1, 3: 1}
    assert picked(yard, web, 5, "bin-pack") == {1: 1, 3: 1}


def test_distinct_values_of_a_label_leave_out_nodes_without_it() -> None:
    yard = racks("a", "a", "b", "", "c")
    web = yard.make_class("web", rules=Rules(0, distinct="rack"))
    assert picked(yard, web, 9) == {1: 1, 3: 1, 5: 1}
    yard.run(web, 2)
    assert picked(yard, web, 9) == {3: 1, 5: 1}


def test_what_this_decision_placed_counts_like_what_runs() -> None:
    yard = racks("a", "a", "b")
    web = yard.make_class("web", rules=Rules(0, distinct="rack"))
    site, queued = yard.site(), Queued(web, 1, 0)
    for expected in ({1: 1}, {3: 1}, {}):
        found = site.pick(queued, 1)
        assert as_dict(found) == expected
        site.put(web, found)


def test_what_was_taken_back_counts_no_more() -> None:
    yard = racks("a", "b")
    web = yard.make_class("web", rules=Rules(0, distinct="host", exclusive=True))
    site, queued = yard.site(), Queued(web, 2, 0)
    found = site.pick(queued, 2)
    site.put(web, found)
    assert as_dict(site.pick(queued, 2)) == {}
    site.take_back(web, found)
    assert as_dict(site.pick(queued, 2)) == {1: 1, 2: 1}
    assert site.ledger.owner[:3].tolist() == [0, 0, 0]


# ---- spread ----


def test_a_spread_of_full_weight_evens_out_whatever_nodes_cost() -> None:
    yard = racks("a", "a", "a", "b", "c")
    web = yard.make_class("web", rules=Rules(0, spread=(Spread("rack"),)))
    counts = Counter[str]()
    for row, count in picked(yard, web, 9).items():
        counts[{4: "b", 5: "c"}.get(row, "a")] += count
    assert counts == {"a": 3, "b": 3, "c": 3}


def test_a_spread_counts_what_runs_and_yields_where_there_is_no_room() -> None:
    yard = racks("a", "b")
    web = yard.make_class("web", rules=Rules(0, spread=(Spread("rack"),)))
    yard.run(web, 1)
    yard.run(web, 1)
    assert picked(yard, web, 2) == {2: 2}
    assert picked(yard, web, 6) == {2: 4, 1: 2}


def test_a_spread_does_not_count_what_leaves_but_distinct_values_do() -> None:
    yard = racks("a", "a", "b")
    even = yard.make_class("even", rules=Rules(0, spread=(Spread("rack"),)))
    for row, is_leaving in ((1, True), (1, True), (3, False), (3, False)):
        yard.run(even, row, stopping=is_leaving)
    yard.cluster.set_eligible(1, False, "draining")
    assert picked(yard, even, 2) == {2: 2}
    yard.cluster.set_eligible(1, True)
    apart = yard.make_class("apart", rules=Rules(0, distinct="rack", spread=(Spread("rack"),)))
    yard.run(apart, 1, stopping=True)
    assert picked(yard, apart, 2) == {3: 1}


def test_a_light_spread_lets_cheap_nodes_win() -> None:
    yard = racks("a", "b")
    yard.run(yard.make_class("other"), 2)
    heavy = yard.make_class("heavy", rules=Rules(0, spread=(Spread("rack", 10.0),)))
    light = yard.make_class("light", rules=Rules(0, spread=(Spread("rack", 0.01),)))
    assert picked(yard, heavy, 2, "bin-pack") == {2: 1, 1: 1}
    assert picked(yard, light, 2, "bin-pack") == {2: 2}


# ---- affinity to nodes ----


def test_required_affinity_to_nodes_admits_only_those_that_match() -> None:
    yard = Yard()
    yard.add(disk="hdd")
    yard.add(disk="ssd")
    near = yard.make_class("near", rules=Rules(0, affinity=(Affinity("node", SSD, require=True),)))
    away = yard.make_class("away", rules=Rules(0, affinity=(Affinity("node", SSD, require=True, anti=True),)))
    assert picked(yard, near, 9) == {2: 4}
    assert picked(yard, away, 9) == {1: 4}


def test_a_preference_for_nodes_gives_way_when_they_are_full() -> None:
    yard = Yard()
    yard.add(disk="hdd")
    yard.add(disk="ssd")
    near = yard.make_class("near", rules=Rules(0, affinity=(Affinity("node", SSD, weight=5.0),)))
    away = yard.make_class("away", rules=Rules(0, affinity=(Affinity("node", SSD, weight=5.0, anti=True),)))
    assert picked(yard, near, 6) == {2: 4, 1: 2}
    assert picked(yard, away, 6) == {1: 4, 2: 2}


# ---- affinity to jobs ----


def test_required_affinity_to_a_job_goes_where_it_runs_and_nowhere_else() -> None:
    yard = racks("a", "b", "c")
    db = yard.make_class("db")
    web = yard.make_class("web", rules=Rules(0, affinity=(Affinity("job", "db", require=True),)))
    assert picked(yard, web, 2) == {}
    yard.run(db, 2)
    assert picked(yard, web, 9) == {2: 3}


def test_required_anti_affinity_works_both_ways() -> None:
    yard = racks("a", "b")
    batch = yard.make_class("batch")
    db = yard.make_class("db", rules=Rules(0, affinity=(Affinity("job", "batch", require=True, anti=True),)))
    task = yard.run(batch, 1)
    assert picked(yard, db, 9) == {2: 4}
    yard.end(task)
    yard.run(db, 1)
    assert picked(yard, batch, 9) == {2: 4}


def test_anti_affinity_holds_between_jobs_that_start_in_one_decision() -> None:
    yard = racks("a", "b")
    batch = yard.make_class("batch")
    db = yard.make_class("db", rules=Rules(0, affinity=(Affinity("job", "batch", require=True, anti=True),)))
    for first, second in ((batch, db), (db, batch)):
        site = yard.site(score=SCORES["bin-pack"])
        found = site.pick(Queued(first, 1, 0), 1)
        site.put(first, found)
        assert as_dict(found) == {1: 1}
        assert as_dict(site.pick(Queued(second, 9, 0), 9)) == {2: 4}


def test_a_job_that_shuns_itself_gets_one_task_a_node() -> None:
    yard = racks("a", "b")
    web = yard.make_class("web", rules=Rules(0, affinity=(Affinity("job", "web", require=True, anti=True),)))
    assert picked(yard, web, 9) == {1: 1, 2: 1}
    yard.run(web, 1)
    assert picked(yard, web, 9) == {2: 1}


def test_a_job_that_must_be_beside_itself_starts_anywhere_and_stays_together() -> None:
    yard = racks("a", "b", "c")
    web = yard.make_class("web", rules=Rules(0, affinity=(Affinity("job", "web", require=True),)))
    assert picked(yard, web, 9) == {1: 4}
    yard.run(web, 3)
    assert picked(yard, web, 9) == {3: 3}


def test_a_job_that_would_rather_not_be_beside_itself_doubles_up_only_when_it_must() -> None:
    yard = racks("a", "b")
    web = yard.make_class("web", rules=Rules(0, affinity=(Affinity("job", "web", weight=9.0, anti=True),)))
    assert picked(yard, web, 2, "bin-pack") == {1: 1, 2: 1}
    assert picked(yard, web, 3, "bin-pack") == {1: 2, 2: 1}


# ---- exclusive ----


def test_exclusive_tasks_use_empty_nodes_and_those_that_their_job_has() -> None:
    yard = racks("a", "b", "c")
    yard.run(yard.make_class("other"), 1)
    alone = yard.make_class("alone", rules=Rules(0, exclusive=True))
    assert picked(yard, alone, 9, "bin-pack") == {2: 4, 3: 4}
    yard.run(alone, 3)
    assert picked(yard, alone, 9, "bin-pack") == {3: 3, 2: 4}


def test_a_node_that_was_taken_this_time_is_no_longer_empty_for_the_next_job() -> None:
    yard = racks("a", "b")
    one, two = (yard.make_class(name, rules=Rules(0, exclusive=True)) for name in ("one", "two"))
    site = yard.site(score=SCORES["bin-pack"])
    found = site.pick(Queued(one, 1, 0), 1)
    site.put(one, found)
    assert as_dict(site.pick(Queued(two, 9, 0), 9)) == {2: 4}
    assert as_dict(site.pick(Queued(one, 9, 0), 9)) == {1: 3, 2: 4}


# ---- reasons ----


def test_every_rule_says_why_it_refuses_a_node() -> None:
    yard = racks("a", "a", "b", "", "c")
    db = yard.make_class("db")
    yard.run(db, 3)
    rules = Rules(
        0,
        exclusive=True,
        distinct="rack",
        affinity=(
            Affinity("node", "!has(node.labels.rack) || node.labels.rack != 'c'", require=True),
            Affinity("job", "db", require=True, anti=True),
        ),
    )
    web = yard.make_class("web", rules=rules)
    yard.run(web, 1)
    assert {(each.text, each.nodes) for each in reasons(yard, web)} == {
        ("exclusive: the node is in use", 1),
        ("affinity: not !has(node.labels.rack) || node.labels.rack != 'c'", 1),
        ("distinct rack: the node has no such label", 1),
        ("distinct rack: a node with the same value has a task of this group", 2),
    }
    assert {(each.text, each.nodes) for each in reasons(yard, db)} == {
        ("another job has the node for itself", 1),
        ("has room: waits for its turn", 4),
    }


def test_a_job_that_keeps_others_away_is_named_as_the_reason() -> None:
    yard = racks("a", "b")
    db, web = (
        yard.make_class("db"),
        yard.make_class("web", rules=Rules(0, affinity=(Affinity("job", "db", require=True, anti=True),))),
    )
    yard.run(web, 1)
    assert {(each.text, each.nodes) for each in reasons(yard, db)} == {
        ("a job that runs there keeps this one away by its anti-affinity", 1),
        ("has room: waits for its turn", 1),
    }


def test_a_class_without_rules_is_not_even_asked() -> None:
    yard = racks("a")
    plain = yard.make_class("plain")
    assert not yard.site().couplings.couples(plain)


# ---- the yardstick ----


@pytest.mark.parametrize("name", ["round-robin", "e-pvm", "bin-pack", "spread"])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=60)
def test_coupled_classes_are_placed_as_the_plain_greedy_would_place_them(name: str, seed: int) -> None:
    rng = random.Random(seed)
    yard = random_yard(rng)
    classes = [yard.make_class(rng.choice(["web", "db"]), rules=random_rules(rng)) for _ in range(3)]
    for each in classes:
        row = rng.randrange(1, yard.cluster.nodes.count)
        if rng.random() < 0.5 and yard.cluster.nodes.tasks[row] == 0:
            yard.run(each, row)
    site, earlier = yard.site(score=SCORES[name]), Occupants()
    for each in classes:
        count = rng.choice([1, 2, 5, 20])
        note(f"seed {seed}: {each.rules}, {count} tasks, {[(e.id, row) for e, row in earlier]} before")
        expected = slow_greedy(yard, site, earlier, each, count)
        found = site.pick(Queued(each, count, 0), count)
        assert as_dict(found) == expected
        site.put(each, found)
        earlier += [(each, row) for row, more in as_dict(found).items() for _ in range(more)]


def random_yard(rng: random.Random) -> Yard:
    yard = Yard()
    for _ in range(rng.randrange(1, 8)):
        labels = {"rack": rng.choice("abc"), "disk": rng.choice(["ssd", "hdd"])}
        labels = {key: value for key, value in labels.items() if rng.random() < 0.8}
        yard.cluster.add({"cpu": rng.choice([1, 2, 4, 7])}, labels=labels)
    others = [yard.make_class(name) for name in ("web", "db")]
    for row in range(1, yard.cluster.nodes.count):
        if rng.random() < 0.3:
            yard.run(rng.choice(others), row)
    return yard


def random_rules(rng: random.Random) -> Rules:
    affinity = [
        Affinity("node", SSD, require=rng.random() < 0.5, weight=rng.choice([0.3, 1, 4]), anti=rng.random() < 0.5),
        Affinity("job", rng.choice(["web", "db"]), rng.random() < 0.5, rng.choice([0.3, 1]), rng.random() < 0.7),
    ]
    return Rules(
        job=0,
        exclusive=rng.random() < 0.1,
        distinct=rng.choice(["", "", "host", "rack"]),
        spread=tuple(
            Spread(label, rng.choice([0.2, 1, 3])) for label in ("rack", "disk", "host") if rng.random() < 0.3
        ),
        affinity=tuple(each for each in affinity if rng.random() < 0.3),
    )


def slow_greedy(yard: Yard, site: Site, earlier: Occupants, task_class: TaskClass, count: int) -> dict[int, int]:
    """One task at a time over all nodes, every rule taken by its word."""
    rules, nodes, ledger = task_class.rules, yard.cluster.nodes, site.ledger
    assert rules is not None
    before = [(task.task_class, task.row) for task in yard.tasks] + earlier
    found = Counter[int]()

    def price(row: int) -> float:
        return float(site.score.cost(task_class, ledger, np.array([row]), found[row])[0])

    def candidates() -> list[int]:
        now = before + [(task_class, row) for row in found.elements()]
        return [
            row
            for row in range(1, nodes.count)
            if ledger.room(task_class, np.array([row]), 99)[0] > found[row] and admitted(yard, task_class, row, now)
        ]

    prices = [price(row) for row in candidates()]
    low = min(prices, default=0.0)
    span = (max(prices, default=0.0) - low) or 1.0
    is_soft = rules.spread or rules.distinct not in ("", "host") or any(not each.require for each in rules.affinity)
    for _ in range(count):
        best, least = None, math.inf
        now = before + [(task_class, row) for row in found.elements()]
        for row in candidates():
            total = price(row)
            if is_soft:
                total = (total - low) / span + liking(yard, task_class, row, before, found[row])
                total += sum(each.weight * sharing(yard, task_class, row, each.label, now) for each in rules.spread)
            if total < least:
                best, least = row, total
        if best is None:
            break
        found[best] += 1
    return dict(found)


def admitted(yard: Yard, task_class: TaskClass, row: int, occupants: Occupants) -> bool:
    rules, name = task_class.rules, yard.names[task_class.id]
    assert rules is not None
    here = [each for each, where in occupants if where == row]
    for each in here:
        if each.rules is not None and each.rules.exclusive and each.rules.job != rules.job:
            return False
        if each is not task_class and each.rules is not None and any(hard_anti(a, name) for a in each.rules.affinity):
            return False
    if rules.exclusive and here and not any(each.rules is not None and each.rules.job == rules.job for each in here):
        return False
    if rules.distinct:
        value = value_of(yard, row, rules.distinct)
        if value is None or any(
            each is task_class and value_of(yard, where, rules.distinct) == value for each, where in occupants
        ):
            return False
    for rule in rules.affinity:
        if not rule.require:
            continue
        if rule.to == "node":
            holds = value_of(yard, row, "disk") == "ssd"
        else:
            holds = any(yard.names[each.id] == rule.match for each in here)
            is_lonely = not any(yard.names[each.id] == rule.match for each, _ in occupants)
            holds = holds or (not rule.anti and rule.match == name and is_lonely)
        if holds == rule.anti:
            return False
    return True


def hard_anti(rule: Affinity, name: str) -> bool:
    return rule.to == "job" and rule.anti and rule.require and rule.match == name


def liking(yard: Yard, task_class: TaskClass, row: int, before: Occupants, more: int) -> float:
    """What soft affinities add to the price, once more after the first task if the job means itself."""
    assert task_class.rules is not None
    bias = again = 0.0
    for rule in task_class.rules.affinity:
        weight = rule.weight if rule.anti else -rule.weight
        if rule.require:
            continue
        if rule.to == "node":
            bias += weight * (value_of(yard, row, "disk") == "ssd")
        elif any(yard.names[each.id] == rule.match for each, where in before if where == row):
            bias += weight
        elif rule.match == yard.names[task_class.id]:
            again += weight
    return bias + (again if more else 0.0)


def sharing(yard: Yard, task_class: TaskClass, row: int, label: str, occupants: Occupants) -> int:
    value = value_of(yard, row, label)
    return sum(each is task_class and value_of(yard, where, label) == value for each, where in occupants)


def value_of(yard: Yard, row: int, label: str) -> str | None:
    nodes = yard.cluster.nodes
    return str(row) if label == "host" else nodes.kinds[nodes.kind[row]].labels.get(label)
