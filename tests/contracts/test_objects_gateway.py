"""The gateway's service for objects, on the real engine in virtual time, passes the contract of every ObjectService."""

from __future__ import annotations

import pytest

from shunter.engine.state.registries.recent_events import BYTES_MAX, EVENTS_MAX
from shunter.model.errors import Gone
from shunter.model.objects.object_meta import ObjectName
from shunter.ports.objects import ObjectQuery
from tests.unit.gateway.harness import GatewayHarness, run_scenario

from .objects import CONTRACT, ME, Claim, Harness, batch_job, next_event, testbed


@pytest.mark.parametrize("claim", CONTRACT)
def test_gateway_objects(claim: Claim) -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await claim(Harness(harness.local_gateway.for_caller(ME, "applyDocuments").objects, EVENTS_MAX, harness.settle))

    run_scenario(scenario)


def test_a_watch_says_where_a_commit_ends() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        service = harness.gateway.objects
        events, of_jobs = [await service.watch(ObjectQuery(kind), 0) for kind in (None, "BatchJob")]
        await service.apply([batch_job("one"), testbed(), batch_job("two")], namespace="default")
        seen = [await next_event(events)]
        while seen[-1].more:
            seen.append(await next_event(events))
        assert [each.object.meta.name for each in seen[:3]] == ["one", "bench", "two"]
        assert len(seen) == (await service.objects(ObjectQuery())).revision
        jobs = [each for each in seen if each.kind == "BatchJob"]
        assert [(await next_event(of_jobs)).more for _ in jobs] == [True] * (len(jobs) - 1) + [False]
        await events.aclose()
        await of_jobs.aclose()

    run_scenario(scenario)


def test_large_changes_of_one_object_are_forgotten_early() -> None:
    """250 PUTs of a megabyte once grew the manager by as much."""

    async def scenario(harness: GatewayHarness) -> None:
        service = harness.gateway.objects
        await service.apply([batch_job("one"), batch_job("two")], namespace="default")
        first = (await service.objects(ObjectQuery())).revision
        name = ObjectName("default", "one")
        for number in range(60):
            rows = [{"data": f"{number}-{row}" + "x" * 4_000} for row in range(220)]
            await service.write_external(name, {"scheduler": rows})
            await service.write_external(ObjectName("default", "two"), {"scheduler": [{"number": str(number)}]})
        recent = harness.engine.state.objects.recent_events
        assert recent.bytes <= BYTES_MAX
        assert len(recent) < 100
        with pytest.raises(Gone):
            await service.watch(ObjectQuery(), first)
        events = await service.watch(ObjectQuery(), recent[0].revision)
        assert (await next_event(events)).revision == recent[1].revision
        await events.aclose()

    run_scenario(scenario)
