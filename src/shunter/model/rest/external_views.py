"""Testbeds, BatchJobs and Schedulings as external schedulers see them: flat views with names instead of manifests.

The External-Scheduler-Interface defines the shapes. REST below /external returns them, and STOMP carries them."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.objects.documents import event_document, slot_document
from shunter.model.objects.object_meta import Document, ObjectName
from shunter.model.objects.objects import Object
from shunter.model.objects.schedulings import Scheduling, SchedulingSpec
from shunter.model.objects.testbeds import Testbed


class SchedulerSessionView(msgspec.Struct, rename="camel"):
    """The session of a scheduler. Its lease ends `leaseSeconds` after the last request that carried the token."""

    name: str
    mode: str  # lead | shadow
    token: str
    lease_seconds: float


class ExternalTestbed(msgspec.Struct, kw_only=True, rename="camel"):
    """Slots as in the status of a Testbed, by node name; nodes in the order of their ids."""

    name: str
    state: str
    number_of_nodes: int
    number_of_slots_per_node: int
    slots_by_node: dict[str, list[dict[str, Any]]]


class ExternalBatchJob(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    """A failed job has `problems`, which say why."""

    name: str
    state: str
    external_scheduler: dict[str, list[dict[str, str]]]
    scheduled_events: list[dict[str, Any]]
    problems: list[str] = []


class ExternalJobStatus(msgspec.Struct):
    name: str
    state: str  # the most advanced: Acquiring, InQueue, Submitted, Scheduled or Completed


class ExternalSlotJob(msgspec.Struct):
    name: str
    slots: list[int]


class ExternalSlots(msgspec.Struct):
    mode: str  # STRICT | RELAXED
    jobs: list[ExternalSlotJob]


class ExternalScheduling(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    """Has either a queue or slots; the other is null. `waitsFor` and `problems` are set only where they apply."""

    name: str
    state: str
    job_status: list[ExternalJobStatus]
    test_bed: str
    queue: list[str] | None
    slots: ExternalSlots | None
    waits_for: str = ""
    problems: list[str] = []


ExternalView: TypeAlias = ExternalTestbed | ExternalBatchJob | ExternalScheduling


def external_view(each: Object) -> ExternalView:
    if isinstance(each, Testbed):
        return external_testbed(each)
    return external_batch_job(each) if isinstance(each, BatchJob) else external_scheduling(each)


def external_testbed(testbed: Testbed) -> ExternalTestbed:
    by_node: dict[str, list[Document]] = {}
    numbered = enumerate(testbed.status.slots)
    for number, slot in sorted(numbered, key=lambda each: (each[1].node_id, each[1].place)):
        by_node.setdefault(slot.place.node, []).append(slot_document(testbed.meta.name, number, slot))
    return ExternalTestbed(
        name=testbed.meta.name,
        state=testbed.status.state.wire_name,
        number_of_nodes=len(by_node),
        number_of_slots_per_node=testbed.spec.slots_per_node,
        slots_by_node=by_node,
    )


def external_batch_job(job: BatchJob) -> ExternalBatchJob:
    return ExternalBatchJob(
        name=job.meta.name,
        state=job.status.state.wire_name,
        external_scheduler=job.spec.external,
        scheduled_events=[event_document(event) for event in job.status.events],
        problems=list(job.status.problems),
    )


def external_scheduling(scheduling: Scheduling) -> ExternalScheduling:
    spec, own_namespace = scheduling.spec, scheduling.meta.namespace
    records = zip(spec.distinct_jobs, scheduling.status.jobs, strict=False)  # of jobs just added, nothing is known yet
    return ExternalScheduling(
        name=scheduling.meta.name,
        state=scheduling.status.state.wire_name,
        job_status=[
            ExternalJobStatus(short_name(name, own_namespace), record.progress.wire_name) for name, record in records
        ],
        test_bed=short_name(spec.testbed, own_namespace),
        queue=None if spec.is_slot_based else [short_name(name, own_namespace) for name in spec.queue],
        slots=_slots(spec, own_namespace) if spec.is_slot_based else None,
        waits_for=scheduling.status.waits_for,
        problems=list(scheduling.status.problems),
    )


def short_name(name: ObjectName, own_namespace: str) -> str:
    """The name, or `namespace/name` if the object is in another namespace."""
    return name.name if name.namespace == own_namespace else str(name)


def _slots(spec: SchedulingSpec, own_namespace: str) -> ExternalSlots:
    jobs = [ExternalSlotJob(short_name(each.job, own_namespace), list(each.slot_ids)) for each in spec.slots]
    return ExternalSlots(spec.mode.upper(), jobs)
