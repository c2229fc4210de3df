"""Nodes as columns for the planner (`planning.view.Nodes`) and as records. Owned by `engine.state.state`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shunter.engine.changes import NodeJoined
from shunter.engine.state.records import Amounts, NodeRecord
from shunter.model.job.spec import LICENCE_PREFIX, PORT_PREFIX
from shunter.model.lifecycles import NodeState
from shunter.model.resources import STANDARD
from shunter.planning.view import IntArray, NodeKind, Nodes

ROWS_MIN = 64
BUSY_STEP = 0.05


class NodeTable:
    """Row i belongs to node id i; row 0 is unused."""

    def __init__(self) -> None:
        self.records: dict[int, NodeRecord] = {}
        self.by_name: dict[str, NodeRecord] = {}
        self.draining: set[int] = set()
        self._kinds: dict[tuple[object, ...], int] = {}
        rows, width = ROWS_MIN, len(STANDARD)
        self.view = Nodes(
            resources=list(STANDARD),
            capacity=np.zeros((rows, width), np.int64),
            reserved=np.zeros((rows, width), np.int64),
            busy=np.zeros(rows),
            tasks=np.zeros(rows, np.int64),
            eligible=np.zeros(rows, np.bool_),
            owner=np.zeros(rows, np.int64),
            kind=np.zeros(rows, np.int32),
            changed=np.zeros(rows, np.int64),
            kinds=[NodeKind("", {}, {})],
            names=[""],
        )

    @property
    def tasks(self) -> IntArray:
        return self.view.tasks

    @property
    def next_id(self) -> int:
        return self.view.count

    def touch(self, node: int) -> None:
        """Tell the planner that this row has changed."""
        self.view.tick += 1
        self.view.changed[node] = self.view.tick

    def vector(self, needs: Mapping[str, int]) -> IntArray:
        """Needs as a row of the resource columns; a new resource gets a column. Licences belong to no node and have
        none."""
        for resource in needs:
            if not resource.startswith(LICENCE_PREFIX):
                self._ensure_column(resource)
        resources = self.view.resources
        if not needs:
            return np.zeros(len(resources), np.int64)
        return np.array([needs.get(resource, 0) for resource in resources], np.int64)

    def join(self, change: NodeJoined) -> None:
        """Add a node, or update its facts."""
        node = self.records.get(change.node)
        if node is None:
            node = self._add(change)
        node.boot = change.boot
        node.worker_id, node.machine, node.machine_boot = change.worker_id, change.machine, change.machine_boot
        node.address = change.address
        node.datacenter = change.datacenter
        node.reported_labels = change.labels
        node.reported_attributes = change.attributes
        for resource in change.capacity:
            self._ensure_column(resource)
        self.view.capacity[node.id] = [self._capacity(change.capacity, resource) for resource in self.view.resources]
        self._refresh_kind(node)
        self.refresh_eligible(node)

    def override_node_labels(self, node: NodeRecord, labels: Mapping[str, str]) -> None:
        node.override_labels = {**node.override_labels, **labels}
        self._refresh_kind(node)

    def override_node_attributes(self, node: NodeRecord, attributes: Mapping[str, str]) -> None:
        node.override_attributes = {**node.override_attributes, **attributes}
        self._refresh_kind(node)

    def set_cordon(self, node: NodeRecord, by: str, reason: str) -> None:
        node.cordoned_by, node.cordon_reason = by, reason
        self.refresh_eligible(node)

    def set_owner(self, node: int, job: int) -> None:
        """Set the job that has the node for itself; 0: none."""
        self.view.owner[node] = job
        self.touch(node)

    def reserve(self, node: int, amounts: Amounts, times: int) -> None:
        reserved = self.view.reserved
        for column, amount in amounts:
            reserved[node, column] += amount * times
        self.touch(node)

    def refresh_eligible(self, node: NodeRecord) -> None:
        """A node accepts work when it is ready, not switched off, and its inventory has been processed."""
        eligible = node.state is NodeState.READY and node.is_synced and not node.cordoned_by
        self.view.eligible[node.id] = eligible
        if node.state is NodeState.DRAINING:
            self.draining.add(node.id)
        else:
            self.draining.discard(node.id)
        if eligible:
            self.view.ineligible_because.pop(node.id, None)
        elif node.state is NodeState.READY and node.cordoned_by:
            self.view.ineligible_because[node.id] = f"{node.cordoned_by}: {node.cordon_reason}".rstrip(": ")
        elif node.state is NodeState.READY:
            self.view.ineligible_because[node.id] = "not connected yet"
        else:
            self.view.ineligible_because[node.id] = (
                f"{node.state.wire_name}: {node.reason}" if node.reason else node.state.wire_name
            )
        self.touch(node.id)

    def update_load(self, node: NodeRecord, busy: float) -> None:
        """Record the measured load, in steps so coarse that noise changes nothing."""
        step = round(min(max(busy, 0.0), 1.0) / BUSY_STEP) * BUSY_STEP
        if abs(self.view.busy[node.id] - step) > BUSY_STEP / 2:
            self.view.busy[node.id] = step
            self.touch(node.id)

    def _add(self, change: NodeJoined) -> NodeRecord:
        node = NodeRecord(
            change.node, change.name, change.boot, change.datacenter, change.labels, {}, change.attributes,
            change.address, joined_ms=change.at_ms,
        )  # fmt: skip
        self._grow(change.node + 1)
        self.view.count = max(self.view.count, change.node + 1)
        while len(self.view.names) < self.view.count:
            self.view.names.append("")
        self.view.names[change.node] = change.name
        self.records[change.node] = node
        self.by_name[change.name] = node
        return node

    def _refresh_kind(self, node: NodeRecord) -> None:
        key = (node.datacenter, tuple(sorted(node.labels.items())), tuple(sorted(node.attributes.items())))
        kind = self._kinds.get(key)
        if kind is None:
            kind = len(self.view.kinds)
            self._kinds[key] = kind
            self.view.kinds.append(NodeKind(node.datacenter, node.labels, dict(node.attributes)))
        self.view.kind[node.id] = kind
        self.touch(node.id)

    def _ensure_column(self, resource: str) -> None:
        if resource in self.view.resources:
            return
        self.view.resources.append(resource)
        empty = np.zeros((self.view.capacity.shape[0], 1), np.int64)
        self.view.capacity = np.hstack([self.view.capacity, empty + self._capacity({}, resource)])
        self.view.reserved = np.hstack([self.view.reserved, empty])

    def _capacity(self, reported: Mapping[str, int], resource: str) -> int:
        """Every node implicitly has each port once."""
        return 1 if resource.startswith(PORT_PREFIX) else reported.get(resource, 0)

    def _grow(self, rows: int) -> None:
        row_count = self.view.capacity.shape[0]
        if rows <= row_count:
            return
        added_rows = max(rows, row_count * 2) - row_count
        for name in ("capacity", "reserved", "busy", "tasks", "eligible", "owner", "kind", "changed"):
            old = getattr(self.view, name)
            setattr(self.view, name, np.concatenate([old, np.zeros((added_rows, *old.shape[1:]), old.dtype)]))
