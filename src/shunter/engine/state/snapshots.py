"""Loads a snapshot of the state, which `engine.state.snapshot_writer` wrote; recovery applies the rounds after it. Also
makes partial snapshots for dry runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from shunter.engine import changes as c
from shunter.engine.changes.formats import FIRST_FORMAT, FORMATS, Formats
from shunter.engine.state import apply_task_sets, task_classes
from shunter.engine.state.records import (
    NO_LABELS,
    NOT_READY,
    ONE_IN_STATE,
    STATE_COUNT,
    Job,
    Lanes,
    SpecVersion,
    TaskSet,
)
from shunter.engine.state.snapshot_records import Dump, JobDump, NodeDump, dump_job, dump_node
from shunter.engine.state.state import State
from shunter.model.job.spec import BATCH, DEFAULT_OPTIONS, JobOptions
from shunter.model.lifecycles import JobState, NodeState, TaskState
from shunter.ports.store import Snapshot

SLICE_JOBS = 1_000  # a slice takes some milliseconds


class _LazyDump(Dump, array_like=True):
    """Jobs are decoded one by one: a million of them at once would take much memory, and stop the loop."""

    jobs: list[msgspec.Raw]  # type: ignore[assignment]


class _LazyJob(JobDump, array_like=True):
    """Most jobs have no options."""

    options: msgspec.Raw  # type: ignore[assignment]


_decoder = msgspec.msgpack.Decoder(_LazyDump)
_NO_FORMAT: list[Any] = [FIRST_FORMAT, ""]
_job_decoder = msgspec.msgpack.Decoder(_LazyJob)
_options_decoder = msgspec.msgpack.Decoder(JobOptions)


def make_partial_snapshot(state: State, jobs: Sequence[Job]) -> Snapshot:
    """A snapshot without client keys and the other jobs, except for their reservations on nodes. For dry runs."""
    task_sets = [task_set for job in jobs for task_set in job.task_sets]
    *bases, row_count = itertools.accumulate((task_set.count for task_set in task_sets), initial=0)
    columns = state.table.pack_blocks((task_set.base, task_set.count) for task_set in task_sets)
    spec_versions = {
        spec_version.serial: spec_version.body
        for job in jobs
        for spec_version in (job.spec_version, *(task_set.spec_version for task_set in job.task_sets))
    }
    positions = {serial: position for position, serial in enumerate(spec_versions)}
    dump = Dump(
        state.version,
        state.next_job,
        state.next_class,
        row_count,
        columns,
        list(spec_versions.values()),
        [(record.id, record.key) for record in state.classes.values()],
        [dump_node(state, node) for node in state.nodes.records],
        [(record.id, lanes.node, lanes.width) for record in state.classes.values() for lanes in record.lanes.values()],
        [dump_job(job, lambda spec_version: positions[spec_version.serial]) for job in jobs],
        [],
        {name: registry.dump() for name, registry in state.registries.items() if state.format.allows(name)},
    )
    # These columns have the rows of the chosen task sets alone.
    for task_set, base in zip((task_set for job in dump.jobs for task_set in job.task_sets), bases, strict=True):
        task_set.base = base
    return Snapshot(state.version, msgspec.msgpack.encode(dump))


def load(snapshot: Snapshot, formats: Formats = FORMATS) -> State:
    """Raises NewerFormat if a program that knows these formats cannot read it."""
    loading = LoadingState(snapshot, formats)
    for _ in loading.slices():
        pass
    return loading.state


class LoadingState:
    """Take `slices` to the end, then `state` is loaded."""

    def __init__(self, snapshot: Snapshot, formats: Formats) -> None:
        self.state = State(formats)
        self._body = snapshot.body

    def slices(self) -> Iterator[None]:
        """Each step takes some milliseconds, except for the first: it decodes what is not a job."""
        state = self.state
        try:
            dump = _decoder.decode(self._body)
        except c.DECODE_ERRORS:
            state.format.load(_find_format(bytes(self._body)))
            raise
        state.format.load(dump.registries.get("format", _NO_FORMAT))  # before anything that it may not know
        state.version, state.next_job, state.next_class = dump.version, dump.next_job, dump.next_class
        for node in dump.nodes:
            _load_node(state, node)
        state.tenants.load(dump.registries.get("tenants", []))  # a class belongs to the owner of its namespace
        for class_id, key in dump.classes:
            task_classes.add_class(state, class_id, key)
        state.next_class = dump.next_class
        state.table.restore(dump.rows, dump.columns)
        yield from _load_jobs(state, dump)
        for class_id, node_id, width in dump.lanes:
            state.apply(c.LanesSet(class_id, node_id, width))
        for at_ms, used_key, jobs in dump.keys:
            state.apply(c.IdempotencyKeyUsed(used_key, jobs, at_ms))
        for name, registry in dump.registries.items():
            state.registries[name].load(registry)
        _count_outstanding(state)


def _load_jobs(state: State, dump: _LazyDump) -> Iterator[None]:
    spec_versions = [state.acquire_spec_version(body) for body in dump.spec_versions]
    is_used = bytearray(dump.rows)
    for number, body in enumerate(dump.jobs):
        if number and number % SLICE_JOBS == 0:
            yield
        _load_job(state, _job_decoder.decode(body), spec_versions, is_used)
    state.table.restore_free(is_used)
    for spec_version in spec_versions:
        state.release_spec_version(spec_version)


def _find_format(body: bytes) -> list[Any]:
    """The format of a snapshot that cannot be decoded as a whole."""
    try:
        registries = msgspec.msgpack.decode(body)[Dump.__struct_fields__.index("registries")]
        return list(registries.get("format", _NO_FORMAT))
    except (*c.DECODE_ERRORS, LookupError, TypeError, AttributeError):
        return _NO_FORMAT


def _load_node(state: State, dump: NodeDump) -> None:
    state.apply(dump.joined)
    node = state.nodes.records[dump.joined.node]
    state.nodes.override_node_labels(node, dump.override_labels)
    state.nodes.override_node_attributes(node, dump.override_attributes)
    node.cordoned_by, node.cordon_reason = dump.cordoned_by, dump.cordon_reason
    node.drain_deadline_ms, node.is_drain_requested = dump.drain_deadline_ms, dump.is_drain_requested
    node.state, node.reason, node.last_transition_ms = NodeState(dump.state), dump.reason, dump.last_transition_ms
    state.nodes.refresh_eligible(node)


def _load_job(state: State, dump: _LazyJob, spec_versions: list[SpecVersion], is_used: bytearray) -> None:
    """Marks the rows of its tasks as used."""
    spec_version = spec_versions[dump.spec_version]
    spec_version.ref_count += 1
    job = Job(
        dump.id, dump.namespace, dump.name, dump.run, BATCH if dump.type == BATCH else dump.type, dump.priority,
        dump.labels or NO_LABELS, dump.user, dump.submitted_ms, spec_version,
        DEFAULT_OPTIONS if dump.options == c.NO_OPTIONS else _load_options(dump.options), state=JobState(dump.state),
        started_ms=dump.started_ms, reason=dump.reason, version=dump.version, next_task_set=dump.next_task_set,
        is_held=dump.is_held, trace=dump.trace,
    )  # fmt: skip
    for each in dump.task_sets:
        if each.count == 1:
            is_used[each.base] = 1
            counts: list[int] | tuple[int, ...] = ONE_IN_STATE[state.table.state.item(each.base)]
        else:
            is_used[each.base : each.base + each.count] = b"\1" * each.count
            states = state.table.state[each.base : each.base + each.count]
            counts = np.bincount(states, minlength=STATE_COUNT).tolist()
        spec_version = spec_versions[each.spec_version]
        spec_version.ref_count += 1
        task_set = TaskSet(
            job, each.number, each.count, each.base, 0, counts, NOT_READY, state.classes[each.class_id], spec_version,
            each.group_index, node=each.node, visible_index=each.visible_index, delayed=each.delayed,
            history=each.history, reasons=each.reasons, requeue_when_stopped=each.requeue_when_stopped,
            avoided_nodes=each.avoided_nodes, ports=each.ports, health=each.health,
            lost_with_keeper=each.lost_with_keeper,
        )  # fmt: skip
        apply_task_sets.register_task_set(state, task_set)
        apply_task_sets.make_queued_ready(state, task_set)
    state.register_job(job)


def _load_options(body: msgspec.Raw) -> JobOptions:
    """0.1.0 stored options that are all as by default in full, too."""
    options = _options_decoder.decode(body)
    return DEFAULT_OPTIONS if options == DEFAULT_OPTIONS else options


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
