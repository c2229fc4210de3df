"""Converts the state to one value for the store, and back. The engine takes a snapshot from time to time, and a partial
one for dry runs. Recovery loads it and applies the rounds after it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from shunter.engine import changes as c
from shunter.engine.state import apply_task_sets, task_classes
from shunter.engine.state.records import STATE_COUNT, ClassKey, Job, Lanes, PastAttempt, TaskSet
from shunter.engine.state.state import State
from shunter.model.job.spec import DEFAULT_OPTIONS, JobOptions
from shunter.model.lifecycles import JobState, NodeState, TaskState
from shunter.ports.store import Snapshot


class _TaskSetDump(msgspec.Struct, array_like=True):
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


class _JobDump(msgspec.Struct, array_like=True):
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
    task_sets: list[_TaskSetDump]


class _NodeDump(msgspec.Struct, array_like=True):
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


class _Dump(msgspec.Struct, array_like=True):
    version: int
    next_job: int
    next_class: int
    rows: int
    columns: bytes
    spec_versions: list[bytes]
    classes: list[tuple[int, ClassKey]]
    nodes: list[_NodeDump]
    lanes: list[tuple[int, int, int]]
    jobs: list[_JobDump]
    keys: list[tuple[int, str, list[int]]]
    registries: dict[str, Any]


_decoder = msgspec.msgpack.Decoder(_Dump)


def make_snapshot(state: State) -> Snapshot:
    table = state.table
    keys = [(at_ms, key, state.idempotency_keys[key]) for at_ms, key in state.idempotency_key_order]
    return _dump(state, list(state.jobs.values()), (table.used, table.pack(0, table.used)), keys)


def make_partial_snapshot(state: State, jobs: Sequence[Job]) -> Snapshot:
    """A snapshot without the other jobs, except for their reservations on nodes. For dry runs."""
    task_sets = [task_set for job in jobs for task_set in job.task_sets]
    *bases, row_count = itertools.accumulate((task_set.count for task_set in task_sets), initial=0)
    columns = state.table.pack_blocks((task_set.base, task_set.count) for task_set in task_sets)
    return _dump(state, jobs, (row_count, columns), [], bases)


def _dump(
    state: State,
    jobs: Sequence[Job],
    columns: tuple[int, bytes],
    keys: list[tuple[int, str, list[int]]],
    bases: list[int] | None = None,
) -> Snapshot:
    """`bases` maps task sets to their rows in these columns, if they differ from those in the table."""
    spec_versions = {
        spec_version.serial: spec_version.body
        for job in jobs
        for spec_version in (job.spec_version, *(task_set.spec_version for task_set in job.task_sets))
    }
    positions = {serial: position for position, serial in enumerate(spec_versions)}
    dump = _Dump(
        state.version,
        state.next_job,
        state.next_class,
        *columns,
        list(spec_versions.values()),
        [(record.id, record.key) for record in state.classes.values()],
        [_dump_node(state, node) for node in state.nodes.records],
        [(record.id, lanes.node, lanes.width) for record in state.classes.values() for lanes in record.lanes.values()],
        [_dump_job(job, positions) for job in jobs],
        keys,
        {name: registry.dump() for name, registry in state.registries.items()},
    )
    if bases is not None:
        for task_set, base in zip((task_set for job in dump.jobs for task_set in job.task_sets), bases, strict=True):
            task_set.base = base
    return Snapshot(state.version, msgspec.msgpack.encode(dump))


def load(snapshot: Snapshot) -> State:
    dump = _decoder.decode(snapshot.body)
    state = State()
    state.version, state.next_job, state.next_class = dump.version, dump.next_job, dump.next_class
    for node in dump.nodes:
        _load_node(state, node)
    for class_id, key in dump.classes:
        task_classes.add_class(state, class_id, key)
    state.next_class = dump.next_class
    state.restore_table(
        dump.rows, dump.columns, [(task_set.base, task_set.count) for job in dump.jobs for task_set in job.task_sets]
    )
    for job in dump.jobs:
        _load_job(state, job, dump.spec_versions)
    for class_id, node_id, width in dump.lanes:
        state.apply(c.LanesSet(class_id, node_id, width))
    for at_ms, used_key, jobs in dump.keys:
        state.apply(c.IdempotencyKeyUsed(used_key, jobs, at_ms))
    for name, registry in dump.registries.items():
        state.registries[name].load(registry)
    _count_outstanding(state)
    return state


def _dump_node(state: State, node_id: int) -> _NodeDump:
    node, view = state.nodes.records[node_id], state.nodes.view
    capacity = dict(zip(view.resources, view.capacity[node_id].tolist(), strict=True))
    joined = c.NodeJoined(
        node_id, node.name, node.boot, capacity, node.reported_labels, node.datacenter, node.reported_attributes,
        node.address, node.joined_ms, node.worker_id, node.machine, node.machine_boot,
    )  # fmt: skip
    return _NodeDump(
        joined, node.override_labels, node.override_attributes, int(node.state), node.reason, node.last_transition_ms,
        node.cordoned_by, node.cordon_reason, node.drain_deadline_ms, node.is_drain_requested,
    )  # fmt: skip


def _load_node(state: State, dump: _NodeDump) -> None:
    state.apply(dump.joined)
    node = state.nodes.records[dump.joined.node]
    state.nodes.override_node_labels(node, dump.override_labels)
    state.nodes.override_node_attributes(node, dump.override_attributes)
    node.cordoned_by, node.cordon_reason = dump.cordoned_by, dump.cordon_reason
    node.drain_deadline_ms, node.is_drain_requested = dump.drain_deadline_ms, dump.is_drain_requested
    node.state, node.reason, node.last_transition_ms = NodeState(dump.state), dump.reason, dump.last_transition_ms
    state.nodes.refresh_eligible(node)


def _dump_job(job: Job, spec_versions: dict[int, int]) -> _JobDump:
    """`spec_versions` maps a serial to its position in the dump."""
    task_sets = [
        _TaskSetDump(
            task_set.task_class.id, task_set.base, task_set.count, task_set.number, task_set.group_index,
            spec_versions[task_set.spec_version.serial], task_set.node, task_set.visible_index, task_set.delayed,
            task_set.history, task_set.reasons, task_set.requeue_when_stopped or None, task_set.avoided_nodes or None,
            task_set.ports or None, task_set.health or None, task_set.lost_with_keeper or None,
        )
        for task_set in job.task_sets
    ]  # fmt: skip
    return _JobDump(
        job.id, job.namespace, job.name, job.run, job.type, job.priority, job.labels, job.user, job.submitted_ms,
        int(job.state), job.started_ms, job.reason, spec_versions[job.spec_version.serial], job.options, job.version,
        job.next_task_set, job.is_held, task_sets,
    )  # fmt: skip


def _load_job(state: State, dump: _JobDump, spec_versions: list[bytes]) -> None:
    job = Job(
        dump.id, dump.namespace, dump.name, dump.run, dump.type, dump.priority, dump.labels, dump.user,
        dump.submitted_ms, state.acquire_spec_version(spec_versions[dump.spec_version]),
        DEFAULT_OPTIONS if dump.options == DEFAULT_OPTIONS else dump.options, state=JobState(dump.state),
        started_ms=dump.started_ms, reason=dump.reason, version=dump.version, next_task_set=dump.next_task_set,
        is_held=dump.is_held,
    )  # fmt: skip
    for each in dump.task_sets:
        states = state.table.state[each.base : each.base + each.count]
        counts = np.bincount(states, minlength=STATE_COUNT).tolist()
        task_set = TaskSet(
            job, each.number, each.count, each.base, 0, counts, [], state.classes[each.class_id],
            state.acquire_spec_version(spec_versions[each.spec_version]), each.group_index, node=each.node,
            visible_index=each.visible_index, delayed=each.delayed, history=each.history, reasons=each.reasons,
            requeue_when_stopped=each.requeue_when_stopped, avoided_nodes=each.avoided_nodes, ports=each.ports,
            health=each.health, lost_with_keeper=each.lost_with_keeper,
        )  # fmt: skip
        apply_task_sets.register_task_set(state, task_set)
        apply_task_sets.make_queued_ready(state, task_set)
    state.register_job(job)


def _count_outstanding(state: State) -> None:
    """The number of outstanding tasks, by lanes and by node."""
    table = state.table
    rows = np.flatnonzero(
        (table.state[: table.used] >= TaskState.ASSIGNED) & (table.state[: table.used] <= TaskState.STOPPING)
    )
    for row in rows.tolist():
        task_set = state.task_sets[table.group[row]]
        assert task_set is not None
        node = int(table.node[row])
        lanes: Lanes = task_set.task_class.lanes[node]
        lanes.outstanding += 1
        state.nodes.tasks[node] += 1
