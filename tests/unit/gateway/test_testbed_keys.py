"""A key that is bound to a testbed is a credential for one external scheduler: it reads the testbed's namespace, and
decides on this testbed only."""

from __future__ import annotations

import json
from typing import Any

from shunter.model.identity.roles import Role
from shunter.model.objects.object_meta import ObjectName
from shunter.ports.identity import NewKey
from tests.unit.gateway.tenant_world import BATCH, World, in_world, objects_of


def scheduling(name: str, testbed: str, *jobs: str, **place: str) -> bytes:
    spec = {"queueBased": [{"name": job} for job in jobs], "testbed": {"name": testbed, **place}}
    return json.dumps({"apiVersion": BATCH, "kind": "Scheduling", "metadata": {"name": name}, "spec": spec}).encode()


async def build(world: World) -> None:
    """The namespace lab has the testbeds own and other; the key is bound to the first."""
    objects = world.harness.gateway.objects
    own, first, second, *_ = objects_of("lab", slots="of-no-node")
    other = json.loads(json.dumps(own))
    own["metadata"]["name"], other["metadata"]["name"] = "own", "other"
    await objects.apply([own, other, first, second], namespace="lab")
    await objects.apply([json.loads(scheduling("theirs", "other", "past"))], namespace="lab")
    bound = NewKey((Role.SCHEDULER,), testbeds=("lab/own",))
    world.keys["bound"] = (await world.harness.gateway.identity.create_key(bound)).key
    await world.harness.settle()


def test_it_schedules_on_its_testbed_and_gets_403_on_others() -> None:
    async def scenario(world: World) -> None:
        await build(world)

        async def ask(method: str, path: str, body: bytes = b"") -> Any:
            return await world.call("bound", method, path, body)

        assert (await ask("POST", "/api/v1/apply", scheduling("mine", "own", "hidden"))).status == 200
        assert (await ask("GET", "/external/testbeds/own")).status == 200
        assert (await ask("PUT", "/external/jobs/hidden", b'{"externalScheduler": {"a": [{"b": "c"}]}}')).status == 200
        for body in (scheduling("more", "other", "hidden"), scheduling("theirs", "other", "past")):
            answer = await ask("POST", "/api/v1/apply", body)
            assert (answer.status, "your key is bound to testbed lab/own" in answer.json["detail"]) == (403, True)
        taken_over = await ask("POST", "/api/v1/apply", scheduling("theirs", "own", "hidden"))
        assert taken_over.status in (400, 403, 409)
        assert (await ask("DELETE", "/external/schedulings/theirs")).status == 403
        assert (
            await ask("POST", "/api/v1/apply", scheduling("far", "hidden", "hidden", namespace="red"))
        ).status == 404
        assert (await ask("GET", "/external/testbeds/hidden?namespace=red")).status == 404
        assert (await ask("DELETE", "/external/schedulings/mine")).status == 200
        theirs = world.harness.engine.state.objects.schedulings[ObjectName("lab", "theirs")]
        assert (theirs.spec.testbed, theirs.meta.is_deleting) == (ObjectName("lab", "other"), False)

    in_world(scenario)
