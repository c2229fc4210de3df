"""Nodes of Kubernetes as workers of Shunter: what they say in their Hello. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from shunter import __version__
from shunter.kube.quantities import read_amounts
from shunter.model.objects.object_meta import Document, ObjectName
from shunter.model.protocol.worker_messages import PROTOCOL_VERSION, Hello

REGION = "topology.kubernetes.io/region"  # a label: the datacenter
DATACENTER_DEFAULT = "dc1"
_NOT_OFFERED = ("pods", "hugepages-", "attachable-volumes-")
_REFUSING_EFFECTS = ("NoSchedule", "NoExecute")


class WorkerNode(msgspec.Struct, frozen=True, gc=False):
    name: ObjectName  # without a namespace
    version: int
    uid: str
    labels: Mapping[str, str]
    allocatable: Mapping[str, int]
    is_ready: bool  # its kubelet answers
    takes_pods: bool  # it is neither cordoned nor tainted
    address: str
    facts: Mapping[str, str]  # of its system


def read_worker_node(document: Document) -> WorkerNode:
    metadata, spec, status = document["metadata"], document.get("spec") or {}, document.get("status") or {}
    addresses = {each["type"]: each["address"] for each in status.get("addresses") or ()}
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    taints = [each for each in spec.get("taints") or () if each.get("effect") in _REFUSING_EFFECTS]
    return WorkerNode(
        name=ObjectName("", metadata["name"]),
        version=int(metadata["resourceVersion"]),
        uid=metadata.get("uid", ""),
        labels=metadata.get("labels") or {},
        allocatable=read_amounts(status.get("allocatable") or {}),
        is_ready=conditions.get("Ready") == "True",
        takes_pods=not spec.get("unschedulable") and not taints,
        address=addresses.get("InternalIP", ""),
        facts=status.get("nodeInfo") or {},
    )


def build_hello(node: WorkerNode, boot: str, foreign: Mapping[str, int]) -> Hello:
    """What pods of others request is not there for tasks. A node that takes no pods has nothing."""
    facts = node.facts
    return Hello(
        protocol=PROTOCOL_VERSION,
        name=node.name.name,
        boot=boot,
        capacity={
            name: max(0, amount - foreign.get(name, 0)) if node.takes_pods else 0
            for name, amount in node.allocatable.items()
            if not name.startswith(_NOT_OFFERED)
        },
        labels=dict(node.labels),
        datacenter=node.labels.get(REGION, DATACENTER_DEFAULT),
        attributes={
            "os": facts.get("operatingSystem", ""),
            "kernel": facts.get("kernelVersion", ""),
            "arch": facts.get("architecture", ""),
            "runtime.docker": f"kubernetes {facts.get('kubeletVersion', '')}".rstrip(),
            "shunter": __version__,
        },
        address=node.address,
        worker_id=node.uid,
        machine=facts.get("machineID", ""),
        machine_boot=facts.get("bootID", ""),
    )
