"""Routes for long-running jobs and for nodes: each turns a request into one call of its service."""

from __future__ import annotations

import json

import pytest

from shunter.ports.principals import JobReference, Principal, TaskReference
from tests.unit.api.asgi_client import Client
from tests.unit.api.fake_gateway import FakeGateway

WEB = {
    "apiVersion": "shunter.dev/v1",
    "kind": "Job",
    "metadata": {"name": "web"},
    "spec": {"type": "service", "command": ["serve"]},
}
JOB = JobReference("default", "web")

ASKED = [
    ("PUT", "/jobs/web?node=here", WEB, ("update", JOB, "here")),
    ("POST", "/jobs/web/scale", {"counts": {"": 5}}, ("scale", JOB, {"": 5})),
    ("POST", "/jobs/web/rollback", None, ("rollback", JOB)),
    ("POST", "/jobs/web/restart", None, ("restart", JOB, None)),
    ("POST", "/jobs/web/restart", {"index": 2}, ("restart", JOB, TaskReference(2))),
    (
        "POST",
        "/jobs/web/tasks/1/move?group=main",
        {"node": "here"},
        ("move", JOB, TaskReference(1, "main"), "here"),
    ),
    ("POST", "/nodes/here/drain", {"deadline": "10m"}, ("drain", "here", 600.0)),
    ("POST", "/nodes/here/drain", None, ("drain", "here", None)),
    ("DELETE", "/nodes/here/drain", None, ("undrain", "here")),
    ("POST", "/nodes/here/cordon", {"reason": "disk"}, ("cordon", "here", "disk")),
    ("DELETE", "/nodes/here/cordon", None, ("uncordon", "here")),
    ("DELETE", "/nodes/here/quarantine", None, ("release", "here")),
    ("POST", "/nodes/here/forget", None, ("forget", "here")),
]


@pytest.mark.parametrize(("method", "path", "body", "received"), ASKED, ids=lambda value: str(value)[:24])
async def test_each_request_calls_its_service(
    client: Client, gateway: FakeGateway, method: str, path: str, body: object, received: tuple[object, ...]
) -> None:
    await client.call("POST", "/api/v1/jobs", body=json.dumps(WEB).encode())
    answer = await client.call(method, f"/api/v1{path}", body=b"" if body is None else json.dumps(body).encode())
    assert (answer.status, answer.json["name"]) == (200, "here" if "/nodes/" in path else "web")
    assert (gateway.received[-1], gateway.caller) == (received, Principal("tester", gateway.roles))


async def test_attributes_and_labels_are_patched_together(client: Client, gateway: FakeGateway) -> None:
    body = json.dumps({"attributes": {"role": "edge"}, "labels": {"rack": "b7"}}).encode()
    answer = await client.call("PATCH", "/api/v1/nodes/here", body=body)
    assert answer.json["labels"] == {"disk": "ssd", "rack": "b7"}
    assert ("attribute", "here", {"role": "edge"}) in gateway.received


async def test_a_stop_may_name_its_signal(client: Client, gateway: FakeGateway) -> None:
    await client.call("POST", "/api/v1/jobs", body=json.dumps(WEB).encode())
    assert (await client.call("DELETE", "/api/v1/jobs/web?signal=INT")).status == 204
    assert (await client.call("DELETE", "/api/v1/jobs/web/tasks/0?signal=USR1")).status == 204
    assert gateway.signals == [2, 10]
    refused = await client.call("DELETE", "/api/v1/jobs/web?signal=BOO")
    assert (refused.status, refused.json["problems"][0]["field"]) == (400, "query.signal")


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/jobs/web/scale", {"counts": {"": "five"}}, "body.counts[...]"),
        ("/nodes/here/drain", {"deadline": "soon"}, "deadline"),
        ("/nodes/here/drain", {"dedline": "1m"}, "dedline"),
        ("/jobs/web/tasks/0/move", {}, "body"),
    ],
)
async def test_what_is_wrong_is_told_with_its_field(client: Client, path: str, body: object, field: str) -> None:
    answer = await client.call("POST", f"/api/v1{path}", body=json.dumps(body).encode())
    assert (answer.status, answer.json["problems"][0]["field"]) == (400, field)
