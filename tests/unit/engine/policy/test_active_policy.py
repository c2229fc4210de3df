"""A policy that fails, or answers nonsense, costs no round."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shunter.engine.policy.active_policy import ActivePolicy, Nonsense, check_decision
from shunter.engine.round_pacing import UNPRODUCTIVE_ROUNDS_MAX
from shunter.model.job.spec import Affinity
from shunter.planning.planner import build_policy
from shunter.planning.view import ClusterView, Decision, Placement, Queued, TaskClass
from tests.unit.engine.harness import Harness, run_scenario, spec
from tests.unit.planning.cluster_builder import Cluster


class ThirdPartyPolicy:
    """A stranger's policy that does as the test says."""

    name = "strange"
    fast = True

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def decide(self, view: ClusterView, _now: float, _budget: int) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer(view) if callable(self.answer) else self.answer


def on_row(row: int, count: int = 1, class_id: int | None = None) -> Any:
    def answer(view: ClusterView) -> Decision:
        id = view.queued[0].task_class.id if class_id is None else class_id
        return Decision(view.version, [Placement(id, np.array([row]), np.array([count]))])

    return answer


def two_on_each_of_two(view: ClusterView) -> Decision:
    return Decision(view.version, [Placement(view.queued[0].task_class.id, np.array([1, 2]), np.array([2, 2]))])


def mutates_its_view(view: ClusterView) -> Decision:
    view.nodes.reserved[1] += 1000
    return Decision(view.version)


@pytest.mark.parametrize(
    "answer",
    [
        *(ValueError("boom"), SystemExit(3), None, "e-pvm", Decision(1, ["here"])),  # type: ignore[list-item]
        *(on_row(99), on_row(0), on_row(-1), on_row(1, 0), mutates_its_view),
    ],
    ids=[
        *("raises", "exits", "none", "text", "no placements"),
        *("no such row", "row of no node", "negative row", "no tasks", "writes"),
    ],
)
def test_a_policy_that_fails_is_told_and_the_default_decides(answer: Any) -> None:
    async def scenario(harness: Harness) -> None:
        harness.engine.policy = ThirdPartyPolicy(answer)
        await harness.join("n1", cpu=2)
        await harness.submit(spec("job", 2))
        assert [node for node, _ in harness.orders()] == [1]
        assert harness.engine.active_policy.failures > 0
        assert harness.engine.active_policy.last_error.partition(":")[0] in ("ValueError", "SystemExit", "Nonsense")
        assert harness.engine.state.nodes.view.reserved[1, 0] == 2000
        assert harness.engine.policy.name == "strange"

    run_scenario(scenario)


def test_more_than_fits_is_cut_to_what_fits() -> None:
    """Placements are checked one by one, whoever decided them."""

    async def scenario(harness: Harness) -> None:
        harness.engine.policy = ThirdPartyPolicy(on_row(1, 50))
        await harness.join("n1", cpu=2)
        [job] = await harness.submit(spec("job", 5))
        assert harness.counts(job.job_id) == {"assigned": 2, "queued": 3}
        assert harness.engine.active_policy.failures == 0

    run_scenario(scenario)


@pytest.mark.parametrize("more", [{"is_partial": True}, {"again_in_ms": 0}], ids=str)
def test_a_policy_that_never_has_enough_does_not_keep_the_engine_busy(more: dict[str, Any]) -> None:
    async def scenario(harness: Harness) -> None:
        calls: list[int] = []

        def answer(view: ClusterView) -> Decision:
            calls.append(1)
            assert len(calls) < 10_000, "it is asked without end"
            return Decision(view.version, **more)

        harness.engine.policy = ThirdPartyPolicy(answer)
        await harness.join("n1", cpu=2)
        [job] = await harness.submit(spec("job"))
        await harness.settle(10.0)
        assert UNPRODUCTIVE_ROUNDS_MAX < len(calls) < UNPRODUCTIVE_ROUNDS_MAX + 150
        assert "without placing anything" in harness.engine.active_policy.last_error
        harness.engine.policy = ThirdPartyPolicy(on_row(1))
        await harness.settle(1.0)
        assert harness.counts(job.job_id) == {"assigned": 1}

    run_scenario(scenario)


def test_a_constraint_holds_whatever_a_policy_says() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=2)
        harness.engine.policy = ThirdPartyPolicy(on_row(1))
        [job] = await harness.submit(spec("job", constraints=("node.labels.disk == 'ssd'",)))
        assert harness.counts(job.job_id) == {"queued": 1}
        assert "nodes that are not feasible" in harness.engine.active_policy.last_error
        await harness.engine.label_node("n1", {"disk": "ssd"})
        await harness.settle()
        assert harness.counts(job.job_id) == {"assigned": 1}

    run_scenario(scenario)


def test_a_policy_can_ask_which_nodes_would_refuse_a_class() -> None:
    """Whatever room they have: constraints, datacenters, filters and switches are asked about, not guessed."""

    async def scenario(harness: Harness) -> None:
        accepted_rows: list[list[bool]] = []

        def answer(view: ClusterView) -> Decision:
            assert view.accepts is not None
            accepted_rows.append(view.accepts(view.queued[0].task_class).tolist())
            return on_row(2)(view)  # type: ignore[no-any-return]

        await harness.join("n1", cpu=2)
        await harness.join("n2", cpu=2)
        await harness.engine.label_node("n2", {"disk": "ssd"})
        harness.engine.policy = ThirdPartyPolicy(answer)
        [job] = await harness.submit(spec("job", constraints=("node.labels.disk == 'ssd'",)))
        assert accepted_rows[-1] == [False, False, True]
        assert harness.counts(job.job_id) == {"assigned": 1}

    run_scenario(scenario)


def test_what_is_left_out_is_told_but_is_no_failure_for_which_the_default_decided() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=2)
        harness.engine.policy = ThirdPartyPolicy(on_row(1))
        await harness.submit(spec("job", constraints=("node.labels.disk == 'ssd'",)))
        assert (
            harness.engine.active_policy.last_error
            == "it placed tasks on nodes that are not feasible; these placements were dropped"
        )
        assert harness.engine.active_policy.failures == 0

    run_scenario(scenario)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"distinct": "host"}, {"assigned": 2, "queued": 2}),
        ({"distinct": "rack"}, {"assigned": 1, "queued": 3}),
        ({"affinity": (Affinity("node", "node.labels.rack == 'b'", True),)}, {"queued": 4}),
        ({"affinity": (Affinity("job", "job.name == 'nobody'", True),)}, {"queued": 4}),
        ({"affinity": (Affinity("job", "job.name == 'job'", True),)}, {"assigned": 2, "queued": 2}),
        ({"affinity": (Affinity("job", "job.name == 'job'", True, anti=True),)}, {"assigned": 2, "queued": 2}),
        ({"gang": True}, {"assigned": 4}),
        ({"exclusive": True}, {"assigned": 4}),
    ],
    ids=["distinct hosts", "distinct racks", "nodes", "company", "beside itself", "away from itself", "gang", "alone"],
)
def test_rules_between_tasks_hold_whatever_a_policy_says(fields: dict[str, Any], expected: dict[str, int]) -> None:
    """Two tasks go to either node, as far as the rule lets them."""

    async def scenario(harness: Harness) -> None:
        for name in ("n1", "n2"):
            await harness.join(name, cpu=4)
            await harness.engine.label_node(name, {"rack": "a"})
        harness.engine.policy = ThirdPartyPolicy(two_on_each_of_two)
        [job] = await harness.submit(spec("job", 4, **fields))
        assert harness.counts(job.job_id) == expected

    run_scenario(scenario)


def test_an_exclusive_job_and_another_get_no_node_together_whatever_a_policy_says() -> None:
    def both_on_one(view: ClusterView) -> Decision:
        placements = [Placement(queued.task_class.id, np.array([1]), np.array([1])) for queued in view.queued]
        return Decision(view.version, placements)

    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=4)
        harness.engine.policy = ThirdPartyPolicy(both_on_one)
        first, second = await harness.submit(spec("alone", exclusive=True), spec("other"))
        placed = [harness.counts(job.job_id) for job in (first, second)]
        assert sorted(placed, key=str) == [{"assigned": 1}, {"queued": 1}]

    run_scenario(scenario)


def test_a_policy_can_be_changed_between_rounds_and_begins_without_blame() -> None:
    async def scenario(harness: Harness) -> None:
        harness.engine.policy = ThirdPartyPolicy(ValueError("boom"))
        await harness.join("n1", cpu=2)
        await harness.submit(spec("job"))
        assert harness.engine.active_policy.last_error == "ValueError: boom"
        harness.engine.policy = build_policy("spread")
        assert (
            harness.engine.policy.name,
            harness.engine.active_policy.last_error,
            harness.engine.active_policy.failures,
        ) == ("spread", "", 0)

    run_scenario(scenario)


def test_a_copy_of_a_failing_policy_blames_nobody() -> None:
    active_policy = ActivePolicy(ThirdPartyPolicy(ValueError("boom")))
    cluster = Cluster()
    cluster.add({"cpu": 1000})
    view = ClusterView(1, cluster.nodes, [Queued(TaskClass(1, {"cpu": 1000}, "default", "anna", 50), 1, 1)])
    assert active_policy.fork().decide(view, 0.0, 10).placements
    assert (active_policy.last_error, active_policy.failures) == ("", 0)


def test_a_row_must_not_be_named_twice() -> None:
    cluster = Cluster()
    cluster.add({"cpu": 1000})
    view = ClusterView(1, cluster.nodes, [Queued(TaskClass(1, {}, "default", "anna", 50), 5, 1)])
    with pytest.raises(Nonsense, match="twice"):
        check_decision(Decision(1, [Placement(1, np.array([1, 1]), np.array([1, 1]))]), view)
    with pytest.raises(Nonsense, match="pending class"):
        check_decision(Decision(1, [Placement(2, np.array([1]), np.array([1]))]), view)
    with pytest.raises(Nonsense, match="whole numbers"):
        check_decision(Decision(1, [Placement(1, np.array([1.0]), np.array([1]))]), view)
