"""Indexes the positions of jobs in a Scheduling's spec, and caches the result of the last reconcile. Kept by the
caller, because a queue may have a hundred thousand entries, of which one reconcile moves a few."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from shunter.model.objects.schedulings import JobRecord, SchedulingSpec
from shunter.testbeds.progress import JobRecords


class QueueOrder:
    """The jobs of a spec by index, in the order in which they are first named."""

    def __init__(self, spec: SchedulingSpec) -> None:
        self.spec = spec
        self.jobs = spec.distinct_jobs
        self.index = {job: index for index, job in enumerate(self.jobs)}
        self.queue = [self.index[job] for job in spec.queue]
        self.executors = Counter(self.queue)

    def pending_executors(self, queued: Sequence[int]) -> Iterator[int]:
        """The queue's executors of these jobs, in order. `queued` is sorted, so none stands before the first's. Callers
        take a few of many, so each is searched for on demand."""
        first = self.queue.index(queued[0], queued[0])  # behind all that were named before it, so not before its number
        for index in islice(self.queue, first, None):
            position = bisect_left(queued, index)
            if position < len(queued) and queued[position] == index:
                yield index


class ReconcileCache:
    """The cache of one Scheduling, from one reconcile to the next. Without it, only time is lost."""

    def __init__(self) -> None:
        self._queue_order: QueueOrder | None = None
        self._records: JobRecords | None = None

    def queue_order(self, spec: SchedulingSpec) -> QueueOrder:
        if self._queue_order is None or self._queue_order.spec is not spec:
            self._queue_order = QueueOrder(spec)
        return self._queue_order

    def records(self, records: tuple[JobRecord, ...]) -> JobRecords:
        if self._records is None or not self._records.matches(records):
            self._records = JobRecords(records)
            self._records.touched = set()
        return self._records
