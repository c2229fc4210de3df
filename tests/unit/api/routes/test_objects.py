"""REST for Testbeds, BatchJobs and Schedulings: the paths of Kubernetes, and files of several documents."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from shunter.model.objects.batch_jobs import BatchJob, BatchJobState, BatchJobStatus, Claim
from shunter.model.objects.object_meta import ObjectName
from tests.contracts.memory_objects import MemoryObjectService
from tests.contracts.objects import batch_job, scheduling, testbed
from tests.unit.api.asgi_client import AUTHORIZED, Call, Client, Response, manifest
from tests.unit.api.fake_gateway import FakeGateway

V1 = "/api/v1/apis/batchjob.gcr.io/v1alpha1"
HERE = f"{V1}/namespaces/default"
YAML = AUTHORIZED | {"content-type": "application/yaml"}


@pytest.fixture
def object_service(gateway: FakeGateway) -> MemoryObjectService:
    return gateway.objects


async def send(client: Client, method: str, path: str, document: object, **headers: str) -> Response:
    body = json.dumps(document).encode()
    return await client.call(method, path, body=body, headers=AUTHORIZED | headers)


# ---- one object ----


async def test_an_object_is_made_read_replaced_and_deleted(client: Client) -> None:
    made = await client.post(f"{HERE}/testbeds", testbed())
    assert (made.status, made.json["kind"], made.json["metadata"]["resourceVersion"]) == (201, "Testbed", "1")
    assert (await client.get(f"{HERE}/testbeds/bench")).json == made.json
    changed = await send(client, "PUT", f"{HERE}/testbeds/bench", testbed(slotsPerNode=3))
    assert (changed.status, changed.json["metadata"]["generation"]) == (200, 2)
    deleted = await client.call("DELETE", f"{HERE}/testbeds/bench")
    assert (deleted.status, deleted.json) == (200, changed.json)
    for method in ("GET", "DELETE"):
        assert (await client.call(method, f"{HERE}/testbeds/bench")).status == 404


async def test_what_is_there_is_not_made_twice(client: Client) -> None:
    await client.post(f"{HERE}/testbeds", testbed())
    again = await client.post(f"{HERE}/testbeds", testbed())
    assert (again.status, again.json["detail"]) == (409, "Testbed default/bench already exists")


async def test_a_put_makes_what_is_not_there(client: Client) -> None:
    made = await send(client, "PUT", f"{HERE}/batchjobs/crawler", batch_job())
    assert made.status == 201
    assert (await send(client, "PUT", f"{HERE}/batchjobs/crawler", batch_job())).status == 200


async def test_of_two_puts_of_one_version_the_second_conflicts(client: Client) -> None:
    read = (await client.post(f"{HERE}/testbeds", testbed())).json
    for status in (200, 409):
        read["spec"]["slotsPerNode"] += 1
        answer = await send(client, "PUT", f"{HERE}/testbeds/bench", read)
        assert answer.status == status
    assert "has changed: its version is 2, but the manifest is based on 1" in answer.json["detail"]


async def test_a_delete_may_name_the_version_that_it_means(client: Client) -> None:
    await client.post(f"{HERE}/testbeds", testbed())
    assert (await client.call("DELETE", f"{HERE}/testbeds/bench?resourceVersion=7")).status == 409
    assert (await client.call("DELETE", f"{HERE}/testbeds/bench?resourceVersion=1")).status == 200


async def test_a_patch_says_only_what_becomes_different(client: Client) -> None:
    profiled = batch_job(externalScheduler={"profiler": [{"a": "1"}], "mine": []}, driver={"cpu": "250m"})
    await client.post(f"{HERE}/batchjobs", profiled)
    patch = {"metadata": {"labels": {"team": "film"}}, "spec": {"driver": None, "externalScheduler": {"mine": None}}}
    answer = await send(
        client, "PATCH", f"{HERE}/batchjobs/crawler", patch, **{"content-type": "application/merge-patch+json"}
    )
    assert answer.status == 200
    assert answer.json["metadata"]["labels"] == {"team": "film"}
    assert answer.json["spec"] == {
        "commandSpec": {"command": ["true"]},
        "externalScheduler": {"profiler": [{"a": "1"}]},
    }


async def test_a_patch_is_tried_again_when_the_object_moves_in_between(
    client: Client, object_service: MemoryObjectService
) -> None:
    await client.post(f"{HERE}/testbeds", testbed())
    read, moves = object_service.object, 3

    async def read_and_move(kind: str, name: ObjectName) -> Any:
        nonlocal moves
        found = await read(kind, name)
        if moves:
            moves -= 1
            await object_service.put(found)
        return found

    object_service.object = read_and_move  # type: ignore[method-assign]
    answer = await send(client, "PATCH", f"{HERE}/testbeds/bench", {"spec": {"slotsPerNode": 9}})
    assert (answer.status, answer.json["spec"]["slotsPerNode"], moves) == (200, 9, 0)
    moves = 1
    pinned = {"metadata": {"resourceVersion": answer.json["metadata"]["resourceVersion"]}, "spec": {"slotsPerNode": 8}}
    assert (await send(client, "PATCH", f"{HERE}/testbeds/bench", pinned)).status == 409


async def test_what_only_shunter_writes_is_refused(client: Client) -> None:
    await client.post(f"{HERE}/batchjobs", batch_job())
    answer = await send(client, "PATCH", f"{HERE}/batchjobs/crawler", {"status": {"state": "CompletedState"}})
    assert (answer.status, answer.fields) == (400, ["status"])
    answer = await send(client, "PUT", f"{HERE}/batchjobs/crawler", batch_job(creationRequest={"slotIds": [0]}))
    assert (answer.status, answer.fields) == (400, ["spec.creationRequest"])


async def test_what_a_manifest_says_in_vain_is_reported(client: Client) -> None:
    spark = {"type": "Python", "mainApplicationFile": "/opt/words.py", "image": "spark:4"}
    made = await client.post(f"{HERE}/batchjobs", batch_job(commandSpec=None, sparkSpec=spark))
    assert [line.split(":")[0] for line in made.json["status"]["unusedFields"]] == ["sparkSpec.image is not used"]
    assert (await send(client, "PUT", f"{HERE}/batchjobs/crawler", made.json)).status == 200


async def test_both_groups_lead_to_the_same_objects(client: Client) -> None:
    alias = "/api/v1/apis/esi.tu-berlin.de/v1alpha1/namespaces/default/testbeds"
    made = await client.post(alias, testbed())
    assert made.json["apiVersion"] == "esi.tu-berlin.de/v1alpha1"
    assert (await client.get(f"{HERE}/testbeds/bench")).json == made.json | {"apiVersion": "batchjob.gcr.io/v1alpha1"}
    native = "/api/v1/apis/shunter.dev/v1/namespaces/default"
    assert (await client.get(f"{native}/testbeds/bench")).json["apiVersion"] == "shunter.dev/v1"
    assert (await client.get(f"{native}/batchjobs")).status == 404
    assert (await client.get("/api/v1/apis/apps/v1/namespaces/default/testbeds")).status == 404


@pytest.mark.parametrize(
    ("document", "field"),
    [
        (batch_job("bench"), "kind"),
        (testbed("other"), "metadata.name"),
        (testbed(metadata={"namespace": "film"}), "metadata.namespace"),
        (testbed(slotsPerNode=-1), "spec.slotsPerNode"),
        ({"metadata": 5}, "metadata"),
        ([], "body"),
    ],
)
async def test_a_document_says_what_its_path_says(client: Client, document: object, field: str) -> None:
    answer = await send(client, "PUT", f"{HERE}/testbeds/bench", document)
    assert (answer.status, answer.fields) == (400, [field])


async def test_yaml_is_read_too(client: Client) -> None:
    body = b"apiVersion: batchjob.gcr.io/v1alpha1\nkind: Testbed\nmetadata: {name: bench}\nspec:\n" \
        b"  slotsPerNode: 2\n  nodeLabel: bench\n  resourcesPerSlot: {cpu: 700m}\n"  # fmt: skip
    answer = await client.call("POST", f"{HERE}/testbeds", body=body, headers=YAML)
    assert (answer.status, answer.json["spec"]["resourcesPerSlot"]) == (201, {"cpu": "700m"})
    several = await client.call("POST", f"{HERE}/testbeds", body=body + b"---\n" + body, headers=YAML)
    assert several.json["problems"][0]["fix"] == "send them to /api/v1/apply"
    wrong = await client.call("POST", f"{HERE}/testbeds", body=body, headers=AUTHORIZED | {"content-type": "text/csv"})
    assert wrong.fields == ["header.content-type"]


# ---- lists and watches ----


async def test_a_list_is_of_one_version_and_knows_namespaces(client: Client) -> None:
    for name, namespace in (("b", "default"), ("a", "default"), ("a", "film")):
        await client.post(f"{V1}/namespaces/{namespace}/testbeds", testbed(name))
    await client.post(f"{HERE}/batchjobs", batch_job())
    listed = (await client.get(f"{HERE}/testbeds")).json
    assert (listed["kind"], listed["metadata"], listed["total"]) == ("TestbedList", {"resourceVersion": "4"}, 2)
    assert [each["metadata"]["name"] for each in listed["items"]] == ["a", "b"]

    async def names(path: str) -> list[str]:
        found = (await client.get(path)).json["items"]
        return [f"{each['kind']} {each['metadata']['namespace']}/{each['metadata']['name']}" for each in found]

    assert await names(f"{V1}/testbeds?name=a") == ["Testbed default/a", "Testbed film/a"]
    assert await names(f"{V1}/objects") == [
        "Testbed default/a",
        "Testbed default/b",
        "BatchJob default/crawler",
        "Testbed film/a",
    ]
    assert await names(f"{V1}/namespaces/film/objects") == ["Testbed film/a"]


async def line_of(call: Call) -> Any:
    """The next line that is no heartbeat."""
    while True:
        chunk = await call.chunk()
        if chunk.strip():
            return json.loads(chunk)


async def test_a_watch_streams_what_happens_and_can_be_resumed(
    client: Client, object_service: MemoryObjectService
) -> None:
    await client.post(f"{HERE}/testbeds", testbed("before"))
    call = client.start("GET", f"{HERE}/testbeds?watch=true")
    assert await call.chunk() == b"\n"
    assert call.response.headers["content-type"] == "application/x-ndjson"
    await client.post(f"{HERE}/batchjobs", batch_job())
    await client.post(f"{HERE}/testbeds", testbed())
    await send(client, "PUT", f"{HERE}/testbeds/bench", testbed(slotsPerNode=3))
    await client.call("DELETE", f"{HERE}/testbeds/bench")
    lines = [await line_of(call) for _ in range(3)]
    assert [line["type"] for line in lines] == ["ADDED", "MODIFIED", "DELETED"]
    assert [line["object"]["spec"]["slotsPerNode"] for line in lines] == [2, 3, 3]
    call.hang_up()
    await call.finished()
    assert object_service.watches_open == 0
    version = lines[0]["object"]["metadata"]["resourceVersion"]
    again = client.start("GET", f"{V1}/objects?watch=true&resourceVersion={version}")
    assert [(await line_of(again))["type"] for _ in range(2)] == ["MODIFIED", "DELETED"]
    again.hang_up()
    await again.finished()


async def test_a_watch_from_what_is_forgotten_is_gone(client: Client, gateway: FakeGateway) -> None:
    gateway.objects = MemoryObjectService(remembered_max=2)
    for count in range(5):
        await send(client, "PUT", f"{HERE}/testbeds/bench", testbed(slotsPerNode=count))
    answer = await client.get(f"{HERE}/testbeds?watch=true&resourceVersion=1")
    assert (answer.status, answer.json["title"]) == (410, "gone")


# ---- files ----


async def test_a_file_of_several_documents_is_applied_whole(client: Client) -> None:
    body = {"items": [testbed(), batch_job(), scheduling()]}
    first = (await client.post("/api/v1/apply?namespace=film", body)).json["items"]
    assert [(item["kind"], item["namespace"], item["action"]) for item in first] == [
        ("Testbed", "film", "created"),
        ("BatchJob", "film", "created"),
        ("Scheduling", "film", "created"),
    ]
    assert first[0]["object"]["metadata"]["name"] == "bench"
    second = (await client.post("/api/v1/apply?namespace=film", body)).json["items"]
    assert [item["action"] for item in second] == ["unchanged"] * 3
    wrong = await client.post("/api/v1/apply", {"items": [testbed("new"), batch_job(commandSpec=None)]})
    assert (wrong.status, wrong.fields) == (400, ["items[1].spec"])
    assert (await client.get(f"{HERE}/testbeds/new")).status == 404


async def test_one_document_is_applied_as_it_is(client: Client) -> None:
    answer = await client.post("/api/v1/apply", testbed())
    assert [item["name"] for item in answer.json["items"]] == ["bench"]
    assert (await client.post("/api/v1/apply", {"items": []})).fields == ["body.items"]


async def test_jobs_are_submitted(client: Client) -> None:
    for action in ("created", "unchanged"):
        [item] = (await client.post("/api/v1/apply", {"items": [manifest()]})).json["items"]
        assert (item["kind"], item["action"], item["job"]["run"]) == ("Job", action, 1)


async def test_a_file_of_jobs_and_objects_is_answered_in_its_order(client: Client) -> None:
    answer = await client.post("/api/v1/apply", {"items": [manifest(), testbed(), manifest(name="other")]})
    kinds = [(item["kind"], item["action"], "job" in item, "object" in item) for item in answer.json["items"]]
    job, object = ("Job", "created", True, False), ("Testbed", "created", False, True)
    assert (answer.status, kinds) == (200, [job, object, job])


# ---- batch jobs, history ----


async def test_what_schedulers_remember_is_written_key_by_key(client: Client) -> None:
    await client.post(f"{HERE}/batchjobs", batch_job(externalScheduler={"mine": [{"a": "1"}]}))
    answer = await send(client, "PATCH", f"{HERE}/batchjobs/crawler/external", {"profiler": [{"b": "24 (16)"}]})
    assert answer.json["spec"]["externalScheduler"] == {"mine": [{"a": "1"}], "profiler": [{"b": "24 (16)"}]}
    wrong = await send(client, "PATCH", f"{HERE}/batchjobs/crawler/external", {"profiler": [{"b": None}]})
    assert (wrong.status, wrong.fields) == (400, ["body.profiler[0].b"])


async def test_a_status_has_the_conditions_that_its_state_waits_for(client: Client) -> None:
    await client.post(f"{HERE}/schedulings", scheduling())
    shown = (await client.post(f"{HERE}/batchjobs", batch_job())).json["status"]["conditions"]
    assert [(each["condition"], each["value"]) for each in shown] == [("AWAIT_ENQUEUE_REQUEST", False)]
    listed = (await client.get(f"{HERE}/schedulings")).json["items"][0]["status"]["conditions"]
    assert [each["condition"] for each in listed][:2] == [
        "AWAIT_JOBS_ACQUIRED_CONDITION",
        "AWAIT_SLOTS_ACQUIRED_CONDITION",
    ]


async def test_a_failed_batch_job_is_reset(client: Client, object_service: MemoryObjectService) -> None:
    made = await client.post(f"{HERE}/batchjobs", batch_job())
    again = await client.post(f"{HERE}/batchjobs/crawler/reset", None)
    assert (again.status, again.json) == (200, made.json)
    job = await object_service.object("BatchJob", ObjectName("default", "crawler"))
    assert isinstance(job, BatchJob)
    await object_service.put(
        msgspec.structs.replace(job, status=BatchJobStatus(BatchJobState.FAILED, problems=["no jar"]))
    )
    answer = await client.post(f"{HERE}/batchjobs/crawler/reset", None)
    assert (answer.status, answer.json["status"]["state"]) == (200, "ReadyState")
    claim = Claim(ObjectName("default", "first"))
    await object_service.put(msgspec.structs.replace(job, claim=claim, status=BatchJobStatus(BatchJobState.FAILED)))
    assert (await client.post(f"{HERE}/batchjobs/crawler/reset", None)).status == 409


async def test_what_deleted_schedulings_did_can_be_asked(client: Client) -> None:
    for name in ("one", "two"):
        await client.post(f"{HERE}/schedulings", scheduling(name))
        await client.call("DELETE", f"{HERE}/schedulings/{name}")
    page = (await client.get("/api/v1/schedulings/past?limit=1")).json
    assert ([item["name"] for item in page["items"]], page["total"]) == (["two"], 2)
    rest = (await client.get(f"/api/v1/schedulings/past?limit=1&after={page['next']}")).json
    assert ([item["name"] for item in rest["items"]], rest["next"]) == (["one"], None)
    past = rest["items"][0]
    assert past["testbed"] == {"name": "bench", "namespace": "default"}
    assert past["deleted_at"] == "2030-03-17T17:46:41.000Z"
    assert (await client.get(f"/api/v1/schedulings/past/{past['uid']}")).json == past
    assert (await client.get("/api/v1/schedulings/past?namespace=film")).json["items"] == []
    assert (await client.get("/api/v1/schedulings/past/999")).status == 404
    assert (await client.get("/api/v1/schedulings/past/first")).fields == ["path.uid"]
    for cursor in ("99999999999999999999", "-1", "first", "%C2%B2"):
        assert (await client.get(f"/api/v1/schedulings/past?after={cursor}")).fields == ["query.after"]
