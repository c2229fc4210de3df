"""Files with both Jobs and objects: one commit, or none; and every problem with its place in the file."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.model.errors import Conflict, Invalid
from shunter.model.rest.job_views import SubmittedJob
from shunter.ports.jobs import JobQuery
from shunter.ports.objects import Applied, ObjectQuery
from tests.contracts.objects import batch_job, scheduling, testbed
from tests.unit.gateway.harness import GatewayHarness, run_scenario


def job(name: str, *command: str, **spec: Any) -> dict[str, Any]:
    words = list(command or ("/bin/true",))
    return {
        "apiVersion": "shunter.dev/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"command": words, **spec},
    }


async def apply(harness: GatewayHarness, *documents: object, key: str | None = None) -> list[tuple[str, Any]]:
    """What became of each, in the order of the answer."""
    found = await harness.gateway.jobs.apply_file(documents, namespace="default", key=key)
    return [_summarize(each) for each in found]


def _summarize(each: SubmittedJob | Applied) -> tuple[str, Any]:
    if isinstance(each, SubmittedJob):
        return each.name, each.created
    return each.object.meta.name, each.action


async def names_of(harness: GatewayHarness) -> list[str]:
    """Of all jobs and objects that the cluster has."""
    jobs = (await harness.gateway.jobs.page(JobQuery(None))).items
    objects = (await harness.gateway.objects.objects(ObjectQuery())).items
    return [*(job.name for job in jobs), *(object.meta.name for object in objects)]


def test_jobs_and_objects_of_one_file_are_one_commit_in_the_order_of_the_file() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        before = harness.engine.committed_version
        file = [testbed(), job("fetch"), batch_job(), job("report", after=[{"job": "fetch"}]), scheduling()]
        assert await apply(harness, *file) == [
            ("bench", "created"), ("fetch", True), ("crawler", "created"), ("report", True), ("first", "created"),
        ]  # fmt: skip
        assert harness.engine.committed_version == before + 1
        assert await apply(harness, *file) == [
            ("bench", "unchanged"), ("fetch", False), ("crawler", "unchanged"), ("report", False),
            ("first", "unchanged"),
        ]  # fmt: skip

    run_scenario(scenario)


def test_what_is_wrong_is_told_of_both_with_the_places_of_the_whole_file() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        with pytest.raises(Invalid) as refused:
            await apply(
                harness, job("fetch"), testbed(slotsPerNode=-1), job("odd", count=-1), {"kind": "Pod"}, batch_job()
            )
        fields = [problem.field for problem in refused.value.problems]
        assert fields == ["items[1].spec.slotsPerNode", "items[2].spec.count", "items[3].kind"]
        with pytest.raises(Invalid) as refused:  # one of each kind
            await apply(harness, batch_job(commandSpec={}), job("odd", count=-1))
        assert {problem.field.partition(".")[0] for problem in refused.value.problems} == {"items[0]", "items[1]"}
        assert await names_of(harness) == []

    run_scenario(scenario)


def test_where_the_cluster_refuses_one_kind_nothing_of_the_other_is_taken() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        with pytest.raises(Invalid) as refused:
            await apply(harness, testbed(), batch_job(), job("late", after=[{"job": "nowhere"}]))
        assert [problem.field for problem in refused.value.problems] == ["items[2].spec.after[0].job"]
        stale = batch_job(metadata={"resourceVersion": "7"})
        with pytest.raises(Conflict):
            await apply(harness, job("fetch"), stale)
        assert await names_of(harness) == []
        await apply(harness, job("fetch", "/bin/sleep", "9"))
        with pytest.raises(Conflict, match="fetch"):
            await apply(harness, testbed(), job("fetch", "/bin/other"))
        assert await names_of(harness) == ["fetch"]

    run_scenario(scenario)


def test_what_can_never_run_is_told_with_its_place() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1")
        await harness.engine.label_node("n1", {"of-no-node": "0"})
        await apply(harness, testbed(), batch_job())
        many = scheduling() | {"spec": {"testbed": {"name": "bench"}, "queueBased": [{"name": "crawler"}] * 9}}
        with pytest.raises(Invalid) as refused:
            await apply(harness, job("fetch"), many)
        assert [problem.field for problem in refused.value.problems] == ["items[1].spec"]
        assert sorted(await names_of(harness)) == ["bench", "crawler"]

    run_scenario(scenario)


def test_a_file_that_is_sent_again_because_its_answer_was_lost_changes_nothing() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        fresh = batch_job(metadata={"resourceVersion": "0"})  # would be a conflict, if it were taken for another apply
        await apply(harness, fresh, job("fetch"), key="k")
        version = harness.engine.committed_version
        assert await apply(harness, fresh, job("fetch"), key="k") == [("crawler", "unchanged"), ("fetch", False)]
        with pytest.raises(Invalid, match="in use by another request"):
            await apply(harness, fresh, job("fetch"), job("more"), key="k")
        assert harness.engine.committed_version == version
        assert await names_of(harness) == ["fetch", "crawler"]

    run_scenario(scenario)
