"""What the operator needs of an operator for Spark or Flink: the object that makes the application, and how to read its
state. One module each implements it; the parts that all share are here. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from shunter.kube.client.api import Resource
from shunter.kube.custom_objects import CustomObject
from shunter.kube.install.crds import EXECUTOR_CLASS, LABELS
from shunter.kube.pod_templates import SCHEDULER, bound_by_us, object_owner
from shunter.kube.resources import BATCH_JOB, DRIVER, EXECUTOR, PLACES, REPLICATION, ROLE, SCHEDULING, SLOT_IDS, TESTBED
from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.objects.object_meta import Document
from shunter.testbeds.view import ApplicationState, StartApplication

MEBIBYTE = 2**20


class ApplicationAdapter(Protocol):
    engine: str  # of BatchJobs: spark or flink
    kind: str
    resource: Resource
    states: Mapping[str, ApplicationState]  # of its objects; all others are SUBMITTED

    def spec(self, found: CustomObject, start: StartApplication) -> Document:
        """Raises Invalid for an application that it cannot describe."""
        ...

    def state(self, status: Document) -> tuple[str, str]:
        """The state in its own words, and the error if there is one."""
        ...


def application_document(adapter: ApplicationAdapter, found: CustomObject, start: StartApplication) -> Document:
    """It has the name of its BatchJob, and goes with it."""
    resource = adapter.resource
    metadata = {
        "name": found.name.name,
        "namespace": found.name.namespace,
        "labels": {**LABELS, BATCH_JOB: found.name.name},
        "ownerReferences": [object_owner(found)],
    }
    version = f"{resource.group}/{resource.version}"
    return {"apiVersion": version, "kind": adapter.kind, "metadata": metadata, "spec": adapter.spec(found, start)}


def part_labels(found: CustomObject, start: StartApplication, role: str) -> dict[str, str]:
    job: BatchJob = found.object
    assert job.claim is not None
    names = {BATCH_JOB: found.name.name, TESTBED: start.request.testbed.name, SCHEDULING: job.claim.scheduling.name}
    return {**LABELS, ROLE: role, **names}


def part_annotations(found: CustomObject, start: StartApplication) -> dict[str, str]:
    """All executors have the same: the operator gives each its slot when it sees it."""
    job: BatchJob = found.object
    assert job.claim is not None
    return {
        TESTBED: str(start.request.testbed),
        BATCH_JOB: str(found.name),
        SCHEDULING: str(job.claim.scheduling),
        SLOT_IDS: ",".join(map(str, start.request.slot_ids)),
        REPLICATION: str(start.request.replication),
        PLACES: ",".join(f"{place.node}/{place.position}" for place in start.places),
    }


def executor_metadata(found: CustomObject, start: StartApplication) -> Document:
    return {"labels": part_labels(found, start, EXECUTOR), "annotations": part_annotations(found, start)}


def driver_metadata(found: CustomObject, start: StartApplication) -> Document:
    """The default scheduler places drivers and JobManagers, outside of the slots."""
    return {"labels": part_labels(found, start, DRIVER), "annotations": part_annotations(found, start)}


def executor_affinity(start: StartApplication) -> Document:
    nodes = {"key": "metadata.name", "operator": "In"}
    terms = [{"matchFields": [{**nodes, "values": [node]}]} for node in sorted({place.node for place in start.places})]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def executor_pod_spec(start: StartApplication) -> Document:
    """Where an operator takes a whole pod template."""
    return {
        "schedulerName": SCHEDULER,
        **bound_by_us(),
        "priorityClassName": EXECUTOR_CLASS,
        "affinity": executor_affinity(start),
    }


def mebibytes(amount_bytes: int) -> int:
    """Rounded up."""
    return -(-amount_bytes // MEBIBYTE)


def given(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Returns those of the fields that a manifest has."""
    return {name: values[name] for name in names if values.get(name) is not None}
