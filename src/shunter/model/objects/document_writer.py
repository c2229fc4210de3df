"""Testbeds, BatchJobs and Schedulings as documents: the manifest of each with its metadata and status, spelt as in
documents 000 and 001. The API answers with them; what `get` prints can be applied again.

Beside what the reference has, a slot says who holds it and since when, a run its slots, a Scheduling what it waits for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shunter.model.objects.batch_jobs import BatchJob, BatchJobSpec, BatchJobStatus, Claim, ScheduledEvent
from shunter.model.objects.object_fields import CLAIM_LABELS
from shunter.model.objects.object_meta import Document, Meta, ObjectName
from shunter.model.objects.objects import API_VERSIONS, BATCH_JOB, SCHEDULING, TESTBED, Object
from shunter.model.objects.schedulings import CONFIRMATION_TIMEOUT_S, SchedulingSpec, SchedulingStatus
from shunter.model.objects.testbeds import EXCLUSIVE, Slot, SlotHolder, SlotState, Testbed, TestbedSpec, TestbedStatus
from shunter.model.resources import STANDARD, format_amount
from shunter.model.timestamps import iso

APPLICATION_PREFIX = "bj."  # of the core's job that runs a BatchJob
EXECUTOR_GROUP = "executor"


def kind_of(each: Object) -> str:
    return type(each).__name__


def object_document(
    each: Object,
    *,
    api_version: str = API_VERSIONS[0],
    conditions: Sequence[Document] = (),
    unused: Sequence[str] = (),
) -> Document:
    """The whole object. Where the caller knows them, `conditions` are what its reconciler looks at, and `unused` what
    its manifest says in vain."""
    if isinstance(each, Testbed):
        kind, spec, status = TESTBED, testbed_spec(each.spec), testbed_status(each)
    elif isinstance(each, BatchJob):
        kind, spec, status = BATCH_JOB, batch_job_spec(each.spec, each.claim), batch_job_status(each.status)
    else:
        kind, spec, status = SCHEDULING, scheduling_spec(each.spec), scheduling_status(each.spec, each.status)
    status |= _non_empty(conditions=list(conditions), unusedFields=list(unused))
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": _metadata(each.meta, each.status.claims if isinstance(each, Testbed) else ()),
        "spec": spec,
        "status": status,
    }


def name_document(name: ObjectName) -> Document:
    return {"name": name.name, "namespace": name.namespace}


def executor_name(holder: SlotHolder) -> str:
    """The task that has a slot, as `shunter logs` knows it."""
    return f"{APPLICATION_PREFIX}{holder.job.name}/{EXECUTOR_GROUP}/{holder.executor}"


def _metadata(meta: Meta, claims: tuple[ObjectName, ...]) -> Document:
    labels = dict(meta.labels)
    if claims:
        labels |= zip(CLAIM_LABELS, (claims[0].name, claims[0].namespace), strict=True)
    document: Document = {
        "name": meta.name,
        "namespace": meta.namespace,
        "uid": str(meta.uid),
        "resourceVersion": str(meta.revision),
        "generation": meta.generation,
        "creationTimestamp": _timestamp(meta.created_ms),
    }
    if meta.is_deleting:
        document["deletionTimestamp"] = _timestamp(meta.deleting_ms)
    return document | _non_empty(labels=labels, annotations=dict(meta.annotations))


# ---- testbeds ----


def testbed_spec(spec: TestbedSpec) -> Document:
    document: Document = {
        "slotsPerNode": spec.slots_per_node,
        "nodeLabel": spec.node_label,
        "resourcesPerSlot": _amounts(spec.resources_per_slot),
    }
    return document | ({} if spec.sharing == EXCLUSIVE else {"sharing": spec.sharing})


def testbed_status(testbed: Testbed) -> Document:
    status: TestbedStatus = testbed.status
    document: Document = {
        "state": status.state.wire_name,
        "slots": [slot_document(testbed.meta.name, number, slot) for number, slot in enumerate(status.slots)],
        "nodeProblems": {node: list(problems) for node, problems in status.node_problems.items()},
        "problems": list(status.problems),
        "observedGeneration": status.observed_generation,
    }
    return document | _non_empty(claims=[name_document(name) for name in status.claims])


def slot_document(testbed: str, position: int, slot: Slot) -> Document:
    """One slot. `podName` is what fills it: on nodes of ours the executor's task, or the reservation that keeps its
    place, called as a ghost pod is."""
    holder = slot.holder
    is_occupied = holder is not None and slot.state == SlotState.OCCUPIED
    ghost = f"ghostpod-{testbed}-on-{slot.place.node}-{slot.place.position}"
    document: Document = {
        "position": position,
        "slotPositionOnNode": slot.place.position,
        "nodeId": slot.node_id,
        "nodeName": slot.place.node,
        "podName": executor_name(holder) if holder is not None and is_occupied else ghost,
        "state": slot.state.wire_name,
        "since": _timestamp(slot.since_ms),
        "size": _amounts(slot.size),
    }
    if holder is not None:
        document |= {} if is_occupied else {"reservedFor": executor_name(holder)}
        document["heldBy"] = {
            "job": name_document(holder.job),
            "executor": holder.executor,
            "scheduling": name_document(holder.scheduling),
        }
    return document | ({"leaving": True} if slot.is_leaving else {})


# ---- batch jobs ----


def batch_job_spec(spec: BatchJobSpec, claim: Claim | None = None) -> Document:
    document: Document = {
        name: dict(given)
        for name, given in (("sparkSpec", spec.spark), ("flinkSpec", spec.flink), ("commandSpec", spec.command))
        if given is not None
    }
    external = {key: [dict(row) for row in rows] for key, rows in spec.external.items()}
    document |= _non_empty(externalScheduler=external, driver=dict(spec.driver))
    if claim is not None:
        document["activeScheduling"] = name_document(claim.scheduling)
        if claim.request is not None:
            document["creationRequest"] = {
                "slotIds": list(claim.request.slot_ids),
                "testbedName": name_document(claim.request.testbed),
                "replication": claim.request.replication,
            }
    return document


def batch_job_status(status: BatchJobStatus) -> Document:
    document: Document = {
        "state": status.state.wire_name,
        "scheduledEvents": [event_document(event) for event in status.events],
        "problems": list(status.problems),
        "observedGeneration": status.observed_generation,
        "runs": status.runs,
    }
    if status.active_scheduling is not None:
        document["activeScheduling"] = name_document(status.active_scheduling)
    if status.testbed is not None:
        document |= {
            "slots": name_document(status.testbed),
            "slotIds": list(status.slot_ids),
            "replication": status.replication,
            "places": [{"nodeName": each.node, "slotPositionOnNode": each.position} for each in status.places],
        }
    return document | ({"application": status.application} if status.application else {})


def event_document(event: ScheduledEvent) -> Document:
    """One run."""
    return {
        "start": _timestamp(event.start_ms),
        "stop": _timestamp(event.stop_ms),
        "successful": event.successful,
        "scheduling": name_document(event.scheduling),
        "slots": name_document(event.testbed),
        "slotIds": list(event.slot_ids),
        "application": event.job,
    }


# ---- schedulings ----


def scheduling_spec(spec: SchedulingSpec) -> Document:
    document: Document = {}
    if spec.is_slot_based or spec.slots:
        jobs = [{"name": name_document(each.job), "slotIds": list(each.slot_ids)} for each in spec.slots]
        document["slotBased"] = {"mode": spec.mode, "jobs": jobs}
    if spec.queue:
        document["queueBased"] = [name_document(name) for name in spec.queue]
    document["testbed"] = name_document(spec.testbed)
    if spec.confirmation_timeout_s != CONFIRMATION_TIMEOUT_S:
        document["confirmationTimeout"] = spec.confirmation_timeout_s
    return document


def scheduling_status(spec: SchedulingSpec, status: SchedulingStatus) -> Document:
    """Of each job the most advanced state. A spec that was just extended names jobs of which nothing is known yet."""
    states: list[Document] = []
    for name, record in zip(spec.distinct_jobs, status.jobs, strict=False):
        state: Document = {"name": name_document(name), "state": record.progress.wire_name}
        states.append(state | _non_empty(slotIds=list(record.slot_ids)))
    document: Document = {
        "state": status.state.wire_name,
        "since": _timestamp(status.since_ms),
        "jobStates": states,
        "problems": list(status.problems),
        "observedGeneration": status.observed_generation,
    }
    leaving = [name_document(name) for name in status.leaving]
    return document | _non_empty(waitsFor=status.waits_for, leaving=leaving)


# ---- values ----


def _amounts(amounts: dict[str, int]) -> Document:
    """Quantities as text; what is merely counted, like gpu, as a number."""
    return {name: format_amount(name, amount) if name in STANDARD else amount for name, amount in amounts.items()}


def _timestamp(ms: int) -> str | None:
    return iso(ms / 1000)


def _non_empty(**fields: Any) -> Document:
    """What is not empty."""
    return {name: value for name, value in fields.items() if value}
