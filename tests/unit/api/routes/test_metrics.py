"""Routes for metrics: each turns a request into one call of the service."""

from __future__ import annotations

import pytest

from shunter.ports.metrics import Window
from tests.contracts.objects import batch_job
from tests.unit.api.asgi_client import Client
from tests.unit.api.fake_gateway import FakeGateway
from tests.unit.api.routes.test_objects import HERE

NEW_YEAR_MS = 1_767_225_600_000


async def test_metrics_of_a_batch_job_are_those_of_a_run(client: Client, gateway: FakeGateway) -> None:
    await gateway.objects.apply([batch_job("sum")], namespace="default")
    answer = await client.get(f"{HERE}/batchjobs/sum/metrics?run=3&step=10s")
    assert answer.status == 200 and gateway.metrics.received == [("sum", 3, 10_000)]
    document = answer.json
    assert document["tasks"][0]["slot"] == 3 and document["nodes"][0]["name"] == "node-1"
    assert document["nodes"][0]["metrics"]["cpu_cores"] == {"mean": 0.5, "max": 1.0, "values": [0.0, None, 1.0]}
    assert (await client.get(f"{HERE}/batchjobs/nobody/metrics")).status == 404
    assert (await client.get("/api/v1/apis/example.org/v1/namespaces/default/batchjobs/sum/metrics")).status == 404


async def test_an_external_scheduler_asks_the_same_of_a_job(client: Client, gateway: FakeGateway) -> None:
    """S0-21: with the same answer."""
    await gateway.objects.apply([batch_job("sum")], namespace="default")
    told = [
        await client.get(f"{path}/metrics?run=3&step=10s") for path in (f"{HERE}/batchjobs/sum", "/external/jobs/sum")
    ]
    assert [(answer.status, answer.json) for answer in told] == [(200, told[0].json)] * 2
    assert gateway.metrics.received == [("sum", 3, 10_000)] * 2
    assert (await client.get("/external/jobs/nobody/metrics")).status == 404
    wrong = await client.get("/external/jobs/sum/metrics?run=0")
    assert (wrong.status, wrong.fields) == (400, ["query.run"])


async def test_a_window_is_read_from_times_with_their_zone(client: Client, gateway: FakeGateway) -> None:
    window = "start=2026-01-01T00:00:00Z&stop=2026-01-01T02:00:30.5%2B01:00&step=1m"
    assert (await client.get(f"/api/v1/nodes/here/metrics?{window}")).status == 200
    assert gateway.metrics.received == [("here", Window(NEW_YEAR_MS, NEW_YEAR_MS + 3_630_500, 60_000))]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("start=yesterday", "query.start"),
        ("stop=2026-01-01T00:00:00", "query.stop"),
        ("stop=2026-13-01T00:00:00Z", "query.stop"),
        ("step=0s", "query.step"),
        ("step=fast", "query.step"),
    ],
)
async def test_a_wrong_window_is_refused_with_its_field(client: Client, query: str, field: str) -> None:
    answer = await client.get(f"/api/v1/nodes/here/metrics?{query}")
    assert answer.status == 400 and answer.fields == [field]
