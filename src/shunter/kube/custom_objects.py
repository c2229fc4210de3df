"""Testbeds, BatchJobs and Schedulings as custom resources: reads documents of the API server into our objects, and
writes what has changed back into the document.

The wire format is that of `model.objects.documents`. Only the metadata differs: Kubernetes adds fields of its own, and
its uids are UUIDs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import msgspec
from msgspec.structs import replace

from shunter.model.errors import Invalid
from shunter.model.objects.batch_jobs import BatchJob, Claim
from shunter.model.objects.documents import object_document, read_object
from shunter.model.objects.object_meta import Document, Meta, ObjectName
from shunter.model.objects.objects import API_VERSIONS, BATCH_JOB, SCHEDULING, TESTBED, Draft, Object, Spec
from shunter.model.objects.schedulings import Scheduling
from shunter.model.objects.testbeds import SlotState, Testbed
from shunter.model.schema.name_fields import LABEL_KEY_PATTERN

_METADATA = ("name", "namespace", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp")
_HIDDEN_ANNOTATIONS = ("kubectl.kubernetes.io/", "shunter.dev/")
USER_ANNOTATION = "shunter.dev/user"
CLAIM_FIELDS = ("activeScheduling", "creationRequest")
_UID_BITS = 59  # at most 18 digits, as REST takes them
_LABEL_KEY = re.compile(LABEL_KEY_PATTERN)
_STRUCTS: dict[str, Any] = {TESTBED: Testbed, BATCH_JOB: BatchJob, SCHEDULING: Scheduling}


class CustomObject(msgspec.Struct, frozen=True):
    """A custom resource as the API server has it, and as we read it. A spec that our field tables refuse, though the
    API server has accepted it, has no `object`."""

    name: ObjectName
    uid: str
    version: int
    document: Document
    object: Any = None
    problems: tuple[str, ...] = ()


def read_custom_object(document: Document) -> CustomObject:
    metadata = document["metadata"]
    name = ObjectName(metadata["namespace"], metadata["name"])
    version = int(metadata["resourceVersion"])
    try:
        object: Any = read_object(_own_document(document))
    except Invalid as error:
        problems = tuple(str(problem) for problem in error.problems)
        return CustomObject(name, metadata["uid"], version, document, problems=problems)
    user = (metadata.get("annotations") or {}).get(USER_ANNOTATION, "")
    return CustomObject(name, metadata["uid"], version, document, replace(object, meta=replace(object.meta, user=user)))


def with_status(found: CustomObject, status: Any) -> Document:
    """The document for an update of the status."""
    changed = replace(found.object, status=status)
    return {**found.document, "status": _status_document(changed)}


def with_claim(found: CustomObject, claim: Claim | None) -> Document:
    """The document of a BatchJob for an update of its claim, which is a part of its spec as in the reference
    implementation."""
    job: BatchJob = replace(found.object, claim=claim)
    written = object_document(job)["spec"]
    spec = {name: value for name, value in found.document["spec"].items() if name not in CLAIM_FIELDS}
    return {**found.document, "spec": spec | {name: written[name] for name in CLAIM_FIELDS if name in written}}


def new_document(draft: Draft, spec: Spec, user: str) -> Document:
    """The document that makes an object."""
    made: Any = _STRUCTS[draft.kind](Meta(0, draft.name.namespace, draft.name.name, 0, user), spec)
    metadata: Document = {
        "name": draft.name.name,
        "namespace": draft.name.namespace,
        "labels": draft.labels,
        "annotations": {**draft.annotations, USER_ANNOTATION: user},
    }
    return {"apiVersion": API_VERSIONS[0], "kind": draft.kind, "metadata": metadata, "spec": _spec_document(made)}


def with_draft(found: CustomObject, draft: Draft, spec: Spec) -> Document:
    """The document for an update by a user, who leaves claim and status alone."""
    before = found.object
    made: Any = _STRUCTS[draft.kind](Meta(0, "", "", 0, ""), spec) if before is None else replace(before, spec=spec)
    metadata = found.document["metadata"]
    changed = {
        **metadata,
        "labels": _merged(metadata.get("labels"), draft.labels),
        "annotations": _merged(metadata.get("annotations"), draft.annotations),
    }
    return {**found.document, "metadata": changed, "spec": _spec_document(made)}


def with_external(found: CustomObject, external: dict[str, list[dict[str, str]]]) -> Document:
    """The document of a BatchJob for an update of what schedulers store with it."""
    return {**found.document, "spec": {**found.document["spec"], "externalScheduler": external}}


def with_problems(found: CustomObject) -> Document:
    """The document for an update of the status of an object that cannot be used."""
    return {**found.document, "status": (found.document.get("status") or {}) | {"problems": list(found.problems)}}


def _status_document(each: Object) -> Document:
    """Slots name the pods of this cluster, and a Testbed has a summary, which `kubectl get` shows."""
    status: Document = object_document(each)["status"]
    if isinstance(each, Testbed):
        for slot, document in zip(each.status.slots, status["slots"], strict=True):
            if slot.holder is not None:
                pod = executor_pod_name(slot.holder.job.name, slot.holder.executor)
                document["podName" if slot.state is SlotState.OCCUPIED else "reservedFor"] = pod
        free = sum(slot.state is SlotState.FREE for slot in each.status.slots)
        status["freeSlots"] = f"{free}/{len(each.status.slots)}"
    return status


def executor_pod_name(job: str, executor: int) -> str:
    return f"{job}-executor-{executor}"


def ghost_pod_name(testbed: str, node: str, position: int) -> str:
    return f"ghostpod-{testbed}-on-{node}-{position}"


def uid_number(uid: str) -> int:
    """A number for a uid of Kubernetes, as our objects have it."""
    return UUID(uid).int >> (128 - _UID_BITS)


def _own_document(document: Document) -> Document:
    """The document with the metadata that our manifests have."""
    metadata: Mapping[str, Any] = document["metadata"]
    own = {key: metadata[key] for key in _METADATA if key in metadata}
    own |= {"labels": _readable(metadata.get("labels")), "annotations": _readable(metadata.get("annotations"))}
    return {**document, "metadata": {**own, "uid": str(uid_number(metadata["uid"]))}}


def _readable(entries: Mapping[str, str] | None) -> dict[str, str]:
    """Labels and annotations without those of machinery, and without keys that our manifests cannot have."""
    found = {key: value for key, value in (entries or {}).items() if not key.startswith(_HIDDEN_ANNOTATIONS)}
    return {key: value for key, value in found.items() if _LABEL_KEY.fullmatch(key)}


def _merged(entries: Mapping[str, str] | None, own: Mapping[str, str]) -> dict[str, str]:
    """Ours, and those that we do not show."""
    readable = _readable(entries)
    return {key: value for key, value in (entries or {}).items() if key not in readable} | dict(own)


def _spec_document(each: Object) -> Document:
    """A spec as the API server takes it: fractions only as text."""
    spec: Document = object_document(each)["spec"]
    timeout = spec.get("confirmationTimeout")
    if timeout is not None:
        spec["confirmationTimeout"] = int(timeout) if timeout == int(timeout) else f"{timeout}s"
    return spec
