"""What happened over time: ended jobs in steps."""

from __future__ import annotations

import pytest

from shunter.gateway.monitor import analytics, ended_jobs
from shunter.gateway.tokens import ADMIN
from shunter.model.errors import Forbidden, Invalid
from shunter.ports.principals import Principal
from tests.unit.gateway.harness import GatewayHarness, run_scenario


def test_ended_jobs_are_counted_in_their_steps() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=1)
        start_s = harness.engine.now_ms() / 1000
        await harness.run_to_end(node, "a", count=3)
        await harness.settle(100.0)
        await harness.run_to_end(node, "b", exit_code=3)
        await harness.settle(100.0)
        find = harness.gateway.monitor.analytics
        found = await find(None, start_s - 1, harness.engine.now_ms() / 1000, 2)
        assert (found.jobs, found.succeeded, found.failed, found.tasks) == (2, [1, 0], [0, 1], [3, 1])
        assert [(share.key, share.jobs, share.failed) for share in found.users] == [("anna", 2, 1)]
        assert [share.jobs for share in found.failures] == [1]
        assert sum(found.run.buckets) == 2
        assert not found.partial
        assert (await find("nowhere", None, None, 5)).jobs == 0
        with pytest.raises(Invalid, match="before stop"):
            await find(None, start_s, start_s, 2)
        bound = harness.local_gateway.for_caller(Principal("eve", ADMIN, namespace="film"), "getAnalytics").monitor
        assert (await bound.analytics(None, None, None, 5)).jobs == 0
        with pytest.raises(Forbidden, match="cluster-wide"):
            harness.local_gateway.for_caller(Principal("eve", ADMIN, namespace="film"), "listDecisions")

    run_scenario(scenario)


def test_a_long_history_is_looked_at_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analytics, "JOBS_MAX", 2)
    monkeypatch.setattr(ended_jobs, "PAGE", 1)

    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=1)
        for name in ("a", "b", "c"):
            await harness.run_to_end(node, name)
        found = await harness.gateway.monitor.analytics(None, None, None, 1)
        assert (found.jobs, found.partial) == (2, True)

    run_scenario(scenario)
