"""Conservative backfilling: no job starts after the first start that it was promised."""

from __future__ import annotations

import pytest

from shunter.lab.nodes import build_nodes
from shunter.lab.run import run_policy
from shunter.planning.batch.batch_policy import BATCH_POLICIES, BatchPolicy
from shunter.planning.view import ClusterView, Decision
from tests.unit.lab.sample_traces import draw_trace, trace_of
from tests.unit.planning.batch.test_batch_policy import NOW, busy_node, decide, queued, starts
from tests.unit.planning.running_cluster import RunningCluster


class Watched:
    """Notes the first promise to each job, and when it starts."""

    fast, wants = True, BatchPolicy.wants

    def __init__(self) -> None:
        self._policy = BATCH_POLICIES["conservative"]()
        self.name = self._policy.name
        self.promised_ms: dict[int, int] = {}
        self.started_ms: dict[int, int] = {}

    def decide(self, view: ClusterView, now: float, budget: int) -> Decision:
        jobs = {}
        for each in view.queued:
            gang = each.task_class.rules.gang if each.task_class.rules is not None else 0
            jobs[each.task_class.id] = gang or -each.task_class.id
        decision = self._policy.decide(view, now, budget)
        for job, start_ms, *_ in self._policy.memory.get("promises", ()):
            self.promised_ms.setdefault(job, start_ms)
        for placement in decision.placements:
            self.started_ms.setdefault(jobs[placement.class_id], int(now * 1000))
        return decision


@pytest.mark.parametrize("nodes", ["pool:10", "10x1", "3x4"])
@pytest.mark.parametrize("seed", range(8))
def test_no_job_starts_later_than_it_was_first_promised(seed: int, nodes: str) -> None:
    trace = draw_trace(seed, jobs=150, cpus=10)
    model, policy = build_nodes(nodes, trace), Watched()
    run_policy(trace, policy, model.hellos, is_divided=model.is_divided)
    late = {
        job: (start_ms, policy.started_ms[job])
        for job, start_ms in policy.promised_ms.items()
        if policy.started_ms[job] > start_ms
    }
    assert len(policy.promised_ms) > 40
    assert not late, f"seed {seed}"


def test_a_job_that_ends_early_makes_others_start_earlier() -> None:
    """The second job was promised 100 s, when the first was estimated to end."""
    trace = trace_of([(0, 30, 100, 10), (1, 10, 10, 10)])
    assert run_policy(trace, Watched(), build_nodes("pool:10", trace).hellos).start_s.tolist() == [0, 30]


def test_a_later_job_must_not_delay_any_that_waits() -> None:
    """EASY would start `later`: it delays only the second that waits."""
    cluster = RunningCluster()
    busy_node(cluster, cpu=4, used=2, until_s=NOW + 100)
    first, second = cluster.make_class("first", cpu=3), cluster.make_class("second", cpu=4)
    later = cluster.make_class("later", cpu=1)
    pending = [
        queued(first, 1, estimate_s=100),
        queued(second, 2, estimate_s=100_000),
        queued(later, 3, estimate_s=100_000),
    ]
    assert starts("easy", cluster, *pending) == {later.id: {1: 1}}
    assert starts("conservative", cluster, *pending) == {}


def test_promises_are_remembered_and_hold_nodes() -> None:
    cluster = RunningCluster()
    busy_node(cluster, cpu=4, used=2, until_s=NOW + 100)
    large = cluster.make_class("large", cpu=4)
    policy = BATCH_POLICIES["conservative"]()
    assert policy.is_settled
    decision = policy.decide(cluster.view([queued(large, 1)]), NOW, 10)
    assert policy.memory["promises"] == [[-large.id, int(NOW + 100) * 1000, [1], [[4, 0, 0]]]]
    assert not policy.is_settled
    assert policy.renew().memory == policy.memory
    assert decision.kept is not None
    assert decision.kept.until_ms == {1: int(NOW + 100) * 1000}


def test_a_job_beyond_the_nodes_holds_nobody_up() -> None:
    cluster = RunningCluster()
    cluster.add(cpu=2)
    huge, small = cluster.make_class("huge", cpu=3), cluster.make_class("small", cpu=1)
    assert starts("conservative", cluster, queued(huge, 1), queued(small, 2)) == {small.id: {1: 1}}


def test_a_budget_ends_the_decision_but_no_promise() -> None:
    cluster = RunningCluster()
    cluster.add(cpu=9)
    array = cluster.make_class("array", cpu=1)
    decision = decide("conservative", cluster, queued(array, 1, count=5), budget=2)
    assert decision.is_partial
    assert decision.placements[0].tasks == 2


def test_promises_survive_a_resource_that_nobody_had_before() -> None:
    """A node with GPUs joins, or a job asks for one: the columns of the view grow."""
    cluster = RunningCluster()
    busy_node(cluster, cpu=4, used=2, until_s=NOW + 100)
    large = cluster.make_class("large", cpu=4)
    policy = BATCH_POLICIES["conservative"]()
    policy.decide(cluster.view([queued(large, 1)]), NOW, 10)
    assert policy.memory["promises"]
    cluster.cluster.add({"cpu": 1, "memory": 64, "gpu": 1}, labels={})
    learner = cluster.make_class("learner", cpu=1, gpu=1)
    decision = policy.decide(cluster.view([queued(large, 1), queued(learner, 2)]), NOW + 1, 10)
    assert [placement.class_id for placement in decision.placements] == [learner.id]
    assert [job for job, *_ in policy.memory["promises"]] == [-large.id]
