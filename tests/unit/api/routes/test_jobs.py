"""Plain requests and their answers: routing, authorization, refusals and their wording."""

from __future__ import annotations

import json
import logging

import pytest

from shunter.api.http.app import ApiSettings, build_app
from shunter.api.routes import jobs
from shunter.model.errors import Busy, StoreFailed
from shunter.ports.jobs import JobQuery, TaskQuery
from shunter.ports.principals import JobReference, TaskReference
from tests.unit.api.asgi_client import AUTHORIZED, Client, manifest
from tests.unit.api.fake_gateway import TOKEN, FakeGateway


async def test_health_is_open_to_all(client: Client) -> None:
    answer = await client.get("/healthz", headers={})
    assert (answer.status, answer.json) == (200, {"status": "ok"})


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer"},
        {"authorization": "Bearer wrong"},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": f"Bearer {TOKEN}x"},
        {"authorization": "Bearer h\xe4"},
        {"authorization": "Bearer " + "x" * 10_000},
    ],
)
@pytest.mark.parametrize("path", ["/api/v1/jobs", "/api/v1/no/such/path", "/api/v1/jobs?limit=wrong", "/api"])
async def test_without_the_token_nothing_is_told_and_no_body_is_read(
    client: Client, path: str, headers: dict[str, str]
) -> None:
    call = client.start("POST", path, body=[b"{"] * 3, headers=headers)
    answer = await call.finished()
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.headers["content-type"] == "application/problem+json"
    assert call.received == 0


async def test_an_unknown_path_is_a_problem_and_names_the_list_of_paths(client: Client) -> None:
    answer = await client.get("/api/v1/jobz")
    assert (answer.status, answer.headers["content-type"]) == (404, "application/problem+json")
    assert "/api/v1/openapi.json" in answer.json["detail"]


async def test_a_wrong_method_is_told_the_right_ones(client: Client) -> None:
    answer = await client.call("POST", "/api/v1/jobs/render")
    assert (answer.status, answer.headers["allow"]) == (405, "GET, DELETE, PUT, HEAD, OPTIONS")
    assert answer.json["status"] == 405


async def test_options_lists_the_methods_and_head_is_like_get(client: Client) -> None:
    answer = await client.call("OPTIONS", "/api/v1/jobs")
    assert (answer.status, answer.headers["allow"], answer.body) == (204, "POST, GET, HEAD, OPTIONS", b"")
    assert (await client.call("HEAD", "/api/v1/cluster")).status == 200


async def test_every_answer_forbids_guessing_and_keeping(client: Client) -> None:
    for path in ("/healthz", "/api/v1/cluster", "/api/v1/nope"):
        answer = await client.get(path)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


async def test_a_submitted_job_is_created_and_a_repeated_one_is_not(client: Client) -> None:
    first = await client.post("/api/v1/jobs", manifest())
    again = await client.post("/api/v1/jobs", manifest())
    assert (first.status, again.status) == (201, 200)
    assert first.json["id"] == again.json["id"]
    assert first.headers["location"] == "/api/v1/jobs/render@1?namespace=default"


async def test_the_same_key_returns_the_same_job(client: Client) -> None:
    headers = AUTHORIZED | {"Idempotency-Key": "k-1"}
    first = await client.post("/api/v1/jobs", manifest(None), headers=headers)
    again = await client.post("/api/v1/jobs", manifest(None), headers=headers)
    other = await client.post("/api/v1/jobs", manifest(None))
    assert (first.status, again.status, other.status) == (201, 200, 201)
    assert first.json["name"] == again.json["name"] != other.json["name"]


@pytest.mark.parametrize("key", ["", "with space", "x" * 129, "caf\xe9"])
async def test_an_odd_key_is_refused(client: Client, key: str) -> None:
    answer = await client.post("/api/v1/jobs", manifest(), headers=AUTHORIZED | {"Idempotency-Key": key})
    assert (answer.status, answer.fields) == (400, ["header.idempotency-key"])


async def test_another_spec_for_an_unfinished_name_is_a_conflict(client: Client) -> None:
    await client.post("/api/v1/jobs", manifest())
    answer = await client.post("/api/v1/jobs", manifest(count=2))
    assert (answer.status, answer.json["title"]) == (409, "conflict")


async def test_yaml_is_taken_where_it_is_announced(client: Client) -> None:
    text = b"apiVersion: shunter.dev/v1\nkind: Job\nmetadata: {name: yam}\nspec:\n  command: [/bin/true]\n"
    headers = AUTHORIZED | {"content-type": "application/yaml; charset=utf-8"}
    answer = await client.call("POST", "/api/v1/jobs", body=text, headers=headers)
    assert (answer.status, answer.json["name"]) == (201, "yam")
    several = await client.call("POST", "/api/v1/jobs", body=text + b"---\n" + text, headers=headers)
    assert (several.status, several.fields) == (400, ["body"])
    broken = await client.call("POST", "/api/v1/jobs", body=b"a: b: c", headers=headers)
    assert (broken.status, broken.fields) == (400, ["line 1, column 5"])


async def test_any_other_content_type_is_refused_by_name(client: Client) -> None:
    answer = await client.post("/api/v1/jobs", manifest(), headers=AUTHORIZED | {"content-type": "text/html"})
    assert (answer.status, answer.fields) == (400, ["header.content-type"])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"", "body"),
        (b'{"a": 1,\n "b": ?}', "body, line 2, column 7"),
        (b"\xff", "body, line 1, column 1"),
        (b"[" * 100_000, "body"),
        (b'{"a": "\xff"}', "body"),
    ],
)
async def test_bad_json_is_refused_with_its_position(client: Client, body: bytes, field: str) -> None:
    answer = await client.call("POST", "/api/v1/jobs", body=body)
    assert (answer.status, answer.fields) == (400, [field])


async def test_all_problems_of_a_manifest_are_told_at_once(client: Client) -> None:
    answer = await client.post("/api/v1/jobs", manifest("Bad Name", count=0, comand=["x"]))
    assert answer.status == 400
    assert answer.fields == ["metadata.name", "spec.count", "spec.comand"]
    assert answer.json["problems"][2]["fix"] == "did you mean command?"


async def test_values_of_the_environment_never_come_back(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for env in ({"KEY": "s3cret\0"}, {"bad name": "s3cret"}, "KEY=s3cret", ["s3cret"], {"KEY": ["s3cret"]}):
        answer = await client.post("/api/v1/jobs", manifest(env=env))
        assert answer.status == 400
        assert b"s3cret" not in answer.body
    assert "s3cret" not in caplog.text


async def test_a_body_past_its_limit_is_refused_while_it_is_read(client: Client) -> None:
    call = client.start("POST", "/api/v1/jobs", body=[b" " * (jobs.BULK_SIZE_MAX // 2)] * 10)
    answer = await call.finished()
    assert answer.status == 413
    assert call.received == 3  # the third went past the limit; the rest was never asked for


async def test_a_body_announced_too_large_is_refused_unread(client: Client) -> None:
    headers = AUTHORIZED | {"content-length": str(jobs.BULK_SIZE_MAX + 1)}
    call = client.start("POST", "/api/v1/bulk/jobs", body=b"{}", headers=headers)
    assert (await call.finished()).status == 413
    assert call.received == 0


async def test_a_client_that_leaves_within_its_body_gets_no_job(client: Client, gateway: FakeGateway) -> None:
    call = client.start("POST", "/api/v1/jobs", body=json.dumps(manifest()).encode(), is_whole=False)
    call.hang_up()
    assert (await call.finished()).status == 0
    assert gateway.job_table.by_id == {}


async def test_bulk_takes_all_or_nothing(client: Client, gateway: FakeGateway) -> None:
    bad = await client.post("/api/v1/bulk/jobs", {"items": [manifest("a"), manifest("b", count=0), 5]})
    assert (bad.status, bad.fields) == (400, ["items[1].spec.count", "items[2]"])
    assert gateway.job_table.by_id == {}
    good = await client.post("/api/v1/bulk/jobs", {"items": [manifest("a"), manifest("b")]})
    assert good.status == 201
    expected = {"name": "b", "namespace": "default", "id": 2, "run": 1, "created": True, "updated": False}
    assert good.json["items"][1] == expected | {"state": None, "count": None}


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"items": []}, "body.items"),
        ({"items": [0] * (jobs.BULK_ITEMS_MAX + 1)}, "body.items"),
        ({"items": "x"}, "body.items"),
        ({}, "body"),
        ([], "body"),
        ({"items": [], "more": 1}, "body"),
    ],
)
async def test_a_bulk_body_of_another_shape_is_refused(client: Client, document: object, field: str) -> None:
    answer = await client.post("/api/v1/bulk/jobs", document)
    assert (answer.status, answer.fields) == (400, [field])


async def test_query_parameters_reach_the_gateway(client: Client, gateway: FakeGateway) -> None:
    await client.get("/api/v1/jobs?namespace=*&state=running&state=failed&label=a%2Fb=c=d&limit=7&after=42")
    await client.get("/api/v1/jobs")
    assert gateway.received == [
        JobQuery(None, ("running", "failed"), (("a/b", "c=d"),), 7, "42"),
        JobQuery("default", (), (), 100, None),
    ]


async def test_a_query_that_is_not_utf_8_or_too_long_is_refused(client: Client) -> None:
    for query in ("limit=%ff", "after=" + "1" * 9000):
        assert (await client.get(f"/api/v1/jobs?{query}")).fields == ["query"]


async def test_all_wrong_parameters_are_told_at_once(client: Client) -> None:
    answer = await client.get("/api/v1/jobs?limit=0&state=runing&label=x&lable=y&after=1&after=2&namespace=A&limit=5")
    assert answer.fields == [
        *("query.limit", "query.state", "query.label", "query.lable", "query.after", "query.namespace", "query.limit")
    ]
    fixes = {problem["field"]: problem["fix"] for problem in answer.json["problems"]}
    assert fixes["query.state"] == "did you mean running?"
    assert fixes["query.lable"] == "did you mean label?"


async def test_all_namespaces_can_be_listed_but_not_pointed_at(client: Client) -> None:
    answer = await client.get("/api/v1/jobs/render?namespace=*")
    assert (answer.status, answer.fields) == (400, ["query.namespace"])


async def test_jobs_are_found_by_name_run_and_id(client: Client, gateway: FakeGateway) -> None:
    await client.post("/api/v1/jobs?namespace=film", manifest())
    for reference in ("render", "render@1", "id:1"):
        assert (await client.get(f"/api/v1/jobs/{reference}?namespace=film")).json["id"] == 1
    assert (await client.get("/api/v1/jobs/render@2?namespace=film")).status == 404
    assert (await client.get("/api/v1/jobs/render")).status == 404
    assert gateway.received[-2:] == [JobReference("film", "render", 2), JobReference("default", "render")]


@pytest.mark.parametrize("reference", ["Render", "a@0", "a@x", "id:", "id:-1", "id:1x", "a b", "%00", "-a", "x" * 64])
async def test_what_cannot_be_a_reference_is_refused(client: Client, reference: str) -> None:
    answer = await client.get(f"/api/v1/jobs/{reference}")
    assert (answer.status, answer.fields) == (400, ["path.job"])


async def test_tasks_that_were_replaced_are_listed_and_read_but_nothing_is_done_to_them(
    client: Client, gateway: FakeGateway
) -> None:
    await client.post("/api/v1/jobs", manifest(count=3))
    await client.get("/api/v1/jobs/render/tasks?all=true")
    assert gateway.received[-1] == TaskQuery((), 1000, None, True)
    for path in ("2?piece=7", "2/attempts?piece=7"):
        await client.get(f"/api/v1/jobs/render/tasks/{path}")
        assert gateway.received.pop() == TaskReference(2, None, 7)
    for method, path in (("DELETE", "2?piece=7"), ("GET", "2/why?piece=7")):
        answer = await client.call(method, f"/api/v1/jobs/render/tasks/{path}")
        assert (answer.status, answer.fields) == (400, ["query.piece"])


async def test_tasks_and_their_attempts_are_read_by_index(client: Client, gateway: FakeGateway) -> None:
    await client.post("/api/v1/jobs", manifest(count=3))
    page = await client.get("/api/v1/jobs/render/tasks?limit=2&state=queued")
    assert [task["name"] for task in page.json["items"]] == ["render/0", "render/1"]
    assert gateway.received[-1] == TaskQuery(("queued",), 2, None)
    assert (await client.get("/api/v1/jobs/render/tasks/2")).json["index"] == 2
    assert (await client.get("/api/v1/jobs/render/tasks/3")).status == 404
    assert (await client.get("/api/v1/jobs/render/tasks/2/attempts")).json["items"][0]["name"] == "render/2#1"
    for index in ("x", "-1", str(2**31), "1" * 30):
        answer = await client.get(f"/api/v1/jobs/render/tasks/{index}")
        assert (answer.status, answer.fields) == (400, ["path.index"])


async def test_jobs_and_tasks_are_stopped_with_and_without_grace(client: Client, gateway: FakeGateway) -> None:
    await client.post("/api/v1/jobs", manifest())
    assert (await client.call("DELETE", "/api/v1/jobs/render")).status == 204
    assert (await client.call("DELETE", "/api/v1/jobs/render/tasks/0?now=true")).status == 204
    assert (await client.call("DELETE", "/api/v1/jobs/other")).status == 404
    job = JobReference("default", "render")
    assert gateway.stopped == [(job, None, False), (job, 0, True)]


async def test_the_rest_of_a_job_can_be_read(client: Client) -> None:
    await client.post("/api/v1/jobs", manifest())
    assert (await client.get("/api/v1/jobs/render/why")).json["sentence"] == "it waits for the test"
    assert (await client.get("/api/v1/jobs/render/runs?limit=3")).json["total"] == 1


async def test_nodes_are_listed_shown_and_labelled(client: Client) -> None:
    assert (await client.get("/api/v1/nodes")).json["items"][0]["name"] == "here"
    assert (await client.get("/api/v1/nodes/there")).status == 404
    assert (await client.get("/api/v1/nodes/here/stats")).json["machine"] == {"cpu_busy": 0.5}
    body = b'{"labels": {"disk": null, "rack": "7"}}'
    assert (await client.call("PATCH", "/api/v1/nodes/here", body=body)).json["labels"] == {"rack": "7"}
    wrong = await client.call("PATCH", "/api/v1/nodes/here", body=b'{"labels": {"-": "7"}}')
    assert (wrong.status, wrong.fields) == (400, ["labels.-"])
    shape = await client.call("PATCH", "/api/v1/nodes/here", body=b'{"labels": {"a": 7}}')
    assert (shape.status, shape.fields) == (400, ["body.labels[...]"])


async def test_the_cluster_is_shown_and_stopped(client: Client, gateway: FakeGateway) -> None:
    assert (await client.get("/api/v1/cluster")).json["name"] == "test"
    answer = await client.call("POST", "/api/v1/cluster/down", body=b'{"leave_running": true}')
    assert (answer.status, answer.json) == (202, {"status": "stopping"})
    await client.call("POST", "/api/v1/cluster/down")
    answer = await client.call("POST", "/api/v1/cluster/down", body=b'{"cluster": true}')
    assert answer.json == {"status": "stopping", "not_stopped": ["worker w1: it is not connected"]}
    assert gateway.shutdowns == [(True, False), (False, False), (False, True)]


async def test_the_health_check_says_why_nothing_can_be_committed(client: Client, gateway: FakeGateway) -> None:
    gateway.commit_problem = "the manager cannot commit: the disk is full"
    answer = await client.get("/healthz", headers={})
    assert (answer.status, answer.json["detail"]) == (503, "the manager cannot commit: the disk is full")


async def test_licences_are_set_and_taken_away(client: Client, gateway: FakeGateway) -> None:
    body = json.dumps({"licences": {"matlab": 5, "old": None}}).encode()
    assert (await client.call("PATCH", "/api/v1/cluster", body=body)).status == 200
    assert gateway.received[0] == {"licences": {"matlab": 5, "old": None}}


@pytest.mark.parametrize(("said", "kept"), [("off", "off"), ("auto", ""), (20, "20"), ("7", "7"), (5.0, "5")])
async def test_preemption_is_changed_while_it_runs(
    client: Client, gateway: FakeGateway, said: object, kept: str
) -> None:
    answer = await client.call("PATCH", "/api/v1/cluster", body=json.dumps({"preemption": said}).encode())
    assert (answer.status, gateway.received[0]) == (200, {"preemption": kept})


@pytest.mark.parametrize("name", ["reserve_after", "hold_after"])
@pytest.mark.parametrize(("said", "kept"), [("off", "off"), ("auto", ""), ("5m", "300"), (0, "0"), (2.5, "2.5")])
async def test_how_long_somebody_waits_for_its_own_room_is_changed_while_it_runs(
    client: Client, gateway: FakeGateway, name: str, said: object, kept: str
) -> None:
    answer = await client.call("PATCH", "/api/v1/cluster", body=json.dumps({name: said}).encode())
    assert (answer.status, gateway.received[0]) == (200, {name: kept})


@pytest.mark.parametrize(
    "patch",
    [
        {},
        {"preemption": 0},
        {"preemption": "never"},
        {"reserve_after": "soon"},
        {"hold_after": "8d"},
        {"hold_after": -1},
        {"licences": {"matlab": -1}},
        {"licences": {"Mat Lab": 1}},
        {"licence": {}},
    ],
)
async def test_a_change_of_the_cluster_says_what_it_changes(client: Client, patch: dict[str, object]) -> None:
    answer = await client.call("PATCH", "/api/v1/cluster", body=json.dumps(patch).encode())
    assert answer.status == 400 and answer.json["problems"]


async def test_the_heartbeat_is_changed_while_it_runs(client: Client) -> None:
    for said, heartbeat_s in (("2s", 2.0), (0.5, 0.5), ("auto", 1.0)):
        answer = await client.call("PATCH", "/api/v1/cluster", body=json.dumps({"heartbeat": said}).encode())
        assert (answer.status, answer.json["heartbeat_s"]) == (200, heartbeat_s)


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (b'{"heartbeat": "soon"}', ["heartbeat"]),
        (b'{"heartbeat": null}', ["heartbeat"]),
        (b'{"heartbeat": "2h"}', ["heartbeat"]),
        (b'{"heartbaet": "2s"}', ["heartbaet"]),
        (b"[]", ["document"]),
        (b"{", ["body"]),
    ],
)
async def test_a_wrong_change_of_the_cluster_is_refused(
    client: Client, gateway: FakeGateway, body: bytes, fields: list[str]
) -> None:
    answer = await client.call("PATCH", "/api/v1/cluster", body=body)
    assert (answer.status, answer.fields, gateway.heartbeat_s) == (400, fields, 1.0)


async def test_busy_and_unavailable_say_when_to_come_again(client: Client, gateway: FakeGateway) -> None:
    gateway.failure = Busy("the inbox is full", retry_after_s=2.1)
    answer = await client.get("/api/v1/cluster")
    assert (answer.status, answer.headers["retry-after"], answer.json["detail"]) == (429, "3", "the inbox is full")
    gateway.failure = StoreFailed("disk full")
    answer = await client.get("/api/v1/cluster")
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")


async def test_our_own_mistakes_are_logged_and_not_shown(
    client: Client, gateway: FakeGateway, caplog: pytest.LogCaptureFixture
) -> None:
    gateway.failure = RuntimeError("internals")
    answer = await client.get("/api/v1/cluster")
    assert (answer.status, answer.headers["content-type"]) == (500, "application/problem+json")
    assert b"internals" not in answer.body
    assert "request.failed" in caplog.text
    assert TOKEN not in caplog.text


async def test_past_the_limit_of_requests_the_answer_is_busy(gateway: FakeGateway) -> None:
    client = Client(build_app(gateway, ApiSettings(requests_max=1)))
    await client.post("/api/v1/jobs", manifest())
    stream = client.start("GET", "/api/v1/jobs/render/follow")
    await stream.chunk()
    assert (await client.get("/api/v1/cluster")).status == 429
    stream.hang_up()
    await stream.finished()
    assert (await client.get("/api/v1/cluster")).status == 200
