"""The pending jobs as a batch scheduler sees them, in columns, so that a decision looks closely only at those that may
fit. Owned by `planning.batch.batch_policy`, which remembers them from one decision to the next.

A gang is one job, with all its classes. Any other class is a job whose tasks may start one by one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shunter.model.job.spec import LICENCE_PREFIX
from shunter.model.resources import CPU
from shunter.planning.batch.orders import ESTIMATE_UNKNOWN_S, JobFacts, Order
from shunter.planning.filter.colocation import is_one_per_node
from shunter.planning.order.pending_queue import PendingQueue
from shunter.planning.view import BoolArray, IntArray, Queued, TaskClass

SLOTS_MIN = 64


@dataclass(frozen=True, slots=True)
class JobPart:
    """The pending tasks of one class."""

    queued: Queued
    needs: IntArray  # of one task, by resource of the nodes
    columns: IntArray  # resources that it needs at all
    is_one_per_node: bool
    is_satisfiable: bool  # the nodes have every resource that it needs, in whatever amount


@dataclass(frozen=True, slots=True)
class PendingJob:
    slot: int
    key: int  # of the job: the number of a gang, or that of a class as a negative number
    parts: tuple[JobPart, ...]
    is_gang: bool
    estimate_ms: int
    needs: IntArray  # to start: of all tasks of a gang, or of one task

    @property
    def priority(self) -> int:
        return self.parts[0].queued.task_class.priority

    @property
    def since(self) -> int:
        return min(part.queued.since for part in self.parts)

    @property
    def task_count(self) -> int:
        return sum(part.queued.count for part in self.parts)


class PendingJobs:
    """All pending jobs. `sync` reads what changed; the columns are by slot, and only slots in `live` are used."""

    def __init__(self, order: Order, backfill_order: Order) -> None:
        self._orders = order, backfill_order
        self._source: Sequence[Queued] | None = None
        self._tick = -1
        self._resources: list[str] = []
        self.start_ms: int | None = None  # the submission of the first job of all, from which ages count
        self._clear()

    def _clear(self) -> None:
        self._queued: dict[int, Queued] = {}  # by class
        self._members: dict[int, dict[int, None]] = {}  # job -> its classes
        self._by_job: dict[int, PendingJob] = {}
        self._free_slots: list[int] = []
        self._jobs: list[PendingJob | None] = []
        self._in_order: list[IntArray | None] = [None, None]  # the slots, by the order and by that of backfilling
        self.live: BoolArray = np.zeros(0, np.bool_)
        self._keys: NDArray[np.float64] = np.zeros((0, 2))  # by the order, and by the order of backfilling
        self._priority: IntArray = np.zeros(0, np.int64)
        self._since: IntArray = np.zeros(0, np.int64)
        self.estimate_ms: IntArray = np.zeros(0, np.int64)
        self.task_needs: IntArray = np.zeros((0, len(self._resources)), np.int64)  # the most that one task needs
        self.job_needs: IntArray = np.zeros((0, len(self._resources)), np.int64)  # to start: of all tasks of a gang

    def job(self, slot: int) -> PendingJob:
        job = self._jobs[slot]
        assert job is not None, "the slot is live"
        return job

    def in_order(self) -> IntArray:
        """The slots of all jobs, the first one first."""
        return self._sorted(0)

    def in_backfill_order(self) -> IntArray:
        return self._sorted(1)

    def _sorted(self, which: int) -> IntArray:
        """Sorted once for all decisions until a job comes, changes or goes."""
        found = self._in_order[which]
        if found is None:
            slots = np.flatnonzero(self.live)
            keys = (self._since[slots], self._keys[slots, which], -self._priority[slots])
            found = self._in_order[which] = slots[np.lexsort(keys)]
            found.flags.writeable = False
        return found

    def sync(self, queued: Sequence[Queued], resources: list[str]) -> Collection[int] | None:
        """Read what changed. Returns the classes that changed; None: everything was read again."""
        if resources != self._resources:
            self._resources, self._source = list(resources), None
        changed = None
        if isinstance(queued, PendingQueue):
            if queued is self._source:
                changed = queued.changed_since(self._tick)
            self._tick = queued.tick
        if changed is None:
            self._clear()
            self._source = queued
            for each in queued:
                self._set(each.task_class.id, each)
            return None
        assert isinstance(queued, PendingQueue)
        for class_id in changed:
            self._set(class_id, queued.get(class_id))
        return changed

    def is_pending(self, class_id: int) -> bool:
        return class_id in self._queued

    def _set(self, class_id: int, queued: Queued | None) -> None:
        before = self._queued.pop(class_id, None)
        job = _job_of((queued or before).task_class) if queued or before else None  # type: ignore[union-attr]
        if job is None:
            return
        members = self._members.setdefault(job, {})
        if queued is None:
            members.pop(class_id, None)
        else:
            self._queued[class_id] = queued
            members[class_id] = None
        self._drop(job)
        self._in_order = [None, None]
        if members:
            self._add(job, [self._queued[each] for each in members])
        else:
            del self._members[job]

    def _drop(self, job: int) -> None:
        pending_job = self._by_job.pop(job, None)
        if pending_job is not None:
            self.live[pending_job.slot] = False
            self._jobs[pending_job.slot] = None
            self._free_slots.append(pending_job.slot)

    def _add(self, job: int, members: list[Queued]) -> None:
        slot = self._take_slot()
        estimates = [each.estimate_s or ESTIMATE_UNKNOWN_S for each in members]
        parts = tuple(self._part(each) for each in members)
        is_gang = job > 0
        needs = sum((part.needs * (part.queued.count if is_gang else 1) for part in parts), self._no_needs())
        pending_job = PendingJob(slot, job, parts, is_gang, int(max(estimates) * 1000), needs)
        self._by_job[job] = self._jobs[slot] = pending_job
        first = members[0]
        submitted_ms = min(each.since_ms for each in members)
        if self.start_ms is None:
            self.start_ms = submitted_ms
        cpus = sum(each.task_class.needs.get(CPU, 0) * (each.count if is_gang else 1) for each in members) / 1000
        facts = JobFacts(max(estimates), cpus, (submitted_ms - self.start_ms) / 1000)
        self.live[slot] = True
        self._keys[slot] = [order(facts) for order in self._orders]
        self._priority[slot], self._since[slot] = first.task_class.priority, min(each.since for each in members)
        self.estimate_ms[slot] = pending_job.estimate_ms
        self.task_needs[slot] = np.max([part.needs for part in parts], axis=0)
        self.job_needs[slot] = needs

    def _part(self, queued: Queued) -> JobPart:
        task_class = queued.task_class
        needs, is_satisfiable = self._no_needs(), True
        for resource, need in task_class.needs.items():
            if resource in self._resources:
                needs[self._resources.index(resource)] = need
            elif not resource.startswith(LICENCE_PREFIX):
                is_satisfiable = False
        return JobPart(queued, needs, np.flatnonzero(needs), is_one_per_node(task_class.rules), is_satisfiable)

    def _no_needs(self) -> IntArray:
        return np.zeros(len(self._resources), np.int64)

    def _take_slot(self) -> int:
        if not self._free_slots:
            used, size = len(self.live), max(2 * len(self.live), SLOTS_MIN)
            for name in ("live", "_keys", "_priority", "_since", "estimate_ms", "task_needs", "job_needs"):
                setattr(self, name, _grown(getattr(self, name), size))
            self._jobs += [None] * (size - used)
            self._free_slots = list(range(size - 1, used - 1, -1))
        return self._free_slots.pop()


def _job_of(task_class: TaskClass) -> int:
    """A gang by its number; any other class by its id, as a negative number."""
    gang = task_class.rules.gang if task_class.rules is not None else 0
    return gang or -task_class.id


def _grown(column: NDArray[Any], size: int) -> NDArray[Any]:
    grown = np.zeros((size, *column.shape[1:]), column.dtype)
    grown[: len(column)] = column
    return grown
