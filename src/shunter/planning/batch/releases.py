"""When what runs becomes free, by estimates, and the earliest time at which a job fits. Created by
`planning.batch.decision_pass` when a job has to wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shunter.planning.batch.free_space import Fit, FreeSpace
from shunter.planning.batch.pending_jobs import PendingJob
from shunter.planning.view import NEVER, ClusterView, IntArray

OVERDUE_MS = 1  # a task that runs longer than estimated is expected to end this soon


@dataclass(frozen=True, slots=True)
class StartedJob:
    """A job that the present decision starts."""

    job: PendingJob
    fit: Fit
    end_ms: int


@dataclass(frozen=True, slots=True)
class Reservation:
    """A job that must wait starts at `start_ms` on `rows`; beyond that time, others may use what is free in `spare`."""

    start_ms: int
    rows: IntArray
    spare: FreeSpace


class Releases:
    """Entries with a known end, in the order of their ends: `amounts[i]` becomes free on row `rows[i]`."""

    def __init__(self, view: ClusterView, now_ms: int, started: Sequence[StartedJob]) -> None:
        assert view.running is not None
        running = view.running()
        ends = np.where(running.end_ms < 0, now_ms - running.end_ms, running.end_ms)
        ends[running.is_stopping] = now_ms
        ends = np.where((ends == 0), NEVER, np.maximum(ends, now_ms + OVERDUE_MS))
        rows, amounts = running.node, _amounts(view, running.class_ids) * running.count[:, None]
        if started:
            parts = [(part, each.end_ms) for each in started for part in each.fit]
            rows = np.concatenate([rows, *(part.rows for part, _ in parts)])
            amounts = np.concatenate([amounts, *(part.needs * part.counts[:, None] for part, _ in parts)])
            ends = np.concatenate([ends, *(np.full(len(part.rows), end_ms) for part, end_ms in parts)])
        order = np.argsort(ends, kind="stable")
        order = order[: int(np.searchsorted(ends[order], NEVER))]
        self._rows, self._amounts, self._ends = rows[order], amounts[order], ends[order]
        # the last entry of each time, so that entries with the same time are released together
        is_last = np.ones(len(order), np.bool_)
        np.not_equal(self._ends[1:], self._ends[:-1], out=is_last[:-1])
        self._lasts = np.flatnonzero(is_last)

    @property
    def entries(self) -> tuple[IntArray, IntArray, IntArray]:
        """The end, the row and the amounts of each."""
        return self._ends, self._rows, self._amounts

    def reserve(self, job: PendingJob, free: FreeSpace) -> Reservation | None:
        """The earliest time at which the job fits into `free` and what was released by then; None: at no known time.
        More is free at a later time, so the time is found by bisection. Before there is enough in total, no time is
        worth a look; often the job fits just then."""
        low, high = self._enough_in_total(job, free), len(self._lasts) - 1
        if low > high:
            return None
        if self._free_after(free, low).fit(job, 1) is None:
            low += 1
            if low > high or self._free_after(free, high).fit(job, 1) is None:
                return None
            while low < high:
                middle = (low + high) // 2
                if self._free_after(free, middle).fit(job, 1) is None:
                    low = middle + 1
                else:
                    high = middle
        spare = self._free_after(free, low)
        # Rows that are busy now come first, so that others can use those that are free now.
        fit = spare.fit(job, 1, avoid=free)
        assert fit is not None, "the bisection found a time at which it fits"
        spare.take(fit)
        return Reservation(int(self._ends[self._lasts[low]]), np.concatenate([part.rows for part in fit]), spare)

    def _enough_in_total(self, job: PendingJob, free: FreeSpace) -> int:
        """The first time at which all nodes together have what the job needs to start."""
        if not len(self._lasts):
            return 0
        totals = self._amounts.cumsum(axis=0)[self._lasts] + free.amounts.clip(0).sum(axis=0)
        is_enough = (totals >= job.needs).all(axis=1)
        return int(is_enough.argmax()) if is_enough.any() else len(self._lasts)

    def _free_after(self, free: FreeSpace, number: int) -> FreeSpace:
        """What is free after the releases of this many times."""
        ended = slice(0, int(self._lasts[number]) + 1)
        amounts = free.amounts.copy()
        np.add.at(amounts, self._rows[ended], self._amounts[ended])
        return free.with_amounts(amounts)


def _amounts(view: ClusterView, class_ids: IntArray) -> IntArray:
    """What one task of each class holds, by resource."""
    assert view.classes is not None
    resources, found = view.nodes.resources, np.zeros((len(class_ids), len(view.nodes.resources)), np.int64)
    for number, class_id in enumerate(class_ids.tolist()):
        for resource, need in view.classes(class_id).needs.items():
            if resource in resources:  # licences are not on nodes
                found[number, resources.index(resource)] = need
    return found
