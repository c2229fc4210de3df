"""What `why` says of Testbeds, BatchJobs and Schedulings, and of jobs that wait for what a testbed holds."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.model.errors import Invalid, NotFound
from shunter.model.lifecycles import NodeEvent
from shunter.model.objects.batch_jobs import FAIL, RESTART, BatchJobSpec
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import BATCH_JOB, SCHEDULING, TESTBED, Draft
from tests.unit.engine.object_harness import LABEL, apply_drafts, command, label, queue, setup_testbed, testbed_draft
from tests.unit.gateway.harness import GatewayHarness, reference, run_scenario


async def why_sentence(harness: GatewayHarness, kind: str, name: str) -> str:
    return (await harness.gateway.explain.why_object(kind, ObjectName("default", name))).sentence


async def why_job(harness: GatewayHarness, name: str) -> str:
    return (await harness.gateway.explain.why(reference(name))).sentence


def test_why_says_that_a_testbed_holds_the_cores() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await setup_testbed(harness)  # one core of two on each node
        await harness.run("big", 1, resources={"cpu": 2})
        said = await why_job(harness, "big")
        assert said.startswith(
            "Pending: cpu: needs 2, at most 1 free (2 nodes); testbed default/bed holds cpu 2 for its"
        )
        assert "on 2 nodes, where a task would fit otherwise (shunter describe testbed bed)" in said
        await harness.run("huge", 1, resources={"cpu": 3})
        assert "testbed" not in await why_job(harness, "huge")

    run_scenario(scenario)


def test_why_of_a_gang_names_the_testbed_that_holds_the_cores() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await setup_testbed(harness)  # one core of two on each node
        await harness.run("gang", 3, gang=True, resources={"cpu": 1})
        said = await why_job(harness, "gang")
        assert "the gang of 3 tasks starts as a whole, and nodes have room for 2 of them now; cpu: needs 3" in said
        assert "testbed default/bed holds cpu 2 for its slots on 2 nodes, where more tasks of the gang" in said

    run_scenario(scenario)


def test_why_of_a_batch_job_that_was_not_submitted_explains_what_is_missing() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await setup_testbed(harness, nodes=1)
        await apply_drafts(harness, command("a"), command("b"))
        alone = "BatchJob default/a has not been submitted: no Scheduling names it. Apply one that does."
        assert await why_job(harness, "bj.a") == alone
        assert await why_sentence(harness, BATCH_JOB, "a") == alone
        await apply_drafts(harness, queue("q", "a", "a", "b"))
        assert "a was submitted by Scheduling default/q to slots 0, 1" in await why_sentence(harness, BATCH_JOB, "a")
        assert "Scheduling default/q has claimed it, and it waits for free slots" in await why_job(harness, "bj.b")
        assert "bj.a" in await why_job(harness, "bj.a")  # the run itself

    run_scenario(scenario)


def test_other_requests_about_a_batch_job_that_was_not_submitted_point_to_why() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await setup_testbed(harness, nodes=1)
        await apply_drafts(harness, command("render"))
        for name, words in (
            ("bj.render", "BatchJob 'render' in namespace 'default' has not run yet: no Scheduling has submitted it"),
            ("bj.render", "`shunter why bj.render` says what it waits for"),
            ("bj.rendr", "BatchJob 'rendr' does not exist in namespace 'default'; did you mean bj.render?"),
        ):
            with pytest.raises(NotFound) as missing:
                await harness.gateway.jobs.get(reference(name))
            assert words in missing.value.detail
        with pytest.raises(NotFound, match="BatchJob 'rendr' does not exist"):
            await why_job(harness, "bj.rendr")

    run_scenario(scenario)


def test_why_of_a_batch_job_between_two_runs_does_not_say_that_it_never_ran() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await setup_testbed(harness, nodes=1)
        await apply_drafts(harness, command("a"), queue("q", "a"))
        for node, order in harness.orders():
            await harness.end(node, order, 0)
        await harness.gateway.objects.delete(SCHEDULING, ObjectName("default", "q"))
        said = await why_job(harness, "bj.a")
        assert (
            said == "bj.a has succeeded. It has not been submitted again: no Scheduling names it. Apply one that does."
        )

    run_scenario(scenario)


def test_why_of_a_scheduling_says_what_runs_and_what_it_waits_for() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await setup_testbed(harness, nodes=1)
        await apply_drafts(harness, command("a"), command("b"), command("c"))
        await apply_drafts(harness, queue("q", "a", "a", "b"), queue("later", "c"))
        said = await why_sentence(harness, SCHEDULING, "q")
        assert "uses testbed default/bed: a in slots 0, 1 has started; b waits for slots." in said
        said = await why_sentence(harness, SCHEDULING, "later")
        assert said == (
            "Scheduling default/later has claimed nothing yet: it waits for scheduling default/q, which uses testbed "
            "default/bed."
        )
        assert "the Scheduling waits for scheduling default/q" in await why_job(harness, "bj.c")
        for node, order in harness.orders():
            await harness.end(node, order, 1)
        assert "`shunter delete scheduling q` releases it" in await why_sentence(harness, SCHEDULING, "later")

    run_scenario(scenario)


def test_why_of_a_batch_job_in_the_queue_of_a_failed_scheduling_says_that_it_will_not_run() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await setup_testbed(harness, nodes=1)
        await apply_drafts(harness, command("a"), command("b"), queue("q", "a", "a", "b"))
        for node, order in harness.orders():
            await harness.end(node, order, 1)
        assert await why_sentence(harness, BATCH_JOB, "b") == (
            "BatchJob default/b will not run: Scheduling default/q, which has claimed it, has failed; it is ready "
            "again when that is deleted (shunter delete scheduling q)."
        )

    run_scenario(scenario)


@pytest.mark.parametrize("on_node_loss", [FAIL, RESTART])
def test_why_of_a_run_that_lost_a_node_says_what_comes_next(on_node_loss: str) -> None:
    lost = "executor 1 was lost: node n1 is down: no heartbeat"

    async def scenario(harness: GatewayHarness) -> None:
        await setup_testbed(harness, slots_per_node=1)
        spec = BatchJobSpec(command={"command": ["/bin/true"]}, on_node_loss=on_node_loss)
        await apply_drafts(harness, Draft(BATCH_JOB, ObjectName("default", "a"), spec), queue("q", "a", "a"))
        [(node, order), _] = orders = harness.orders()
        for each in orders:
            await harness.started(*each)
        await harness.engine.node_event(orders[1][0], NodeEvent.TIMED_OUT, "no heartbeat")
        await harness.settle()
        said = await why_sentence(harness, BATCH_JOB, "a")
        if on_node_loss == FAIL:
            assert said == (
                f"BatchJob default/a has failed: {lost}; it is ready again when Scheduling default/q is deleted "
                "(shunter delete scheduling q)."
            )
            return
        assert said == f"BatchJob default/a restarts: {lost}. Its last tasks are stopping."
        assert "has claimed nothing" not in await why_sentence(harness, SCHEDULING, "q")
        await harness.end(node, order, exit_code=143, how="stopped")
        assert await why_sentence(harness, BATCH_JOB, "a") == (
            f"BatchJob default/a restarts: {lost}. Scheduling default/q has claimed it, and it waits for free slots; "
            "the Scheduling waits for 2 free slots of testbed default/bed, for batch job default/a; nodes of the "
            "testbed have problems."
        )

    run_scenario(scenario)


def test_why_of_a_testbed_says_what_it_has_or_lacks() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await apply_drafts(harness, testbed_draft())
        assert "has no slots: No node has the label example.org/slots" in await why_sentence(harness, TESTBED, "bed")
        await setup_testbed(harness, nodes=2)
        said = await why_sentence(harness, TESTBED, "bed")
        assert said == "Testbed default/bed has 4 slots on 2 nodes: 4 free. No Scheduling uses it."
        await apply_drafts(harness, testbed_draft(cpu=5000, name=ObjectName("default", "large")))
        found = await harness.gateway.explain.why_object(TESTBED, ObjectName("default", "large"))
        assert "Requires 10 of cpu resources. Available: 1" in found.sentence
        assert [(reason.nodes, reason.examples) for reason in found.reasons] == [(2, ["n0", "n1"])]

    run_scenario(scenario)


def document(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    version = "batchjob.gcr.io/v1alpha1"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


BED = document(
    TESTBED, "bed", slotsPerNode=2, nodeLabel=LABEL, resourcesPerSlot={"cpu": "500m", "memory": "1Mi"}
)  # fmt: skip
JOB = document(BATCH_JOB, "a", commandSpec={"command": ["/bin/true"]})
QUEUE = document(
    SCHEDULING,
    "q",
    testbed={"name": "bed", "namespace": "default"},
    queueBased=[{"name": "a", "namespace": "default"}] * 2,
)


def test_a_plan_of_objects_says_what_applying_them_does_and_changes_nothing() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n0", cpu=2)
        await label(harness, "n0")
        before = harness.engine.committed_version
        found = await harness.gateway.explain.plan([BED, JOB, QUEUE], namespace="default")
        assert [(each.kind, each.action, each.verdict) for each in found.objects] == [
            (TESTBED, "created", "ready"), (BATCH_JOB, "created", "starts"), (SCHEDULING, "created", "starts"),
        ]  # fmt: skip
        assert "has 2 slots on 1 node" in found.objects[0].sentence
        assert "a in slots 0, 1 has started" in found.objects[2].sentence
        assert found.starts and found.sentence == (
            "1 Testbed, 1 BatchJob and 1 Scheduling would be created; none would wait."
        )
        assert harness.engine.committed_version == before
        await harness.gateway.objects.apply([BED, JOB, QUEUE], namespace="default")
        await harness.settle()
        objects = [
            await harness.gateway.objects.object(each.kind, ObjectName("default", each.name)) for each in found.objects
        ]
        assert [each.status.state.wire_name for each in objects] == [each.state for each in found.objects]
        again = await harness.gateway.explain.plan([QUEUE], namespace="default")
        assert (again.objects[0].action, again.objects[0].verdict) == ("unchanged", "starts")

    run_scenario(scenario)


def test_a_plan_of_a_scheduling_without_its_testbed_says_that_it_would_wait() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n0", cpu=2)
        found = await harness.gateway.explain.plan([JOB, QUEUE], namespace="default")
        assert not found.starts and found.objects[1].verdict == "waits"
        assert "it waits for testbed default/bed" in found.objects[1].sentence
        assert found.objects[1].reasons[0].text.startswith("Testbed default/bed does not exist.")

    run_scenario(scenario)


def test_a_plan_may_mix_jobs_and_objects_and_names_what_is_wrong_by_its_place() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n0", cpu=2)
        await label(harness, "n0")
        job = {"apiVersion": "shunter.dev/v1", "kind": "Job", "metadata": {"name": "big"}}
        job |= {"spec": {"command": ["x"], "resources": {"cpu": 2}}}
        found = await harness.gateway.explain.plan([job, BED], namespace="default")
        assert (found.jobs[0].name, found.objects[0].name) == ("big", "bed")
        with pytest.raises(Invalid) as refused:
            await harness.gateway.explain.plan([job, BED | {"spec": {}}], namespace="default")
        assert all(problem.field.startswith("items[1].spec") for problem in refused.value.problems)

    run_scenario(scenario)
