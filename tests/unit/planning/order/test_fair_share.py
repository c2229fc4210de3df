"""Fair share by dominant resource: how much each party gets when not all requests fit."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shunter.planning.order.fair_share import STEPS, FairShare
from shunter.planning.planner import Planner, Stages
from shunter.planning.score.scores import SCORES
from shunter.planning.view import ClusterView, IntArray, Queued, TaskClass
from tests.unit.planning.cluster_builder import GI, Cluster, chosen

PLENTY = 10**6
MANY = 10**4


def tenant(id: int, namespace: str, user: str = "ann", priority: int = 50, **needs: int) -> TaskClass:
    return TaskClass(id, needs, namespace, user, priority)


def placed(cluster: Cluster, *queued: Queued, usage: dict[tuple[str, str], IntArray] | None = None) -> dict[int, int]:
    """How many tasks each class got."""
    view = ClusterView(1, cluster.nodes, queued, usage or {})
    decision = Planner(Stages(SCORES["e-pvm"])).decide(view, 0.0, PLENTY)
    return {class_id: sum(rows.values()) for class_id, rows in chosen(decision).items()}


def one_node(cpu: int, memory: int = 1000 * GI) -> Cluster:
    cluster = Cluster()
    cluster.add({"cpu": cpu, "memory": memory})
    return cluster


def test_namespaces_that_ask_alike_get_alike_whoever_came_first() -> None:
    red, blue = tenant(1, "red", cpu=1000), tenant(2, "blue", cpu=1000)
    assert placed(one_node(10_000), Queued(red, MANY, since=1), Queued(blue, MANY, since=2)) == {1: 5, 2: 5}


def test_what_a_namespace_holds_already_counts() -> None:
    red, blue = tenant(1, "red", cpu=1000), tenant(2, "blue", cpu=1000)
    cluster = one_node(10_000)
    cluster.reserve(1, {"cpu": 1000}, 4)
    usage = {("red", "someone"): np.array([4000, 0, 0])}
    assert placed(cluster, Queued(red, MANY, since=1), Queued(blue, MANY, since=2), usage=usage) == {1: 1, 2: 5}


def test_users_of_a_namespace_share_what_it_gets() -> None:
    classes = [
        tenant(1, "red", "ann", cpu=1000),
        tenant(2, "red", "bob", cpu=1000),
        tenant(3, "blue", "eve", cpu=1000),
    ]
    queued = [Queued(each, MANY, since=each.id) for each in classes]
    assert placed(one_node(12_000), *queued) == {1: 3, 2: 3, 3: 6}


def test_the_dominant_resource_is_what_counts() -> None:
    """The example of the paper: 9 cpu and 18 GB; one asks for 1 cpu and 4 GB, the other for 3 cpu and 1 GB. They get 3
    and 2 tasks, two thirds of the memory and two thirds of the cpu."""
    cluster = one_node(9000, 18 * GI)
    ours, theirs = tenant(1, "red", cpu=1000, memory=4 * GI), tenant(2, "blue", cpu=3000, memory=GI)
    assert placed(cluster, Queued(ours, MANY, 1), Queued(theirs, MANY, 2)) == {1: 3, 2: 2}


def test_a_higher_priority_does_not_share() -> None:
    red, blue = tenant(1, "red", cpu=1000), tenant(2, "blue", priority=60, cpu=1000)
    assert placed(one_node(10_000), Queued(red, MANY, 1), Queued(blue, 8, 2)) == {1: 2, 2: 8}


def test_what_one_cannot_use_the_other_gets() -> None:
    red, blue = tenant(1, "red", cpu=1000), tenant(2, "blue", cpu=1000)
    assert placed(one_node(10_000), Queued(red, 2, 1), Queued(blue, MANY, 2)) == {1: 2, 2: 8}


@given(
    cpu=st.tuples(st.integers(1, 4000), st.integers(1, 4000)),
    memory=st.tuples(st.integers(1, 8 * GI), st.integers(1, 8 * GI)),
    nodes=st.integers(1, 6),
    since=st.permutations([1, 2]),
)
@settings(max_examples=60)
def test_two_tenants_with_endless_demand_are_within_one_task_or_one_step_of_each_other(
    cpu: tuple[int, int], memory: tuple[int, int], nodes: int, since: list[int]
) -> None:
    """Until the first of them finds no room. From then on the other takes what is left."""
    cluster = Cluster()
    for _ in range(nodes):
        cluster.add({"cpu": 16_000, "memory": 32 * GI})
    totals = cluster.nodes.capacity.sum(axis=0)[:2]
    needs = [np.array([cpu[who], memory[who]]) for who in (0, 1)]
    queued = [Queued(tenant(who, f"team-{who}", cpu=cpu[who], memory=memory[who]), MANY, since[who]) for who in (0, 1)]
    counts = [0, 0]
    for budget in range(1, 40):
        view = ClusterView(1, cluster.nodes, queued)
        decision = Planner(Stages(SCORES["spread"])).decide(view, 0.0, budget)
        got = {class_id: sum(rows.values()) for class_id, rows in chosen(decision).items()}
        counts = [got.get(0, 0), got.get(1, 0)]
        if sum(counts) < budget or not all(fits_all_nodes(cluster, counts, needs, who) for who in (0, 1)):
            return
        fair_share = [float((needs[who] * counts[who] / totals).max()) for who in (0, 1)]
        a_task = max(float((each / totals).max()) for each in needs)
        assert abs(fair_share[0] - fair_share[1]) <= a_task + 1 / STEPS + 1e-9


def fits_all_nodes(cluster: Cluster, counts: list[int], needs: list[IntArray], who: int) -> bool:
    """Whether there is surely room for one more, however the tasks lie: on average a node has that and two more."""
    free = cluster.nodes.capacity.sum(axis=0)[:2] - sum(needs[each] * counts[each] for each in (0, 1))
    return bool((free / (cluster.nodes.count - 1) >= needs[0] + needs[1] + needs[who]).all())


@given(
    held=st.lists(st.integers(0, 10**6), min_size=2, max_size=2),
    needs=st.lists(st.integers(0, 5000), min_size=2, max_size=2),
    level=st.integers(0, STEPS + 5),
)
def test_a_quantum_is_the_least_number_of_tasks_that_reaches_a_level(
    held: list[int], needs: list[int], level: int
) -> None:
    totals = [10**6, 777_777]
    fair_share = FairShare({("red", "ann"): np.array(held)}, totals)
    assume(level > fair_share.level(("red", "ann")))
    tasks = fair_share.tasks_until_level(level, ("red", "ann"), needs)
    if not any(needs):
        assert tasks is None
        return

    def level_with(count: int) -> int:
        fair_share = FairShare({("red", "ann"): np.array(held)}, totals)
        fair_share.place("red", "ann", needs, count)
        return fair_share.level(("red", "ann"))

    assert tasks is not None and tasks >= 1
    assert level_with(tasks) >= level
    assert tasks == 1 or level_with(tasks - 1) < level


def test_usage_may_know_fewer_resources_than_there_are_now() -> None:
    fair_share = FairShare({("red", "ann"): np.array([50]), ("red", "bob"): np.array([10, 30])}, [100, 100, 0])
    assert fair_share.level(("red", "ann")) == STEPS // 2
    assert fair_share.level(("red", None)) == STEPS * 60 // 100
    assert fair_share.level(("blue", None)) == 0


def test_namespaces_of_a_tenant_share_its_turn() -> None:
    """Without tenants each of three namespaces gets a third; here two of them belong to one tenant."""
    cluster = one_node(12_000)
    queued = [Queued(tenant(who, name, cpu=1000), MANY, who) for who, name in enumerate(("red", "pink", "blue"), 1)]
    owners = {"red": "red", "pink": "red", "blue": "blue"}
    alone = Planner(Stages(SCORES["spread"])).decide(ClusterView(1, cluster.nodes, queued), 0.0, 100)
    assert [sum(rows.values()) for rows in chosen(alone).values()] == [4, 4, 4]
    together = Planner(Stages(SCORES["spread"])).decide(ClusterView(1, cluster.nodes, queued, tenants=owners), 0.0, 100)
    got = {class_id: sum(rows.values()) for class_id, rows in chosen(together).items()}
    assert got == {1: 6, 3: 6}, "of one user's classes the oldest goes first"


def test_a_user_of_a_tenant_is_one_party_in_all_its_namespaces() -> None:
    usage = {("red", "ann"): np.array([300]), ("pink", "ann"): np.array([300]), ("red", "ben"): np.array([400])}
    fair_share = FairShare(usage, [1000], {"red": "red", "pink": "red"})
    assert fair_share.level(("red", "ann")) == fair_share.level(("pink", "ann")) == STEPS * 600 // 1000
    assert fair_share.level(("red", "ben")) == STEPS * 400 // 1000
    assert fair_share.level(("pink", None)) == STEPS
