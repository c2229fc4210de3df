"""Testbeds, BatchJobs and Schedulings from Python: both clients against the real API, and watches that break."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

import shunter
from shunter.model.objects.batch_jobs import BatchJobState, BatchJobStatus
from shunter.model.objects.object_meta import ObjectName
from shunter.model.rest.object_views import ObjectView, WatchLine
from shunter.sdk.calls.objects import BASE, IDLE_MAX_S, RESUME_DELAY_S, document_of, watch
from shunter.sdk.errors import ConnectionLost
from shunter.sdk.transport.steps import Response
from tests.contracts.memory_objects import MemoryObjectService
from tests.contracts.objects import batch_job, scheduling, testbed
from tests.unit.api.fake_gateway import TOKEN
from tests.unit.api.live_server import live_server
from tests.unit.sdk.manual_transport import Reply, Transcript, core, json_response, run_conversation

OPENED = Response(200)
HERE = f"{BASE}/namespaces/default"


@pytest.fixture
def served() -> Iterator[tuple[str, MemoryObjectService]]:
    with live_server() as (port, gateway):
        yield f"http://127.0.0.1:{port}", gateway.objects


def test_the_blocking_client_knows_objects(served: tuple[str, MemoryObjectService]) -> None:
    url, object_service = served
    with shunter.connect(url, TOKEN) as c:
        applied = c.apply([testbed(), batch_job(), scheduling()])
        assert [(each.kind, each.action) for each in applied] == [
            ("Testbed", "created"),
            ("BatchJob", "created"),
            ("Scheduling", "created"),
        ]
        assert c.apply(testbed("bench"))[0].action == "unchanged"
        found = c.get("tb", "bench")
        assert (found.name, found.namespace, found.resource_version) == ("bench", "default", 1)
        assert c.apply(document_of(found))[0].action == "unchanged"
        assert [each.name for each in c.objects()] == ["bench", "crawler", "first"]
        assert [each.name for each in c.objects("batchjobs", "*")] == ["crawler"]
        assert c.patch("testbed", "bench", {"spec": {"slotsPerNode": 5}}).spec["slotsPerNode"] == 5
        assert c.write_external("crawler", {"profiler": [{"a": "24 (16)"}]}).spec["externalScheduler"] == {
            "profiler": [{"a": "24 (16)"}]
        }
        assert c.reset("crawler") == c.get("bj", "crawler")  # it has nothing to do
        asyncio.run(fail(object_service, "crawler"))
        assert c.reset("crawler").status["state"] == "ReadyState"
        with pytest.raises(shunter.Conflict):
            c.delete("sched", "first", version=999)
        assert c.delete("sched", "first").name == "first"
        [past] = c.past_schedulings()
        assert c.past_scheduling(past.uid) == past
        assert list(c.past_schedulings(name="other")) == []
        with pytest.raises(shunter.NotFound):
            c.get("sched", "first")
        with pytest.raises(shunter.Invalid, match=r"did you mean testbeds\?"):
            c.get("tesbeds", "bench")


async def test_the_async_client_knows_objects(served: tuple[str, MemoryObjectService]) -> None:
    url, _ = served
    async with shunter.aio.connect(url, TOKEN) as c:
        await c.apply([testbed(), batch_job(), scheduling()])
        assert (await c.get("testbeds", "bench")).kind == "Testbed"
        assert len(await c.objects("bj")) == 1
        assert (await c.patch("tb", "bench", {"spec": {"slotsPerNode": 5}})).spec["slotsPerNode"] == 5
        assert (await c.write_external("crawler", {"a": [{"b": "1"}]})).spec["externalScheduler"] == {"a": [{"b": "1"}]}
        assert await c.reset("crawler") == await c.get("bj", "crawler")  # it has nothing to do
        watched = c.watch("Scheduling", present=True)
        assert (await anext(watched)).type == "ADDED"
        await c.delete("sched", "first")
        line = await anext(watched)
        assert (line.type, line.object.name) == ("DELETED", "first")
        [past] = [each async for each in c.past_schedulings()]
        assert await c.past_scheduling(past.uid) == past


def test_a_file_of_jobs_is_submitted(served: tuple[str, MemoryObjectService]) -> None:
    text = "apiVersion: shunter.dev/v1\nkind: Job\nmetadata: {name: hello}\nspec: {command: [echo, hello]}\n"
    with shunter.connect(served[0], TOKEN) as c:
        [first], [second] = c.apply(text), c.apply(text)
    assert (first.action, second.action) == ("created", "unchanged")
    assert first.job is not None and first.job.run == 1


async def fail(object_service: MemoryObjectService, name: str) -> None:
    job: Any = await object_service.object("BatchJob", ObjectName("default", name))
    await object_service.put(msgspec.structs.replace(job, status=BatchJobStatus(BatchJobState.FAILED)))


# ---- watches that break, without I/O ----


def view(name: str, version: int, uid: str = "1") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": uid, "resourceVersion": str(version)}
    return {"apiVersion": "v", "kind": "Testbed", "metadata": metadata, "spec": {}, "status": {}}


def line(action: str, name: str, version: int) -> bytes:
    return msgspec.json.encode({"type": action, "object": view(name, version)}) + b"\n"


def listed(version: int, *items: dict[str, Any]) -> Response:
    page = {"apiVersion": "v", "kind": "TestbedList", "metadata": {"resourceVersion": str(version)}}
    return json_response(200, page | {"items": list(items), "next": None, "total": len(items)})


class Enough(Exception):
    """Ends a watch, which has no end of its own."""


def watched(replies: list[Reply], after: int | None = None, present: bool = False) -> Transcript:
    transcript = Transcript()
    with pytest.raises(Enough):
        run_conversation(watch(core(), "tb", None, None, after, present), [*replies, Enough()], transcript)
    return transcript


def watch_lines(transcript: Transcript) -> list[str]:
    lines: list[WatchLine] = transcript.items
    return [f"{each.type} {each.object.name} {each.object.resource_version}" for each in lines]


def test_a_watch_from_now_on_goes_on_from_the_version_of_the_list() -> None:
    transcript = watched(
        [listed(7, view("there", 3)), OPENED, b"\n" + line("ADDED", "a", 8)[:9], line("ADDED", "a", 8)[9:]]
    )
    assert [request.path for request in transcript.requests] == [
        f"{HERE}/testbeds",
        f"{HERE}/testbeds?watch=true&resourceVersion=7",
    ]
    assert watch_lines(transcript) == ["ADDED a 8"]
    assert transcript.timeouts[-1] == IDLE_MAX_S


def test_a_watch_that_is_asked_to_tells_first_what_is_there() -> None:
    assert watch_lines(watched([listed(7, view("there", 3)), OPENED], present=True)) == ["ADDED there 3"]


@pytest.mark.parametrize("end", [b"", ConnectionLost("x"), TimeoutError()])
def test_a_watch_that_breaks_goes_on_behind_the_last_change_it_told(end: Reply) -> None:
    transcript = watched([OPENED, line("ADDED", "a", 5), end, OPENED, line("DELETED", "a", 9)], after=4)
    assert [request.path.rpartition("=")[2] for request in transcript.requests] == ["4", "5"]
    assert watch_lines(transcript) == ["ADDED a 5", "DELETED a 9"]
    assert transcript.pauses == [pytest.approx(RESUME_DELAY_S)]


def test_a_watch_that_was_away_for_too_long_compares_what_is_there_with_what_it_saw() -> None:
    gone = json_response(410, {"title": "gone", "detail": "not remembered"})
    saw = line("ADDED", "same", 5) + line("ADDED", "moved", 6) + line("ADDED", "lost", 7) + line("ADDED", "anew", 8)
    now = listed(90, view("anew", 88, uid="2"), view("moved", 70), view("new", 80), view("same", 5))
    transcript = watched([OPENED, saw, b"", gone, now, OPENED, line("MODIFIED", "new", 91)], after=4)
    assert watch_lines(transcript)[4:] == [
        "DELETED lost 7",
        "ADDED anew 88",
        "MODIFIED moved 70",
        "ADDED new 80",
        "MODIFIED new 91",
    ]
    assert transcript.requests[-1].path.endswith("resourceVersion=90")


def test_every_namespace_and_every_kind_can_be_watched() -> None:
    transcript = Transcript()
    with pytest.raises(Enough):
        run_conversation(watch(core(), None, "a", "*", 4, False), [OPENED, Enough()], transcript)
    assert transcript.requests[0].path == f"{BASE}/objects?name=a&watch=true&resourceVersion=4"


def test_a_view_is_the_document_that_it_came_from() -> None:
    document = view("a", 1)
    assert document_of(msgspec.convert(document, ObjectView)) == document
