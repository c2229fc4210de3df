"""The planner's working copy of the node columns: the view, minus what this planner has placed since the view was made.

Owned by one `Planner` (and by `explain`, for one question). The view's columns are the truth: before each decision, the
ledger reads again every row that changed there and every row on which this planner placed something."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from shunter.model.resources import AMOUNT_MAX, CPU
from shunter.planning.filter.node_kinds import NodeKindIndex
from shunter.planning.view import BoolArray, FloatArray, IntArray, Nodes, TaskClass

NONE_SIZE = float(AMOUNT_MAX)  # a node without a resource counts as a huge one that is full
TIE_BREAK = 1e-9  # measured shares come in steps of 5 %, so that it never outweighs one
COLUMNS = ("free", "size", "reserved", "kept", "busy", "tasks", "eligible", "owner", "kind", "stamp", "_doubted")

ShareFunction = Callable[[FloatArray], FloatArray]
Rows = slice | IntArray  # a slice for all rows or one row, because it needs no copies


class NodeLedger:
    """Columns by resource, each contiguous, so that a filter or a score is a few vector operations.

    `stamp[i]` is the value of `clock` when row i last changed, in the view or by a placement of ours. A cache about
    nodes stores the clock and renews only the rows with a later stamp. `kept` holds a score's expensive function of the
    used shares, computed only where they change."""

    def __init__(self, keep: ShareFunction | None = None) -> None:
        self._share_function = keep
        self.clock = 0
        self.count = 0
        self.cursor = 0  # the row that round-robin served last
        self.column: dict[str, int] = {}
        self.kinds = NodeKindIndex([])
        self._nodes: Nodes | None = None
        self._tick = -1
        self._tightened_at = -1
        self.starts = 0  # how often everything was read again: caches of needs and rows are then invalid
        self._allocate(resources=0, rows=0)

    def sync(self, nodes: Nodes) -> IntArray:
        """Read again what may differ from the copy, and stamp only what really differs. Returns the rows that may now
        take what they could not take before: a blocked class needs to look at no others.

        The test is `>=`, not `>`, because a row may change again during the same tick. Rows with our placements are
        read again, because a refused placement leaves no trace in `changed`."""
        if nodes is not self._nodes or len(nodes.resources) != len(self.column):
            self._start(nodes)
        elif nodes.count > len(self.stamp):
            self._grow(rows=len(nodes.changed))
        self.count = nodes.count
        doubted = (nodes.changed[: self.count] >= self._tick) | self._doubted[: self.count]
        improved = self._read(nodes, np.flatnonzero(doubted))
        self._doubted[: self.count] = False
        self._tick = nodes.tick
        self.tighten()
        return improved

    def place(self, task_class: TaskClass, rows: IntArray, counts: IntArray) -> None:
        """Take the needs of `counts[i]` tasks from row `rows[i]`; no row occurs twice."""
        touched: Rows = slice(rows.item(), rows.item() + 1) if len(rows) == 1 else rows
        for resource, need in task_class.needs.items():
            self.free[self.column[resource]][touched] -= counts * need
        self._update_derived(touched)
        self.tasks[touched] += counts
        self._doubted[touched] = True

    def own(self, rows: IntArray, job: int) -> None:
        """Give these rows to the job exclusively; 0 releases them."""
        self.owner[rows] = job
        self.has_owners |= job != 0
        self._doubted[rows] = True
        self.clock += 1
        self.stamp[rows] = self.clock

    def release(self, rows: IntArray, amounts: IntArray, tasks: IntArray) -> None:
        """On a scratch copy: tasks end. `amounts[:, i]` becomes free on row `rows[i]`; a row may occur several
        times."""
        if len(rows) > self.count // 4:  # adding nothing to most rows is cheaper than sorting
            touched, place = self.number[: self.count], rows
        else:
            touched, place = np.unique(rows, return_inverse=True)
        for free, amount in zip(self.free, amounts, strict=True):
            free[touched] += np.bincount(place, amount, len(touched)).astype(np.int64)  # sums below 2**53 are exact
        self.tasks[touched] -= np.bincount(place, tasks, len(touched)).astype(np.int64)
        self.owner[touched[self.tasks[touched] <= 0]] = 0
        self._update_derived(touched)
        self.tighten()

    def scratch(self) -> NodeLedger:
        """A copy to try placements on. It has no caches and is never synced."""
        copy = NodeLedger(self._share_function)
        copy.__dict__.update(self.__dict__)
        for name in ("free", "reserved", "kept", "tasks", "owner", "stamp", "_doubted"):
            setattr(copy, name, getattr(self, name).copy())
        return copy

    def room(self, task_class: TaskClass, rows: IntArray, most: int) -> IntArray:
        """How many tasks of the class fit on each row, at most `most`."""
        room = np.full(len(rows), most, dtype=np.int64)
        for resource, need in task_class.needs.items():
            np.minimum(room, self.free[self.column[resource]][rows] // need, out=room)
        return room

    def reserved_with(self, resource: str, rows: Rows, extra: int | IntArray) -> FloatArray:
        """The reserved share of a resource if `extra` more of it were reserved. A node without the resource counts as
        full."""
        column = self.column[resource]
        if isinstance(extra, int) and extra == 0:
            share: FloatArray = self.reserved[column][rows]
        else:
            size = self.size[column][rows]
            share = (size - self.free[column][rows] + extra) / size
        return share

    def used_with(self, resource: str, rows: Rows, extra: int | IntArray) -> FloatArray:
        """Reserved or measured, whichever is more. Only cpu is measured."""
        reserved = self.reserved_with(resource, rows, extra)
        return _used(reserved, self.busy[rows]) if resource == CPU else reserved

    def by_size(self, resource: str, rows: Rows, function: ShareFunction) -> FloatArray:
        """A function of the capacity, computed once per size: machines come in few sizes."""
        column = self.column[resource]
        if column not in self._sizes:
            self._sizes[column] = np.unique(self.size[column], return_inverse=True)
        sizes, size_of = self._sizes[column]
        return function(sizes).take(size_of[rows], mode="clip")  # nothing to clip; it saves a check of every index

    def changed_since(self, seen: int) -> Rows:
        """Rows with a stamp later than `seen`; all of them as a slice if most changed."""
        if seen < 0:
            return slice(0, self.count)
        rows = np.flatnonzero(self.stamp[: self.count] > seen)
        return slice(0, self.count) if 2 * len(rows) > self.count else rows

    def totals(self) -> list[int]:
        """The total of each resource over all nodes, by column."""
        total: list[int] = self._view().capacity[: self.count].sum(axis=0).tolist()
        return total

    def vector(self, needs: Mapping[str, int]) -> list[int] | None:
        """Needs by column; None if no node ever had one of the resources."""
        vector = [0] * len(self.column)
        for resource, need in needs.items():
            if resource not in self.column:
                return None
            vector[self.column[resource]] = need
        return vector

    def capacity(self, resource: str) -> IntArray:
        return self._view().capacity[: self.count, self.column[resource]]

    def ineligible_because(self, row: int) -> str:
        return self._view().ineligible_because.get(row, "not eligible")

    def may_fit(self, task_class: TaskClass) -> bool:
        """False if some need exceeds what any node has free: most pending classes of a full cluster end here."""
        return all(
            resource in self.column and need <= self._free_most[self.column[resource]]
            for resource, need in task_class.needs.items()
        )

    def tighten(self) -> None:
        """Update the bound behind `may_fit`. Placements only lower it, so a late update is harmless."""
        if self._tightened_at == self.clock:
            return
        self._tightened_at = self.clock
        free = np.where(self.eligible[: self.count], self.free[:, : self.count], -1)
        self._free_most: list[int] = free.max(axis=1, initial=-1).tolist()

    def _view(self) -> Nodes:
        assert self._nodes is not None, "`sync` must be called first"
        return self._nodes

    def _start(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._tick = -1
        self.starts += 1
        self.column = {name: column for column, name in enumerate(nodes.resources)}
        self.kinds = NodeKindIndex(nodes.kinds, nodes)
        self._allocate(resources=len(nodes.resources), rows=len(nodes.changed))
        self.clock += 1
        self.stamp[:] = self.clock  # all caches of rows are invalid

    def _allocate(self, resources: int, rows: int) -> None:
        self.free: IntArray = np.zeros((resources, rows), dtype=np.int64)
        self.size: FloatArray = np.full((resources, rows), NONE_SIZE)  # capacity, as a divisor
        self.reserved: FloatArray = np.ones((resources, rows))  # share per unit
        self.kept: FloatArray = np.zeros((resources, rows))
        self._sizes: dict[int, tuple[FloatArray, IntArray]] = {}
        self.busy: FloatArray = np.zeros(rows)
        self.tasks: IntArray = np.zeros(rows, dtype=np.int64)
        self.eligible: BoolArray = np.zeros(rows, dtype=np.bool_)
        self.owner: IntArray = np.zeros(rows, dtype=np.int64)  # the job that has the row for itself, or 0
        self.has_owners = False  # whether any row may be owned
        self.kind: IntArray = np.zeros(rows, dtype=np.int64)
        self.number: IntArray = np.arange(rows)
        self.stamp: IntArray = np.zeros(rows, dtype=np.int64)
        self._doubted: BoolArray = np.zeros(rows, dtype=np.bool_)

    def _grow(self, rows: int) -> None:
        old = self.__dict__.copy()
        self._allocate(resources=len(self.column), rows=rows)
        for name in COLUMNS:
            getattr(self, name)[..., : old[name].shape[-1]] = old[name]

    def _read(self, nodes: Nodes, rows: IntArray) -> IntArray:
        capacity, reserved = nodes.capacity[rows].T, nodes.reserved[rows].T
        free, size = capacity - reserved, np.where(capacity > 0, capacity, NONE_SIZE)
        differs = (
            (free != self.free[:, rows]).any(axis=0)
            | (size != self.size[:, rows]).any(axis=0)
            | (nodes.busy[rows] != self.busy[rows])
            | (nodes.tasks[rows] != self.tasks[rows])
            | (nodes.eligible[rows] != self.eligible[rows])
            | (nodes.owner[rows] != self.owner[rows])
            | (nodes.kind[rows] != self.kind[rows])
        )
        rows, free, size = rows[differs], free[:, differs], size[:, differs]
        improved = (
            (free > self.free[:, rows]).any(axis=0)
            | (size != self.size[:, rows]).any(axis=0)  # constraints may depend on it
            | (nodes.eligible[rows] & ~self.eligible[rows])
            | (nodes.owner[rows] != self.owner[rows])
            | (nodes.kind[rows] != self.kind[rows])
        )
        if not np.array_equal(self.size[:, rows], size):
            self._sizes.clear()
        self.free[:, rows], self.size[:, rows] = free, size
        self.busy[rows], self.tasks[rows] = nodes.busy[rows], nodes.tasks[rows]
        self.eligible[rows], self.owner[rows] = nodes.eligible[rows], nodes.owner[rows]
        self.kind[rows] = nodes.kind[rows]
        self.has_owners = bool(self.owner[: self.count].any())
        if len(rows):
            self._update_derived(rows)
        found: IntArray = rows[improved]
        return found

    def _update_derived(self, rows: Rows) -> None:
        """Update what depends on the free amounts of these rows, and stamp them."""
        size = self.size[:, rows]
        share = (size - self.free[:, rows]) / size
        self.reserved[:, rows] = share
        if self._share_function is not None:
            cpu = self.column[CPU]
            share[cpu] = _used(share[cpu], self.busy[rows])
            self.kept[:, rows] = self._share_function(share)
        self.clock += 1
        self.stamp[rows] = self.clock


# the names that plugins import
Keep = ShareFunction
Ledger = NodeLedger


def _used(reserved: FloatArray, busy: FloatArray) -> FloatArray:
    """The larger one. The measured share would hide a smaller reserved one: nodes at full load would look alike however
    much of them is reserved, and the first of them would get every task. So the smaller one counts a little, too."""
    used: FloatArray = np.minimum(reserved, busy)
    used *= TIE_BREAK
    used += np.maximum(reserved, busy)
    return used
