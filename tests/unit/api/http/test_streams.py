"""Streaming responses: a followed job, a growing log, events; and clients that disconnect."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest

from shunter.model.errors import NotFound, Unavailable
from shunter.model.rest.log_views import JobLogLine
from shunter.ports.admin import EventPosition, EventQuery
from shunter.ports.jobs import JobLogQuery, LogChunk, LogQuery
from tests.unit.api.asgi_client import AUTHORIZED, Call, Client, manifest
from tests.unit.api.fake_admin import event
from tests.unit.api.fake_gateway import FakeGateway


async def next_line(call: Call) -> Any:
    return json.loads(await call.chunk())


async def test_a_followed_submit_is_one_answer_from_commit_to_end(client: Client, gateway: FakeGateway) -> None:
    body = json.dumps(manifest()).encode()
    call = client.start("POST", "/api/v1/jobs?follow=end", body=body)
    first = await next_line(call)
    assert first["job"]["state"] == "pending"
    assert (call.response.status, call.response.headers["content-type"]) == (201, "application/x-ndjson")
    assert not call.task.done()
    gateway.job_table.end(1)
    last = await next_line(call)
    assert (last["end"]["state"], last["exit_code"]) == ("succeeded", 0)
    assert (await call.finished()).is_complete


async def test_the_end_has_the_version_that_it_shows(client: Client, gateway: FakeGateway) -> None:
    call = client.start("POST", "/api/v1/jobs?follow=end", body=json.dumps(manifest()).encode())
    assert (await next_line(call))["version"] == 9
    gateway.replication.version = 12
    gateway.job_table.end(1)
    assert (await next_line(call))["version"] == 12
    assert call.response.headers["shunter-version"] == "9"


async def test_following_what_was_there_before_is_not_created(client: Client, gateway: FakeGateway) -> None:
    gateway.is_eager = True
    headers = AUTHORIZED | {"idempotency-key": "k"}
    body = json.dumps(manifest()).encode()
    for status in (201, 200):
        answer = await client.call("POST", "/api/v1/jobs?follow=end", body=body, headers=headers)
        lines = [json.loads(line) for line in answer.body.splitlines()]
        assert (answer.status, [next(iter(line)) for line in lines]) == (status, ["job", "end"])


@pytest.mark.parametrize(
    ("mode", "kind", "value"),
    [
        ("progress", "progress", {"state": "running", "counts": {"running": 1}}),
        ("logs", "log", {"stream": "stdout", "data": "aGVsbG8K"}),
    ],
)
async def test_progress_and_logs_come_between_job_and_end(
    client: Client, gateway: FakeGateway, mode: str, kind: str, value: object
) -> None:
    gateway.is_eager = True
    await client.post("/api/v1/jobs", manifest())
    answer = await client.get(f"/api/v1/jobs/render/follow?mode={mode}")
    lines = [json.loads(line) for line in answer.body.splitlines()]
    assert [next(iter(line)) for line in lines] == ["job", kind, "end"]
    assert lines[1][kind] == value


async def test_following_an_unknown_job_is_a_plain_404(client: Client) -> None:
    answer = await client.get("/api/v1/jobs/nobody/follow")
    assert (answer.status, answer.headers["content-type"]) == (404, "application/problem+json")


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/jobs/render/follow",
        "/api/v1/events?follow=true",
        "/api/v1/jobs/render/tasks/0/logs?follow=true",
        "/api/v1/jobs/render/logs?follow=true",
    ],
)
async def test_a_client_that_hangs_up_ends_the_work_behind_its_stream(
    client: Client, gateway: FakeGateway, path: str
) -> None:
    await client.post("/api/v1/jobs", manifest())
    gateway.chunks.put_nowait(LogChunk(b"x", 1, eof=False))
    call = client.start("GET", path)
    await call.chunk()
    assert gateway.streams_open == 1
    call.hang_up()
    await call.finished()
    assert gateway.streams_open == 0


@pytest.mark.parametrize("path", ["/api/v1/jobs/render/follow", "/api/v1/events?follow=true"])
async def test_a_server_that_stops_ends_lines_and_events_properly(
    client: Client, gateway: FakeGateway, path: str
) -> None:
    await client.post("/api/v1/jobs", manifest())
    call = client.start("GET", path)
    await call.chunk()
    call.task.cancel()
    answer = await call.finished()
    assert answer.is_complete
    assert b'"end"' not in answer.body
    assert gateway.streams_open == 0


async def test_a_server_that_stops_never_passes_off_half_a_log_as_whole(client: Client, gateway: FakeGateway) -> None:
    await client.post("/api/v1/jobs", manifest())
    gateway.chunks.put_nowait(LogChunk(b"half", 4, eof=False))
    call = client.start("GET", "/api/v1/jobs/render/tasks/0/logs?follow=true")
    await call.chunk()
    call.task.cancel()
    assert not (await call.finished()).is_complete


async def test_a_request_that_waits_when_the_server_stops_hears_so(client: Client) -> None:
    call = client.start("POST", "/api/v1/jobs", body=b"{", is_whole=False)
    await asyncio.sleep(0)  # let it begin to wait for the rest
    call.task.cancel()
    answer = await call.finished()
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")


async def test_a_source_that_fails_midway_ends_the_lines_without_an_end_line(
    client: Client, gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    await client.post("/api/v1/jobs", manifest())

    async def fail() -> None:
        raise Unavailable("the store is gone")

    monkeypatch.setattr(gateway.job_table.by_id[1].ended, "wait", fail)
    answer = await client.get("/api/v1/jobs/render/follow")
    assert answer.is_complete
    assert len(answer.body.splitlines()) == 1


async def test_the_log_so_far_is_read_whole_in_chunks(
    client: Client, gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shunter.api.routes.jobs.LOG_CHUNK_SIZE_MAX", 4)
    gateway.log = bytes(range(11))
    await client.post("/api/v1/jobs", manifest())
    path = "/api/v1/jobs/render/tasks/0/logs"
    answer = await client.get(path)
    assert (answer.status, answer.body) == (200, gateway.log)
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["x-log-truncated"] == "false"
    assert (await client.get(f"{path}?offset=3&limit=5")).body == gateway.log[3:8]
    answer = await client.get(f"{path}?offset=20")
    assert (answer.body, answer.headers["content-type"]) == (b"", "application/octet-stream")
    assert (await client.get(f"{path}?limit=0")).body == b""
    gateway.job_table.end(1)
    gateway.log = b"abcd"
    assert (await client.get(path)).body == b"abcd"


async def test_a_hole_in_a_log_does_not_end_it(
    client: Client, gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    await client.post("/api/v1/jobs", manifest())
    pieces = {0: LogChunk(b"head", 1000, eof=False, truncated=True), 1000: LogChunk(b"tail", 1004, eof=True)}

    async def read(_job: object, _index: int, query: LogQuery) -> LogChunk:
        return pieces[query.offset]

    monkeypatch.setattr(gateway.streams, "read_log", read)
    answer = await client.get("/api/v1/jobs/render/tasks/0/logs")
    assert (answer.body, answer.headers["x-log-truncated"]) == (b"headtail", "true")


async def test_a_log_query_reaches_the_gateway_and_a_cut_log_says_so(client: Client, gateway: FakeGateway) -> None:
    gateway.log_is_truncated = True
    await client.post("/api/v1/jobs", manifest())
    answer = await client.get("/api/v1/jobs/render/tasks/0/logs?stream=stderr&offset=1&limit=2&attempt=3")
    assert gateway.received[-1] == LogQuery("stderr", 1, 2, 3)
    assert answer.headers["x-log-truncated"] == "true"
    assert (await client.get("/api/v1/jobs/render/tasks/5/logs")).status == 404
    assert (await client.get("/api/v1/jobs/render/tasks/0/logs?stream=both")).fields == ["query.stream"]


async def test_the_output_of_a_job_is_one_response_of_lines(client: Client, gateway: FakeGateway) -> None:
    await client.post("/api/v1/jobs", manifest())
    parameters = "tail=5&grep=a%20b&group=main&index=1-9:4,20&state=failed&stream=stderr&since=1970-01-01T00:00:01Z"
    answer = await client.get(f"/api/v1/jobs/render/logs?{parameters}")
    both = ((1, 9, 4), (20, 20, 1))
    assert gateway.received[-1] == JobLogQuery(False, 5, "a b", 1000, ("main",), both, ("failed",), ("stderr",))
    assert answer.headers["content-type"] == "application/x-ndjson"
    log, end = (msgspec.json.decode(line, type=JobLogLine) for line in answer.body.splitlines())
    assert log.log is not None and (log.log.task, log.log.data) == ("render/0", gateway.log)
    assert end.end is not None and end.end.tasks == 1
    await client.get("/api/v1/jobs/render/logs")
    assert gateway.received[-1] == JobLogQuery()
    assert (await client.get("/api/v1/jobs/nobody/logs")).status == 404
    for parameter in ("tail=-1", "index=3%251", "index=x", "since=10m", "group=A_", "stream=both", "state=odd"):
        fields = (await client.get(f"/api/v1/jobs/render/logs?{parameter}")).fields
        assert fields == [f"query.{parameter.partition('=')[0]}"]


async def test_a_followed_log_grows_until_its_end_or_its_limit(client: Client, gateway: FakeGateway) -> None:
    await client.post("/api/v1/jobs", manifest())
    call = client.start("GET", "/api/v1/jobs/render/tasks/0/logs?follow=true")
    gateway.chunks.put_nowait(LogChunk(b"", 0, eof=False))
    gateway.chunks.put_nowait(LogChunk(b"one", 3, eof=True))  # of this attempt; another follows
    assert await call.chunk() == b"one"
    gateway.chunks.put_nowait(LogChunk(b"two", 6, eof=True))
    assert await call.chunk() == b"two"
    gateway.chunks.put_nowait(None)
    assert (await call.finished()).is_complete
    for data in (b"abc", b"def"):
        gateway.chunks.put_nowait(LogChunk(data, 0, eof=False))
    answer = await client.get("/api/v1/jobs/render/tasks/0/logs?follow=true&limit=4")
    assert (answer.body, answer.is_complete) == (b"abcd", True)


async def test_events_are_read_by_page_behind_a_version_or_an_event(client: Client, gateway: FakeGateway) -> None:
    async def ids(query: str) -> list[str]:
        return [item["id"] for item in (await client.get(f"/api/v1/events?{query}")).json["items"]]

    assert await ids("") == ["7-0", "7-1", "9-0"]
    assert await ids("after=7-0") == ["7-1", "9-0"]
    assert await ids("after=7&limit=5") == ["9-0"]
    assert gateway.received[-1] == EventQuery(None, None, 5, EventPosition(7))
    assert (await client.get("/api/v1/events?after=x&namespace=film&job=a")).fields == ["query.after"]


async def test_events_stream_with_ids_and_go_on_where_the_browser_was(client: Client, gateway: FakeGateway) -> None:
    headers = AUTHORIZED | {"accept": "text/event-stream", "last-event-id": "7-0"}
    call = client.start("GET", "/api/v1/events?after=1", headers=headers)
    gateway.pending_events.put_nowait(event("10-0"))
    seen = [chunk async for chunk in events_of(call, 3)]
    assert [(name, data["id"]) for name, data in seen] == [
        ("job.submitted", "7-1"),
        ("job.submitted", "9-0"),
        ("job.submitted", "10-0"),
    ]
    assert call.response.headers["content-type"] == "text/event-stream"
    call.hang_up()
    await call.finished()


async def events_of(call: Call, count: int) -> Any:
    """The next events of a stream, its comments left out."""
    while count:
        fields = dict(line.split(": ", 1) for line in (await call.chunk()).decode().strip().split("\n"))
        if "data" in fields:
            data = json.loads(fields["data"])
            assert fields["id"] == data["id"]
            yield fields["event"], data
            count -= 1


async def test_a_quiet_event_stream_is_kept_alive_by_comments(client: Client) -> None:
    call = client.start("GET", "/api/v1/events?follow=true")
    for _ in range(3):
        chunk = await call.chunk()
        assert chunk.startswith(b":")
        assert chunk.endswith(b"\n\n")
    call.hang_up()
    await call.finished()


async def test_a_position_that_history_no_longer_has_is_a_plain_404(client: Client, gateway: FakeGateway) -> None:
    gateway.failure = NotFound("events before 100 are gone")
    answer = await client.get("/api/v1/events?after=1&follow=true")
    assert (answer.status, answer.headers["content-type"]) == (404, "application/problem+json")


async def test_head_of_a_stream_has_no_body_and_does_not_wait(client: Client, gateway: FakeGateway) -> None:
    await client.post("/api/v1/jobs", manifest())
    answer = await client.call("HEAD", "/api/v1/jobs/render/follow")
    assert (answer.status, answer.is_complete) == (200, True)
    assert gateway.streams_open == 0


@pytest.mark.parametrize("key", ["k1", ""], ids=["key", "admin token"])
async def test_a_stream_ends_when_its_token_is_no_longer_valid(
    client: Client, gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setattr("shunter.api.http.permission_watch.CHECK_EVERY_S", 0.01)
    gateway.key = key
    call = client.start("GET", "/api/v1/events", headers=AUTHORIZED | {"accept": "text/event-stream"})
    await call.chunk()
    assert not call.task.done()
    gateway.key = "another"
    await asyncio.wait_for(gateway.stream_closed.wait(), 10)
    assert (await call.finished()).status == 200
