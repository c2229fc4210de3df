"""Nodes as the operator remembers them, and what is free on them for the slots of a testbed. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from shunter.kube.pod import Pod
from shunter.kube.quantities import add_amounts, read_amounts, subtract_amounts
from shunter.model.objects.object_meta import Document, ObjectName
from shunter.model.objects.testbeds import Testbed
from shunter.testbeds.view import LabelledNode

_REFUSING_EFFECTS = ("NoSchedule", "NoExecute")


class Node(msgspec.Struct, frozen=True, gc=False):
    name: ObjectName  # without a namespace
    version: int
    labels: Mapping[str, str]
    allocatable: Mapping[str, int]
    not_ready_reason: str = ""  # empty: it takes pods
    address: str = ""


def read_node(document: Document) -> Node:
    metadata, spec, status = document["metadata"], document.get("spec") or {}, document.get("status") or {}
    addresses = {each["type"]: each["address"] for each in status.get("addresses") or ()}
    return Node(
        name=ObjectName("", metadata["name"]),
        version=int(metadata["resourceVersion"]),
        labels=metadata.get("labels") or {},
        allocatable=read_amounts(status.get("allocatable") or {}),
        not_ready_reason=_not_ready_reason(spec, status),
        address=addresses.get("InternalIP", ""),
    )


def labelled_nodes(
    testbed: Testbed, nodes: Iterable[Node], pods_on: Callable[[str], Iterable[Pod]]
) -> list[LabelledNode]:
    """The nodes with the testbed's label, and what its slots may use: all that pods of others do not request."""
    label = testbed.spec.node_label
    return [
        LabelledNode(
            name=node.name.name,
            label=node.labels[label],
            free=_free_amounts(testbed, node, pods_on(node.name.name)),
            is_ready=not node.not_ready_reason,
            not_ready_reason=node.not_ready_reason,
        )
        for node in sorted(nodes, key=lambda node: node.name)
        if label in node.labels
    ]


def _free_amounts(testbed: Testbed, node: Node, pods: Iterable[Pod]) -> dict[str, int]:
    free, number = dict(node.allocatable), 0
    own = testbed.meta.object_name
    for pod in pods:
        if pod.has_ended or (pod.assignment is not None and pod.assignment.testbed == own):
            continue
        number += 1
        subtract_amounts(free, pod.requests)
    add_amounts(free, {"pods": -number})
    return free


def _not_ready_reason(spec: Document, status: Document) -> str:
    if spec.get("unschedulable"):
        return "it is cordoned"
    for condition in status.get("conditions") or ():
        if condition["type"] == "Ready" and condition["status"] != "True":
            return str(condition.get("message") or condition.get("reason") or "it is not ready")
    if not any(condition["type"] == "Ready" for condition in status.get("conditions") or ()):
        return "its kubelet has not reported yet"
    for taint in spec.get("taints") or ():
        if taint.get("effect") in _REFUSING_EFFECTS:
            return f"it has the taint {taint['key']}:{taint['effect']}"
    return ""
