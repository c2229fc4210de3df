"""Batch policies on clusters as `shunter up` has them: several resources, gangs, arrays, rules, queues and licences.
`tests/unit/lab/test_run.py` compares whole runs with a plain simulator."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shunter.model.job.spec import LICENCE_PREFIX
from shunter.planning.batch.batch_policy import BATCH_POLICIES
from shunter.planning.order.pending_queue import PendingQueue
from shunter.planning.policies import Catalogue, Forkable, Renewable
from shunter.planning.view import Decision, Queued, QueueRules, Rules, TaskClass
from tests.unit.planning.cluster_builder import Chosen, chosen
from tests.unit.planning.running_cluster import SSD, RunningCluster

NOW = 1000.0
LICENCE = f"{LICENCE_PREFIX}solver"


def queued(task_class: TaskClass, since: int, *, count: int = 1, estimate_s: float = 10.0) -> Queued:
    return Queued(task_class, count, since, 0, estimate_s)


def decide(policy: str, cluster: RunningCluster, *pending: Queued, budget: int = 1000) -> Decision:
    return BATCH_POLICIES[policy]().decide(cluster.view(pending), NOW, budget)


def starts(policy: str, cluster: RunningCluster, *pending: Queued, budget: int = 1000) -> Chosen:
    return chosen(decide(policy, cluster, *pending, budget=budget))


def busy_node(cluster: RunningCluster, cpu: int, used: int, until_s: float) -> TaskClass:
    """A node on which one task runs until then."""
    running = cluster.make_class("running", cpu=used)
    cluster.run(running, cluster.add(cpu=cpu), started_ms=1, end_ms=int(until_s * 1000))
    return running


def test_without_backfilling_nobody_passes_the_first_that_waits() -> None:
    cluster = RunningCluster()
    busy_node(cluster, cpu=4, used=2, until_s=NOW + 100)
    large, small = cluster.make_class("large", cpu=4), cluster.make_class("small", cpu=1)
    assert starts("fcfs", cluster, queued(large, 1), queued(small, 2)) == {}
    assert starts("fcfs", cluster, queued(large, 2), queued(small, 1)) == {small.id: {1: 1}}


def test_the_shortest_goes_first_and_a_higher_priority_before_it() -> None:
    cluster = RunningCluster()
    cluster.add(cpu=1)
    long, short = cluster.make_class("long", cpu=1), cluster.make_class("short", cpu=1)
    urgent = cluster.make_class("urgent", priority=60, cpu=1)
    pending = [queued(long, 1, estimate_s=90), queued(short, 2, estimate_s=5)]
    assert starts("sjf", cluster, *pending) == {short.id: {1: 1}}
    assert starts("sjf", cluster, *pending, queued(urgent, 3, estimate_s=500)) == {urgent.id: {1: 1}}


@pytest.mark.parametrize(("estimate_s", "starts_now"), [(100.0, True), (100.1, False)])
def test_a_job_is_backfilled_if_it_ends_before_the_first_can_start(estimate_s: float, starts_now: bool) -> None:
    cluster = RunningCluster()
    busy_node(cluster, cpu=4, used=2, until_s=NOW + 100)
    large, small = cluster.make_class("large", cpu=4), cluster.make_class("small", cpu=2)
    found = starts("easy", cluster, queued(large, 1), queued(small, 2, estimate_s=estimate_s))
    assert found == ({small.id: {1: 1}} if starts_now else {})


def test_a_long_job_is_backfilled_into_what_the_first_leaves_free() -> None:
    cluster = RunningCluster()
    busy_node(cluster, cpu=4, used=2, until_s=NOW + 100)
    large, long = cluster.make_class("large", cpu=3), cluster.make_class("long", cpu=1)
    another = cluster.make_class("another", cpu=1)
    pending = [queued(large, 1), queued(long, 2, estimate_s=1e6), queued(another, 3, estimate_s=1e6)]
    assert starts("easy", cluster, *pending) == {long.id: {1: 1}}  # the second would take a cpu from the first


def test_the_order_of_backfilling_is_that_of_the_policy() -> None:
    cluster = RunningCluster()
    busy_node(cluster, cpu=4, used=3, until_s=NOW + 100)
    large = cluster.make_class("large", cpu=4)
    long, short = cluster.make_class("long", cpu=1), cluster.make_class("short", cpu=1)
    pending = [queued(large, 1), queued(long, 2, estimate_s=50), queued(short, 3, estimate_s=5)]
    assert starts("easy", cluster, *pending) == {long.id: {1: 1}}
    assert starts("easy-sjbf", cluster, *pending) == {short.id: {1: 1}}


def test_without_known_ends_nothing_is_backfilled_and_all_nodes_are_held() -> None:
    cluster = RunningCluster()
    cluster.run(cluster.make_class("unknown", cpu=2), cluster.add(cpu=4), started_ms=1)
    large, small = cluster.make_class("large", cpu=4), cluster.make_class("small", cpu=1)
    decision = decide("easy", cluster, queued(large, 1), queued(small, 2))
    assert chosen(decision) == {}
    assert decision.kept is not None
    assert decision.kept.until_ms == {1: 0}


def test_a_gang_starts_as_a_whole_on_several_nodes_or_not_at_all() -> None:
    cluster = RunningCluster()
    for _ in range(2):
        cluster.add(cpu=2)
    gang = cluster.make_class("gang", rules=Rules(job=0, gang=7), cpu=1)
    assert starts("easy", cluster, queued(gang, 1, count=4)) == {gang.id: {1: 2, 2: 2}}
    assert starts("easy", cluster, queued(gang, 1, count=5)) == {}


def test_classes_of_one_gang_start_together() -> None:
    cluster = RunningCluster()
    cluster.add(cpu=3)
    driver = cluster.make_class("driver", rules=Rules(job=1, gang=7), cpu=1)
    worker = cluster.make_class("worker", rules=Rules(job=1, gang=7), cpu=1)
    assert starts("fcfs", cluster, queued(driver, 1), queued(worker, 1, count=2)) == {
        driver.id: {1: 1},
        worker.id: {1: 2},
    }
    assert starts("fcfs", cluster, queued(driver, 1), queued(worker, 1, count=3)) == {}


def test_tasks_of_an_array_start_as_far_as_they_fit_and_the_rest_is_first() -> None:
    cluster = RunningCluster()
    cluster.add(cpu=2)
    array, later = cluster.make_class("array", cpu=1), cluster.make_class("later", cpu=1)
    assert starts("fcfs", cluster, queued(array, 1, count=5), queued(later, 2)) == {array.id: {1: 2}}


def test_a_job_that_can_never_start_holds_nobody_up() -> None:
    cluster = RunningCluster()
    cluster.add(cpu=2)
    huge, strange = cluster.make_class("huge", cpu=3), cluster.make_class("strange", unicorns=1)
    small = cluster.make_class("small", cpu=1)
    assert starts("fcfs", cluster, queued(huge, 1), queued(strange, 2), queued(small, 3)) == {small.id: {1: 1}}


def test_constraints_and_rules_between_tasks_hold() -> None:
    cluster = RunningCluster()
    cluster.add(cpu=4)
    cluster.add(cpu=4, disk="ssd")
    on_ssd = replace(cluster.make_class("ssd", cpu=1), constraints=(SSD,))
    apart = cluster.make_class("apart", rules=Rules(job=0, distinct="host"), cpu=1)
    assert starts("fcfs", cluster, queued(on_ssd, 1, count=2)) == {on_ssd.id: {2: 2}}
    assert starts("fcfs", cluster, queued(apart, 1, count=3)) == {apart.id: {1: 1, 2: 1}}


def test_queues_and_licences_limit_what_starts_and_hold_nobody_else_up() -> None:
    cluster = RunningCluster(licences={LICENCE: 1})
    cluster.add(cpu=9)
    cluster.queues = {"paused": QueueRules("paused", is_paused=True), "two": QueueRules("two", running_max=2)}
    paused = cluster.put_in_queue(cluster.make_class("paused", cpu=1), "paused")
    limited = cluster.put_in_queue(cluster.make_class("limited", cpu=1), "two")
    licensed = replace(cluster.make_class("licensed"), needs={"cpu": 1, LICENCE: 1})
    other = cluster.make_class("other", cpu=1)
    pending = [queued(paused, 1), queued(limited, 2, count=5), queued(licensed, 3, count=2), queued(other, 4)]
    assert starts("fcfs", cluster, *pending) == {limited.id: {1: 2}, licensed.id: {1: 1}, other.id: {1: 1}}


def test_a_decision_stays_within_its_budget_and_says_that_there_is_more() -> None:
    cluster = RunningCluster()
    cluster.add(cpu=9)
    first, second = cluster.make_class("first", cpu=1), cluster.make_class("second", cpu=1)
    decision = decide("fcfs", cluster, queued(first, 1, count=3), queued(second, 2), budget=2)
    assert chosen(decision) == {first.id: {1: 2}}
    assert decision.is_partial


def test_it_sees_what_changes_in_the_queue() -> None:
    cluster, queue = RunningCluster(), PendingQueue()
    cluster.add(cpu=1)
    first, second = cluster.make_class("first", cpu=1), cluster.make_class("second", cpu=1)
    policy = BATCH_POLICIES["fcfs"]()
    queue.put(queued(first, 1))
    queue.put(queued(second, 2))
    assert chosen(policy.decide(cluster.view(queue), NOW, 10)) == {first.id: {1: 1}}
    queue.drop(first.id)
    assert chosen(policy.decide(cluster.view(queue), NOW, 10)) == {second.id: {1: 1}}, "the first was cancelled"
    cluster.run(second, 1)
    queue.drop(second.id)
    assert chosen(policy.decide(cluster.view(queue), NOW, 10)) == {}


@pytest.mark.parametrize("name", BATCH_POLICIES)
def test_all_are_in_the_catalogue_and_can_be_copied_and_renewed(name: str) -> None:
    policy = Catalogue().build(name)
    assert policy.name == name
    assert isinstance(policy, Forkable)
    assert isinstance(policy, Renewable)
    policy.memory = {"start_ms": 5}
    assert policy.renew().memory == policy.fork().memory == {"start_ms": 5}  # type: ignore[attr-defined]


@pytest.mark.parametrize("policy", ["fcfs", "easy"])
def test_an_array_beyond_the_budget_that_fits_nowhere_holds_nobody_up(policy: str) -> None:
    cluster = RunningCluster()
    cluster.add(cpu=2)
    huge, small = cluster.make_class("huge", cpu=3), cluster.make_class("small", cpu=1)
    decision = decide(policy, cluster, queued(huge, 1, count=50), queued(small, 2), budget=10)
    assert chosen(decision) == {small.id: {1: 1}}
    assert not decision.is_partial


def test_an_array_beyond_the_budget_that_no_node_takes_does_not_end_backfilling() -> None:
    cluster = RunningCluster()
    busy_node(cluster, cpu=4, used=3, until_s=NOW + 100)
    large, small = cluster.make_class("large", cpu=4), cluster.make_class("small", cpu=1)
    array = replace(cluster.make_class("array", cpu=1), constraints=(SSD,))
    pending = [queued(large, 1), queued(array, 2, count=50, estimate_s=5), queued(small, 3, estimate_s=5)]
    decision = decide("easy", cluster, *pending, budget=10)
    assert chosen(decision) == {small.id: {1: 1}}
    assert not decision.is_partial


def test_an_array_beyond_the_budget_is_backfilled_as_far_as_the_budget_goes() -> None:
    cluster = RunningCluster()
    busy_node(cluster, cpu=100, used=50, until_s=NOW + 100)
    large, array = cluster.make_class("large", cpu=100), cluster.make_class("array", cpu=1)
    decision = decide("easy", cluster, queued(large, 1), queued(array, 2, count=50, estimate_s=5), budget=10)
    assert chosen(decision) == {array.id: {1: 10}}
    assert decision.is_partial


@pytest.mark.parametrize(("licences", "starts_now"), [(1, False), (2, True)])
def test_a_gang_needs_licences_for_those_of_its_tasks_that_use_them(licences: int, starts_now: bool) -> None:
    cluster = RunningCluster(licences={LICENCE: licences})
    cluster.add(cpu=9)
    rules = Rules(job=1, gang=7)
    solver = replace(cluster.make_class("solver", rules=rules), needs={"cpu": 1, LICENCE: 1})
    master = replace(cluster.make_class("master", rules=rules), needs={"cpu": 1, LICENCE: 1})
    worker = cluster.make_class("worker", rules=rules, cpu=1)
    found = starts("fcfs", cluster, queued(solver, 1), queued(master, 1), queued(worker, 1, count=5))
    assert found == ({solver.id: {1: 1}, master.id: {1: 1}, worker.id: {1: 5}} if starts_now else {})
