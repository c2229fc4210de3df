"""Callers that are bound to queues bring jobs into no others: neither by a submit nor by an update."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.model.errors import Forbidden, NotFound
from shunter.model.identity.roles import Role
from shunter.ports.gateway import CallerGateway
from shunter.ports.identity import NewKey, TenantChange
from tests.unit.gateway.harness import GatewayHarness, reference, run_scenario


async def gateway_of(harness: GatewayHarness, **bounds: Any) -> CallerGateway:
    key = await harness.gateway.identity.create_key(NewKey((Role.SUBMITTER,), **bounds))
    caller = harness.local_gateway.authenticate(key.key)
    assert caller is not None
    return harness.local_gateway.for_caller(caller, "updateJob")


def service(queue: str) -> dict[str, Any]:
    return {
        "apiVersion": "shunter.dev/v1", "kind": "Job", "metadata": {"name": "web"},
        "spec": {"type": "service", "command": ["serve", queue], "queue": queue},
    }  # fmt: skip


def test_a_tenant_updates_a_service_into_no_queue_of_others() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        for name in ("red", "blue"):
            await harness.gateway.tenants.create(name, TenantChange())
        red = await gateway_of(harness, tenant="red")
        await red.jobs.submit([service("default")], namespace="red", key=None)
        for queue in ("blue", "ghost"):
            with pytest.raises(NotFound, match=f"queue '{queue}' does not exist"):
                await red.services.update(reference("web", namespace="red"), service(queue), namespace="red", node=None)
        assert (await red.jobs.get(reference("web", namespace="red"))).version == 1
        await red.services.update(reference("web", namespace="red"), service("red"), namespace="red", node=None)

    run_scenario(scenario)


def test_a_key_that_is_bound_to_a_queue_updates_services_of_that_queue_only() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        bound = await gateway_of(harness, queue="night")
        await bound.jobs.submit([service("night")], namespace="default", key=None)
        with pytest.raises(Forbidden, match="your key is bound to queue 'night'"):
            await bound.services.update(reference("web"), service("day"), namespace="default", node=None)

    run_scenario(scenario)


@pytest.mark.parametrize("bounds", [({"namespace": "a"}, {"namespace": "b"}), ({"queue": "night"}, {"queue": "day"})])
def test_idempotency_keys_of_callers_with_other_bounds_are_their_own(bounds: tuple[dict[str, str], ...]) -> None:
    """Otherwise the second one would be answered with a job that it must not see, and its own would be lost."""

    async def scenario(harness: GatewayHarness) -> None:
        ids: set[int] = set()
        for each in bounds:
            bound, namespace = await gateway_of(harness, **each), each.get("namespace", "default")
            document = service(each.get("queue", "default"))
            document["metadata"]["name"] = f"web-{len(ids)}"
            [first] = await bound.jobs.submit([document], namespace=namespace, key="k")
            [again] = await bound.jobs.submit([document], namespace=namespace, key="k")
            assert (first.created, again.created, again.id) == (True, False, first.id)
            ids.add(first.id)
        assert len(ids) == 2

    run_scenario(scenario)
