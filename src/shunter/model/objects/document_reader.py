"""Testbeds, BatchJobs and Schedulings from their documents: what `model.objects.document_writer` wrote, read again. For
clients that want the objects themselves, as schedulers over REST do.

A document says less than an object knows: not who made it, and nothing of the jobs of the core.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from shunter.model.objects.batch_jobs import (
    BatchJob,
    BatchJobState,
    BatchJobStatus,
    Claim,
    CreationRequest,
    ScheduledEvent,
)
from shunter.model.objects.object_manifests import read_objects
from shunter.model.objects.object_meta import Document, Meta, ObjectName
from shunter.model.objects.objects import BATCH_JOB, TESTBED, Draft, Object
from shunter.model.objects.schedulings import JobProgress, JobRecord, Scheduling, SchedulingState, SchedulingStatus
from shunter.model.objects.testbeds import Slot, SlotHolder, SlotPlace, SlotState, Testbed, TestbedState, TestbedStatus
from shunter.model.resources import parse_amount


def read_object(document: Document) -> Object:
    """Raises Invalid where the manifest in it cannot be one."""
    [draft] = read_objects([document], default_namespace=document["metadata"].get("namespace"))
    meta, status, spec = _meta(document, draft), document.get("status", {}), draft.spec
    if draft.kind == TESTBED:
        return Testbed(meta, spec, _testbed_status(status))  # type: ignore[arg-type]
    if draft.kind == BATCH_JOB:
        return BatchJob(meta, spec, _claim(document["spec"]), _batch_job_status(status))  # type: ignore[arg-type]
    return Scheduling(meta, spec, _scheduling_status(status))  # type: ignore[arg-type]


def _meta(document: Document, draft: Draft) -> Meta:
    metadata = document["metadata"]
    return Meta(
        uid=int(metadata["uid"]),
        namespace=draft.name.namespace,
        name=draft.name.name,
        created_ms=_parse_ms(metadata.get("creationTimestamp")),
        user="",
        generation=metadata.get("generation", 1),
        revision=int(metadata["resourceVersion"]),
        labels=draft.labels,
        annotations=draft.annotations,
        deleting_ms=_parse_ms(metadata.get("deletionTimestamp")),
    )


def _testbed_status(status: Document) -> TestbedStatus:
    return TestbedStatus(
        state=_parse_state(TestbedState, status.get("state")),
        slots=tuple(_slot(each) for each in status.get("slots", ())),
        node_problems=status.get("nodeProblems", {}),
        problems=status.get("problems", []),
        observed_generation=status.get("observedGeneration", 0),
        claims=tuple(map(_object_name, status.get("claims", ()))),
    )


def _slot(slot: Document) -> Slot:
    held_by = slot.get("heldBy")
    holder = (
        None
        if held_by is None
        else SlotHolder(_object_name(held_by["job"]), held_by["executor"], _object_name(held_by["scheduling"]))
    )
    return Slot(
        place=SlotPlace(slot["nodeName"], slot["slotPositionOnNode"]),
        node_id=slot["nodeId"],
        size={name: parse_amount(name, amount) for name, amount in slot.get("size", {}).items()},
        state=_parse_state(SlotState, slot.get("state")),
        since_ms=_parse_ms(slot.get("since")),
        holder=holder,
        is_leaving=slot.get("leaving", False),
    )


def _claim(spec: Document) -> Claim | None:
    scheduling, request = spec.get("activeScheduling"), spec.get("creationRequest")
    if scheduling is None:
        return None
    creation_request = (
        None if request is None else CreationRequest(_object_name(request["testbedName"]), tuple(request["slotIds"]))
    )
    return Claim(_object_name(scheduling), creation_request)


def _batch_job_status(status: Document) -> BatchJobStatus:
    active, testbed = status.get("activeScheduling"), status.get("slots")
    return BatchJobStatus(
        state=_parse_state(BatchJobState, status.get("state")),
        events=tuple(_event(each) for each in status.get("scheduledEvents", ())),
        active_scheduling=None if active is None else _object_name(active),
        testbed=None if testbed is None else _object_name(testbed),
        slot_ids=tuple(status.get("slotIds", ())),
        places=tuple(SlotPlace(each["nodeName"], each["slotPositionOnNode"]) for each in status.get("places", ())),
        application=status.get("application", 0),
        problems=status.get("problems", []),
        observed_generation=status.get("observedGeneration", 0),
        runs=status.get("runs", 0),
    )


def _event(event: Document) -> ScheduledEvent:
    return ScheduledEvent(
        start_ms=_parse_ms(event["start"]),
        scheduling=_object_name(event["scheduling"]),
        testbed=_object_name(event["slots"]),
        slot_ids=tuple(event.get("slotIds", ())),
        job=event.get("application", 0),
        stop_ms=_parse_ms(event.get("stop")),
        successful=event.get("successful"),
    )


def _scheduling_status(status: Document) -> SchedulingStatus:
    records = [
        JobRecord(_parse_state(JobProgress, each.get("state")), tuple(each.get("slotIds", ())))
        for each in status.get("jobStates", ())
    ]
    return SchedulingStatus(
        state=_parse_state(SchedulingState, status.get("state")),
        since_ms=_parse_ms(status.get("since")),
        jobs=tuple(records),
        waits_for=status.get("waitsFor", ""),
        problems=status.get("problems", []),
        observed_generation=status.get("observedGeneration", 0),
        leaving=tuple(map(_object_name, status.get("leaving", ()))),
    )


def _object_name(document: Document) -> ObjectName:
    return ObjectName(document["namespace"], document["name"])


def _parse_state(kind: Any, word: str | None) -> Any:
    """Of an object that nobody has looked at yet, the first."""
    return next((state for state in kind if state.wire_name == word), next(iter(kind)))


def _parse_ms(instant: str | None) -> int:
    return 0 if not instant else round(datetime.fromisoformat(instant).timestamp() * 1000)
