"""REST for external schedulers: every path of the External-Scheduler-Interface, with its status codes and bodies."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest

from shunter.api.http.app import EXTERNAL_LISTENER, OPEN_EXTERNAL_LISTENER, ApiSettings, build_app
from shunter.model.objects.batch_jobs import BatchJob, BatchJobState, BatchJobStatus, ScheduledEvent
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.schedulings import JobProgress, JobRecord, SchedulingState, SchedulingStatus
from shunter.model.objects.testbeds import Slot, SlotHolder, SlotPlace, SlotState, TestbedState, TestbedStatus
from tests.contracts.memory_objects import MemoryObjectService
from tests.contracts.objects import batch_job, testbed
from tests.unit.api.asgi_client import Client, Response
from tests.unit.api.fake_gateway import FakeGateway

QUEUE = {"name": "first", "testBed": "bench", "queue": ["crawler", "sorter", "crawler"]}
SLOTS = {
    "name": "second",
    "testBed": "bench",
    "slots": {"mode": "RELAXED", "jobs": [{"name": "sorter", "slots": [1, 0]}, {"name": "crawler", "slots": [2]}]},
}


@pytest.fixture
async def object_service(gateway: FakeGateway) -> MemoryObjectService:
    """A testbed and two jobs, in the default namespace and in another."""
    documents = [testbed(), batch_job(), batch_job("sorter")]
    for namespace in ("default", "lab"):
        await gateway.objects.apply(documents, namespace=namespace)
    return gateway.objects


async def send(client: Client, method: str, path: str, document: object) -> Response:
    return await client.call(method, path, body=json.dumps(document).encode())


async def move(
    object_service: MemoryObjectService, kind: str, name: str, status: Any, namespace: str = "default"
) -> None:
    found: Any = await object_service.object(kind, ObjectName(namespace, name))
    await object_service.put(msgspec.structs.replace(found, status=status))


# ---- testbeds ----


async def test_a_testbed_is_shown_with_its_slots_by_node(client: Client, object_service: MemoryObjectService) -> None:
    here, holder = ObjectName("default", "first"), ObjectName("default", "crawler")
    slots = (
        Slot(SlotPlace("east", 0), 0, {"cpu": 100}),
        Slot(SlotPlace("west", 0), 1, {"cpu": 100}, SlotState.RESERVED, 0, SlotHolder(holder, 0, here)),
        Slot(SlotPlace("east", 1), 0, {"cpu": 100}, SlotState.OCCUPIED, 0, SlotHolder(holder, 1, here)),
    )
    await move(object_service, "Testbed", "bench", TestbedStatus(TestbedState.RUNNING, slots))
    answer = await client.get("/external/testbeds/bench")
    assert answer.status == 200
    shown = answer.json
    assert list(shown) == ["name", "state", "numberOfNodes", "numberOfSlotsPerNode", "slotsByNode"]
    assert (shown["name"], shown["state"], shown["numberOfNodes"], shown["numberOfSlotsPerNode"]) == (
        "bench", "RUNNING", 2, 2,
    )  # fmt: skip
    assert {node: [slot["position"] for slot in slots] for node, slots in shown["slotsByNode"].items()} == {
        "east": [0, 2],
        "west": [1],
    }
    [free, occupied], [reserved] = shown["slotsByNode"]["east"], shown["slotsByNode"]["west"]
    assert (free["state"], free["nodeId"], free["slotPositionOnNode"]) == ("FREE", 0, 0)
    assert (occupied["state"], occupied["podName"]) == ("OCCUPIED", "bj.crawler/executor/1")
    assert (reserved["state"], reserved["reservedFor"]) == ("RESERVED", "bj.crawler/executor/0")
    listed = await client.get("/external/testbeds")
    assert (listed.status, listed.json) == (200, [shown])


@pytest.mark.usefixtures("object_service")
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", ["/external/testbeds", "/external/testbeds/bench", "/external/testbeds/other"])
async def test_no_path_makes_changes_or_deletes_a_testbed(client: Client, method: str, path: str) -> None:
    """S1-04."""
    answer = await send(client, method, path, {"name": "bench", "numberOfSlotsPerNode": 9})
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD, OPTIONS")
    assert [each["name"] for each in (await client.get("/external/testbeds")).json] == ["bench"]


# ---- jobs ----


async def test_jobs_are_listed_by_name_with_their_runs(client: Client, object_service: MemoryObjectService) -> None:
    run = ScheduledEvent(
        1_900_000_000_000,
        ObjectName("default", "first"),
        ObjectName("default", "bench"),
        (0,),
        7,
        1_900_000_024_000,
        True,
    )
    await move(object_service, "BatchJob", "crawler", BatchJobStatus(BatchJobState.IN_QUEUE, (run,)))
    answer = await client.get("/external/jobs")
    assert (answer.status, sorted(answer.json)) == (200, ["crawler", "sorter"])
    job = answer.json["crawler"]
    assert (await client.get("/external/jobs/crawler")).json == job
    assert list(job) == ["name", "state", "externalScheduler", "scheduledEvents"]
    assert (job["name"], job["state"], job["externalScheduler"]) == ("crawler", "InQueueState", {})
    [event] = job["scheduledEvents"]
    assert (event["start"], event["stop"], event["successful"], event["scheduling"]) == (
        "2030-03-17T17:46:40.000Z", "2030-03-17T17:47:04.000Z", True, {"name": "first", "namespace": "default"},
    )  # fmt: skip


@pytest.mark.usefixtures("object_service")
@pytest.mark.parametrize("path", ["/external/jobs/", "/external/jobs", "/external/jobs/crawler"])
async def test_of_a_put_only_the_keys_of_external_schedulers_are_written(client: Client, path: str) -> None:
    job = (await client.get("/external/jobs/crawler")).json
    job |= {"state": "CompletedState", "externalScheduler": {"profiler": [{"sorter": "24 (16)"}]}}
    answer = await send(client, "PUT", path, job | {"scheduledEvents": [{"start": "never"}]})
    assert answer.status == 200
    assert answer.json == job | {"state": "ReadyState", "scheduledEvents": []}
    assert (await client.get("/external/jobs/crawler")).json == answer.json


async def test_two_schedulers_write_keys_of_their_own_and_both_survive(
    client: Client, object_service: MemoryObjectService
) -> None:
    """S1-29. Both have read the job before either of them writes."""
    read = [(await client.get("/external/jobs/crawler")).json for _ in range(2)]
    for who, job in enumerate(read):
        job["externalScheduler"] = {f"scheduler-{who}": [{"runs": str(who)}]}
    responses = await asyncio.gather(*(send(client, "PUT", "/external/jobs/", job) for job in read))
    assert [answer.status for answer in responses] == [200, 200]
    job = await object_service.object("BatchJob", ObjectName("default", "crawler"))
    assert isinstance(job, BatchJob)
    assert job.spec.external == {"scheduler-0": [{"runs": "0"}], "scheduler-1": [{"runs": "1"}]}


@pytest.mark.usefixtures("object_service")
async def test_a_put_without_external_data_leaves_it(client: Client) -> None:
    await send(client, "PUT", "/external/jobs/crawler", {"externalScheduler": {"mine": [{"a": "b"}]}})
    answer = await send(client, "PUT", "/external/jobs/", {"name": "crawler", "externalScheduler": None})
    assert (answer.status, answer.json["externalScheduler"]) == (200, {"mine": [{"a": "b"}]})


@pytest.mark.usefixtures("object_service")
@pytest.mark.parametrize(
    ("path", "body", "status", "field"),
    [
        ("/external/jobs/", {"externalScheduler": {}}, 400, "body.name"),
        ("/external/jobs/crawler", {"name": "sorter"}, 400, "body.name"),
        ("/external/jobs/crawler", {"externalScheduler": {"a": {}}}, 400, "body.externalScheduler.a"),
        ("/external/jobs/crawler", {"externalScheduler": {"a": [{"b": None}]}}, 400, "body.externalScheduler.a[0].b"),
        ("/external/jobs/crawler", {"spec": {}}, 400, "body.spec"),
        ("/external/jobs/Crawler", {}, 400, "path.object"),
        ("/external/jobs/", {"name": "nobody", "externalScheduler": {}}, 404, None),
        ("/external/jobs/nobody", {}, 404, None),
    ],
)
async def test_what_is_wrong_with_a_put_is_told(
    client: Client, path: str, body: object, status: int, field: str | None
) -> None:
    answer = await send(client, "PUT", path, body)
    assert (answer.status, answer.fields) == (status, [] if field is None else [field])


# ---- schedulings ----


async def test_a_scheduling_by_queue_is_made_read_and_deleted(
    client: Client, object_service: MemoryObjectService
) -> None:
    made = await client.post("/external/schedulings", QUEUE)
    assert made.status == 200
    assert made.json == QUEUE | {"state": "AcquireState", "jobStatus": [], "slots": None}
    records = (JobRecord(JobProgress.SCHEDULED, (0, 2)), JobRecord(JobProgress.IN_QUEUE))
    await move(object_service, "Scheduling", "first", SchedulingStatus(SchedulingState.SUBMISSION, 0, records))
    answer = await client.get("/external/schedulings/first")
    assert (answer.status, answer.json["state"]) == (200, "SubmissionState")
    assert answer.json["jobStatus"] == [
        {"name": "crawler", "state": "Scheduled"},
        {"name": "sorter", "state": "InQueue"},
    ]
    listed = await client.get("/external/schedulings")
    assert (listed.status, listed.json) == (200, [answer.json])
    deleted = await client.call("DELETE", "/external/schedulings/first")
    assert (deleted.status, deleted.json) == (200, answer.json)
    assert (await client.get("/external/schedulings/first")).status == 404
    past = (await client.get("/external/past-schedulings?limit=1")).json
    assert [(each["name"], each["state"]) for each in past["items"]] == [("first", "SubmissionState")]
    assert past == (await client.get("/api/v1/schedulings/past?limit=1")).json


async def test_a_scheduling_by_slots_is_made(client: Client, object_service: MemoryObjectService) -> None:
    made = await client.post("/external/schedulings", SLOTS)
    assert made.status == 200
    assert made.json == SLOTS | {"state": "AcquireState", "jobStatus": [], "queue": None}
    found: Any = await object_service.object("Scheduling", ObjectName("default", "second"))
    assert (found.spec.mode, [each.slot_ids for each in found.spec.slots]) == ("relaxed", [(1, 0), (2,)])


async def test_who_waits_or_failed_says_why_and_may_be_sent_back_so(
    client: Client, object_service: MemoryObjectService
) -> None:
    """A scheduler that sees FailedState must learn the reason by the same interface."""
    made = (await client.post("/external/schedulings", QUEUE)).json
    assert "waitsFor" not in made and "problems" not in made
    await move(
        object_service, "Scheduling", "first", SchedulingStatus(waits_for="scheduling lab/x, which uses testbed bench")
    )
    waiting = (await client.get("/external/schedulings/first")).json
    assert waiting == made | {"waitsFor": "scheduling lab/x, which uses testbed bench"}
    await move(
        object_service, "Scheduling", "first", SchedulingStatus(SchedulingState.SUBMISSION, problems=["it is late"])
    )
    assert (await client.get("/external/schedulings/first")).json["problems"] == ["it is late"]
    assert (await client.post("/external/schedulings", waiting | {"problems": ["x"]})).status == 200
    await move(
        object_service, "BatchJob", "crawler", BatchJobStatus(BatchJobState.FAILED_SUBMISSION, problems=["exit code 3"])
    )
    failed = (await client.get("/external/jobs/crawler")).json
    assert (failed["state"], failed["problems"]) == ("FailedSubmissionState", ["exit code 3"])
    assert (await send(client, "PUT", "/external/jobs/", failed)).status == 200


@pytest.mark.usefixtures("object_service")
async def test_a_post_of_the_same_name_replaces(client: Client) -> None:
    """What it was answered with may be sent back, changed: what only Shunter writes is not looked at."""
    made = (await client.post("/external/schedulings", QUEUE)).json
    answer = await client.post("/external/schedulings/", made | {"queue": ["sorter"], "state": "CompletedState"})
    assert (answer.status, answer.json) == (200, made | {"queue": ["sorter"]})
    assert len((await client.get("/external/schedulings")).json) == 1


@pytest.mark.usefixtures("object_service")
@pytest.mark.parametrize(
    ("change", "detail"),
    [
        ({"slots": SLOTS["slots"]}, "has both queue and slots"),
        ({"queue": None}, "has neither queue nor slots"),
        ({"queue": []}, "has neither queue nor slots"),
    ],
)
async def test_both_strategies_or_neither_is_refused(client: Client, change: dict[str, Any], detail: str) -> None:
    """S1-20."""
    answer = await client.post("/external/schedulings", QUEUE | change)
    assert answer.status == 400
    assert detail in answer.json["detail"] and "set either queue" in answer.json["problems"][0]["fix"]
    assert (await client.get("/external/schedulings")).json == []


@pytest.mark.usefixtures("object_service")
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"testBed": "bench", "queue": ["crawler"]}, "body.name"),
        ({"name": "first", "queue": ["crawler"]}, "body.testBed"),
        (QUEUE | {"queue": ["crawler", "Sorter"]}, "body.queue[1]"),
        (QUEUE | {"queue": "crawler"}, "body.queue"),
        (QUEUE | {"que": []}, "body.que"),
        (SLOTS | {"slots": {"mode": "LOOSE", "jobs": [{"name": "crawler", "slots": [0]}]}}, "body.slots.mode"),
        (SLOTS | {"slots": {"jobs": [{"name": "crawler", "slots": [-1]}]}}, "body.slots.jobs[0].slots[0]"),
        (SLOTS | {"slots": {"jobs": [{"name": "crawler"}]}}, "body.slots.jobs[0].slots"),
        ([], "body"),
    ],
)
async def test_what_is_wrong_with_a_scheduling_is_told(client: Client, body: object, field: str) -> None:
    answer = await client.post("/external/schedulings", body)
    assert (answer.status, answer.fields) == (400, [field])


@pytest.mark.usefixtures("object_service")
@pytest.mark.parametrize("kind", ["testbeds", "jobs", "schedulings"])
async def test_what_is_not_there_is_not_found(client: Client, kind: str) -> None:
    answer = await client.get(f"/external/{kind}/nothing")
    assert (answer.status, answer.headers["content-type"]) == (404, "application/problem+json")


@pytest.mark.usefixtures("object_service")
async def test_deleting_what_is_not_there_is_404_or_as_the_reference_has_it_304(gateway: FakeGateway) -> None:
    for absent_is_304, status in ((False, 404), (True, 304)):
        client = Client(build_app(gateway, ApiSettings(absent_is_304=absent_is_304)))
        answer = await client.call("DELETE", "/external/schedulings/nothing")
        assert (answer.status, bool(answer.body)) == (status, status == 404)


@pytest.mark.usefixtures("object_service")
@pytest.mark.parametrize("listener", [EXTERNAL_LISTENER, OPEN_EXTERNAL_LISTENER])
async def test_a_wrong_path_is_answered_with_what_this_door_has(gateway: FakeGateway, listener: Any) -> None:
    client = Client(build_app(gateway, listener=listener))
    for path in ("/", "/external", "/api/v1/jobs"):
        detail = (await client.get(path)).json["detail"]
        assert "openapi" not in detail and "/external/schedulings and the WebSocket /scheduler" in detail
    answer = await client.get("/scheduler")
    assert (answer.status, answer.headers["upgrade"]) == (426, "websocket")
    assert "connect with a STOMP client" in answer.json["detail"]


@pytest.mark.usefixtures("object_service")
async def test_a_body_that_is_empty_is_called_so(client: Client) -> None:
    answer = await client.call("POST", "/external/schedulings", body=b"")
    assert (answer.status, answer.json["detail"]) == (400, "body: is empty; send a JSON document")


# ---- namespaces ----


@pytest.mark.usefixtures("object_service")
async def test_equal_names_in_two_namespaces_stay_distinct(client: Client) -> None:
    """S1-32."""
    await client.post("/external/schedulings", QUEUE)
    other = await client.post("/external/schedulings?namespace=lab", QUEUE | {"queue": ["sorter"]})
    assert (other.status, other.json["queue"]) == (200, ["sorter"])
    assert (await client.get("/external/schedulings/first")).json["queue"] == QUEUE["queue"]
    await send(client, "PUT", "/external/jobs/crawler?namespace=lab", {"externalScheduler": {"mine": [{}]}})
    assert (await client.get("/external/jobs/crawler")).json["externalScheduler"] == {}
    assert (await client.call("DELETE", "/external/schedulings/first?namespace=lab")).json == other.json
    assert (await client.get("/external/schedulings/first")).status == 200
    assert (await client.get("/external/jobs?namespace=nowhere")).json == {}


async def test_jobs_of_another_namespace_are_named_with_it(client: Client, object_service: MemoryObjectService) -> None:
    answer = await client.post("/external/schedulings", QUEUE | {"queue": ["lab/sorter", "crawler"]})
    assert (answer.status, answer.json["queue"]) == (200, ["lab/sorter", "crawler"])
    found: Any = await object_service.object("Scheduling", ObjectName("default", "first"))
    assert found.spec.queue == (ObjectName("lab", "sorter"), ObjectName("default", "crawler"))


# ---- who is let in ----

PAGE = {"origin": "http://localhost:4200"}


@pytest.mark.usefixtures("object_service")
@pytest.mark.parametrize("listener", [None, EXTERNAL_LISTENER])
async def test_without_the_token_nobody_is_let_in(gateway: FakeGateway, listener: Any) -> None:
    client = Client(build_app(gateway, listener=listener))
    answer = await client.get("/external/jobs", headers=PAGE)
    assert (answer.status, "access-control-allow-origin" in answer.headers) == (401, False)
    assert (await client.get("/external/jobs")).status == 200


@pytest.mark.usefixtures("object_service")
async def test_an_open_door_needs_no_token_and_takes_web_pages_of_this_machine(gateway: FakeGateway) -> None:
    client = Client(build_app(gateway, listener=OPEN_EXTERNAL_LISTENER))
    answer = await client.get("/external/jobs", headers=PAGE)
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (200, PAGE["origin"])
    received = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}
    preflight = await client.call("OPTIONS", "/external/schedulings", headers=PAGE | received)
    assert preflight.status == 204
    assert "access-control-allow-credentials" not in answer.headers | preflight.headers
    assert "POST" in preflight.headers["access-control-allow-methods"]
    assert preflight.headers["access-control-allow-headers"] == "content-type"
    assert (await client.get("/external/nothing", headers=PAGE)).headers["access-control-allow-origin"] == PAGE[
        "origin"
    ]


@pytest.mark.usefixtures("object_service")
@pytest.mark.parametrize(
    ("name", "value", "is_allowed"),
    [
        *[("origin", f"http://{host}", True) for host in ("127.0.0.1:80", "localhost", "[::1]:4200", "127.8.9.1")],
        ("origin", "https://localhost:443", True),
        *[("origin", f"http://{host}", False) for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil")],
        *[("origin", value, False) for value in ("null", "", "file://", "http://", "http://localhost@evil", "ws://[")],
        *[("host", value, True) for value in ("127.0.0.1:8082", "localhost", "LOCALHOST:1", "[::1]:8082")],
        *[("host", value, False) for value in ("evil.example:8082", "127.0.0.1.evil.example", "10.0.0.1", "", "[")],
        *[("host", value, False) for value in ("[::1%evil]", "[::1%25evil]:8082", "[::1%]")],
        ("origin", "http://[::1%evil]", False),
    ],
)
async def test_an_open_door_serves_this_machine_only(
    gateway: FakeGateway, name: str, value: str, is_allowed: bool
) -> None:
    """Neither web pages of other sites, nor those whose name was made to point here."""
    client = Client(build_app(gateway, listener=OPEN_EXTERNAL_LISTENER))
    for method in ("GET", "OPTIONS"):
        answer = await client.call(method, "/external/jobs", headers={name: value})
        assert (answer.status < 300) is is_allowed, answer
        if not is_allowed:
            assert answer.status == 403
            assert "access-control-allow-origin" not in answer.headers
            assert "this listener" in answer.json["detail"]


@pytest.mark.usefixtures("object_service")
@pytest.mark.parametrize("listener", [EXTERNAL_LISTENER, OPEN_EXTERNAL_LISTENER])
@pytest.mark.parametrize("path", ["/api/v1/jobs", "/api/v1/cluster", "/api/v1/openapi.json", "/healthz"])
async def test_the_door_for_schedulers_leads_nowhere_else(gateway: FakeGateway, listener: Any, path: str) -> None:
    assert (await Client(build_app(gateway, listener=listener)).get(path)).status == 404
