"""The records of a snapshot, and how nodes and jobs become records. Used by `engine.state.snapshots` and
`engine.state.snapshot_writer`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from shunter.engine import changes as c
from shunter.engine.state.records import ClassKey, Job, PastAttempt, SpecVersion
from shunter.model.job.spec import JobOptions

if TYPE_CHECKING:
    from shunter.engine.state.state import State


class TaskSetDump(msgspec.Struct, array_like=True):
    class_id: int
    base: int
    count: int
    number: int
    group_index: int
    spec_version: int
    node: int
    visible_index: tuple[int, ...] | None
    delayed: dict[int, int] | None
    history: list[PastAttempt] | None
    reasons: dict[int, str] | None
    requeue_when_stopped: set[int] | None
    avoided_nodes: dict[int, int] | None
    ports: dict[int, dict[str, int]] | None
    health: dict[int, tuple[bool, int]] | None
    lost_with_keeper: set[int] | None = None


class JobDump(msgspec.Struct, array_like=True):
    id: int
    namespace: str
    name: str
    run: int
    type: str
    priority: int
    labels: dict[str, str]
    user: str
    submitted_ms: int
    state: int
    started_ms: int
    reason: str
    spec_version: int
    options: JobOptions
    version: int
    next_task_set: int
    is_held: bool
    task_sets: list[TaskSetDump]
    trace: str = ""


class NodeDump(msgspec.Struct, array_like=True):
    joined: c.NodeJoined
    override_labels: dict[str, str]
    override_attributes: dict[str, str]
    state: int
    reason: str
    last_transition_ms: int
    cordoned_by: str
    cordon_reason: str
    drain_deadline_ms: int
    is_drain_requested: bool


class Dump(msgspec.Struct, array_like=True):
    version: int
    next_job: int
    next_class: int
    rows: int
    columns: bytes
    spec_versions: list[bytes]
    classes: list[tuple[int, ClassKey]]
    nodes: list[NodeDump]
    lanes: list[tuple[int, int, int]]
    jobs: list[JobDump]
    keys: list[tuple[int, str, list[int]]]
    registries: dict[str, Any]


def dump_node(state: State, node_id: int) -> NodeDump:
    node, view = state.nodes.records[node_id], state.nodes.view
    capacity = dict(zip(view.resources, view.capacity[node_id].tolist(), strict=True))
    joined = c.NodeJoined(
        node_id, node.name, node.boot, capacity, node.reported_labels, node.datacenter, node.reported_attributes,
        node.address, node.joined_ms, node.worker_id, node.machine, node.machine_boot,
    )  # fmt: skip
    return NodeDump(
        joined, node.override_labels, node.override_attributes, int(node.state), node.reason, node.last_transition_ms,
        node.cordoned_by, node.cordon_reason, node.drain_deadline_ms, node.is_drain_requested,
    )  # fmt: skip


def dump_job(job: Job, position_of: Callable[[SpecVersion], int]) -> JobDump:
    """`position_of` tells where a spec version is in the dump."""
    task_sets = [
        TaskSetDump(
            task_set.task_class.id, task_set.base, task_set.count, task_set.number, task_set.group_index,
            position_of(task_set.spec_version), task_set.node, task_set.visible_index, task_set.delayed,
            task_set.history, task_set.reasons, task_set.requeue_when_stopped or None, task_set.avoided_nodes or None,
            task_set.ports or None, task_set.health or None, task_set.lost_with_keeper or None,
        )
        for task_set in job.task_sets
    ]  # fmt: skip
    return JobDump(
        job.id, job.namespace, job.name, job.run, job.type, job.priority, job.labels, job.user, job.submitted_ms,
        int(job.state), job.started_ms, job.reason, position_of(job.spec_version), job.options, job.version,
        job.next_task_set, job.is_held, task_sets, job.trace,
    )  # fmt: skip
