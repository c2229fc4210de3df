"""Objects as documents: keys as in the reference implementation, and output that can be applied again."""

from __future__ import annotations

from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given

from shunter.model.errors import Conflict, Invalid
from shunter.model.objects.apply_rules import ABSENT_REVISION, check_read_only_fields, is_unchanged, resolve_spec
from shunter.model.objects.batch_jobs import (
    BatchJob,
    BatchJobSpec,
    BatchJobState,
    BatchJobStatus,
    Claim,
    CreationRequest,
    ScheduledEvent,
)
from shunter.model.objects.documents import object_document, read_object
from shunter.model.objects.object_manifests import object_schema
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import KINDS, Object
from shunter.model.objects.schedulings import (
    JobProgress,
    JobRecord,
    Scheduling,
    SchedulingSpec,
    SchedulingState,
    SchedulingStatus,
    SlotJob,
)
from shunter.model.objects.testbeds import (
    Slot,
    SlotHolder,
    SlotPlace,
    SlotState,
    Testbed,
    TestbedSpec,
    TestbedState,
    TestbedStatus,
)
from tests.unit.model.objects.object_samples import ANY, batch_job, make_object, read, scheduling, testbed
from tests.unit.wire import test_messages as m

SCHEMAS = {kind: jsonschema.Draft202012Validator(object_schema(kind)) for kind in KINDS}
T0 = 1_700_000_000_000
START, STOP = "2023-11-14T22:13:20.000Z", "2023-11-14T22:13:44.000Z"
JOB, FIRST, BENCH = (ObjectName("default", name) for name in ("spark-pi", "first", "bench"))
AS_NAMES = [{"name": each.name, "namespace": each.namespace} for each in (JOB, FIRST, BENCH)]


@given(ANY)
def test_what_is_printed_says_all_that_was_applied(document: dict[str, Any]) -> None:
    shown = object_document(make_object(read(document)))
    assert shown["apiVersion"] == document["apiVersion"]
    assert {key: shown["metadata"].get(key) for key in document["metadata"] if document["metadata"][key]} == {
        key: value for key, value in document["metadata"].items() if value
    }
    assert normalized(shown["spec"]) == normalized(document["spec"])


@given(ANY)
def test_what_is_printed_can_be_applied_again_and_changes_nothing(document: dict[str, Any]) -> None:
    existing = make_object(read(document))
    shown = msgspec.json.decode(msgspec.json.encode(object_document(existing)))
    again = read(shown)
    assert is_unchanged(again, resolve_spec(again, existing), existing)
    check_read_only_fields([again], [object_document(existing)])
    SCHEMAS[shown["kind"]].validate(shown)


def normalized(spec: dict[str, Any]) -> dict[str, Any]:
    """Amounts of slots may be spelt otherwise: they are what they were."""
    size = spec.get("resourcesPerSlot")
    return spec if size is None else spec | {"resourcesPerSlot": {name: str(amount) for name, amount in size.items()}}


def test_metadata_is_spelt_as_on_kubernetes() -> None:
    named = read(testbed() | {"metadata": {"name": "bench", "labels": {"a": "b"}, "annotations": {"c": "d"}}})
    existing = make_object(named)
    assert object_document(existing)["metadata"] == {
        "name": "bench",
        "namespace": "default",
        "uid": "7",
        "resourceVersion": "3",
        "generation": 1,
        "creationTimestamp": START,
        "labels": {"a": "b"},
        "annotations": {"c": "d"},
    }
    leaving = msgspec.structs.replace(existing, meta=msgspec.structs.replace(existing.meta, deleting_ms=T0 + 24_000))
    assert object_document(leaving)["metadata"]["deletionTimestamp"] == STOP
    assert (
        object_document(existing, api_version="esi.tu-berlin.de/v1alpha1")["apiVersion"] == "esi.tu-berlin.de/v1alpha1"
    )


def make_testbed() -> Testbed:
    size = {"cpu": 700, "memory": 939524096}
    holder = SlotHolder(JOB, 1, FIRST)
    slots = (
        Slot(SlotPlace("n0", 0), 0, size, SlotState.OCCUPIED, T0, holder),
        Slot(SlotPlace("n1", 0), 5, size, SlotState.RESERVED, T0, holder),
        Slot(SlotPlace("n0", 1), 0, size, SlotState.FREE, T0, is_leaving=True),
    )
    status = TestbedStatus(TestbedState.RUNNING, slots, {"n2": ["Requires 1 of cpu"]}, ["wrong"], 2, (FIRST,))
    found = make_object(read(testbed()))
    assert isinstance(found, Testbed)
    return msgspec.structs.replace(found, status=status)


def test_a_testbed_says_of_each_slot_where_it_is_who_has_it_and_since_when() -> None:
    held = {"job": AS_NAMES[0], "executor": 1, "scheduling": AS_NAMES[1]}
    size = {"cpu": "700m", "memory": "896Mi"}
    assert object_document(make_testbed())["status"] == {
        "state": "RUNNING",
        "slots": [
            {
                "position": 0,
                "slotPositionOnNode": 0,
                "nodeId": 0,
                "nodeName": "n0",
                "podName": "bj.spark-pi/executor/1",
                "state": "OCCUPIED",
                "since": START,
                "size": size,
                "heldBy": held,
            },
            {
                "position": 1,
                "slotPositionOnNode": 0,
                "nodeId": 5,
                "nodeName": "n1",
                "podName": "ghostpod-bench-on-n1-0",
                "state": "RESERVED",
                "since": START,
                "size": size,
                "reservedFor": "bj.spark-pi/executor/1",
                "heldBy": held,
            },
            {
                "position": 2,
                "slotPositionOnNode": 1,
                "nodeId": 0,
                "nodeName": "n0",
                "podName": "ghostpod-bench-on-n0-1",
                "state": "FREE",
                "since": START,
                "size": size,
                "leaving": True,
            },
        ],
        "nodeProblems": {"n2": ["Requires 1 of cpu"]},
        "problems": ["wrong"],
        "observedGeneration": 2,
        "claims": [AS_NAMES[1]],
    }


def test_a_testbed_s_claim_is_two_labels() -> None:
    assert object_document(make_testbed())["metadata"]["labels"] == {
        "batchjob.tuberlin.de/active-scheduling-name": "first",
        "batchjob.tuberlin.de/active-scheduling-namespace": "default",
    }


def make_batch_job() -> BatchJob:
    found = make_object(read(batch_job()))
    assert isinstance(found, BatchJob)
    status = BatchJobStatus(
        BatchJobState.IN_QUEUE,
        (
            ScheduledEvent(T0, FIRST, BENCH, (0, 3), 17, T0 + 24_000, True),
            ScheduledEvent(T0, FIRST, BENCH, (1,), 18),
        ),
        FIRST,
        BENCH,
        (1, 2),
        (SlotPlace("n1", 0), SlotPlace("n2", 0)),
        18,
        ["once it failed"],
        1,
        2,
    )
    return msgspec.structs.replace(found, claim=Claim(FIRST, CreationRequest(BENCH, (1, 2))), status=status)


def test_a_batch_job_shows_its_claim_and_its_runs() -> None:
    condition = {"condition": "AWAIT_RELEASE"}
    shown = object_document(make_batch_job(), conditions=[condition], unused=["sparkSpec.image is not used"])
    assert shown["spec"]["activeScheduling"] == AS_NAMES[1]
    assert shown["spec"]["creationRequest"] == {"slotIds": [1, 2], "testbedName": AS_NAMES[2], "replication": 2}
    runs: list[dict[str, Any]] = [
        {"start": START, "stop": STOP, "successful": True, "slotIds": [0, 3], "application": 17},
        {"start": START, "stop": None, "successful": None, "slotIds": [1], "application": 18},
    ]
    assert shown["status"] == {
        "state": "InQueueState",
        "scheduledEvents": [run | {"scheduling": AS_NAMES[1], "slots": AS_NAMES[2]} for run in runs],
        "problems": ["once it failed"],
        "observedGeneration": 1,
        "runs": 2,
        "activeScheduling": AS_NAMES[1],
        "slots": AS_NAMES[2],
        "slotIds": [1, 2],
        "replication": 2,
        "places": [
            {"nodeName": "n1", "slotPositionOnNode": 0},
            {"nodeName": "n2", "slotPositionOnNode": 0},
        ],
        "application": 18,
        "conditions": [condition],
        "unusedFields": ["sparkSpec.image is not used"],
    }


def test_a_scheduling_shows_how_far_it_is_with_each_job() -> None:
    queue = [{"name": "spark-pi"}, {"name": "crawler"}, {"name": "spark-pi"}]
    found = make_object(read(scheduling(queueBased=queue)))
    assert isinstance(found, Scheduling)
    records = (JobRecord(JobProgress.SUBMITTED, (0, 2), 17), JobRecord(JobProgress.IN_QUEUE))
    status = SchedulingStatus(SchedulingState.AWAITING_COMPLETION, T0, records, "a free slot", ["late"], 4, (BENCH,))
    assert object_document(msgspec.structs.replace(found, status=status))["status"] == {
        "state": "AwaitingCompletionState",
        "since": START,
        "jobStates": [
            {"name": AS_NAMES[0], "state": "Submitted", "slotIds": [0, 2]},
            {"name": {"name": "crawler", "namespace": "default"}, "state": "InQueue"},
        ],
        "problems": ["late"],
        "observedGeneration": 4,
        "waitsFor": "a free slot",
        "leaving": [AS_NAMES[2]],
    }


# ---- documents read back ----

TIMED = msgspec.structs.replace(m.META, created_ms=1_700_000_000_123, deleting_ms=1_700_000_001_000)
BY_QUEUE = SchedulingSpec(m.TWO, queue=(m.ONE, m.ONE, m.TWO), confirmation_timeout_s=33.0)
BY_SLOTS = SchedulingSpec(m.TWO, slots=(SlotJob(m.ONE, (0, 2)),), mode="relaxed")
PROFILED = BatchJobSpec(command={"command": ["sort"]}, external={"profiler": [{"sort": "24 (16)"}]})
OBJECTS: dict[str, Object] = {
    "a testbed in use": msgspec.structs.replace(m.TESTBED, meta=TIMED),
    "a testbed nobody looked at": Testbed(m.META, TestbedSpec(1, "slots", {"cpu": 500})),
    "a job that runs": msgspec.structs.replace(m.JOB, meta=TIMED, spec=PROFILED),
    "a job that waits": BatchJob(m.META, BatchJobSpec(command={"command": ["sort"]})),
    "a queue": Scheduling(m.META, BY_QUEUE, msgspec.structs.replace(m.SCHEDULING.status, jobs=())),
    "slots": Scheduling(
        m.META, BY_SLOTS, msgspec.structs.replace(m.SCHEDULING.status, jobs=m.SCHEDULING.status.jobs[:1])
    ),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_what_was_read_is_written_as_the_same_document(name: str) -> None:
    document = object_document(OBJECTS[name])
    found = read_object(document)
    assert type(found) is type(OBJECTS[name])
    assert object_document(found) == document


# ---- what apply does with what is there ----


def test_what_only_shunter_writes_must_be_as_it_is() -> None:
    for existing in (make_batch_job(), make_testbed()):
        shown = object_document(existing, conditions=[{"value": True}], unused=["image"])
        check_read_only_fields([read(shown)], [object_document(existing)])
    shown = object_document(make_batch_job())
    shown["spec"]["activeScheduling"] = {"name": "mine", "namespace": "default"}
    shown["status"] = shown["status"] | {"state": "ReadyState"}
    with pytest.raises(Invalid) as caught:
        check_read_only_fields([read(shown)], [object_document(make_batch_job())])
    assert [problem.field for problem in caught.value.problems] == ["spec.activeScheduling", "status"]
    assert caught.value.problems[0].fix == "leave it out"
    with pytest.raises(
        Invalid, match=r"^items\[1\]\.metadata\.labels\.batchjob\.tuberlin\.de/active-scheduling-name: "
    ):
        check_read_only_fields(
            [read(testbed("x")), read(object_document(make_testbed()))],
            [None, object_document(make_object(read(testbed())))],
        )


def test_what_is_new_can_have_nothing_that_only_shunter_writes() -> None:
    with pytest.raises(Invalid, match=r"^metadata\.uid: is read-only: only Shunter sets it"):
        check_read_only_fields([read(object_document(make_testbed()))], [None])


@pytest.mark.parametrize(
    ("revision", "is_there", "said"),
    [
        (2, True, "has changed: its version is 3, but the manifest is based on 2; get it again"),
        (ABSENT_REVISION, True, "already exists"),
        (3, False, "does not exist"),
    ],
)
def test_a_draft_that_is_based_on_another_version_conflicts(revision: int, is_there: bool, said: str) -> None:
    draft = msgspec.structs.replace(read(testbed()), revision=revision)
    with pytest.raises(Conflict) as caught:
        resolve_spec(draft, make_object(draft) if is_there else None)
    assert said in caught.value.detail
    assert "Testbed default/bench" in caught.value.detail


def test_a_draft_based_on_the_present_version_or_on_none_is_taken() -> None:
    draft = read(testbed())
    for revision in (None, 3):
        assert resolve_spec(msgspec.structs.replace(draft, revision=revision), make_object(draft)) == draft.spec
    for revision in (None, ABSENT_REVISION):
        assert resolve_spec(msgspec.structs.replace(draft, revision=revision), None) == draft.spec


def test_what_schedulers_remember_outlives_a_manifest_that_does_not_name_it() -> None:
    command = {"command": ["true"]}
    existing = make_object(
        read(batch_job(commandSpec=command, externalScheduler={"profiler": [{"a": "1"}], "other": []}))
    )
    plain = read(batch_job(commandSpec=command, externalScheduler={"other": [{"b": "2"}]}))
    merged = resolve_spec(plain, existing)
    assert isinstance(merged, BatchJobSpec)
    assert merged.external == {"profiler": [{"a": "1"}], "other": [{"b": "2"}]}
    assert not is_unchanged(plain, merged, existing)
    whole = msgspec.structs.replace(plain, revision=3)
    assert resolve_spec(whole, existing) == plain.spec
