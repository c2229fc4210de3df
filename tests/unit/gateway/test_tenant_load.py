"""What tenants see of queues and nodes, which they share: their own tasks, and the room that there is."""

from __future__ import annotations

import pytest

from shunter.model.errors import NotFound
from shunter.model.identity.roles import Role
from shunter.ports.gateway import CallerGateway
from shunter.ports.identity import NewKey, TenantChange
from tests.unit.gateway.harness import GatewayHarness, run_scenario


async def tenant(harness: GatewayHarness, name: str) -> CallerGateway:
    await harness.gateway.tenants.create(name, TenantChange())
    key = await harness.gateway.identity.create_key(NewKey((Role.VIEWER,), tenant=name))
    caller = harness.local_gateway.authenticate(key.key)
    assert caller is not None
    return harness.local_gateway.for_caller(caller, "listQueues")


def test_queues_show_a_tenant_the_load_of_its_own_tasks() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        red = await tenant(harness, "red")
        await tenant(harness, "blue")
        await harness.run("mine", 1, namespace="red")
        await harness.run("theirs", 4, namespace="blue")
        await harness.run("hidden", 4, namespace="blue", queue="blue")
        page = await red.queues.page()
        assert [(each.name, each.queued, each.running) for each in page.items] == [("default", 1, 0), ("red", 0, 0)]
        assert page.total == 2
        for name in ("blue", "ghost"):
            with pytest.raises(NotFound, match=f"queue '{name}' does not exist: it has no rules, and no job uses it"):
                await red.queues.get(name)
        assert (await harness.gateway.queues.get("default")).queued == 5

    run_scenario(scenario)


def test_nodes_show_a_tenant_their_room_and_the_use_of_its_own_tasks() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        red = await tenant(harness, "red")
        await tenant(harness, "blue")
        await harness.join("n1", cpu=8)
        await harness.run("mine", 1, namespace="red")
        await harness.run("theirs", 4, namespace="blue", ports=[{"name": "web", "host_port": 8080}])
        [node] = (await red.nodes.page(9, None)).items
        assert (node.name, node.tasks, node.capacity["cpu"], node.reserved["cpu"]) == ("n1", 1, "8", "1")
        assert set(node.reserved) == set(node.capacity)
        assert node.stats is None
        assert (await red.nodes.get("n1")).reserved == node.reserved
        assert (await harness.gateway.nodes.get("n1")).tasks > 1

    run_scenario(scenario)
