"""The state as one value that the store keeps, and back. Made by the engine now and then, and in part for dry runs;
loaded by recovery, which applies the rounds after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from shunter.engine import changes as c
from shunter.engine.state import apply_groups, task_classes
from shunter.engine.state.records import STATES, ClassKey, Group, Job, Lanes, PastAttempt
from shunter.engine.state.state import State
from shunter.model.job.spec import PLAIN, JobOptions
from shunter.model.lifecycles import JobState, NodeState, TaskState
from shunter.ports.store import Snapshot


class _GroupDump(msgspec.Struct, array_like=True):
    class_id: int
    base: int
    count: int
    number: int
    part: int
    blueprint: int
    node: int
    shown: tuple[int, ...] | None
    delayed: dict[int, int] | None
    history: list[PastAttempt] | None
    reasons: dict[int, str] | None
    coming_back: set[int] | None
    avoiding: dict[int, int] | None
    ports: dict[int, dict[str, int]] | None
    health: dict[int, tuple[bool, int]] | None


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
    blueprint: int
    options: JobOptions
    version: int
    next_group: int
    is_held: bool
    groups: list[_GroupDump]


class _NodeDump(msgspec.Struct, array_like=True):
    joined: c.NodeJoined
    set_labels: dict[str, str]
    set_attributes: dict[str, str]
    state: int
    reason: str
    moved_ms: int
    switched_by: str
    switched_because: str
    drain_deadline_ms: int
    is_drain_asked: bool


class _Dump(msgspec.Struct, array_like=True):
    version: int
    next_job: int
    next_class: int
    rows: int
    columns: bytes
    blueprints: list[bytes]
    classes: list[tuple[int, ClassKey]]
    nodes: list[_NodeDump]
    lanes: list[tuple[int, int, int]]
    jobs: list[_JobDump]
    keys: list[tuple[int, str, list[int]]]
    books: dict[str, Any]


_decoder = msgspec.msgpack.Decoder(_Dump)


def make_snapshot(state: State) -> Snapshot:
    table = state.table
    keys = [(at_ms, key, state.keys[key]) for at_ms, key in state.key_order]
    return _dump(state, list(state.jobs.values()), (table.used, table.pack(0, table.used)), keys)


def make_excerpt(state: State, jobs: Sequence[Job]) -> Snapshot:
    """Like a snapshot of which all other jobs are left out: only what they hold of nodes is in it. For dry runs."""
    groups = [group for job in jobs for group in job.groups]
    counts = np.array([group.count for group in groups], np.int64)
    bases = np.cumsum(counts) - counts
    starts = np.array([group.base for group in groups], np.int64) - bases
    rows = np.arange(int(counts.sum())) + np.repeat(starts, counts)
    return _dump(state, jobs, (len(rows), state.table.pack_rows(rows)), [], bases.tolist())


def _dump(
    state: State,
    jobs: Sequence[Job],
    columns: tuple[int, bytes],
    keys: list[tuple[int, str, list[int]]],
    bases: list[int] | None = None,
) -> Snapshot:
    """`bases` says where the groups' rows lie in these columns, if it is not where they lie in the table."""
    blueprints: dict[int, int] = {}
    bodies: list[bytes] = []
    for job in jobs:
        for blueprint in (job.blueprint, *(group.blueprint for group in job.groups)):
            if blueprint.serial not in blueprints:
                blueprints[blueprint.serial] = len(bodies)
                bodies.append(blueprint.body)
    dump = _Dump(
        state.version,
        state.next_job,
        state.next_class,
        *columns,
        bodies,
        [(record.id, record.key) for record in state.classes.values()],
        [_dump_node(state, node) for node in state.nodes.records],
        [(record.id, lanes.node, lanes.width) for record in state.classes.values() for lanes in record.lanes.values()],
        [_dump_job(job, blueprints) for job in jobs],
        keys,
        {name: book.dump() for name, book in state.books.items()},
    )
    if bases is not None:
        for group, base in zip((group for job in dump.jobs for group in job.groups), bases, strict=True):
            group.base = base
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
    state.restore_table(dump.rows, dump.columns, [(g.base, g.count) for job in dump.jobs for g in job.groups])
    for job in dump.jobs:
        _load_job(state, job, dump.blueprints)
    for class_id, node_id, width in dump.lanes:
        state.apply(c.LanesSet(class_id, node_id, width))
    for at_ms, used_key, jobs in dump.keys:
        state.apply(c.KeyUsed(used_key, jobs, at_ms))
    for name, book in dump.books.items():
        state.books[name].load(book)
    _count_live(state)
    return state


def _dump_node(state: State, node_id: int) -> _NodeDump:
    node, view = state.nodes.records[node_id], state.nodes.view
    capacity = dict(zip(view.resources, view.capacity[node_id].tolist(), strict=True))
    joined = c.NodeJoined(
        node_id, node.name, node.boot, capacity, node.brought_labels, node.datacenter, node.brought_attributes,
        node.address, node.joined_ms,
    )  # fmt: skip
    return _NodeDump(
        joined, node.set_labels, node.set_attributes, int(node.state), node.reason, node.moved_ms, node.switched_by,
        node.switched_because, node.drain_deadline_ms, node.is_drain_asked,
    )  # fmt: skip


def _load_node(state: State, dump: _NodeDump) -> None:
    state.apply(dump.joined)
    node = state.nodes.records[dump.joined.node]
    state.nodes.label(node, dump.set_labels)
    state.nodes.attribute(node, dump.set_attributes)
    node.switched_by, node.switched_because = dump.switched_by, dump.switched_because
    node.drain_deadline_ms, node.is_drain_asked = dump.drain_deadline_ms, dump.is_drain_asked
    node.state, node.reason, node.moved_ms = NodeState(dump.state), dump.reason, dump.moved_ms
    state.nodes.refresh_eligible(node)


def _dump_job(job: Job, blueprints: dict[int, int]) -> _JobDump:
    groups = [
        _GroupDump(
            group.task_class.id, group.base, group.count, group.number, group.part, blueprints[group.blueprint.serial],
            group.node, group.shown, group.delayed, group.history, group.reasons, group.coming_back or None,
            group.avoiding or None, group.ports or None, group.health or None,
        )
        for group in job.groups
    ]  # fmt: skip
    return _JobDump(
        job.id, job.namespace, job.name, job.run, job.type, job.priority, job.labels, job.user, job.submitted_ms,
        int(job.state), job.started_ms, job.reason, blueprints[job.blueprint.serial], job.options, job.version,
        job.next_group, job.is_held, groups,
    )  # fmt: skip


def _load_job(state: State, dump: _JobDump, blueprints: list[bytes]) -> None:
    job = Job(
        dump.id, dump.namespace, dump.name, dump.run, dump.type, dump.priority, dump.labels, dump.user,
        dump.submitted_ms, state.share_blueprint(blueprints[dump.blueprint]),
        PLAIN if dump.options == PLAIN else dump.options, state=JobState(dump.state), started_ms=dump.started_ms,
        reason=dump.reason, version=dump.version, next_group=dump.next_group, is_held=dump.is_held,
    )  # fmt: skip
    for each in dump.groups:
        states = state.table.state[each.base : each.base + each.count]
        counts = np.bincount(states, minlength=STATES).tolist()
        group = Group(
            job, each.number, each.count, each.base, 0, counts, [], state.classes[each.class_id],
            state.share_blueprint(blueprints[each.blueprint]), each.part, node=each.node, shown=each.shown,
            delayed=each.delayed, history=each.history, reasons=each.reasons, coming_back=each.coming_back,
            avoiding=each.avoiding, ports=each.ports, health=each.health,
        )  # fmt: skip
        apply_groups.adopt_group(state, group)
        apply_groups.queue_again(state, group)
    state.adopt_job(job)


def _count_live(state: State) -> None:
    """How many tasks are outstanding, by lanes and by node."""
    table = state.table
    rows = np.flatnonzero(
        (table.state[: table.used] >= TaskState.ASSIGNED) & (table.state[: table.used] <= TaskState.STOPPING)
    )
    for row in rows.tolist():
        group = state.groups[table.group[row]]
        assert group is not None
        node = int(table.node[row])
        lanes: Lanes = group.task_class.lanes[node]
        lanes.outstanding += 1
        state.nodes.tasks[node] += 1
