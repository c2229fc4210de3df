"""The part of `engine.state.fingerprints.fingerprint` that covers nodes: their records, and the columns that planners
read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shunter.engine.state.fingerprints.compared_fields import ComparedFields, FingerprintContext, by_resource
from shunter.engine.state.node_table import NodeTable
from shunter.engine.state.records import NodeRecord
from shunter.model.job.spec import PORT_PREFIX
from shunter.model.lifecycles import NodeState
from shunter.planning.view import NodeKind, Nodes

_TICKS = "ticks count the changes of one life"


def _lanes(context: FingerprintContext, node: NodeRecord) -> dict[int, bool]:
    """By class: whether they are the lanes that the class has there."""
    classes = context.state.classes
    return {id: id in classes and classes[id].lanes.get(node.id) is lanes for id, lanes in node.lanes.items()}


NODE = ComparedFields(
    NodeRecord,
    plain=(
        "id", "name", "boot", "datacenter", "reported_labels", "override_labels", "reported_attributes", "address",
        "override_attributes", "state", "reason", "joined_ms", "last_transition_ms", "cordoned_by", "cordon_reason",
        "is_drain_requested", "drain_deadline_ms", "worker_id", "machine", "machine_boot",
    ),
    described={"lanes": _lanes},
    left_out={
        "is_synced": "whether it has reported to this manager process",
        "synced_boot": "which worker process has reported to this manager process",
        "down_since_ms": "counts from the start of each manager process",
        "failures": "counted by this manager process",
        "restarts": "counted by this manager process",
        "last_heartbeat_ms": "when this manager process heard from it",
        "stats": "measured",
    },
)  # fmt: skip

# ---- the columns ----


def _capacity(context: FingerprintContext, view: Nodes) -> dict[int, dict[str, int]]:
    """Without ports, which every node has as soon as a task requests one."""
    return {
        id: {
            resource: amount
            for resource, amount in by_resource(context.state, view.capacity[id].tolist()).items()
            if not resource.startswith(PORT_PREFIX)
        }
        for id in context.state.nodes.records
    }


def _reserved(context: FingerprintContext, view: Nodes) -> dict[int, dict[str, int]]:
    return {id: by_resource(context.state, view.reserved[id].tolist()) for id in context.state.nodes.records}


def _wrongly_eligible(context: FingerprintContext, view: Nodes) -> list[int]:
    """Nodes that are eligible and should not be, or the reverse. It depends on which nodes have reported."""
    return [
        node.id
        for node in context.state.nodes.records.values()
        if view.eligible[node.id] != (node.state is NodeState.READY and node.is_synced and not node.cordoned_by)
    ]


def _because(context: FingerprintContext, view: Nodes) -> dict[int, str | None]:
    """Except nodes that just have not reported yet since the start."""
    return {
        node.id: view.ineligible_because.get(node.id)
        for node in context.state.nodes.records.values()
        if node.state is not NodeState.READY or node.cordoned_by
    }


def _kind(context: FingerprintContext, view: Nodes) -> dict[int, NodeKind]:
    return {id: view.kinds[view.kind[id]] for id in context.state.nodes.records}


def _used(name: str) -> Callable[[FingerprintContext, Nodes], list[int]]:
    return lambda _, view: getattr(view, name)[: view.count].tolist()


VIEW = ComparedFields(
    Nodes,
    plain=("names", "count"),
    described={
        "capacity": _capacity,
        "reserved": _reserved,
        "tasks": _used("tasks"),
        "eligible": _wrongly_eligible,
        "owner": _used("owner"),
        "kind": _kind,
        "ineligible_because": _because,
    },
    left_out={
        "resources": "columns may come in another order in another life: amounts are compared by name",
        "busy": "measured",
        "changed": _TICKS,
        "kinds": "numbered in the order of one life: each node's own is compared",
        "tick": _TICKS,
    },
)

NODES = ComparedFields(
    NodeTable,
    described={
        "records": lambda context, nodes: {
            "order": list(nodes.records), "each": {id: NODE.of(context, node) for id, node in nodes.records.items()}
        },
        "by_name": lambda _, nodes: {name: node.id for name, node in nodes.by_name.items()},
        "draining": lambda _, nodes: sorted(nodes.draining),
        "view": lambda context, nodes: VIEW.of(context, nodes.view),
    },
    left_out={"_kinds": "numbered in the order of one life: each node's own is compared"},
)  # fmt: skip

ALL_OF_NODES: tuple[ComparedFields[Any], ...] = (NODE, VIEW, NODES)
