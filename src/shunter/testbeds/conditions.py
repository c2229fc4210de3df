"""Derives the `conditions` of a status: what a BatchJob or Scheduling waits for, named as in the reference
implementation.

They depend on the object alone and are computed when it is rendered. A Scheduling with a long queue has conditions only
for the next jobs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, islice
from typing import Any

from shunter.model.objects.batch_jobs import BatchJob, BatchJobState
from shunter.model.objects.documents import name_document
from shunter.model.objects.object_meta import Document, ObjectName
from shunter.model.objects.objects import Object
from shunter.model.objects.schedulings import JobProgress, Scheduling, SchedulingState
from shunter.model.timestamps import iso

QUEUED_CONDITIONS_MAX = 20  # jobs of a queue, the next ones, of which it is told what slots they wait for

_B = BatchJobState
_AWAITED: dict[BatchJobState, tuple[str, ...]] = {
    _B.READY: ("AWAIT_ENQUEUE_REQUEST",),
    _B.IN_QUEUE: ("AWAIT_RELEASE", "AWAIT_CREATION_REQUEST"),
    _B.SUBMITTED: ("AWAIT_RELEASE", "AWAIT_COMPLETION", "AWAIT_POD_SCHEDULED", "AWAIT_DELETION"),
    _B.SCHEDULED: ("AWAIT_RELEASE", "AWAIT_COMPLETION", "AWAIT_RUNNING", "AWAIT_DELETION"),
    _B.RUNNING: ("AWAIT_RELEASE", "AWAIT_COMPLETION", "AWAIT_DELETION"),
    _B.COMPLETED: ("AWAIT_RELEASE",),
    _B.PENDING_DELETION: ("AWAIT_DELETION",),
    _B.FAILED_SUBMISSION: ("AWAIT_RELEASE", "AWAIT_DELETION"),
    _B.FAILED: ("AWAIT_CREATION_REQUEST",),
}


def conditions_of(each: Object) -> list[Document]:
    if isinstance(each, BatchJob):
        return _batch_job_conditions(each)
    return list(_scheduling_conditions(each)) if isinstance(each, Scheduling) else []


def _batch_job_conditions(job: BatchJob) -> list[Document]:
    """All that its state waits for. Only a release can be there already, while the last processes end."""
    status = job.status
    is_released = job.claim is None or job.claim.scheduling != status.active_scheduling
    return [
        _condition(
            name,
            name == "AWAIT_RELEASE" and is_released,
            status.since_ms or job.meta.created_ms,
            name=job.meta.name,
            error=" ".join(status.problems) if status.state in (_B.FAILED, _B.FAILED_SUBMISSION) else "",
        )
        for name in _AWAITED[status.state]
    ]


def _scheduling_conditions(scheduling: Scheduling) -> Iterator[Document]:
    state, since_ms = scheduling.status.state, scheduling.status.since_ms
    testbed = name_document(scheduling.spec.testbed)
    error = " ".join(scheduling.status.problems)
    if state is SchedulingState.ACQUIRE:
        yield _jobs_condition(scheduling, "AWAIT_JOBS_ACQUIRED_CONDITION", JobProgress.IN_QUEUE, error)
        yield _condition("AWAIT_SLOTS_ACQUIRED_CONDITION", False, since_ms, testbedName=testbed, error=error)
        yield _jobs_condition(scheduling, "AWAIT_JOBS_ENQUEUE", JobProgress.IN_QUEUE)
    if state in (SchedulingState.CONFIRMATION, SchedulingState.SUBMISSION, SchedulingState.AWAITING_COMPLETION):
        yield _jobs_condition(scheduling, "AWAIT_COMPLETION_CONDITION", JobProgress.COMPLETED)
    if state in (SchedulingState.CONFIRMATION, SchedulingState.SUBMISSION):
        queued = any(record.progress < JobProgress.SUBMITTED for record in scheduling.status.jobs)
        yield _condition("AWAIT_EMPTY_JOB_QUEUE", not queued, since_ms)
    if state is SchedulingState.CONFIRMATION:
        yield _jobs_condition(
            scheduling, "AWAIT_JOBS_SCHEDULED_CONDITION", JobProgress.SCHEDULED, since=JobProgress.SUBMITTED
        )
    if state is SchedulingState.SUBMISSION:
        yield from islice(_slot_conditions(scheduling), QUEUED_CONDITIONS_MAX)
    if state is SchedulingState.AWAITING_COMPLETION:
        yield _condition("AWAIT_JOB_IN_QUEUE", False, since_ms)
    if state in (SchedulingState.COMPLETED, SchedulingState.FAILED, SchedulingState.FINISHED):
        is_over = state is SchedulingState.FINISHED
        yield _condition("AWAIT_JOBS_RELEASED_CONDITION", is_over, since_ms, error=error)
        yield _condition("AWAIT_SLOTS_RELEASED_CONDITION", is_over, since_ms, testbedName=testbed)


def _jobs_condition(
    scheduling: Scheduling,
    condition: str,
    reached: JobProgress,
    error: str = "",
    since: JobProgress = JobProgress.ACQUIRING,
) -> Document:
    """For each job that has come as far as `since`, whether it has `reached` the awaited state."""
    progress = [
        (name, record.progress >= reached)
        for name, record in zip(scheduling.spec.distinct_jobs, scheduling.status.jobs, strict=False)
        if record.progress >= since
    ]
    jobs = [{"name": name_document(name), "value": value} for name, value in progress]
    is_true = all(value for _, value in progress)
    return _condition(condition, is_true, scheduling.status.since_ms, jobs=jobs, error=error)


def _slot_conditions(scheduling: Scheduling) -> Iterator[Document]:
    """The slots that must be free for each queued job: all up to its own in a queue, else those that it names."""
    spec, since_ms = scheduling.spec, scheduling.status.since_ms
    queued = {
        name
        for name, record in zip(spec.distinct_jobs, scheduling.status.jobs, strict=False)
        if record.progress < JobProgress.SUBMITTED
    }
    for entry in spec.slots:
        if entry.job in queued:
            yield _condition(
                "AWAIT_SLOTS_AVAILABLE_CONDITION",
                False,
                since_ms,
                jobName=name_document(entry.job),
                slotIds=sorted(entry.slot_ids),
                testbedName=name_document(spec.testbed),
            )
    executors: dict[ObjectName, int] = {}
    for name in spec.queue:
        if name in queued:
            executors[name] = executors.get(name, 0) + 1
    for name, required in zip(executors, accumulate(executors.values()), strict=True):
        yield _condition(
            "AWAIT_NUMBER_OF_SLOTS_CONDITION",
            False,
            since_ms,
            jobName=name_document(name),
            numberOfSlotsRequired=required,
            testbedName=name_document(spec.testbed),
        )


def _condition(condition: str, value: bool, since_ms: int, **fields: Any) -> Document:
    known: Document = {"condition": condition, "value": value, "lastUpdateTimestamp": iso(since_ms / 1000)}
    return known | {name: field for name, field in fields.items() if field}
