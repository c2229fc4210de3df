"""Plans predict what the engine really decides."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shunter.engine.policy import dry_run
from shunter.engine.state.fingerprints.fingerprint import fingerprint
from shunter.gateway.explain.plan import WAITING_MAX, summarize_jobs
from shunter.model.errors import Busy, Conflict, Invalid
from shunter.model.lifecycles import TaskState
from shunter.model.rest.plan_views import PlannedJobView, PlannedPreemptionView
from shunter.planning.planner import POLICIES, build_policy
from shunter.ports.principals import TaskReference
from tests.unit.engine.fake_workers import FakeWorkers
from tests.unit.gateway.harness import GatewayHarness, reference, run_scenario


def manifest(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "shunter.dev/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"command": ["/bin/true"], **spec},
    }


def test_a_plan_says_where_tasks_would_start_and_changes_nothing() -> None:
    """U-04."""

    async def scenario(harness: GatewayHarness) -> None:
        for name in ("n1", "n2"):
            await harness.join(name, cpu=2)
        before = fingerprint(harness.engine.state)
        found = await harness.gateway.explain.plan([manifest("render", count=3)], namespace="default")
        assert found.starts and found.sentence == "All tasks would start now: 3 tasks."
        [job] = found.jobs
        assert (job.verdict, job.starts, job.waits) == ("starts", 3, 0)
        assert [(placed.node, placed.count) for placed in job.placements] == [("n1", 2), ("n2", 1)]
        assert fingerprint(harness.engine.state) == before
        assert harness.orders() == []

    run_scenario(scenario)


def test_a_plan_says_what_would_wait_and_why() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=2)
        found = await harness.gateway.explain.plan([manifest("a", count=3), manifest("b")], namespace="default")
        assert not found.starts
        first, second = found.jobs
        assert (first.verdict, first.starts, first.waits) == ("waits", 2, 1)
        assert (second.starts, second.waits) == (0, 1)
        assert first.reasons[0].text == "cpu: needs 1, at most 0 free"
        assert "2 of 4 tasks would start now, 2 would stay pending" in found.sentence

    run_scenario(scenario)


def test_a_plan_is_refused_as_the_submit_would_be() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.run("render", count=2)
        with pytest.raises(Conflict, match="a different job named render is still pending"):
            await harness.gateway.explain.plan([manifest("render", count=3)], namespace="default")
        with pytest.raises(Invalid, match="count"):
            await harness.gateway.explain.plan([manifest("other", count=0)], namespace="default")
        again = await harness.gateway.explain.plan([manifest("render", count=2)], namespace="default")
        assert [(job.verdict, job.waits) for job in again.jobs] == [("unchanged", 0)]
        assert again.jobs[0].sentence == "it exists with this spec, and is pending."
        assert again.sentence == "Nothing would change now."

    run_scenario(scenario)


def test_a_plan_of_another_spec_of_a_service_says_what_the_update_begins_with() -> None:
    """Also where it would not begin, which the exit code tells."""

    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join("n1", cpu=3)
        await harness.run("web", count=2, type="service")
        for _, order in harness.orders():
            await harness.started(node, order)
        web = manifest("web", count=2, type="service")
        same = await harness.gateway.explain.plan([web], namespace="default")
        assert [job.verdict for job in same.jobs] == ["unchanged"]
        other = await harness.gateway.explain.plan(
            [web | {"spec": web["spec"] | {"env": {"A": "1"}}}], namespace="default"
        )
        [job] = other.jobs
        assert (job.verdict, job.starts, job.waits, job.count) == ("updates", 1, 0, 2)
        assert job.sentence == (
            "version 2 replaces 2 tasks, 1 at a time; first: 1 task on 1 node would start, 1 task would stop."
        )
        assert other.starts and other.sentence == "All tasks of the first step would start now: 1 task."
        more = await harness.gateway.explain.plan([web | {"spec": web["spec"] | {"count": 5}}], namespace="default")
        [job] = more.jobs
        assert (job.verdict, job.starts, job.waits) == ("updates", 1, 2)
        assert job.sentence == "5 tasks instead of 2: 1 task on 1 node would start, 2 would stay pending."
        assert not more.starts
        large = web | {"spec": web["spec"] | {"resources": {"cpu": 2}}}
        [job] = (await harness.gateway.explain.plan([large], namespace="default")).jobs
        assert (job.verdict, job.starts, job.waits) == ("updates", 0, 1)
        assert [reason.text for reason in job.reasons] == ["cpu: needs 2, at most 1 free"]
        ending = web["spec"] | {"env": {"A": "1"}, "update": {"unavailable_max": 1}}
        plan = await harness.gateway.explain.plan([web | {"spec": ending}], namespace="default")
        assert plan.jobs[0].sentence == "version 2 replaces 2 tasks, 1 at a time; first: 1 task would stop."
        assert plan.starts and plan.sentence == "No task would stay pending."
        await harness.gateway.services.scale(reference("web"), {"": 1})
        await harness.complete_stops()
        again = web | {"spec": web["spec"] | {"env": {"A": "1"}}}
        [job] = (await harness.gateway.explain.plan([again], namespace="default")).jobs
        assert job.replaces == 1  # the other one is not there any more
        await harness.gateway.services.scale(reference("web"), {"": 2})
        for _, order in harness.orders():
            await harness.started(node, order)
        fewer = await harness.gateway.explain.plan([web | {"spec": web["spec"] | {"count": 1}}], namespace="default")
        assert fewer.jobs[0].sentence == "1 task instead of 2: 1 task would stop."
        both = web | {"spec": web["spec"] | {"count": 1, "env": {"A": "1"}}}
        [job] = (await harness.gateway.explain.plan([both], namespace="default")).jobs
        assert (job.starts, job.stops) == (1, 2)
        assert job.sentence == (
            "version 2 of 1 task instead of 2 replaces 1 task; first: 1 task on 1 node would start, 2 tasks would stop."
        )

    run_scenario(scenario)


def test_plans_that_wait_for_one_another_are_limited() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        harness.local_gateway._dry_runs._waiting = WAITING_MAX
        with pytest.raises(Busy):
            await harness.gateway.explain.plan([manifest("render")], namespace="default")

    run_scenario(scenario)


JOBS = st.lists(
    st.fixed_dictionaries({
        "count": st.integers(1, 12),
        "priority": st.sampled_from([10, 50, 90]),
        "resources": st.fixed_dictionaries({
            "cpu": st.sampled_from(["500m", "1", "3"]),
            "memory": st.sampled_from(["0", "1Gi", "3Gi"]),
        }),
    }),
    min_size=1, max_size=4,
)  # fmt: skip
NODES = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=0, max_size=5)


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(
    policy=st.sampled_from(sorted(POLICIES)), nodes=NODES, running=JOBS, planned=JOBS, ended=st.integers(0, 3),
    all_jobs_max=st.sampled_from([dry_run.ALL_JOBS_MAX, 0]),
)  # fmt: skip
def test_what_a_plan_says_is_what_a_submit_does(
    policy: str, nodes: list[tuple[int, int]], running: list[Any], planned: list[Any], ended: int, all_jobs_max: int
) -> None:
    """U-04: also after tasks ended, under measured load, for a rotation that has moved on, and where only those jobs
    are copied that have a say."""

    async def scenario(harness: GatewayHarness) -> None:
        harness.engine.policy = build_policy(policy)
        for number, (cpu, memory) in enumerate(nodes):
            row = await harness.join(f"n{number}", cpu=cpu, memory=memory * 2**30)
            harness.engine.state.nodes.update_load(harness.engine.state.nodes.records[row], 0.1 * number)
        for number, spec in enumerate(running):
            await harness.run(f"running-{number}", **spec)
        await harness.complete_stops()
        for node, order in harness.orders()[:ended]:
            await harness.end(node, order)
        # A plan is about now: it does not wait for tasks that are stopping.
        await harness.complete_stops()
        harness.orders()
        documents = [manifest(f"planned-{number}", **spec) for number, spec in enumerate(planned)]
        with patch.object(dry_run, "ALL_JOBS_MAX", all_jobs_max):
            found = await harness.gateway.explain.plan(documents, namespace="default")
        planned_counts = {
            (job.name, placement.node): placement.count for job in found.jobs for placement in job.placements
        }
        await harness.gateway.jobs.submit(documents, namespace="default", key=None)
        await harness.settle()
        await harness.complete_stops()
        done: dict[tuple[str, str], int] = {}
        for node, order in harness.orders():
            key = (order.job_name, harness.engine.node_name(node))
            done[key] = done.get(key, 0) + order.last - order.first + 1
        assert planned_counts == {key: count for key, count in done.items() if key[0].startswith("planned")}
        assert found.starts == (sum(planned_counts.values()) == sum(spec["count"] for spec in planned))

    run_scenario(scenario)


SERVICE = st.fixed_dictionaries({  # of one priority: a plan counts what starts after a preemption as started
    "count": st.integers(1, 6),
    "env": st.sampled_from([{}, {"A": "1"}]),
    "resources": st.fixed_dictionaries({"cpu": st.sampled_from(["500m", "1"])}),
    "constraints": st.sampled_from([[], ["node.capacity.cpu >= 2.0"]]),
    "spread": st.sampled_from([[], ["host"]]),
    "update": st.sampled_from([{}, {"parallel": 2}, {"unavailable_max": 1}, {"unavailable_max": 3, "parallel": 3}]),
})  # fmt: skip


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(nodes=st.lists(st.integers(1, 4), min_size=1, max_size=3), old=SERVICE, new=SERVICE, started=st.integers(0, 6))
def test_what_a_plan_says_of_an_update_is_what_the_update_begins_with(
    nodes: list[int], old: dict[str, Any], new: dict[str, Any], started: int
) -> None:
    """U-04: whatever changes at once: count, environment, resources, rules of placement, the pace of the update."""

    async def scenario(harness: GatewayHarness) -> None:
        for number, cpu in enumerate(nodes):
            await harness.join(f"n{number}", cpu=cpu)
        await harness.run("web", type="service", **old)
        for node, order in harness.orders()[:started]:
            await harness.started(node, order)
        job = harness.engine.state.jobs_by_name["default"]["web"]
        stopping = job.counts()[TaskState.STOPPING]
        document = manifest("web", type="service", **new)
        [planned] = (await harness.gateway.explain.plan([document], namespace="default")).jobs
        places = [(placement.group, placement.node) for placement in planned.placements]
        assert len(places) == len(set(places))
        await harness.gateway.jobs.submit([document], namespace="default", key=None)
        await harness.settle()
        orders = sum(order.last - order.first + 1 for _, order in harness.orders())
        assert (planned.starts, planned.stops) == (orders, job.counts()[TaskState.STOPPING] - stopping)

    run_scenario(scenario)


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(old=SERVICE, new=SERVICE)
def test_what_a_plan_says_of_the_whole_update_is_what_the_update_does(old: dict[str, Any], new: dict[str, Any]) -> None:
    """U-04: where there is room for every step, as many tasks are replaced as the plan says, and no others."""

    async def scenario(harness: GatewayHarness) -> None:
        for number in range(2):
            await harness.join(f"n{number}", cpu=32)
        fake_workers = FakeWorkers(harness)
        await harness.run("web", type="service", **old)
        await fake_workers.advance(10)
        document = manifest("web", type="service", **new)
        [planned] = (await harness.gateway.explain.plan([document], namespace="default")).jobs
        fake_workers.starts.clear()
        await harness.gateway.jobs.submit([document], namespace="default", key=None)
        await fake_workers.advance(60)
        view = await harness.gateway.jobs.get(reference("web"))
        assert view.update is not None and view.update.status == "steady"
        added = max(new["count"] - old["count"], 0)
        assert planned.replaces == len(fake_workers.starts) - added
        assert planned.verdict == "unchanged" or (f"replaces {planned.replaces} task" in planned.sentence) == bool(
            planned.replaces
        )

    run_scenario(scenario)


def test_a_plan_does_not_call_the_tasks_of_its_own_job_those_of_other_jobs() -> None:
    web = PlannedJobView(name="web", namespace="default", verdict="updates", sentence="", count=2, starts=1, waits=0)

    def preempts(*names: str) -> str:
        victims = [PlannedPreemptionView(name=name, namespace="default", node="n1", count=1) for name in names]
        return summarize_jobs([web], victims)

    assert preempts("other", "another").endswith("; 2 tasks of other jobs would be preempted.")
    assert preempts("other", "web").endswith("; 2 tasks would be preempted.")


def test_why_of_a_task_tells_of_that_task() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join("n1", cpu=1)
        await harness.run("render", count=2)
        [(_, order)] = harness.orders()
        assert "starting on n1" in (await harness.gateway.explain.why(reference("render"), TaskReference(0))).sentence
        await harness.start_task(node, order, segment=1)
        assert "is running on n1" in (await harness.gateway.explain.why(reference("render"), TaskReference(0))).sentence
        assert "pending" in (await harness.gateway.explain.why(reference("render"), TaskReference(1))).sentence
        await harness.end_task(node, order, segment=1, exit_code=3)
        failed = (await harness.gateway.explain.why(reference("render"), TaskReference(0))).sentence
        assert "failed on n1 with exit code 3" in failed

    run_scenario(scenario)
