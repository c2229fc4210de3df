"""Distinct, spread, affinity, exclusive: what each rule does, and its reason."""

from __future__ import annotations

from collections import Counter

from shunter.model.job.spec import Affinity, Spread
from shunter.planning.explain.explain import Reason, explain
from shunter.planning.filter.filters import FILTERS
from shunter.planning.filter.node_ledger import Ledger
from shunter.planning.filter.rules import Couplings, coupling_filter
from shunter.planning.score.scores import SCORES
from shunter.planning.view import Queued, Rules, TaskClass
from tests.unit.planning.running_cluster import SSD, Yard, as_dict


def picked(yard: Yard, task_class: TaskClass, count: int, score: str = "spread") -> dict[int, int]:
    return as_dict(yard.site(score=SCORES[score]).pick(Queued(task_class, count, 0), count))


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
