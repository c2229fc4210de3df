"""Distinct, spread, affinity, exclusive: what each rule does, and its reason."""

from __future__ import annotations

from collections import Counter

from shunter.model.job.spec import Affinity, Spread
from shunter.planning.explain.wait_reasons import Reason, explain
from shunter.planning.filter.filters import FILTERS
from shunter.planning.filter.node_ledger import NodeLedger
from shunter.planning.filter.rules import RuleSet, rules_filter
from shunter.planning.score.scores import SCORES
from shunter.planning.view import Queued, Rules, TaskClass
from tests.unit.planning.running_cluster import SSD, RunningCluster, as_dict


def picked(running_cluster: RunningCluster, task_class: TaskClass, count: int, score: str = "spread") -> dict[int, int]:
    return as_dict(running_cluster.workspace(score=SCORES[score]).pick(Queued(task_class, count, 0), count))


def reasons(running_cluster: RunningCluster, task_class: TaskClass) -> list[Reason]:
    ledger = NodeLedger()
    ledger.sync(running_cluster.cluster.nodes)
    rule_set = RuleSet(running_cluster.view(), ledger)
    return explain(task_class, running_cluster.cluster.nodes, (*FILTERS, rules_filter(rule_set)))


def racks(*names: str) -> RunningCluster:
    running_cluster = RunningCluster()
    for name in names:
        running_cluster.add(rack=name) if name else running_cluster.add()
    return running_cluster


# ---- distinct ----


def test_distinct_hosts_take_one_task_each_also_beside_what_runs_already() -> None:
    running_cluster = racks("a", "a", "b")
    web = running_cluster.make_class("web", rules=Rules(0, distinct="host"))
    running_cluster.run(web, 2)
    assert picked(running_cluster, web, 5) == {1: 1, 3: 1}
    assert picked(running_cluster, web, 5, "bin-pack") == {1: 1, 3: 1}


def test_distinct_values_of_a_label_leave_out_nodes_without_it() -> None:
    running_cluster = racks("a", "a", "b", "", "c")
    web = running_cluster.make_class("web", rules=Rules(0, distinct="rack"))
    assert picked(running_cluster, web, 9) == {1: 1, 3: 1, 5: 1}
    running_cluster.run(web, 2)
    assert picked(running_cluster, web, 9) == {3: 1, 5: 1}


def test_what_this_decision_placed_counts_like_what_runs() -> None:
    running_cluster = racks("a", "a", "b")
    web = running_cluster.make_class("web", rules=Rules(0, distinct="rack"))
    workspace, queued = running_cluster.workspace(), Queued(web, 1, 0)
    for expected in ({1: 1}, {3: 1}, {}):
        found = workspace.pick(queued, 1)
        assert as_dict(found) == expected
        workspace.put(web, found)


def test_what_was_taken_back_counts_no_more() -> None:
    running_cluster = racks("a", "b")
    web = running_cluster.make_class("web", rules=Rules(0, distinct="host", exclusive=True))
    workspace, queued = running_cluster.workspace(), Queued(web, 2, 0)
    found = workspace.pick(queued, 2)
    workspace.put(web, found)
    assert as_dict(workspace.pick(queued, 2)) == {}
    workspace.undo_put(web, found)
    assert as_dict(workspace.pick(queued, 2)) == {1: 1, 2: 1}
    assert workspace.ledger.owner[:3].tolist() == [0, 0, 0]


# ---- spread ----


def test_a_spread_of_full_weight_evens_out_whatever_nodes_cost() -> None:
    running_cluster = racks("a", "a", "a", "b", "c")
    web = running_cluster.make_class("web", rules=Rules(0, spread=(Spread("rack"),)))
    counts = Counter[str]()
    for row, count in picked(running_cluster, web, 9).items():
        counts[{4: "b", 5: "c"}.get(row, "a")] += count
    assert counts == {"a": 3, "b": 3, "c": 3}


def test_a_spread_counts_what_runs_and_yields_where_there_is_no_room() -> None:
    running_cluster = racks("a", "b")
    web = running_cluster.make_class("web", rules=Rules(0, spread=(Spread("rack"),)))
    running_cluster.run(web, 1)
    running_cluster.run(web, 1)
    assert picked(running_cluster, web, 2) == {2: 2}
    assert picked(running_cluster, web, 6) == {2: 4, 1: 2}


def test_a_spread_does_not_count_what_leaves_but_distinct_values_do() -> None:
    running_cluster = racks("a", "a", "b")
    even = running_cluster.make_class("even", rules=Rules(0, spread=(Spread("rack"),)))
    for row, is_leaving in ((1, True), (1, True), (3, False), (3, False)):
        running_cluster.run(even, row, stopping=is_leaving)
    running_cluster.cluster.set_eligible(1, False, "draining")
    assert picked(running_cluster, even, 2) == {2: 2}
    running_cluster.cluster.set_eligible(1, True)
    apart = running_cluster.make_class("apart", rules=Rules(0, distinct="rack", spread=(Spread("rack"),)))
    running_cluster.run(apart, 1, stopping=True)
    assert picked(running_cluster, apart, 2) == {3: 1}


def test_a_light_spread_lets_cheap_nodes_win() -> None:
    running_cluster = racks("a", "b")
    running_cluster.run(running_cluster.make_class("other"), 2)
    heavy = running_cluster.make_class("heavy", rules=Rules(0, spread=(Spread("rack", 10.0),)))
    light = running_cluster.make_class("light", rules=Rules(0, spread=(Spread("rack", 0.01),)))
    assert picked(running_cluster, heavy, 2, "bin-pack") == {2: 1, 1: 1}
    assert picked(running_cluster, light, 2, "bin-pack") == {2: 2}


# ---- affinity to nodes ----


def test_required_affinity_to_nodes_admits_only_those_that_match() -> None:
    running_cluster = RunningCluster()
    running_cluster.add(disk="hdd")
    running_cluster.add(disk="ssd")
    near = running_cluster.make_class("near", rules=Rules(0, affinity=(Affinity("node", SSD, require=True),)))
    away = running_cluster.make_class(
        "away", rules=Rules(0, affinity=(Affinity("node", SSD, require=True, anti=True),))
    )
    assert picked(running_cluster, near, 9) == {2: 4}
    assert picked(running_cluster, away, 9) == {1: 4}


def test_a_preference_for_nodes_gives_way_when_they_are_full() -> None:
    running_cluster = RunningCluster()
    running_cluster.add(disk="hdd")
    running_cluster.add(disk="ssd")
    near = running_cluster.make_class("near", rules=Rules(0, affinity=(Affinity("node", SSD, weight=5.0),)))
    away = running_cluster.make_class("away", rules=Rules(0, affinity=(Affinity("node", SSD, weight=5.0, anti=True),)))
    assert picked(running_cluster, near, 6) == {2: 4, 1: 2}
    assert picked(running_cluster, away, 6) == {1: 4, 2: 2}


# ---- affinity to jobs ----


def test_required_affinity_to_a_job_goes_where_it_runs_and_nowhere_else() -> None:
    running_cluster = racks("a", "b", "c")
    db = running_cluster.make_class("db")
    web = running_cluster.make_class("web", rules=Rules(0, affinity=(Affinity("job", "db", require=True),)))
    assert picked(running_cluster, web, 2) == {}
    running_cluster.run(db, 2)
    assert picked(running_cluster, web, 9) == {2: 3}


def test_required_anti_affinity_works_both_ways() -> None:
    running_cluster = racks("a", "b")
    batch = running_cluster.make_class("batch")
    db = running_cluster.make_class("db", rules=Rules(0, affinity=(Affinity("job", "batch", require=True, anti=True),)))
    task = running_cluster.run(batch, 1)
    assert picked(running_cluster, db, 9) == {2: 4}
    running_cluster.end(task)
    running_cluster.run(db, 1)
    assert picked(running_cluster, batch, 9) == {2: 4}


def test_anti_affinity_holds_between_jobs_that_start_in_one_decision() -> None:
    running_cluster = racks("a", "b")
    batch = running_cluster.make_class("batch")
    db = running_cluster.make_class("db", rules=Rules(0, affinity=(Affinity("job", "batch", require=True, anti=True),)))
    for first, second in ((batch, db), (db, batch)):
        workspace = running_cluster.workspace(score=SCORES["bin-pack"])
        found = workspace.pick(Queued(first, 1, 0), 1)
        workspace.put(first, found)
        assert as_dict(found) == {1: 1}
        assert as_dict(workspace.pick(Queued(second, 9, 0), 9)) == {2: 4}


def test_a_job_that_shuns_itself_gets_one_task_a_node() -> None:
    running_cluster = racks("a", "b")
    web = running_cluster.make_class("web", rules=Rules(0, affinity=(Affinity("job", "web", require=True, anti=True),)))
    assert picked(running_cluster, web, 9) == {1: 1, 2: 1}
    running_cluster.run(web, 1)
    assert picked(running_cluster, web, 9) == {2: 1}


def test_a_job_that_must_be_beside_itself_starts_anywhere_and_stays_together() -> None:
    running_cluster = racks("a", "b", "c")
    web = running_cluster.make_class("web", rules=Rules(0, affinity=(Affinity("job", "web", require=True),)))
    assert picked(running_cluster, web, 9) == {1: 4}
    running_cluster.run(web, 3)
    assert picked(running_cluster, web, 9) == {3: 3}


def test_a_job_that_would_rather_not_be_beside_itself_doubles_up_only_when_it_must() -> None:
    running_cluster = racks("a", "b")
    web = running_cluster.make_class("web", rules=Rules(0, affinity=(Affinity("job", "web", weight=9.0, anti=True),)))
    assert picked(running_cluster, web, 2, "bin-pack") == {1: 1, 2: 1}
    assert picked(running_cluster, web, 3, "bin-pack") == {1: 2, 2: 1}


# ---- exclusive ----


def test_exclusive_tasks_use_empty_nodes_and_those_that_their_job_has() -> None:
    running_cluster = racks("a", "b", "c")
    running_cluster.run(running_cluster.make_class("other"), 1)
    alone = running_cluster.make_class("alone", rules=Rules(0, exclusive=True))
    assert picked(running_cluster, alone, 9, "bin-pack") == {2: 4, 3: 4}
    running_cluster.run(alone, 3)
    assert picked(running_cluster, alone, 9, "bin-pack") == {3: 3, 2: 4}


def test_a_node_that_was_taken_this_time_is_no_longer_empty_for_the_next_job() -> None:
    running_cluster = racks("a", "b")
    one, two = (running_cluster.make_class(name, rules=Rules(0, exclusive=True)) for name in ("one", "two"))
    workspace = running_cluster.workspace(score=SCORES["bin-pack"])
    found = workspace.pick(Queued(one, 1, 0), 1)
    workspace.put(one, found)
    assert as_dict(workspace.pick(Queued(two, 9, 0), 9)) == {2: 4}
    assert as_dict(workspace.pick(Queued(one, 9, 0), 9)) == {1: 3, 2: 4}


# ---- reasons ----


def test_every_rule_says_why_it_refuses_a_node() -> None:
    running_cluster = racks("a", "a", "b", "", "c")
    db = running_cluster.make_class("db")
    running_cluster.run(db, 3)
    rules = Rules(
        0,
        exclusive=True,
        distinct="rack",
        affinity=(
            Affinity("node", "!has(node.labels.rack) || node.labels.rack != 'c'", require=True),
            Affinity("job", "db", require=True, anti=True),
        ),
    )
    web = running_cluster.make_class("web", rules=rules)
    running_cluster.run(web, 1)
    assert {(each.text, each.nodes) for each in reasons(running_cluster, web)} == {
        ("exclusive: the node is in use", 1),
        ("affinity: the node does not match !has(node.labels.rack) || node.labels.rack != 'c'", 1),
        ("distinct rack: the node has no such label", 1),
        ("distinct rack: a node with the same value already has a task of this group", 2),
    }
    assert {(each.text, each.nodes) for each in reasons(running_cluster, db)} == {
        ("another job uses the node exclusively", 1),
        ("has room; the job is waiting for its turn", 4),
    }


def test_a_job_that_keeps_others_away_is_named_as_the_reason() -> None:
    running_cluster = racks("a", "b")
    db, web = (
        running_cluster.make_class("db"),
        running_cluster.make_class("web", rules=Rules(0, affinity=(Affinity("job", "db", require=True, anti=True),))),
    )
    running_cluster.run(web, 1)
    assert {(each.text, each.nodes) for each in reasons(running_cluster, db)} == {
        ("a job that runs there excludes this one by its anti-affinity", 1),
        ("has room; the job is waiting for its turn", 1),
    }


def test_a_class_without_rules_is_not_even_asked() -> None:
    running_cluster = racks("a")
    plain = running_cluster.make_class("plain")
    assert not running_cluster.workspace().rule_set.constrains(plain)
