"""The manifest of a job: that of a run that waits, of one that has ended, and of earlier versions of a service."""

from __future__ import annotations

import pytest

from shunter.model.errors import NotFound
from shunter.model.identity.roles import Role
from shunter.ports.principals import Principal
from tests.unit.gateway.harness import GatewayHarness, reference, run_scenario


def test_a_manifest_is_the_same_before_and_after_the_end() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=2)
        await harness.run("render", count=2, env={"A": "secret"}, labels={"team": "film"}, priority=7)
        find = harness.gateway.monitor.manifest
        live = await find(reference("render"), None)
        assert live.manifest["spec"] == {
            "command": ["/bin/true"], "count": 2, "env": {"A": "secret"}, "priority": 7,
        }  # fmt: skip
        assert (live.exact, live.masked, live.version, live.versions) == (True, False, 1, [1])
        while orders := harness.orders():
            for _, order in orders:
                await harness.end(node, order)
        assert (await find(reference("render"), None)).manifest == live.manifest
        viewer = Principal("eve", frozenset((Role.VIEWER,)))
        hidden = await harness.local_gateway.for_caller(viewer, "getManifest").monitor.manifest(
            reference("render"), None
        )
        assert "secret" not in repr(hidden)
        assert (hidden.masked, hidden.exact) == (True, False)

    run_scenario(scenario)


def test_earlier_versions_of_a_service_are_shown_while_they_are_known() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=2)
        await harness.run("web", type="service")
        for _, order in harness.orders():
            await harness.start_task(node, order, 1)
        await harness.settle(10.0)
        await harness.run("web", type="service", command=["/bin/false"])
        find = harness.gateway.monitor.manifest
        current = await find(reference("web"), None)
        assert (current.version, current.versions) == (2, [1, 2])
        assert current.manifest["spec"]["command"] == ["/bin/false"]
        assert (await find(reference("web"), 1)).manifest["spec"]["command"] == ["/bin/true"]
        with pytest.raises(NotFound, match="known: 1, 2"):
            await find(reference("web"), 3)

    run_scenario(scenario)
