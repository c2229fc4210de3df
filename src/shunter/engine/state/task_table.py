"""The task table: every unfinished task of the cluster as one row of shared columns. Owned by `engine.state.state`.

A task set owns one contiguous block of rows, so a range of tasks is a slice and nothing is allocated per task. Blocks
of finished task sets are reused; large ones are cleared by and by, because that takes long."""

from __future__ import annotations

import itertools
import zlib
from bisect import insort
from collections.abc import Iterable, Iterator
from struct import Struct
from sys import byteorder
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shunter.model.lifecycles import TaskState

# Columns that a packed block holds, in this order; all others can be derived.
PACKED_COLUMNS = ("state", "attempt", "restarts", "lost", "node", "exit_code", "started_ms", "ended_ms", "log")
_PACKED_ROW = Struct("=BIHBihqqq")
ROWS_MIN = 1024
LARGE_BLOCK = 65_536  # rows
CLEAR_ROWS = 1_000_000  # of large blocks, cleared at once: some ten milliseconds
_PLAIN, COMPRESSED, _SPARSE = b"\0", b"\1", b"\2"
_NO_ROWS = np.empty(0, np.int64)
_QUEUED, _ENDED = int(TaskState.QUEUED), int(TaskState.SUCCEEDED)


class TaskTable:
    """Columns by name. A node of 0, an attempt of 0 and a time of 0 mean none; an exit code of -1 means none."""

    state: NDArray[np.uint8]
    attempt: NDArray[np.uint32]
    restarts: NDArray[np.uint16]
    lost: NDArray[np.uint8]
    node: NDArray[np.int32]
    exit_code: NDArray[np.int16]
    started_ms: NDArray[np.int64]
    ended_ms: NDArray[np.int64]
    log: NDArray[np.int64]  # segment << 32 | record
    group: NDArray[np.int32]  # slot in State.task_sets, to get from a row to its task set

    def __init__(self) -> None:
        self.rows = 0
        self.used = 0
        self._columns: list[NDArray[Any]] = []  # all of them
        self._packed: list[NDArray[Any]] = []  # those that a packed block holds
        self._free: list[tuple[int, int]] = []  # (base, count), by base, never adjacent to each other
        self._free_rows: list[int] = []  # single rows apart, because one-task jobs come and go by the thousand
        self._uncleared: list[tuple[int, int]] = []  # (base, count) of free rows with old values; their state is zero
        self._grow(ROWS_MIN)

    def allocate(self, count: int) -> int:
        """Allocate a block of `count` rows, all queued and never tried; returns its base."""
        base = self._free_rows.pop() if count == 1 and self._free_rows else self._allocate_free(count)
        if base is None:
            base = self.used
            self._grow(base + count)
            self.used = base + count
        if self._uncleared:
            self._clear_within(base, count)
        if count == 1:  # here and below: single cells cost a fraction of slices, and many jobs have just one task
            self.state[base], self.exit_code[base] = _QUEUED, -1
        else:
            block = slice(base, base + count)
            self.state[block], self.exit_code[block] = _QUEUED, -1
        return base

    def release(self, base: int, count: int) -> None:
        """Free a block; its rows read as zero from now on, except that only the states of a large one do until
        `clear_some` or the next use has cleared it."""
        if count == 1:
            for column in self._columns:
                column[base] = 0
            self._free_rows.append(base)
            return
        if count < LARGE_BLOCK:
            for column in self._columns:
                column[base : base + count] = 0
        else:
            self.state[base : base + count] = 0
            self._uncleared.append((base, count))
        insort(self._free, (base, count))
        self._merge_free()

    def clear_some(self, rows_max: int = CLEAR_ROWS) -> bool:
        """Clear some rows of large blocks that were released; returns whether there are more."""
        while self._uncleared and rows_max > 0:
            base, count = self._uncleared.pop()
            cleared = min(count, rows_max)
            self._clear(base, cleared)
            rows_max -= cleared
            if cleared < count:
                self._uncleared.append((base + cleared, count - cleared))
        return bool(self._uncleared)

    def _clear_within(self, base: int, count: int) -> None:
        """Clear the rows of a block that is used again."""
        end, left = base + count, []
        for first, size in self._uncleared:
            start, stop = max(first, base), min(first + size, end)
            if start >= stop:
                left.append((first, size))
                continue
            self._clear(start, stop - start)
            left += [(each, upto - each) for each, upto in ((first, start), (stop, first + size)) if each < upto]
        self._uncleared = left

    def _clear(self, base: int, count: int) -> None:
        for start in range(base, base + count, LARGE_BLOCK):
            rows = slice(start, min(start + LARGE_BLOCK, base + count))
            for column in self._columns:
                if column[rows].any():  # memory that was never written stays unused
                    column[rows] = 0

    def all_equal(self, column: NDArray[Any], first: int, last: int, value: int) -> bool:
        """Whether all rows first..last of a column have the value; faster than NumPy for the usual short ranges."""
        if first == last:
            return bool(column.item(first) == value)
        count = last - first + 1
        return column[first : last + 1].tobytes() == value.to_bytes(column.itemsize, byteorder, signed=True) * count

    def pack(self, base: int, count: int) -> bytes:
        """Pack the block's columns as differences, because neighbouring tasks are similar; compressed where it pays."""
        if count == 1:
            return _PLAIN + _PACKED_ROW.pack(*[column.item(base) for column in self._packed])
        columns = [column[base : base + count] for column in self._packed]
        deltas = [np.diff(column, prepend=np.int64(0)) if column.dtype == np.int64 else column for column in columns]
        return COMPRESSED + zlib.compress(b"".join([column.tobytes() for column in deltas]), 1)

    def pack_blocks(self, blocks: Iterable[tuple[int, int]]) -> bytes:
        """Pack these blocks (base, count) as one, for a copy that is read at once and never stored: the states of all
        tasks, and all columns of the tasks that matter. Of a large block these are the unfinished ones that have been
        on a node: an array may have millions that have not, or that have ended."""
        parts = list(_join_small_neighbours(blocks))
        starts = itertools.accumulate((count for _, count in parts), initial=0)
        sources = [self._rows_that_matter(base, count) for base, count in parts]
        targets = [rows + (start - base) for rows, (base, _), start in zip(sources, parts, starts, strict=False)]
        rows = np.concatenate([*sources, _NO_ROWS])
        return b"".join(
            [
                _SPARSE,
                len(rows).to_bytes(8, byteorder),
                *[self.state[base : base + count].tobytes() for base, count in parts],
                np.concatenate([*targets, _NO_ROWS]).tobytes(),
                *[column[rows].tobytes() for column in self._packed],
            ]
        )

    def _rows_that_matter(self, base: int, count: int) -> NDArray[np.int64]:
        if count < LARGE_BLOCK:
            return np.arange(base, base + count)
        states, attempts = self.state[base : base + count], self.attempt[base : base + count]
        rows: NDArray[np.int64] = base + np.flatnonzero((attempts > 0) & (states < _ENDED))
        return rows

    def restore(self, rows: int, body: bytes) -> None:
        """Load packed columns as the whole table. `restore_free` has to follow."""
        self._grow(rows)
        self.used = rows
        if body[:1] == _SPARSE:
            self._restore_sparse(rows, body)
            return
        for name, column in unpack_columns(rows, body).items():
            getattr(self, name)[:rows] = column

    def _restore_sparse(self, rows: int, body: bytes) -> None:
        """What `pack_blocks` has packed. Memory of columns that nobody writes is never used."""
        count = int.from_bytes(body[1:9], byteorder)
        self.state[:rows] = np.frombuffer(body, np.uint8, rows, 9)
        self.exit_code[:rows] = -1
        position = 9 + rows
        targets = np.frombuffer(body, np.int64, count, position)
        position += targets.nbytes
        for column in self._packed:
            values = np.frombuffer(body, column.dtype, count, position)
            column[targets] = values
            position += values.nbytes

    def restore_free(self, is_used: bytearray) -> None:
        """Rows that are not marked as used are free."""
        free = np.flatnonzero(np.frombuffer(is_used, np.uint8) == 0)
        starts = np.flatnonzero(np.diff(free, prepend=-2) != 1)
        for base, count in zip(free[starts].tolist(), np.diff(starts, append=len(free)).tolist(), strict=True):
            if count == 1:
                self._free_rows.append(base)
            else:
                self._free.append((base, count))

    def _allocate_free(self, count: int) -> int | None:
        for position, (base, size) in enumerate(self._free):
            if size >= count:
                if size == count:
                    del self._free[position]
                else:
                    self._free[position] = (base + count, size - count)
                return base
        return None

    def _merge_free(self) -> None:
        merged: list[tuple[int, int]] = []
        for base, count in self._free:
            if merged and merged[-1][0] + merged[-1][1] == base:
                merged[-1] = (merged[-1][0], merged[-1][1] + count)
            else:
                merged.append((base, count))
        if merged and sum(merged[-1]) == self.used:
            self.used = merged.pop()[0]
        self._free = merged

    def _grow(self, rows: int) -> None:
        if rows <= self.rows:
            return
        self.rows = max(rows, self.rows * 2)
        for name, dtype in _DTYPES.items():
            new = np.zeros(self.rows, dtype)  # untouched pages cost nothing until they are used
            if self.used:
                new[: self.used] = getattr(self, name)[: self.used]
            setattr(self, name, new)
        self._columns = [getattr(self, name) for name in _DTYPES]
        self._packed = [getattr(self, name) for name in PACKED_COLUMNS]


def _join_small_neighbours(blocks: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Join blocks that follow one another, as those of thousands of small jobs do: copying a slice has a fixed cost.
    Large blocks stay alone."""
    start, end = 0, 0
    for base, count in blocks:
        if base != end or end - start + count >= LARGE_BLOCK:
            if end > start:
                yield start, end - start
            start = base
        end = base + count
    if end > start:
        yield start, end - start


_DTYPES: dict[str, type[np.generic]] = {
    "state": np.uint8,
    "attempt": np.uint32,
    "restarts": np.uint16,
    "lost": np.uint8,
    "node": np.int32,
    "exit_code": np.int16,
    "started_ms": np.int64,
    "ended_ms": np.int64,
    "log": np.int64,
    "group": np.int32,
}


def unpack_columns(count: int, body: bytes) -> dict[str, NDArray[np.generic]]:
    """The columns of a packed block by name."""
    raw = body[1:] if body[:1] == _PLAIN else zlib.decompress(memoryview(body)[1:])
    columns: dict[str, NDArray[np.generic]] = {}
    position = 0
    for name in PACKED_COLUMNS:
        dtype = np.dtype(_DTYPES[name])
        column = np.frombuffer(raw, dtype, count, position)
        position += count * dtype.itemsize
        columns[name] = np.cumsum(column) if dtype == np.int64 else column
    return columns
