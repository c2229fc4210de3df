"""The free amounts of all nodes, now or at a later time, as one matrix: where a job fits, and what is left after it.
Created by `planning.batch.decision_pass` for each decision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shunter.planning.batch.pending_jobs import JobPart, PendingJob
from shunter.planning.filter.colocation import HOST, UNLABELLED, domain_by_kind, is_first_of_domain
from shunter.planning.view import BoolArray, IntArray, Nodes, TaskClass

Accepts = Callable[[TaskClass], BoolArray]
UNLIMITED = 2**40  # tasks on a node


@dataclass(frozen=True, slots=True)
class PartFit:
    """Where tasks of one class go: `counts[i]` of them to `rows[i]`."""

    task_class: TaskClass
    needs: IntArray  # of one task, by resource
    rows: IntArray
    counts: IntArray


Fit = list[PartFit]


class FreeSpace:
    """`amounts[row, resource]` is free. `accepts` tells which rows take a class at all."""

    __slots__ = ("_accepts", "_nodes", "amounts")

    def __init__(self, amounts: IntArray, nodes: Nodes, accepts: Accepts) -> None:
        self.amounts = amounts
        self._nodes = nodes
        self._accepts = accepts

    def with_amounts(self, amounts: IntArray) -> FreeSpace:
        return FreeSpace(amounts, self._nodes, self._accepts)

    def fit(self, job: PendingJob, tasks_max: int = UNLIMITED, avoid: FreeSpace | None = None) -> Fit | None:
        """The first rows with room: for all tasks of a gang, or for as many tasks of another job as fit, at most
        `tasks_max`. None if the job cannot start. With `avoid`, rows with little room in that come first."""
        if not job.is_gang:
            found = self._fit_part(self.amounts, job.parts[0], min(job.parts[0].queued.count, tasks_max), avoid)
            return None if found is None else [found]
        amounts, fit = self.amounts, []
        for part in job.parts:
            found = self._fit_part(amounts, part, part.queued.count, avoid)
            if found is None or int(found.counts.sum()) < part.queued.count:
                return None
            fit.append(found)
            if len(job.parts) > 1:
                amounts = amounts.copy()
                amounts[found.rows] -= found.needs * found.counts[:, None]
        return fit

    def has_room(self, part: JobPart) -> BoolArray:
        """Which rows would take a task."""
        has_room: BoolArray = (_room(self.amounts, part, 1) > 0) & self._accepts(part.queued.task_class)
        if part.queued.avoid:
            has_room[list(part.queued.avoid)] = False
        return has_room

    def take(self, fit: Fit) -> None:
        for part in fit:
            self.amounts[part.rows] -= part.needs * part.counts[:, None]

    def _fit_part(self, amounts: IntArray, part: JobPart, count: int, avoid: FreeSpace | None) -> PartFit | None:
        task_class, room = part.queued.task_class, _room(amounts, part, count)
        room[~self._accepts(task_class)] = 0
        if part.queued.avoid:
            room[list(part.queued.avoid)] = 0
        rows = np.flatnonzero(room > 0)
        if avoid is not None and len(rows) > 1:
            rows = rows[np.argsort(_room(avoid.amounts, part, count)[rows], kind="stable")]
        rows = self._first_of_each_domain(task_class, rows)
        if not len(rows):
            return None
        reached = room[rows].cumsum()
        last = min(int(np.searchsorted(reached, count)), len(rows) - 1)
        rows = rows[: last + 1]
        counts = room[rows]
        counts[-1] -= max(int(reached[last]) - count, 0)
        return PartFit(task_class, part.needs, rows, counts)

    def _first_of_each_domain(self, task_class: TaskClass, rows: IntArray) -> IntArray:
        """The first of the rows that share the value of a `distinct` label."""
        label = task_class.rules.distinct if task_class.rules is not None else ""
        if label in ("", HOST):
            return rows
        domain = domain_by_kind(self._nodes.kinds, label)[self._nodes.kind[rows]]
        rows, domain = rows[domain != UNLABELLED], domain[domain != UNLABELLED]
        found: IntArray = rows[is_first_of_domain(domain)]
        return found


def _room(amounts: IntArray, part: JobPart, count: int) -> IntArray:
    """How many tasks fit on each row, at most `count`."""
    room = np.full(len(amounts), 1 if part.is_one_per_node else count)
    for column in part.columns.tolist():
        np.minimum(room, amounts[:, column] // part.needs[column], out=room)
    return room
