"""What tenant red can get to read contains nothing that tenant blue wrote: answers of all routes about what red owns,
and about everything; STOMP topics; plans and explanations. Everything that blue wrote contains its name."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from shunter.api.http.routing import Route
from shunter.api.routes.table import ROUTES
from shunter.model.identity.scopes import SCOPED
from shunter.model.objects.object_meta import ObjectName
from shunter.ports.identity import TenantChange
from shunter.ports.objects import PastQuery
from tests.unit.api.asgi_client import Client
from tests.unit.gateway.tenant_world import TENANTS, World, in_world, objects_of, path_of

FOREIGN = b"blue"
OWN = [route for route in ROUTES if route.name in SCOPED]
READS = [route for route in OWN if route.method == "GET"]


async def body_of(world: World, route: Route, path: str, body: bytes = b"") -> bytes:
    """All of the answer, or what a stream says before it waits for more."""
    call = world.start("red", route.method, path, body)
    await world.harness.settle(1.0)
    if not call.task.done():
        call.hang_up()
        await world.harness.settle()
        call.task.cancel()
    assert call.response.status, path
    return call.response.body


def test_no_route_tells_a_tenant_what_another_one_wrote() -> None:
    """Reads of what it owns, of what the namespace of the other one is said to have, and of everything."""

    async def scenario(world: World) -> None:
        leaks, answered = [], 0
        for route in READS:
            known = {parameter.name for parameter in route.query.parameters}
            paths = [path_of(route, "red")]
            if "namespace" in known:
                paths.append(f"{path_of(route, 'red').partition('?')[0]}?namespace=*")
            if "stream" in known:
                paths.append(f"{paths[0]}&stream=true")
            for path in paths:
                body = await body_of(world, route, path)
                answered += bool(body)
                leaks += [(path, body)] if FOREIGN in body else []
        assert not leaks
        assert answered > len(READS)

    in_world(scenario)


def test_no_answer_to_a_change_tells_a_tenant_what_another_one_wrote() -> None:
    job = {
        "apiVersion": "shunter.dev/v1", "kind": "Job", "metadata": {"name": "hidden"},
        "spec": {"command": ["a"], "secrets": [{"name": "hidden", "env": "A"}]},
    }  # fmt: skip
    bodies = [b"", b"{}", json.dumps(job).encode()]
    bodies += [json.dumps(each).encode() for each in objects_of("red", slots="of-no-node")]

    async def scenario(world: World) -> None:
        leaks = []
        for route in [each for each in OWN if each.method != "GET"]:
            for body in bodies if route.body is not None else [b""]:
                answer = await body_of(world, route, path_of(route, "red"), body)
                leaks += [(route.name, answer)] if FOREIGN in answer else []
        assert not leaks

    in_world(scenario)


def test_a_past_scheduling_of_another_tenant_is_not_found_by_its_uid() -> None:
    async def scenario(world: World) -> None:
        past = await world.harness.gateway.objects.past_schedulings(PastQuery())
        uids = {each.namespace: each.uid for each in past.items}
        assert uids.keys() == set(TENANTS)
        paths = [f"/api/v1/schedulings/past/{uid}" for uid in (uids["red"], uids["blue"], 999)]
        own, other, unknown = [await world.call("red", "GET", path) for path in paths]
        assert (own.status, other.status, unknown.status) == (200, 404, 404)
        assert other.json["detail"].replace(str(uids["blue"]), "999") == unknown.json["detail"]

    in_world(scenario)


class StompClient:
    """A WebSocket to the application, in process."""

    def __init__(self, world: World, tenant: str) -> None:
        self.received = ""
        self._incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._incoming.put_nowait({"type": "websocket.connect"})
        headers = [(b"authorization", f"Bearer {world.keys[tenant]}".encode())]
        scope = {"type": "websocket", "path": "/scheduler", "query_string": b"", "headers": headers, "client": ("", 1)}
        self.task = asyncio.create_task(world.app(scope, self._incoming.get, self._send))

    def send(self, command: str, **headers: str) -> None:
        lines = [command, *(f"{name.replace('_', '-')}:{value}" for name, value in headers.items())]
        self._incoming.put_nowait({"type": "websocket.receive", "text": "\n".join(lines) + "\n\n\0"})

    async def _send(self, message: Any) -> None:
        self.received += message.get("text") or ""


def test_topics_tell_a_tenant_of_its_own_objects_only() -> None:
    async def scenario(world: World) -> None:
        client = StompClient(world, "red")
        client.send("CONNECT", accept_version="1.2")
        topics = ("jobs", "jobs/new", "namespaces/blue/jobs", "namespaces/blue/jobs/new", "namespaces/default/jobs")
        for topic in topics:
            client.send("SUBSCRIBE", id=topic, destination=f"/topic/{topic}")
        await world.harness.settle(0.1)
        for namespace in (*TENANTS, "default"):
            [_, job, *_] = objects_of(namespace, slots="")
            job["metadata"]["name"] = "new"
            await world.harness.gateway.objects.apply([job], namespace=namespace)
            await world.harness.settle(0.1)
        messages = [frame for frame in client.received.split("\0") if frame.startswith("MESSAGE")]
        subscriptions = [line for frame in messages for line in frame.split("\n") if line.startswith("subscription:")]
        heard = {line.removeprefix("subscription:") for line in subscriptions}
        assert heard == {"jobs", "jobs/new", "namespaces/default/jobs"}
        assert FOREIGN.decode() not in "".join(messages).replace("namespaces/blue", "")
        await world.harness.gateway.identity.revoke_key(world.keys["red"].split("_")[1])
        await world.harness.settle(2.0)
        assert "no longer valid" in client.received
        await client.task

    in_world(scenario)


def test_objects_of_different_owners_do_not_refer_to_each_other() -> None:
    """Not even at the wish of who sees both: the status of each would name what belongs to the other."""

    def scheduling(name: str, namespace: str, of: str) -> dict[str, Any]:
        spec = {"queueBased": [{"name": "past", "namespace": of}], "testbed": {"name": "hidden", "namespace": of}}
        metadata = {"name": name, "namespace": namespace}
        return {"apiVersion": "batchjob.gcr.io/v1alpha1", "kind": "Scheduling", "metadata": metadata, "spec": spec}

    async def scenario(world: World) -> None:
        gateway, path = world.harness.gateway, "/api/v1/apply"
        for namespace, of in (("red", "blue"), ("default", "blue"), ("red", "default")):
            body = json.dumps(scheduling("thief", namespace, of)).encode()
            headers = {"authorization": "Bearer secret", "content-type": "application/json"}
            answer = await Client(world.app).start("POST", path, body=body, headers=headers).finished()
            assert answer.status == 400
            assert "has another owner" in answer.json["problems"][0]["message"]
        answer = await world.call("red", "POST", path, json.dumps(scheduling("thief", "red", "blue")).encode())
        unknown = await world.call("red", "POST", path, json.dumps(scheduling("thief", "red", "ghost")).encode())
        assert (answer.status, answer.body.replace(b"blue", b"ghost")) == (404, unknown.body)
        early = scheduling("early", "default", "green")  # before that namespace has an owner
        await gateway.objects.apply([early], namespace="default")
        await gateway.tenants.create("green", TenantChange())
        [testbed, job, past, *_] = objects_of("green", slots="example.org/lab-0")
        await gateway.objects.apply([testbed, job, past], namespace="green")
        await world.harness.settle()
        found = world.harness.engine.state.objects
        assert found.testbeds[ObjectName("green", "hidden")].status.claims == ()
        assert found.batch_jobs[ObjectName("green", "past")].claim is None
        green = await gateway.explain.why_object("BatchJob", ObjectName("green", "past"))
        assert "no Scheduling names it" in green.sentence

    in_world(scenario)


def test_a_tenant_plans_and_explains_its_own_objects() -> None:
    async def scenario(world: World) -> None:
        documents = objects_of("red", slots="")[1:4]
        answer = await world.call("red", "POST", "/api/v1/plan", json.dumps(documents[0]).encode())
        assert (answer.status, answer.json["objects"][0]["action"]) == (200, "unchanged")
        said = await world.call("red", "GET", "/api/v1/jobs/bj.past/why")
        assert said.status == 200
        assert "no Scheduling names it" in said.json["sentence"]
        other = await world.call("red", "GET", "/api/v1/jobs/bj.past/why?namespace=blue")
        assert other.status == 404

    in_world(scenario)


def test_testbeds_are_made_by_who_sees_the_cluster() -> None:
    async def scenario(world: World) -> None:
        testbed = json.dumps(objects_of("red", slots="of-no-node")[0]).encode()
        for path in ("/api/v1/apply", "/api/v1/plan"):
            answer = await world.call("red", "POST", path, testbed)
            assert answer.status == 403
            assert "reserves nodes" in answer.json["detail"]
        answer = await world.call("red", "GET", "/external/testbeds/hidden")
        assert answer.status == 200
        assert answer.json["name"] == "hidden"

    in_world(scenario)
