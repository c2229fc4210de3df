"""Why tasks wait, as users read it."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shunter.model.job.isolation import CONSTRAINTS
from shunter.planning.explain.wait_reasons import EXAMPLES_MAX, REASONS_MAX, Reason, explain
from shunter.planning.view import Queued, Rules
from tests.unit.planning.cluster_builder import GI, Cluster, admits, task_class
from tests.unit.planning.running_cluster import RunningCluster
from tests.unit.planning.test_exact_greedy import change_something, random_classes, random_cluster


def test_each_node_counts_once_under_its_first_reason() -> None:
    cluster = Cluster()
    for used in (20, 16, 30, 17):
        row = cluster.add({"cpu": 16_000, "memory": 64 * GI}, datacenter="berlin", labels={"disk": "ssd"})
        cluster.reserve(row, {"memory": used * GI})
    for _ in range(3):
        cluster.add({"cpu": 16_000, "memory": 64 * GI}, datacenter="paris")
    cluster.set_eligible(cluster.add({"cpu": 16_000, "memory": 64 * GI}, datacenter="paris"), False)
    cluster.add({"cpu": 16_000, "memory": 64 * GI}, datacenter="berlin", labels={"disk": "hdd"})
    a_task = task_class(memory=64 * GI, datacenters=("berlin",), constraints=("node.labels.disk == 'ssd'",))
    assert explain(a_task, cluster.nodes) == [
        Reason("memory: needs 64Gi, at most 48Gi free", 4, ("n1", "n2", "n3")),
        Reason("datacenter is not berlin", 4, ("n5", "n6", "n7")),
        Reason("constraint is false: node.labels.disk == 'ssd'", 1, ("n9",)),
    ]


def test_what_is_the_matter_with_the_nodes_that_were_asked_for_comes_first() -> None:
    cluster = Cluster()
    for _ in range(3):
        cluster.add({"cpu": 16_000}, labels={"disk": "hdd"})
    cluster.set_eligible(cluster.add({"cpu": 16_000}, labels={"disk": "ssd"}), False)
    cluster.set_eligible(cluster.add({"cpu": 16_000}, labels={"disk": "hdd"}), False)
    assert explain(task_class(cpu=1000, constraints=("node.labels.disk == 'ssd'",)), cluster.nodes) == [
        Reason("down: no heartbeat for 5 s", 1, ("n4",)),
        Reason("constraint is false: node.labels.disk == 'ssd'", 4, ("n1", "n2", "n3")),
    ]


@pytest.mark.parametrize(("offered", "text"), [("user", "does not offer"), ("root", "no node offers")])
def test_an_isolation_that_nodes_do_not_offer_is_named(offered: str, text: str) -> None:
    cluster = Cluster()
    cluster.add({"cpu": 1000}, attributes={"isolation": "none"})
    cluster.add({"cpu": 1000})
    cluster.reserve(cluster.add({"cpu": 1000}, attributes={"isolation": offered}), {"cpu": 1000})
    reasons = explain(task_class(cpu=1000, constraints=(CONSTRAINTS["user"],)), cluster.nodes)
    assert (f"{text} isolation 'user'", "n1") in [(reason.text, reason.examples[0]) for reason in reasons]


def test_a_node_that_is_too_small_is_told_from_one_that_is_full() -> None:
    cluster = Cluster()
    cluster.add({"cpu": 4000})
    cluster.reserve(cluster.add({"cpu": 16_000}), {"cpu": 9500})
    assert explain(task_class(cpu=8000), cluster.nodes) == [
        Reason("cpu: needs 8, nodes have at most 4", 1, ("n1",)),
        Reason("cpu: needs 8, at most 6500m free", 1, ("n2",)),
    ]


def test_what_fits_on_no_node_even_if_empty_is_the_only_reason() -> None:
    cluster = Cluster()
    cluster.set_eligible(cluster.add({"cpu": 16_000}), False)
    cluster.add({"cpu": 4000})
    assert explain(task_class(cpu=64_000), cluster.nodes) == [
        Reason("cpu: needs 64, the largest node has 16", 2, ("n1", "n2"))
    ]


def test_a_resource_that_nobody_has_is_named() -> None:
    cluster = Cluster()
    cluster.add({"cpu": 4000})
    assert explain(task_class(cpu=1, gpu=1), cluster.nodes) == [Reason("no node has gpu", 1, ("n1",))]
    cluster.add_resource("gpu")
    assert explain(task_class(cpu=1, gpu=1), cluster.nodes) == [Reason("no node has gpu", 1, ("n1",))]


def test_a_cluster_without_nodes_says_so() -> None:
    assert explain(task_class(cpu=1), Cluster().nodes) == [Reason("the cluster has no nodes", 0, ())]


def test_a_node_with_room_says_that_the_task_waits_for_its_turn() -> None:
    cluster = Cluster()
    cluster.add({"cpu": 4000})
    assert explain(task_class(cpu=1), cluster.nodes) == [
        Reason("has room; the job is waiting for its turn", 1, ("n1",))
    ]


def test_a_node_with_room_for_some_of_a_gang_says_that_it_starts_together() -> None:
    cluster = Cluster()
    cluster.add({"cpu": 4000})
    member = replace(task_class(cpu=1), rules=Rules(job=1, gang=1))
    [reason] = explain(member, cluster.nodes)
    assert reason.text == "has room for only some tasks of the gang, which starts as a whole"


def test_a_node_with_room_on_which_the_tasks_have_failed_says_so() -> None:
    running_cluster = RunningCluster()
    running_cluster.add(4)
    running_cluster.add(4)
    picky = running_cluster.make_class("picky", cpu=1)
    running_cluster.run(running_cluster.make_class("other", cpu=4), 2)
    view = running_cluster.view([Queued(picky, 1, 0, avoid=frozenset({1}))])
    texts = {reason.text: reason.examples for reason in explain(picky, view.nodes, view=view)}
    assert texts["its tasks failed on this node before and must run on another one"] == ("n1",)
    assert len(texts) == 2 and "has room; the job is waiting for its turn" not in texts


@pytest.mark.parametrize(
    ("free", "spelt"),
    [(48 * GI, "48Gi"), (48 * GI + GI // 3, "48.3Gi"), (2**40 + 12345, "1Ti"), (999, "999"), (5000, "5000"), (0, "0")],
)
def test_odd_amounts_are_rounded_down_to_what_a_person_reads(free: int, spelt: str) -> None:
    cluster = Cluster()
    row = cluster.add({"memory": 2**42})
    cluster.reserve(row, {"memory": 2**42 - free})
    assert explain(task_class(memory=2**42), cluster.nodes)[0].text == f"memory: needs 4Ti, at most {spelt} free"


def test_the_number_of_reasons_is_limited_and_still_counts_every_node() -> None:
    cluster = Cluster()
    for number in range(30):
        cluster.set_eligible(cluster.add({"cpu": 1000}), False, f"down: for {number} s")
    reasons = explain(task_class(cpu=1000), cluster.nodes)
    assert len(reasons) == REASONS_MAX
    assert reasons[-1].text == "other reasons"
    assert sum(reason.nodes for reason in reasons) == 30


@given(seed=st.integers(0, 2**32))
@settings(max_examples=100)
def test_reasons_count_every_node_once_and_room_is_reported_only_where_it_is(seed: int) -> None:
    rng = random.Random(seed)
    cluster, classes = random_cluster(rng), random_classes(rng)
    change_something(rng, cluster, classes)
    for a_class in classes:
        reasons = explain(a_class, cluster.nodes)
        assert sum(reason.nodes for reason in reasons) == cluster.nodes.count - 1
        assert all(len(reason.examples) == min(EXAMPLES_MAX, reason.nodes) for reason in reasons)
        with_room = sum(reason.nodes for reason in reasons if reason.text.startswith("has room"))
        assert with_room == sum(admits(a_class, cluster.nodes, row) for row in range(1, cluster.nodes.count))


def test_of_tasks_that_run_on_one_node_or_nowhere_only_that_node_is_told() -> None:
    cluster = Cluster()
    small, _ = cluster.add({"cpu": 1000}), cluster.add({"cpu": 4000})
    assert explain(task_class(cpu=2000), cluster.nodes, only_node=small) == [
        Reason("cpu: needs 2, nodes have at most 1", 1, ("n1",))
    ]
