"""The pods that the operator makes: ghost pods, which hold the slots of a Testbed, and the executors of a BatchJob.
Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from shunter.kube.custom_objects import CustomObject, executor_pod_name, ghost_pod_name
from shunter.kube.install.crds import EXECUTOR_CLASS, GHOST_CLASS, LABELS, PREEMPTING_CLASS
from shunter.kube.quantities import kube_quantities
from shunter.kube.resources import (
    BATCH_JOB,
    EXECUTOR,
    EXECUTOR_INDEX,
    GHOST,
    PLACE,
    REPLICATION,
    ROLE,
    SCHEDULING,
    SLOT_IDS,
    TESTBED,
)
from shunter.model.job.spec import TaskSpec
from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.objects.object_meta import Document
from shunter.model.objects.testbeds import Slot
from shunter.testbeds.applications import application_job
from shunter.testbeds.view import StartApplication

SCHEDULER = "default-scheduler"  # which places the pods that compete with executors for room
GATE = "shunter.dev/slot"  # it leaves executors alone until the operator removes this
# Between the gate and the binding, kube-scheduler must find no node for an executor: its own binding would be refused,
# and it would then hold the room of the executor to be free. No node has this label; kubelets do not ask for it.
ONLY_BOUND_BY_US = {
    "maxSkew": 1,
    "topologyKey": "shunter.dev/only-the-operator-binds",
    "whenUnsatisfiable": "DoNotSchedule",
}
EXTENDED_SCHEDULER = "shunter-extender"  # the profile of a kube-scheduler that asks our extender

MANAGED_RESOURCE = "shunter.dev/slot"  # no node has it; kube-scheduler's settings say that it shall not mind


class Placement(StrEnum):
    """Who binds executors to the nodes of their slots."""

    DIRECT = "direct"
    EXTENDER = "extender"

    @property
    def scheduler(self) -> str:
        return EXTENDED_SCHEDULER if self is Placement.EXTENDER else SCHEDULER

    @property
    def priority_class(self) -> str:
        return PREEMPTING_CLASS if self is Placement.EXTENDER else EXECUTOR_CLASS


GHOST_USER = 65534
EXECUTOR_GRACE_S = 5


def ghost_pod(testbed: CustomObject, slot: Slot, image: str) -> Document:
    """A pod that sleeps on the slot's node and requests what the slot has. It keeps to the `restricted` profile of
    PodSecurity, and goes with its Testbed."""
    place, name = slot.place, testbed.name
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": ghost_pod_name(name.name, place.node, place.position),
            "namespace": name.namespace,
            "labels": {**LABELS, ROLE: GHOST, TESTBED: name.name},
            "annotations": {TESTBED: str(name), PLACE: f"{place.node}/{place.position}"},
            "ownerReferences": [object_owner(testbed)],
        },
        "spec": {
            "nodeName": place.node,
            "priorityClassName": GHOST_CLASS,
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": GHOST_USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": "ghost",
                    "image": image,
                    "imagePullPolicy": "IfNotPresent",
                    "resources": _resources(slot.size),
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "readOnlyRootFilesystem": True,
                        "capabilities": {"drop": ["ALL"]},
                    },
                }
            ],
        },
    }


@dataclass(frozen=True, slots=True)
class ExecutorSettings:
    image: str
    placement: Placement = Placement.DIRECT


def executor_pods(
    found: CustomObject, start: StartApplication, hosts: Sequence[str], settings: ExecutorSettings
) -> list[Document]:
    """One pod for each slot of the request. None is bound to its node yet: first the slot's ghost pod must go."""
    job: BatchJob = found.object
    [*_, group] = application_job(job, start, hosts, "").groups
    return [_executor_pod(found, start, group.task, index, settings) for index in range(len(start.places))]


def _executor_pod(
    found: CustomObject, start: StartApplication, task: TaskSpec, index: int, settings: ExecutorSettings
) -> Document:
    job: BatchJob = found.object
    assert job.claim is not None
    request, place = start.request, start.places[index]
    environment = {
        **task.env,
        "SHUNTER_EXECUTOR_INDEX": str(index),
        "SHUNTER_SLOT_ID": str(request.slot_ids[index]),
        "SHUNTER_NODE": place.node,
    }
    labels = {BATCH_JOB: found.name.name, TESTBED: request.testbed.name, SCHEDULING: job.claim.scheduling.name}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": executor_pod_name(found.name.name, index),
            "namespace": found.name.namespace,
            "labels": {**LABELS, ROLE: EXECUTOR, **labels},
            "annotations": {
                TESTBED: str(request.testbed),
                PLACE: f"{place.node}/{place.position}",
                BATCH_JOB: str(found.name),
                EXECUTOR_INDEX: str(index),
                SCHEDULING: str(job.claim.scheduling),
                SLOT_IDS: ",".join(map(str, request.slot_ids)),
                REPLICATION: str(request.replication),
            },
            "ownerReferences": [object_owner(found)],
        },
        "spec": {
            **(bound_by_us() if settings.placement is Placement.DIRECT else {}),
            "schedulerName": settings.placement.scheduler,
            "affinity": {"nodeAffinity": _only_on(place.node)},
            "priorityClassName": settings.placement.priority_class,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": EXECUTOR_GRACE_S,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [
                {
                    "name": "executor",
                    "image": settings.image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": [_literal(word) for word in task.command],
                    "env": [{"name": name, "value": _literal(value)} for name, value in environment.items()],
                    **({"workingDir": task.dir} if task.dir else {}),
                    "resources": _executor_resources(start.size, settings.placement),
                    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
                }
            ],
        },
    }


def bound_by_us() -> Document:
    """The part of a pod's spec that leaves it to the operator."""
    return {"schedulingGates": [{"name": GATE}], "topologySpreadConstraints": [ONLY_BOUND_BY_US]}


def binding(name: str, namespace: str, node: str) -> Document:
    """Puts a pod onto a node, as a scheduler does."""
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    return {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, "namespace": namespace}, "target": target}


def _resources(size: Mapping[str, int]) -> Document:
    """Limits are what is requested: a slot has a fixed size."""
    quantities = kube_quantities(size)
    return {"requests": quantities, "limits": quantities}


def _executor_resources(size: Mapping[str, int], placement: Placement) -> Document:
    """kube-scheduler asks the extender only about pods that request the resource that it manages."""
    quantities = kube_quantities(size)
    if placement is Placement.EXTENDER:
        quantities[MANAGED_RESOURCE] = "1"
    return {"requests": quantities, "limits": quantities}


def _only_on(node: str) -> Document:
    name = {"key": "metadata.name", "operator": "In", "values": [node]}
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [name]}]}}


def object_owner(found: CustomObject) -> Document:
    document = found.document
    return {
        "apiVersion": document["apiVersion"],
        "kind": document["kind"],
        "name": found.name.name,
        "uid": found.uid,
        "controller": True,
    }


def _literal(value: str) -> str:
    """Kubernetes would replace $(NAME) in commands and values; $$ stands for one dollar sign."""
    return value.replace("$(", "$$(")
