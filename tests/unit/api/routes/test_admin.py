"""REST for templates, queues and dead letters, and for holds and retries."""

from __future__ import annotations

import json
from base64 import b64encode

import pytest

from shunter.ports.admin import DeadLetterSelector, DispatchRequest, QueueChange
from shunter.ports.principals import JobReference
from tests.unit.api.asgi_client import AUTHORIZED, Client, Response, manifest
from tests.unit.api.fake_gateway import FakeGateway

KEY = AUTHORIZED | {"Idempotency-Key": "k"}


async def patch(client: Client, path: str, document: object) -> Response:
    return await client.call("PATCH", f"/api/v1/{path}", body=json.dumps(document).encode())


async def test_a_job_is_held_released_and_retried(client: Client, gateway: FakeGateway) -> None:
    await client.post("/api/v1/jobs", manifest())
    reference = JobReference("default", "render")
    for word, is_held in (("hold", True), ("release", False)):
        answer = await client.post(f"/api/v1/jobs/render/{word}", None)
        assert (answer.status, gateway.received[-1]) == (200, (reference, is_held))
    answer = await client.post(
        "/api/v1/jobs/render/retry?failed=true", None, headers=AUTHORIZED | {"Idempotency-Key": "k"}
    )
    assert (answer.status, gateway.received[-1]) == (201, (reference, True, "k"))


async def test_a_dispatch_carries_parameters_and_a_payload_byte_for_byte(client: Client, gateway: FakeGateway) -> None:
    payload = bytes(range(256))
    body = {"parameters": {"input": "a b"}, "payload": b64encode(payload).decode()}
    answer = await client.post("/api/v1/templates/nightly/runs", body, headers=KEY)
    assert answer.status == 201
    assert DispatchRequest("default", "nightly", {"input": "a b"}, payload, "k") in gateway.received


async def test_a_payload_that_is_not_base64_is_refused(client: Client) -> None:
    answer = await client.post("/api/v1/templates/nightly/runs", {"payload": "!!"})
    assert answer.status == 400
    assert answer.json["problems"][0]["field"] == "body.payload"


async def test_templates_are_listed_paused_and_deleted(client: Client, gateway: FakeGateway) -> None:
    assert (await client.get("/api/v1/templates?namespace=*&limit=7")).json["items"][0]["next_at"]
    assert gateway.received[-1] == (None, 7, None)
    assert (await patch(client, "templates/nightly", {"paused": True})).status == 200
    assert True in gateway.received
    assert (await client.call("DELETE", "/api/v1/templates/nightly")).status == 204
    assert (await client.call("DELETE", "/api/v1/templates/weekly")).status == 404


async def test_queues_are_listed_changed_and_purged(client: Client, gateway: FakeGateway) -> None:
    assert (await client.get("/api/v1/queues")).json["items"][0]["name"] == "film"
    await patch(client, "queues/film", {"paused": True, "running_max": 0})
    assert gateway.received[-1] == ("film", QueueChange(paused=True, running_max=0))
    assert (await client.post("/api/v1/queues/film/purge", None)).json == {"count": 3}
    assert (await patch(client, "queues/film", {"running_max": -1})).status == 400
    assert (await patch(client, "queues/FILM", {"paused": True})).json["problems"][0]["field"] == "path.queue"


@pytest.mark.parametrize(
    ("body", "choice"),
    [
        ({"numbers": [1, 2]}, DeadLetterSelector("default", (1, 2))),
        ({"job": "render"}, DeadLetterSelector("default", (), "render")),
        ({}, DeadLetterSelector("default")),
    ],
)
async def test_dead_letters_are_chosen_by_number_by_job_or_all(
    client: Client, gateway: FakeGateway, body: dict[str, object], choice: DeadLetterSelector
) -> None:
    assert (await client.get("/api/v1/dead?job=render")).json["items"][0]["number"] == 7
    assert (await client.post("/api/v1/dead/replay", body)).json == {"items": [], "left": 1}
    assert gateway.received[-1] == choice
    assert (await client.post("/api/v1/dead/purge", body)).json == {"count": len(choice.numbers)}
