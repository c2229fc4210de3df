"""Quotas of what a tenant has on nodes: tasks wait while one is used up, `why` names it, and no commit exceeds it."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.engine.state.registries.tenants import Tenant
from shunter.model.errors import Busy, Conflict
from shunter.model.identity.quotas import PLACED
from shunter.model.objects.object_meta import ObjectName
from shunter.ports.identity import TenantChange
from shunter.ports.jobs import JobQuery
from tests.unit.gateway.harness import GatewayHarness, reference, run_scenario
from tests.unit.gateway.tenant_world import objects_of


async def create(harness: GatewayHarness, name: str, **quotas: int) -> None:
    await harness.gateway.tenants.create(name, TenantChange(quotas=quotas))


def used(harness: GatewayHarness, name: str = "red") -> dict[str, int]:
    return dict(zip(PLACED, harness.engine.state.placed_use(name), strict=True))


async def why(harness: GatewayHarness, name: str, namespace: str = "red") -> str:
    found = await harness.gateway.explain.why(reference(name, namespace=namespace))
    return found.sentence


@pytest.mark.parametrize(
    ("quota", "limit", "resources", "count", "sentence"),
    [
        ("running", 3, {"cpu": 1}, 3, "tenant red uses 3 of its quota of 3 running, and the next task needs 1"),
        ("cpu", 4000, {"cpu": "1500m"}, 2, "tenant red uses 3 of its quota of 4 cpu, and the next task needs 1500m"),
        (
            "memory", 2**30, {"cpu": 1, "memory": "512Mi"}, 2,
            "tenant red uses 1Gi of its quota of 1Gi memory, and the next task needs 512Mi",
        ),
        ("gpu", 1, {"cpu": 1, "gpu": 1}, 1, "tenant red uses 1 of its quota of 1 gpu, and the next task needs 1"),
    ],
)  # fmt: skip
def test_tasks_wait_for_a_quota_that_why_names(
    quota: str, limit: int, resources: dict[str, Any], count: int, sentence: str
) -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await create(harness, "red", **{quota: limit})
        await harness.join("n1", cpu=16, gpu=4)
        job = await harness.run("mine", 6, namespace="red", resources=resources)
        await harness.run("theirs", 2, resources={"cpu": 1})
        assert harness.counts(job.id) == {"assigned": count, "queued": 6 - count}
        assert used(harness)[quota] <= limit
        assert sentence in await why(harness, "mine")
        assert used(harness, "") == dict.fromkeys(PLACED, 0)

    run_scenario(scenario)


def test_a_task_that_ends_lets_the_next_one_start() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await create(harness, "red", running=2)
        node = await harness.join("n1", cpu=16)
        await harness.run("mine", 5, namespace="red", resources={"cpu": 1})
        ended = 0
        while orders := harness.orders():
            assert used(harness)["running"] <= 2
            for _, order in orders:
                ended += order.last - order.first + 1
                await harness.end(node, order)
        assert ended == 5
        assert used(harness)["running"] == 0

    run_scenario(scenario)


def test_a_quota_that_is_raised_lets_more_start_and_one_that_is_lowered_ends_nothing() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await create(harness, "red", cpu=2000)
        node = await harness.join("n1", cpu=16)
        await harness.run("mine", 8, namespace="red", resources={"cpu": 1})
        assert used(harness)["cpu"] == 2000
        await harness.gateway.tenants.update("red", TenantChange(quotas={"cpu": 5000}))
        await harness.settle()
        assert used(harness)["cpu"] == 5000
        await harness.gateway.tenants.update("red", TenantChange(quotas={"cpu": 1000}))
        await harness.settle()
        assert used(harness)["cpu"] == 5000
        for _, order in harness.orders():
            await harness.end(node, order)
        assert used(harness)["cpu"] <= 1000
        await harness.gateway.tenants.update("red", TenantChange(quotas={"cpu": None}))
        await harness.settle()
        assert used(harness)["cpu"] == 3000

    run_scenario(scenario)


def test_namespaces_of_a_tenant_share_its_quotas_and_others_do_not() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.gateway.tenants.create("red", TenantChange(namespaces=("pink",), quotas={"running": 3}))
        await create(harness, "blue", running=3)
        await harness.join("n1", cpu=16)
        for namespace in ("red", "pink", "blue"):
            await harness.run("job", 4, namespace=namespace, resources={"cpu": 1})
        assert used(harness)["running"] == used(harness, "blue")["running"] == 3

    run_scenario(scenario)


def test_a_gang_waits_until_the_quota_admits_all_of_it() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await create(harness, "red", running=4)
        node = await harness.join("n1", cpu=16)
        await harness.run("first", 2, namespace="red", resources={"cpu": 1})
        gang = await harness.run("gang", 3, namespace="red", gang=True, resources={"cpu": 1})
        assert harness.counts(gang.id) == {"queued": 3}
        assert "tenant red uses 2 of its quota of 4 running, and the gang needs 3" in await why(harness, "gang")
        for _, order in harness.orders():
            await harness.end(node, order)
        assert harness.counts(gang.id) == {"assigned": 3}

    run_scenario(scenario)


def test_a_task_that_could_never_start_within_a_quota_is_refused() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await create(harness, "red", cpu=4000)
        expected = "tenant 'red' has a quota of 4 cpu, but a task needs 8; request less, or ask"
        with pytest.raises(Conflict, match=expected):
            await harness.run("mine", namespace="red", resources={"cpu": 8})
        await harness.run("mine", namespace="blue", resources={"cpu": 8})

    run_scenario(scenario)


def test_a_gang_that_could_never_start_within_a_quota_is_refused() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await create(harness, "red", running=4, cpu=3000)
        for count, cpu, words in (
            (5, "100m", "4 running, but its gang needs 5"),
            (2, "2", "3 cpu, but its gang needs 4"),
        ):
            with pytest.raises(Conflict, match=f"tenant 'red' has a quota of {words} together; use a smaller gang"):
                await harness.run("gang", count, namespace="red", gang=True, resources={"cpu": cpu})
        groups = [{"name": name, "count": 3, "command": ["a"]} for name in ("a", "b")]
        document = {"apiVersion": "shunter.dev/v1", "kind": "Job", "metadata": {"name": "both"}}
        with pytest.raises(Conflict, match="its gang needs 6"):
            whole = {**document, "spec": {"gang": True, "groups": groups}}
            await harness.gateway.jobs.submit([whole], namespace="red", key=None)
        apart = {**document, "spec": {"groups": [{**each, "gang": True} for each in groups]}}
        await harness.gateway.jobs.submit([apart], namespace="red", key=None)

    run_scenario(scenario)


def test_an_application_larger_than_a_quota_fails_and_a_smaller_one_counts_as_running() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await create(harness, "red", running=1)
        await harness.join("n1")
        await harness.engine.label_node("n1", {"example.org/lab": "0"})
        testbed, small, large, schedule_small, schedule_large = objects_of("red", slots="example.org/lab")
        schedule_large["spec"]["queueBased"] *= 2  # two slots, so two executors
        await harness.gateway.objects.apply([testbed, small, large, schedule_large], namespace="red")
        await harness.settle()
        failed = await harness.gateway.explain.why_object("BatchJob", ObjectName("red", "past"))
        assert "tenant 'red' has a quota of 1 running, but it needs 2 together; ask for fewer tasks" in failed.sentence
        await harness.gateway.objects.delete("Scheduling", ObjectName("red", "past"))
        await harness.gateway.objects.apply([schedule_small], namespace="red")
        await harness.run("job", namespace="red", resources={"cpu": "1"})
        assert used(harness)["running"] == 1
        assert "tenant red uses 1 of its quota of 1 running" in await why(harness, "job")

    run_scenario(scenario)


def test_why_says_that_a_quota_that_was_lowered_keeps_tasks_from_ever_starting() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await create(harness, "red")
        await harness.join("n1", cpu=2)
        await harness.run("filler", 2, resources={"cpu": 1})
        await harness.run("gang", 3, namespace="red", gang=True, resources={"cpu": 1})
        await harness.run("big", 1, namespace="red", resources={"cpu": 2})
        await harness.gateway.tenants.update("red", TenantChange(quotas={"running": 2, "cpu": 1000}))
        await harness.settle()
        never = "can never start within the quota of"
        assert f"the gang needs 3 running and {never} 2 of tenant red" in await why(harness, "gang")
        assert f"the next task needs 2 cpu and {never} 1 of tenant red" in await why(harness, "big")

    run_scenario(scenario)


def test_what_a_tenant_uses_is_known_after_a_start_from_a_snapshot() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await create(harness, "red", running=3)
        await harness.join("n1", cpu=16)
        await harness.run("mine", 5, namespace="red", resources={"cpu": 1})
        before = used(harness)
        await harness.engine.snapshots.save(harness.engine.epoch)
        await harness.restart_manager()
        assert used(harness) == before
        assert before["running"] == 3

    run_scenario(scenario)


def test_quotas_survive_a_crash() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await create(harness, "red", running=2, cpu=3000)
        limited = dict(harness.engine.state.tenants.limited)
        assert limited == {
            "red": Tenant("red", ("red",), ("red",), {"cpu": 3000, "running": 2}, limited["red"].created_ms)
        }
        await harness.restart_manager()
        assert harness.engine.state.tenants.limited == limited

    run_scenario(scenario)


def service(count: int, cpu: str = "1") -> dict[str, Any]:
    return {
        "apiVersion": "shunter.dev/v1", "kind": "Job", "metadata": {"name": "web", "namespace": "red"},
        "spec": {"type": "service", "command": ["serve"], "count": count, "resources": {"cpu": cpu}},
    }  # fmt: skip


async def pending(harness: GatewayHarness) -> str:
    return (await harness.gateway.tenants.get("red")).used["queued"]


def test_a_service_grows_within_the_quota_of_queued_tasks_only() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await create(harness, "red", queued=4, running=2)
        await harness.join("n1", cpu=16)
        services, job = harness.gateway.services, reference("web", namespace="red")
        await harness.gateway.jobs.submit([service(4)], namespace="red", key=None)
        await harness.settle()
        assert await pending(harness) == "2"
        with pytest.raises(Conflict, match="has a quota of 4 queued tasks, but this adds 5"):
            await services.scale(job, {"": 9})
        for change in (services.scale(job, {"": 7}), services.update(job, service(7), namespace="red", node=None)):
            with pytest.raises(Busy, match="has 2 of 4 queued tasks, and this adds 3"):
                await change
        with pytest.raises(Busy, match="has 2 of 4 queued tasks"):
            await harness.gateway.jobs.submit([service(7)], namespace="red", key=None)
        await services.scale(job, {"": 6})
        assert await pending(harness) == "4"
        [same] = await harness.gateway.jobs.submit([service(6)], namespace="red", key=None)
        assert not same.created  # it adds nothing
        await services.scale(job, {"": 1})
        await harness.settle()
        assert await pending(harness) == "0"

    run_scenario(scenario)


def test_an_update_whose_tasks_could_never_start_is_refused() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await create(harness, "red", cpu=2000)
        await harness.join("n1", cpu=16)
        await harness.gateway.jobs.submit([service(2)], namespace="red", key=None)
        job = reference("web", namespace="red")
        with pytest.raises(Conflict, match="has a quota of 2 cpu, but a task needs 3"):
            await harness.gateway.services.update(job, service(2, "3"), namespace="red", node=None)
        assert used(harness)["cpu"] == 2000

    run_scenario(scenario)


def test_history_keeps_the_last_finished_jobs_of_a_tenant_up_to_its_quota() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await create(harness, "red", history=2)
        node = await harness.join("n1")
        for namespace in ("red", "blue"):
            for number in range(4):
                await harness.run_to_end(node, f"job-{number}", namespace=namespace)
        assert (await harness.gateway.tenants.get("red")).used["history"] == "4"
        await harness.engine.purge()
        found = await harness.gateway.jobs.page(JobQuery("red"))
        assert [job.name for job in found.items] == ["job-3", "job-2"]
        shown = await harness.gateway.tenants.get("red")
        assert (shown.used["history"], shown.quotas["history"]) == ("2", "2")
        assert (await harness.gateway.jobs.page(JobQuery("blue"))).total == 4

    run_scenario(scenario)
