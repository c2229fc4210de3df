"""From the store back to the state: a snapshot, then the rounds after it. Also makes snapshots."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from shunter.engine import changes as c
from shunter.engine.records import STATES, Group, Job, Lanes, PastAttempt, runs_of
from shunter.engine.round import TimerKind, Timers
from shunter.engine.state import State
from shunter.model.lifecycles import JobState, NodeState, TaskState
from shunter.ports.store import Snapshot, Store

ROUNDS_PER_READ = 1_000


class _GroupDump(msgspec.Struct, array_like=True):
    class_id: int
    base: int
    count: int
    delayed: dict[int, int] | None
    history: list[PastAttempt] | None
    reasons: dict[int, str] | None


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
    groups: list[_GroupDump]


class _NodeDump(msgspec.Struct, array_like=True):
    joined: c.NodeJoined
    set_labels: dict[str, str]
    state: int
    reason: str
    moved_ms: int


class _Dump(msgspec.Struct, array_like=True):
    version: int
    next_job: int
    next_class: int
    rows: int
    columns: bytes
    blueprints: list[bytes]
    classes: list[tuple[int, tuple[str, str, int, list[tuple[str, int]], list[str], list[str]]]]
    nodes: list[_NodeDump]
    lanes: list[tuple[int, int, int]]
    jobs: list[_JobDump]
    keys: list[tuple[int, str, list[int]]]


_decoder = msgspec.msgpack.Decoder(_Dump)


async def recover(store: Store) -> tuple[State, Timers]:
    """The last committed state."""
    snapshot = await store.snapshot()
    state = load(snapshot) if snapshot else State()
    for finished in await store.finished_names():
        state.last_runs.setdefault(finished.namespace, {})[finished.name] = (finished.run, finished.id)
    while rounds := await store.rounds_after(state.version, ROUNDS_PER_READ):
        for logged in rounds:
            for change in c.decode_round(logged.body):
                state.apply(change)
            state.version = logged.version
    return state, _timers(state)


def make_snapshot(state: State) -> Snapshot:
    blueprints: dict[int, int] = {}
    bodies: list[bytes] = []
    for job in state.jobs.values():
        if job.blueprint.serial not in blueprints:
            blueprints[job.blueprint.serial] = len(bodies)
            bodies.append(job.blueprint.body)
    dump = _Dump(
        state.version,
        state.next_job,
        state.next_class,
        state.table.used,
        state.table.pack(0, state.table.used),
        bodies,
        [(record.id, record.key) for record in state.classes.values()],  # type: ignore[misc]
        [_dump_node(state, node) for node in state.nodes.records],
        [(record.id, lanes.node, lanes.width) for record in state.classes.values() for lanes in record.lanes.values()],
        [_dump_job(job, blueprints[job.blueprint.serial]) for job in state.jobs.values()],
        [(at_ms, key, state.keys[key]) for at_ms, key in state.key_order],
    )
    return Snapshot(state.version, msgspec.msgpack.encode(dump))


def load(snapshot: Snapshot) -> State:
    dump = _decoder.decode(snapshot.body)
    state = State()
    state.version, state.next_job, state.next_class = dump.version, dump.next_job, dump.next_class
    for node in dump.nodes:
        _load_node(state, node)
    for class_id, key in dump.classes:
        namespace, user, priority, needs, datacenters, constraints = key
        needs_key = tuple((resource, amount) for resource, amount in needs)
        state.add_class(class_id, (namespace, user, priority, needs_key, tuple(datacenters), tuple(constraints)))
    state.next_class = dump.next_class
    state.restore_table(dump.rows, dump.columns, [(g.base, g.count) for job in dump.jobs for g in job.groups])
    for job in dump.jobs:
        _load_job(state, job, dump.blueprints)
    for class_id, node_id, width in dump.lanes:
        state.apply(c.LanesSet(class_id, node_id, width))
    for at_ms, used_key, jobs in dump.keys:
        state.apply(c.KeyUsed(used_key, jobs, at_ms))
    _count_live(state)
    return state


def fingerprint(state: State) -> dict[str, Any]:
    """All of the committed state in a form that can be compared, whatever way it came about."""
    table = state.table
    return {
        "version": state.version,
        "next_job": state.next_job,
        "counts": (list(state.task_counts), list(state.job_counts)),
        "jobs": {job.id: _describe_job(state, job) for job in state.jobs.values()},
        "lanes": sorted(
            (record.id, record.key, lanes.node, lanes.width, lanes.outstanding)
            for record in state.classes.values()
            for lanes in record.lanes.values()
        ),
        "classes": sorted(
            (record.id, record.queued + _delayed(record.id, state), record.members) for record in state.classes.values()
        ),
        "nodes": {
            node.name: (
                node.id, node.boot, node.datacenter, node.labels, node.attributes, node.state.word, node.reason,
                state.nodes.view.capacity[node.id].tolist(), state.nodes.view.reserved[node.id].tolist(),
                int(state.nodes.tasks[node.id]),
            )
            for node in state.nodes.records.values()
        },
        "keys": dict(state.keys),
        "live": int(np.isin(table.state[: table.used], (2, 3, 4)).sum()),
    }  # fmt: skip


def _delayed(class_id: int, state: State) -> int:
    """Queued tasks of a class that wait out their back-off: whether one is due is a matter of time, not of state."""
    return sum(
        len(group.delayed or ()) for group in state.groups if group is not None and group.task_class.id == class_id
    )


def _describe_job(state: State, job: Job) -> tuple[object, ...]:
    columns = [
        tuple(getattr(state.table, name)[group.base : group.base + group.count].tobytes() for name in
              ("state", "attempt", "restarts", "lost", "node", "exit_code", "started_ms", "ended_ms", "log"))
        for group in job.groups
    ]  # fmt: skip
    return (
        job.ref, job.type, job.priority, job.labels, job.user, job.submitted_ms, job.state, job.started_ms, job.reason,
        job.blueprint.body, [group.counts for group in job.groups], columns,
        [(group.history or [], group.reasons or {}) for group in job.groups],
    )  # fmt: skip


def _dump_node(state: State, node_id: int) -> _NodeDump:
    node, view = state.nodes.records[node_id], state.nodes.view
    capacity = dict(zip(view.resources, view.capacity[node_id].tolist(), strict=True))
    joined = c.NodeJoined(
        node_id, node.name, node.boot, capacity, node.brought_labels, node.datacenter, node.attributes, node.address,
        node.joined_ms,
    )  # fmt: skip
    return _NodeDump(joined, node.set_labels, int(node.state), node.reason, node.moved_ms)


def _load_node(state: State, dump: _NodeDump) -> None:
    state.apply(dump.joined)
    node = state.nodes.records[dump.joined.node]
    state.nodes.label(node, dump.set_labels)
    node.state, node.reason, node.moved_ms = NodeState(dump.state), dump.reason, dump.moved_ms
    state.nodes.refresh_eligible(node)


def _dump_job(job: Job, blueprint: int) -> _JobDump:
    groups = [
        _GroupDump(group.task_class.id, group.base, group.count, group.delayed, group.history, group.reasons)
        for group in job.groups
    ]
    return _JobDump(
        job.id, job.namespace, job.name, job.run, job.type, job.priority, job.labels, job.user, job.submitted_ms,
        int(job.state), job.started_ms, job.reason, blueprint, groups,
    )  # fmt: skip


def _load_job(state: State, dump: _JobDump, blueprints: list[bytes]) -> None:
    job = Job(
        dump.id, dump.namespace, dump.name, dump.run, dump.type, dump.priority, dump.labels, dump.user,
        dump.submitted_ms, state.share_blueprint(blueprints[dump.blueprint]),
        state=JobState(dump.state), started_ms=dump.started_ms, reason=dump.reason,
    )  # fmt: skip
    for number, group_dump in enumerate(dump.groups):
        record = state.classes[group_dump.class_id]
        states = state.table.state[group_dump.base : group_dump.base + group_dump.count]
        counts = np.bincount(states, minlength=STATES).tolist()
        group = Group(
            job, number, group_dump.count, group_dump.base, 0, counts, [], record,
            delayed=group_dump.delayed, history=group_dump.history, reasons=group_dump.reasons,
        )  # fmt: skip
        state.adopt_group(group)
        _queue_again(state, group, states)
    state.adopt_job(job)


def _queue_again(state: State, group: Group, states: np.ndarray[Any, np.dtype[np.uint8]]) -> None:
    delayed, group.delayed = group.delayed, None
    queued = np.flatnonzero(states == TaskState.QUEUED)
    if delayed:
        queued = queued[~np.isin(queued, list(delayed))]
    for first, last in reversed(list(runs_of(queued))):
        state.make_ready(group, first, last)
    group.delayed = delayed


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


def _timers(state: State) -> Timers:
    timers = Timers()
    for job in state.jobs.values():
        for group in job.groups:
            for index, not_before_ms in (group.delayed or {}).items():
                timers.add(not_before_ms, TimerKind.BACK_OFF, group, index)
            if group.spec.queue_timeout_s:
                due_ms = job.submitted_ms + int(group.spec.queue_timeout_s * 1000)
                timers.add(due_ms, TimerKind.QUEUE_TIMEOUT, group)
    return timers
