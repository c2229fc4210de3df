"""Writes a snapshot of the state as it was at one version, in slices, while rounds go on changing the state.

`engine.snapshot_saver` takes the slices between rounds, so that no snapshot stops the loop. Idea: what a slice has not
written yet is written just before a change touches it (copy on write). Every change that touches a job or a node names
it, so one look at each change is enough. Classes, lanes and registries are few, so they are written at once; nodes,
jobs, their dependencies, the rows of their tasks and client keys may be many."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from shunter.engine.changes.tasks import UsageAdded
from shunter.engine.state.snapshot_records import dump_job, dump_node
from shunter.engine.state.task_table import COMPRESSED, PACKED_COLUMNS
from shunter.ports.store import Snapshot

if TYPE_CHECKING:
    from shunter.engine.changes import Change
    from shunter.engine.state.records import Job, SpecVersion
    from shunter.engine.state.state import State

SLICE_JOBS = 1_000  # written in one slice, which takes a few milliseconds; and what takes as long as one job:
ROWS_PER_JOB, BYTES_PER_JOB, KEYS_PER_JOB = 64, 1024, 5
_DUMP_FIELDS = 12

_encoder = msgspec.msgpack.Encoder()


class SnapshotWriter:
    """Take `slices` to the end, then `snapshot` is the state as it was when the writer was made. Make it when no commit
    is in flight. `attach` it at once if the state may change meanwhile, and `close` it in any case."""

    def __init__(self, state: State, slice_jobs: int = SLICE_JOBS) -> None:
        self._state, self._slice_jobs = state, slice_jobs
        self._slice_rows, self._slice_bytes = slice_jobs * ROWS_PER_JOB, slice_jobs * BYTES_PER_JOB
        self.version = state.version
        self.snapshot = Snapshot(self.version, b"")
        self._head = (state.version, state.next_job, state.next_class)
        self._classes = _encoder.encode([(record.id, record.key) for record in state.classes.values()])
        self._lanes = _encoder.encode(
            [
                (record.id, lanes.node, lanes.width)
                for record in state.classes.values()
                for lanes in record.lanes.values()
            ]
        )
        self._registries = {
            name: _encoder.encode(registry.dump())
            for name, registry in state.registries.items()
            if name != "edges" and state.format.allows(name)
        }
        self._keys, self._jobs_by_key = list(state.idempotency_key_order), dict(state.idempotency_keys)
        self._nodes = list(state.nodes.records)
        self._unwritten_nodes = set(self._nodes)
        self._saved_nodes: dict[int, bytes] = {}
        # Ids of jobs only ever grow, so those up to `written_job` are written, and those after `last_job` are new.
        self._jobs, self._written_job, self._last_job = list(state.jobs.values()), 0, state.next_job - 1
        self._saved_jobs: dict[int, bytes] = {}
        self._spec_versions: dict[int, tuple[int, bytes]] = {}  # by serial: position in the snapshot, body
        self._edges = bytearray()
        self._edge_count = 0
        self._rows = state.table.used
        self._columns = [np.zeros(self._rows, getattr(state.table, name).dtype) for name in PACKED_COLUMNS]
        self._is_copied = [False] * (-(-self._rows // self._slice_rows))
        self._is_used: NDArray[np.bool_] = np.zeros(self._rows, np.bool_)  # rows of tasks; all others are free

    def attach(self) -> None:
        """From now on the state shows each change to this writer before it applies it."""
        assert self._state.snapshot_writer is None, "one snapshot is written at a time"
        self._state.snapshot_writer = self

    def close(self) -> None:
        if self._state.snapshot_writer is self:
            self._state.snapshot_writer = None

    def slices(self) -> Iterator[None]:
        """Each step takes a few milliseconds. A small state is written in one."""
        nodes, jobs = bytearray(), bytearray()
        yield from self._copy_all_rows()
        yield from self._write_nodes(nodes)
        yield from self._write_jobs(jobs)
        self.close()
        columns, keys = bytearray(), bytearray()
        yield from self._compress_columns(columns)
        yield from self._write_keys(keys)
        spec_versions = _encoder.encode([body for _, body in self._spec_versions.values()])
        parts: list[bytes | bytearray] = [
            _array_header(_DUMP_FIELDS),
            *map(_encoder.encode, (*self._head, self._rows)),
            _binary_header(len(columns)), columns,
            spec_versions,
            self._classes,
            _array_header(len(self._nodes)), nodes,
            self._lanes,
            _array_header(len(self._jobs)), jobs,
            _array_header(len(self._keys)), keys,
            self._encode_registries(),
        ]  # fmt: skip
        body = bytearray(sum(map(len, parts)))
        yield from _join(parts, body, self._slice_bytes)
        self.snapshot = Snapshot(self.version, body)

    def before_change(self, change: Change) -> None:
        """Write what the change is about to touch, unless it is written already."""
        if isinstance(change, UsageAdded):
            return  # it touches a registry alone, which is written already
        job_id: int = getattr(change, "job", 0)
        if 0 < job_id <= self._last_job and (job := self._state.jobs.get(job_id)) is not None:
            self._save_rows(job, change)
            self.save_job(job)
        node_id: int = getattr(change, "node", 0)
        if node_id in self._unwritten_nodes:
            self._unwritten_nodes.discard(node_id)
            self._saved_nodes[node_id] = _encoder.encode(dump_node(self._state, node_id))

    def save_job(self, job: Job) -> None:
        """Write the record of a job that is about to be touched, unless it is written already."""
        if self._written_job < job.id <= self._last_job and job.id not in self._saved_jobs:
            self._saved_jobs[job.id] = self._encode_job(job)

    # ---- the rows of tasks ----

    def _copy_all_rows(self) -> Iterator[None]:
        for slice_number in range(len(self._is_copied)):
            self._copy_rows(slice_number)
            if slice_number + 1 < len(self._is_copied):
                yield

    def _copy_rows(self, slice_number: int) -> None:
        if not self._is_copied[slice_number]:
            self._is_copied[slice_number] = True
            rows = slice(slice_number * self._slice_rows, min((slice_number + 1) * self._slice_rows, self._rows))
            for name, column in zip(PACKED_COLUMNS, self._columns, strict=True):
                column[rows] = getattr(self._state.table, name)[rows]

    def _save_rows(self, job: Job, change: Change) -> None:
        """Changes of tasks name them; all others may touch every row of the job."""
        if all(self._is_copied):
            return
        number = getattr(change, "task_set", None)
        first = getattr(change, "first", getattr(change, "index", None))
        for task_set in job.task_sets if number is None or first is None else (job.task_set(number),):
            if task_set is None:
                continue
            start, end = task_set.base, task_set.base + task_set.count - 1
            if number is not None and first is not None:
                start, end = start + first, start + getattr(change, "last", first)
            for slice_number in range(start // self._slice_rows, min(end, self._rows - 1) // self._slice_rows + 1):
                self._copy_rows(slice_number)

    def _compress_columns(self, packed: bytearray) -> Iterator[None]:
        """As `TaskTable.pack`. Free rows read as zero, whoever has used them meanwhile."""
        compressor = zlib.compressobj(1)
        packed += COMPRESSED
        for column in self._columns:
            size = max(1, self._slice_bytes // column.itemsize)
            previous = np.int64(0)
            for start in range(0, self._rows, size):
                rows = column[start : start + size]
                rows[~self._is_used[start : start + size]] = 0
                piece = np.diff(rows, prepend=previous) if column.dtype == np.int64 else rows
                previous = rows[-1]
                packed += compressor.compress(piece.tobytes())
                if self._rows > size:
                    yield
        packed += compressor.flush()
        self._columns = []

    # ---- nodes, jobs and keys ----

    def _write_nodes(self, written: bytearray) -> Iterator[None]:
        for number, node_id in enumerate(self._nodes):
            if number and number % self._slice_jobs == 0:
                yield
            self._unwritten_nodes.discard(node_id)
            written += self._saved_nodes.pop(node_id, b"") or _encoder.encode(dump_node(self._state, node_id))

    def _write_jobs(self, written: bytearray) -> Iterator[None]:
        saved = self._saved_jobs
        for start in range(0, len(self._jobs), self._slice_jobs):
            if start:
                yield
            for job in self._jobs[start : start + self._slice_jobs]:
                written += saved.pop(job.id, b"") or self._encode_job(job)
                self._written_job = job.id

    def _encode_job(self, job: Job) -> bytes:
        for task_set in job.task_sets:
            self._is_used[task_set.base : task_set.base + task_set.count] = True
        for row in self._state.edges.rows_of(job.id):
            self._edges += _encoder.encode(row)
            self._edge_count += 1
        return _encoder.encode(dump_job(job, self._position_of))

    def _position_of(self, spec_version: SpecVersion) -> int:
        found = self._spec_versions.get(spec_version.serial)
        if found is None:
            found = self._spec_versions[spec_version.serial] = len(self._spec_versions), spec_version.body
        return found[0]

    def _write_keys(self, written: bytearray) -> Iterator[None]:
        for number, (at_ms, key) in enumerate(self._keys):
            if number and number % (self._slice_jobs * KEYS_PER_JOB) == 0:
                yield
            written += _encoder.encode((at_ms, key, self._jobs_by_key[key]))

    def _encode_registries(self) -> bytes:
        """Only those that the format had when the snapshot began; the format may have been raised since."""
        names = [name for name in self._state.registries if name == "edges" or name in self._registries]
        body = bytearray(_map_header(len(names)))
        for name in names:
            body += _encoder.encode(name)
            body += _array_header(self._edge_count) + self._edges if name == "edges" else self._registries[name]
        return bytes(body)


def make_snapshot(state: State) -> Snapshot:
    """A snapshot in one go."""
    writer = SnapshotWriter(state)
    for _ in writer.slices():
        pass
    return writer.snapshot


def _join(parts: Iterable[bytes | bytearray], body: bytearray, size: int) -> Iterator[None]:
    """Into a body of the right size: joining a hundred megabytes at once takes too long."""
    position = 0
    for part in parts:
        for start in range(0, len(part), size):
            if start:
                yield
            piece = memoryview(part)[start : start + size]
            body[position : position + len(piece)] = piece
            position += len(piece)


def _array_header(count: int) -> bytes:
    """As msgpack has it, in the shortest form."""
    if count < 16:
        return bytes([0x90 | count])
    return b"\xdc" + count.to_bytes(2, "big") if count < 2**16 else b"\xdd" + count.to_bytes(4, "big")


def _map_header(count: int) -> bytes:
    return bytes([0x80 | count]) if count < 16 else b"\xde" + count.to_bytes(2, "big")


def _binary_header(size: int) -> bytes:
    if size < 2**8:
        return b"\xc4" + size.to_bytes(1, "big")
    return b"\xc5" + size.to_bytes(2, "big") if size < 2**16 else b"\xc6" + size.to_bytes(4, "big")
