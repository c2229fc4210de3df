"""Pods as the operator remembers them: of all pods of a cluster only what counts, because there may be very many."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from shunter.kube import resources
from shunter.kube.quantities import add_amounts, container_requests
from shunter.model.objects.object_meta import Document, ObjectName
from shunter.model.objects.testbeds import SlotPlace

ENDED_PHASES = ("Succeeded", "Failed")
_DISRUPTIONS = ("Evicted", "NodeAffinity", "NodeShutdown", "OutOf", "Preempting", "Terminated", "UnexpectedAdmission")


class Assignment(msgspec.Struct, frozen=True, gc=False):
    """What a ghost pod or executor is for."""

    role: str
    testbed: ObjectName
    place: SlotPlace
    batch_job: ObjectName | None = None
    scheduling: ObjectName | None = None
    executor: int = 0


class Part(msgspec.Struct, frozen=True, gc=False):
    """What a pod is for that an operator of others has made: a driver, or an executor, which may have no slot yet."""

    role: str
    batch_job: ObjectName
    places: tuple[SlotPlace, ...]  # of all executors of the run

    @property
    def is_executor(self) -> bool:
        return self.role == resources.EXECUTOR


class Pod(msgspec.Struct, frozen=True, gc=False):
    name: ObjectName
    uid: str
    version: int
    node: str  # empty: not bound yet
    phase: str
    is_terminating: bool
    requests: Mapping[str, int]  # inner amounts, also of init containers and overhead
    assignment: Assignment | None = None  # None: it is not ours
    reason: str = ""  # why it failed
    started_ms: int = 0  # when its last container began
    ended_ms: int = 0
    scheduler: str = ""
    is_gated: bool = False  # kube-scheduler leaves it alone
    nominated_node: str = ""  # where kube-scheduler leaves room for it
    part: Part | None = None
    was_disrupted: bool = False  # it was evicted or preempted, or its node is gone

    @property
    def has_ended(self) -> bool:
        """Its node's resources are free: Kubernetes counts it no more."""
        return self.phase in ENDED_PHASES

    @property
    def is_ghost(self) -> bool:
        return self.assignment is not None and self.assignment.role == resources.GHOST

    @property
    def is_executor(self) -> bool:
        return self.assignment is not None and self.assignment.role == resources.EXECUTOR


def read_pod(document: Document) -> Pod:
    metadata, spec, status = document["metadata"], document["spec"], document.get("status") or {}
    containers = status.get("containerStatuses") or ()
    phase = status.get("phase", "Pending")
    return Pod(
        name=ObjectName(metadata["namespace"], metadata["name"]),
        uid=metadata["uid"],
        version=int(metadata["resourceVersion"]),
        node=spec.get("nodeName", ""),
        phase=phase,
        is_terminating="deletionTimestamp" in metadata,
        requests=_requests(spec),
        assignment=_read_assignment(metadata),
        reason=_failure(status, containers) if phase == "Failed" else "",
        started_ms=max((_instant(each, "startedAt") for each in containers), default=0),
        ended_ms=max((_instant(each, "finishedAt") for each in containers), default=0),
        scheduler=spec.get("schedulerName", ""),
        is_gated=bool(spec.get("schedulingGates")),
        nominated_node=status.get("nominatedNodeName", ""),
        part=_read_part(metadata),
        was_disrupted=_was_disrupted(status),
    )


def _requests(spec: Document) -> dict[str, int]:
    """As kube-scheduler counts: the containers together, or the largest init container if that is more."""
    total: dict[str, int] = {}
    for container in spec.get("containers") or ():
        add_amounts(total, container_requests(container))
    for container in spec.get("initContainers") or ():
        requests = container_requests(container)
        if container.get("restartPolicy") == "Always":  # a sidecar: it stays
            add_amounts(total, requests)
        else:
            total |= {name: max(amount, total.get(name, 0)) for name, amount in requests.items()}
    add_amounts(total, container_requests({"resources": {"requests": spec.get("overhead") or {}}}))
    return total


def _read_assignment(metadata: Document) -> Assignment | None:
    """None for pods of others, and for those that were given our label but not our annotations."""
    role, given = (metadata.get("labels") or {}).get(resources.ROLE), metadata.get("annotations") or {}
    testbed, place = _object_name(given.get(resources.TESTBED)), _read_place(given.get(resources.PLACE))
    if role not in (resources.GHOST, resources.EXECUTOR) or testbed is None or place is None:
        return None
    if role == resources.GHOST:
        return Assignment(role, testbed, place)
    job, index = _object_name(given.get(resources.BATCH_JOB)), given.get(resources.EXECUTOR_INDEX, "")
    scheduling = _object_name(given.get(resources.SCHEDULING))
    if job is None or scheduling is None or not index.isdecimal():
        return None
    return Assignment(role, testbed, place, job, scheduling, int(index))


def _read_part(metadata: Document) -> Part | None:
    role, given = (metadata.get("labels") or {}).get(resources.ROLE), metadata.get("annotations") or {}
    job = _object_name(given.get(resources.BATCH_JOB))
    if role not in (resources.DRIVER, resources.EXECUTOR) or job is None or resources.PLACES not in given:
        return None
    places = [_read_place(text) for text in given[resources.PLACES].split(",")]
    return Part(role, job, tuple(place for place in places if place is not None))


def _object_name(text: str | None) -> ObjectName | None:
    namespace, slash, name = (text or "").partition("/")
    return ObjectName(namespace, name) if slash else None


def _read_place(text: str | None) -> SlotPlace | None:
    node, _, position = (text or "").rpartition("/")
    return SlotPlace(node, int(position)) if node and position.isdecimal() else None


def _failure(status: Document, containers: tuple[Document, ...] | list[Document]) -> str:
    """The reason of the pod, or of the first container that failed."""
    if status.get("reason"):
        return f"{status['reason']}: {status.get('message', '')}".rstrip(": ")
    for container in containers:
        ended = (container.get("state") or {}).get("terminated") or {}
        if ended.get("exitCode"):
            why = "" if ended.get("reason") in (None, "Error") else f" ({ended['reason']})"
            return f"exit code {ended['exitCode']}{why}"
    return str(status.get("message", ""))


def _was_disrupted(status: Document) -> bool:
    """Whether Kubernetes ended it: it was evicted or preempted, its node went, or the kubelet did not take it."""
    conditions = status.get("conditions") or ()
    is_target = any(each["type"] == "DisruptionTarget" and each["status"] == "True" for each in conditions)
    return is_target or status.get("reason", "").startswith(_DISRUPTIONS)


def _instant(container: Document, field: str) -> int:
    state = container.get("state") or {}
    found = (state.get("running") or state.get("terminated") or {}).get(field)
    return parse_instant_ms(found) if found else 0


def parse_instant_ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)
