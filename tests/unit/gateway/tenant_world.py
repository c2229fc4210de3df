"""Two tenants of one cluster with content of every kind, whose keys call the API: for tests of what they must not learn
of each other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from shunter.adapters.crypto.key_ring import KeyRing
from shunter.api.http.app import App, build_app
from shunter.api.http.routing import Route
from shunter.model.identity.roles import Role
from shunter.model.objects.object_meta import ObjectName
from shunter.ports.gateway import CallerGateway
from shunter.ports.identity import NewKey, TenantChange
from tests.unit.api.asgi_client import Call, Client
from tests.unit.gateway.harness import GatewayHarness, run_scenario

ROLES = (Role.ADMIN,)
TENANTS = ("red", "blue")
BATCH = "batchjob.gcr.io/v1alpha1"


class KeyText:
    """A source of keys in memory."""

    name = "memory"
    may_create = True
    text = ""

    def version(self) -> object:
        return self.text or None

    def read(self) -> str:
        return self.text

    def write(self, text: str) -> None:
        self.text = text


class World:
    """The tenants red and blue with a job, a secret, a template, a dead letter, a user, objects and history each, and a
    job of the cluster. All that a tenant can write contains the tenant's name, apart from names that routes are asked
    about."""

    def __init__(self, harness: GatewayHarness) -> None:
        self.harness = harness
        self.keys: dict[str, str] = {}
        self.app: App = build_app(harness.local_gateway)

    async def build(self) -> World:
        harness, gateway = self.harness, self.harness.gateway
        node = await harness.join("n1")
        harness.engine.secrets.keys = KeyRing(KeyText())
        for name in TENANTS:
            await gateway.tenants.create(name, TenantChange())
            self.keys[name] = (await gateway.identity.create_key(NewKey(ROLES, tenant=name))).key
            await harness.run_to_end(node, "dead", exit_code=1, namespace=name)
        for name in TENANTS:
            await harness.run("hidden", namespace=name, labels={"note": f"of-{name}"}, command=["/bin/true", name])
            await gateway.secrets.set(name, "hidden", b"value")
            await harness.run("nightly", namespace=name, schedule="0 3 * * *", command=["/bin/true", name])
            await gateway.identity.put_user(f"user-of-{name}", (Role.VIEWER,), None, name)
            await self.call(name, "GET", "/api/v1/me")  # the use of its key is noted
        for number, name in enumerate(TENANTS):
            await self._build_objects(name, number)
        await harness.run("hidden")
        await harness.settle()
        return self

    async def _build_objects(self, tenant: str, number: int) -> None:
        """A Scheduling with a BatchJob that runs, and one in history."""
        harness, label = self.harness, f"example.org/lab-{number}"
        node = await harness.join(f"slots-{number}")
        await harness.engine.label_node(f"slots-{number}", {label: "0"})
        objects, harness.workers.sent = harness.gateway.objects, []
        testbed, *jobs, hidden, past = objects_of(tenant, slots=label)
        await objects.apply([testbed, *jobs, past], namespace=tenant)
        await harness.settle()
        for ran, order in harness.orders():
            await harness.end(ran, order)
        await objects.delete("Scheduling", ObjectName(tenant, "past"))
        await harness.settle()
        await objects.apply([hidden], namespace=tenant)
        await harness.settle()
        assert [ran for ran, _ in harness.orders()] == [node]

    def gateway_of(self, tenant: str) -> CallerGateway:
        caller = self.harness.local_gateway.authenticate(self.keys[tenant])
        assert caller is not None
        return self.harness.local_gateway.for_caller(caller, "getMe")

    def start(self, tenant: str, method: str, path: str, body: bytes = b"") -> Call:
        headers = {"authorization": f"Bearer {self.keys[tenant]}"}
        headers |= {"content-type": "application/json"} if body else {}
        return Client(self.app).start(method, path, body=body, headers=headers)

    async def call(self, tenant: str, method: str, path: str, body: bytes = b"") -> Any:
        return await self.start(tenant, method, path, body).finished()


def in_world(scenario: Callable[[World], Awaitable[None]]) -> None:
    async def main(harness: GatewayHarness) -> None:
        await scenario(await World(harness).build())

    run_scenario(main)


def objects_of(namespace: str, *, slots: str) -> list[dict[str, Any]]:
    """A Testbed, and two BatchJobs with a Scheduling each. Its slots are on nodes with the label `slots`."""

    def document(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
        metadata = {"name": name, "namespace": namespace, "annotations": {"note": f"of-{namespace}"}}
        return {"apiVersion": BATCH, "kind": kind, "metadata": metadata, "spec": spec}

    size = {"slotsPerNode": 2, "nodeLabel": slots, "resourcesPerSlot": {"cpu": "100m"}}
    command = {"commandSpec": {"command": ["/bin/true", namespace]}}
    return [
        document("Testbed", "hidden", size),
        document("BatchJob", "hidden", command),
        document("BatchJob", "past", command),
        document("Scheduling", "hidden", {"queueBased": [{"name": "hidden"}], "testbed": {"name": "hidden"}}),
        document("Scheduling", "past", {"queueBased": [{"name": "past"}], "testbed": {"name": "hidden"}}),
    ]


def path_of(route: Route, namespace: str) -> str:
    """About the job, template, ... of a namespace, where a path can name one."""
    names = {
        "job": "hidden", "template": "nightly", "index": "0", "name": "n1", "group": "batchjob.gcr.io",
        "version": "v1alpha1", "namespace": namespace, "object": "hidden", "uid": "1", "user": "ben",
        "key": "aaaaaaaaaa", "queue": namespace, "tenant": namespace, "secret": "hidden", "decision": "1-1",
        "token": "aaaaaaaaaa",
        "scheduler": "mine",
    }  # fmt: skip
    path = route.path.format_map(names)
    known = {parameter.name for parameter in route.query.parameters}
    return f"{path}?namespace={namespace}" if "namespace" in known else path
