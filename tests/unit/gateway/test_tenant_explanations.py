"""What `why`, `plan` and the ends of tasks say to a tenant names nothing of others: no job, user, namespace, testbed,
label or queue, whatever they keep it waiting for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from shunter.api.http.app import build_app
from shunter.model.identity.roles import Role
from shunter.planning.view import ClusterView, Decision
from shunter.ports.admin import QueueChange
from shunter.ports.identity import NewKey, TenantChange
from tests.unit.api.asgi_client import Call, Client
from tests.unit.gateway.harness import GatewayHarness, run_scenario

WORDS = ("blue", "sapphire", "azure", "indigo", "teal")  # its namespace, jobs and testbeds, labels, user and queue


class Tenants:
    """Red and blue on one cluster. What blue has is called by WORDS."""

    def __init__(self, harness: GatewayHarness) -> None:
        self.harness, self.keys = harness, dict[str, str]()
        self._client = Client(build_app(harness.local_gateway))

    async def build(self) -> Tenants:
        gateway = self.harness.gateway
        for name, queue, user in (("red", "scarlet", "ruby"), ("blue", "teal", "indigo")):
            await gateway.tenants.create(name, TenantChange(queues=(queue,)))
            await gateway.identity.put_user(user, (Role.SUBMITTER,), None, name)
            self.keys[name] = (await gateway.identity.create_key(NewKey((Role.SUBMITTER,), user, tenant=name))).key
        return self

    async def call(self, tenant: str, method: str, path: str, document: object = None) -> Any:
        body = b"" if document is None else msgspec.json.encode(document)
        headers = {"authorization": f"Bearer {self.keys[tenant]}", "content-type": "application/json"}
        call: Call = self._client.start(method, path, body=body, headers=headers)
        return await call.finished()

    async def submit(self, tenant: str, name: str, *, starts: bool = False, **spec: Any) -> None:
        answer = await self.call(tenant, "POST", "/api/v1/jobs", manifest(name, **spec))
        assert answer.status in (200, 201), answer.body
        await self.harness.settle()
        for node, order in self.harness.orders() if starts else ():
            await self.harness.start_task(node, order, segment=order.job)

    async def why(self, job: str) -> Any:
        return await self.read("GET", f"/api/v1/jobs/{job}/why")

    async def plan(self, name: str, **spec: Any) -> Any:
        return await self.read("POST", "/api/v1/plan", manifest(name, **spec))

    async def read(self, method: str, path: str, document: object = None) -> Any:
        answer = await self.call("red", method, path, document)
        assert answer.status == 200, answer.body
        for word in WORDS:
            assert word.encode() not in answer.body.lower(), answer.body
        return answer.json


def manifest(name: str, **spec: Any) -> dict[str, Any]:
    labels = {"shade": "azure"} if name.startswith("sapphire") else {}
    return {
        "apiVersion": "shunter.dev/v1", "kind": "Job", "metadata": {"name": name, "labels": labels},
        "spec": {"command": ["/bin/true"], **spec},
    }  # fmt: skip


def on_one_cluster(scenario: Callable[[Tenants], Awaitable[None]]) -> None:
    async def main(harness: GatewayHarness) -> None:
        await scenario(await Tenants(harness).build())

    run_scenario(main)


def test_an_estimate_names_no_job_of_another_tenant() -> None:
    async def scenario(tenants: Tenants) -> None:
        await tenants.harness.join("n1", cpu=1)
        await tenants.submit("blue", "sapphire", starts=True, estimate="10m", queue="teal")
        await tenants.submit("red", "next")
        found = await tenants.why("next")
        assert found["start"]["basis"] == "when a job of another tenant ends on n1"
        assert found["start"]["at"] == "2023-11-14T22:23:20.000Z"
        planned = await tenants.plan("later")
        assert planned["jobs"][0]["waits"] == 1

    on_one_cluster(scenario)


def test_a_task_waits_in_a_strict_queue_for_a_job_of_another_tenant() -> None:
    async def scenario(tenants: Tenants) -> None:
        await tenants.harness.gateway.queues.patch("default", QueueChange(strict=True))
        await tenants.submit("blue", "sapphire")
        await tenants.submit("red", "next", resources={"cpu": 2})
        sentence = "queue default is strict, and a job of another tenant was submitted first"
        assert sentence in (await tenants.why("next"))["sentence"]
        assert sentence in (await tenants.read("GET", "/api/v1/jobs/next/tasks/0/why"))["sentence"]
        assert sentence in (await tenants.plan("later", resources={"cpu": 3}))["jobs"][0]["sentence"]

    on_one_cluster(scenario)


def test_room_is_reserved_for_a_gang_of_another_tenant() -> None:
    async def scenario(tenants: Tenants) -> None:
        for node in ("n1", "n2"):
            await tenants.harness.join(node, cpu=2)
        await tenants.submit("blue", "sapphire-early", starts=True, priority=50, resources={"cpu": 2}, estimate="10m")
        await tenants.submit("blue", "sapphire-gang", count=2, gang=True, priority=55, resources={"cpu": 2})
        await tenants.submit("red", "long", resources={"cpu": 1})
        expected = "room is reserved for a job of another tenant until about"
        assert expected in (await tenants.why("long"))["sentence"]

    on_one_cluster(scenario)


def test_what_a_plan_preempts_of_another_tenant_has_no_name() -> None:
    async def scenario(tenants: Tenants) -> None:
        await tenants.harness.join("n1", cpu=2)
        await tenants.submit("blue", "sapphire-1", starts=True, priority=1)
        await tenants.submit("blue", "sapphire-2", starts=True, priority=1)
        planned = await tenants.plan("boss", priority=90, resources={"cpu": 2})
        assert planned["preemptions"] == [
            {"name": "a job of another tenant", "namespace": "", "node": "n1", "count": 2}
        ]

    on_one_cluster(scenario)


def test_a_preempted_task_does_not_say_for_which_job_of_another_tenant() -> None:
    async def scenario(tenants: Tenants) -> None:
        await tenants.harness.join("n1", cpu=1)
        await tenants.submit("red", "victim", starts=True, priority=1)
        await tenants.submit("blue", "sapphire", priority=90)
        for path in ("/api/v1/jobs/victim/tasks/0", "/api/v1/events", "/api/v1/jobs/victim/tasks/0/why"):
            await tenants.read("GET", path)
        task = await tenants.read("GET", "/api/v1/jobs/victim/tasks/0")
        assert task["reason"] == "preempted by a job of another tenant"
        await tenants.why("victim")

    on_one_cluster(scenario)


def test_a_testbed_of_another_tenant_that_holds_the_room_has_no_name() -> None:
    async def scenario(tenants: Tenants) -> None:
        await tenants.harness.join("n1", cpu=2)
        await tenants.harness.gateway.nodes.set_labels("n1", {"bench": "0"})
        testbed = {
            "apiVersion": "batchjob.gcr.io/v1alpha1", "kind": "Testbed",
            "metadata": {"name": "sapphire", "namespace": "blue"},
            "spec": {"slotsPerNode": 2, "nodeLabel": "bench", "resourcesPerSlot": {"cpu": 1}},
        }  # fmt: skip
        await tenants.harness.gateway.objects.apply([testbed], namespace="blue")
        await tenants.harness.settle()
        await tenants.submit("red", "next")
        found = await tenants.why("next")
        assert "a testbed of another tenant holds cpu" in found["sentence"]
        await tenants.plan("later")

    on_one_cluster(scenario)


class TellingPolicy:
    """Places nothing, and names the job of another tenant as the reason."""

    name, fast = "talker", True

    def decide(self, view: ClusterView, _now: float, _budget: int) -> Decision:
        return Decision(view.version, reasons={each.task_class.id: "sapphire comes first" for each in view.queued})


def test_the_free_text_of_a_policy_is_for_those_who_see_everything() -> None:
    async def scenario(tenants: Tenants) -> None:
        tenants.harness.engine.policy = TellingPolicy()
        await tenants.harness.join("n1", cpu=1)
        await tenants.submit("red", "next")
        assert (await tenants.why("next"))["sentence"] == "Pending: talker has not placed it."
        await tenants.plan("later")

    on_one_cluster(scenario)


@pytest.mark.parametrize("namespace", ["blue", "ghost"])
def test_a_plan_for_another_tenant_is_refused_as_for_what_never_existed(namespace: str) -> None:
    async def scenario(tenants: Tenants) -> None:
        answer = await tenants.call("red", "POST", f"/api/v1/plan?namespace={namespace}", manifest("next"))
        assert (answer.status, answer.json["detail"]) == (
            404,
            f"namespace '{namespace}' does not exist; `shunter whoami` shows those that you see",
        )
        answer = await tenants.call("red", "POST", "/api/v1/plan", manifest("next", queue="teal"))
        assert (answer.status, answer.json["detail"]) == (
            404,
            "queue 'teal' does not exist; `shunter queues` lists yours",
        )

    on_one_cluster(scenario)
