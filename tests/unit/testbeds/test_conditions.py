"""The conditions of BatchJobs and Schedulings are those of the reference, state by state."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.model.objects.batch_jobs import BatchJob, BatchJobSpec, BatchJobState, BatchJobStatus, Claim
from shunter.model.objects.object_meta import Meta, ObjectName
from shunter.model.objects.schedulings import (
    JobProgress,
    JobRecord,
    Scheduling,
    SchedulingSpec,
    SchedulingState,
    SchedulingStatus,
    SlotJob,
)
from shunter.model.objects.testbeds import Testbed, TestbedSpec
from shunter.testbeds.conditions import QUEUED_CONDITIONS_MAX, conditions_of

META = Meta(1, "default", "a", 1, "ann")
SINCE = "2023-11-14T22:13:20.000Z"


def object_name(name: str) -> ObjectName:
    return ObjectName("default", name)


def document(name: str) -> dict[str, str]:
    return {"name": name, "namespace": "default"}


def batch_job(state: BatchJobState, claim: Claim | None = None, problems: tuple[str, ...] = ()) -> BatchJob:
    status = BatchJobStatus(
        state, active_scheduling=object_name("s"), problems=list(problems), since_ms=1_700_000_000_000
    )
    return BatchJob(META, BatchJobSpec(command={}), claim, status)


def scheduling(state: SchedulingState, *progress: JobProgress, **fields: Any) -> Scheduling:
    queue = tuple(object_name(name) for name in ("a", "b", "b", "c", "a"))
    spec = fields.pop("spec", SchedulingSpec(object_name("tb"), queue=queue))
    records = tuple(map(JobRecord, progress))
    return Scheduling(META, spec, SchedulingStatus(state, 1_700_000_000_000, records, **fields))


@pytest.mark.parametrize(
    ("state", "awaited"),
    [
        (BatchJobState.READY, "ENQUEUE_REQUEST"),
        (BatchJobState.IN_QUEUE, "RELEASE CREATION_REQUEST"),
        (BatchJobState.SUBMITTED, "RELEASE COMPLETION POD_SCHEDULED DELETION"),
        (BatchJobState.SCHEDULED, "RELEASE COMPLETION RUNNING DELETION"),
        (BatchJobState.RUNNING, "RELEASE COMPLETION DELETION"),
        (BatchJobState.COMPLETED, "RELEASE"),
        (BatchJobState.PENDING_DELETION, "DELETION"),
        (BatchJobState.FAILED_SUBMISSION, "RELEASE DELETION"),
        (BatchJobState.FAILED, "CREATION_REQUEST"),
    ],
)
def test_a_batch_job_tells_what_its_state_waits_for(state: BatchJobState, awaited: str) -> None:
    found = conditions_of(batch_job(state, Claim(object_name("s"))))
    assert [each["condition"] for each in found] == [f"AWAIT_{name}" for name in awaited.split()]
    assert not any(each["value"] for each in found)
    assert {each["lastUpdateTimestamp"] for each in found} == {SINCE}
    assert {each["name"] for each in found} == {"a"}


def test_a_batch_job_that_never_moved_waits_since_it_was_made() -> None:
    fresh = BatchJob(Meta(1, "default", "a", 1_700_000_000_000, "ann"), BatchJobSpec(command={}))
    assert [each["lastUpdateTimestamp"] for each in conditions_of(fresh)] == [SINCE]


def test_a_failed_batch_job_tells_its_error_and_whether_it_is_released() -> None:
    release, deletion = conditions_of(batch_job(BatchJobState.FAILED_SUBMISSION, None, ("it broke",)))
    assert release == {
        "condition": "AWAIT_RELEASE",
        "value": True,
        "name": "a",
        "error": "it broke",
        "lastUpdateTimestamp": SINCE,
    }
    assert deletion["value"] is False


P, S = JobProgress, SchedulingState


@pytest.mark.parametrize(
    ("state", "names"),
    [
        (S.ACQUIRE, "AWAIT_JOBS_ACQUIRED_CONDITION AWAIT_SLOTS_ACQUIRED_CONDITION AWAIT_JOBS_ENQUEUE"),
        (S.CONFIRMATION, "AWAIT_COMPLETION_CONDITION AWAIT_EMPTY_JOB_QUEUE AWAIT_JOBS_SCHEDULED_CONDITION"),
        (S.SUBMISSION, "AWAIT_COMPLETION_CONDITION AWAIT_EMPTY_JOB_QUEUE AWAIT_NUMBER_OF_SLOTS_CONDITION"),
        (S.AWAITING_COMPLETION, "AWAIT_COMPLETION_CONDITION AWAIT_JOB_IN_QUEUE"),
        (S.COMPLETED, "AWAIT_JOBS_RELEASED_CONDITION AWAIT_SLOTS_RELEASED_CONDITION"),
        (S.FAILED, "AWAIT_JOBS_RELEASED_CONDITION AWAIT_SLOTS_RELEASED_CONDITION"),
        (S.FINISHED, "AWAIT_JOBS_RELEASED_CONDITION AWAIT_SLOTS_RELEASED_CONDITION"),
    ],
)
def test_a_scheduling_tells_what_its_state_waits_for(state: SchedulingState, names: str) -> None:
    last = P.ACQUIRING if state is S.ACQUIRE else P.IN_QUEUE
    found = conditions_of(scheduling(state, P.COMPLETED, P.SUBMITTED, last))
    assert [each["condition"] for each in found] == names.split()
    assert all(each["value"] is (state is S.FINISHED) for each in found)


def test_jobs_are_told_one_by_one() -> None:
    completion, empty, scheduled = conditions_of(scheduling(S.CONFIRMATION, P.COMPLETED, P.SUBMITTED, P.IN_QUEUE))
    assert completion["jobs"] == [
        {"name": document("a"), "value": True},
        {"name": document("b"), "value": False},
        {"name": document("c"), "value": False},
    ]
    assert empty["value"] is False
    assert scheduled["jobs"] == [{"name": document("a"), "value": True}, {"name": document("b"), "value": False}]


def test_a_queue_tells_how_many_slots_each_job_needs_with_those_before_it() -> None:
    found = conditions_of(scheduling(S.SUBMISSION, P.IN_QUEUE, P.IN_QUEUE, P.IN_QUEUE))[2:]
    assert [(each["jobName"]["name"], each["numberOfSlotsRequired"]) for each in found] == [
        ("a", 2),
        ("b", 4),
        ("c", 5),
    ]
    assert found[0]["testbedName"] == document("tb")


def test_slots_that_are_named_are_told() -> None:
    spec = SchedulingSpec(
        object_name("tb"), slots=(SlotJob(object_name("a"), (3, 1)), SlotJob(object_name("b"), (2,))), mode="strict"
    )
    found = conditions_of(scheduling(S.SUBMISSION, P.SUBMITTED, P.IN_QUEUE, spec=spec))[2:]
    assert found == [
        {
            "condition": "AWAIT_SLOTS_AVAILABLE_CONDITION",
            "value": False,
            "jobName": document("b"),
            "slotIds": [2],
            "testbedName": document("tb"),
            "lastUpdateTimestamp": SINCE,
        }
    ]


def test_a_long_queue_tells_of_the_next_jobs_only() -> None:
    spec = SchedulingSpec(object_name("tb"), queue=tuple(object_name(f"j{number}") for number in range(1_000)))
    found = conditions_of(scheduling(S.SUBMISSION, *[P.IN_QUEUE] * 1_000, spec=spec))
    assert len(found) == 2 + QUEUED_CONDITIONS_MAX


def test_problems_are_told_as_the_error_of_what_they_keep_from_happening() -> None:
    jobs, slots, _ = conditions_of(scheduling(S.ACQUIRE, P.ACQUIRING, problems=["Testbed default/tb does not exist."]))
    assert jobs["error"] == slots["error"] == "Testbed default/tb does not exist."


def test_a_testbed_has_none() -> None:
    assert conditions_of(Testbed(META, TestbedSpec(1, "yard", {"cpu": 500}))) == []
