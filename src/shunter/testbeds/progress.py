"""Computes the progress of a Scheduling from the states of its jobs. Called by `reconcile_scheduling`."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Set

from shunter.model.objects.batch_jobs import BatchJob, BatchJobState
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.schedulings import JobProgress, JobRecord
from shunter.model.objects.testbeds import SlotPlace

_PROGRESS_AFTER_SUBMIT = {
    BatchJobState.SCHEDULED: JobProgress.SCHEDULED,
    BatchJobState.RUNNING: JobProgress.SCHEDULED,
    BatchJobState.COMPLETED: JobProgress.COMPLETED,
}


class JobRecords:
    """The records of a Scheduling, with the indices of its jobs by how far they have come, each list in order.

    `touched` has the indices of all records that may differ from those that `matches` compared last; None: any may."""

    def __init__(self, records: Iterable[JobRecord]) -> None:
        self._snapshot: tuple[JobRecord, ...] | None = None
        self.all = list(records)
        self.touched: set[int] | None = None
        self._fill_buckets()

    def _fill_buckets(self) -> None:
        self.unacquired: list[int] = []
        self.queued: list[int] = []
        self.active: list[int] = []  # submitted, and not completed
        buckets = (self.unacquired, self.queued, self.active, self.active, None)
        self._buckets = dict(zip(JobProgress, buckets, strict=True))
        for index, record in enumerate(self.all):
            bucket = self._buckets[record.progress]
            if bucket is not None:
                bucket.append(index)

    def put(self, index: int, record: JobRecord) -> None:
        if record is self.all[index]:
            return
        before, after = self._buckets[self.all[index].progress], self._buckets[record.progress]
        self.all[index], self._snapshot = record, None
        if self.touched is not None:
            self.touched.add(index)
        if before is after:
            return
        if before is not None:
            before.remove(index)
        if after is not None:
            insort(after, index)

    def put_all(self, indices: Iterable[int], record: JobRecord) -> None:
        for index in indices:
            self.all[index] = record
        self._snapshot = self.touched = None
        self._fill_buckets()

    @property
    def are_completed(self) -> bool:
        return not (self.active or self.queued or self.unacquired)

    @property
    def snapshot(self) -> tuple[JobRecord, ...]:
        if self._snapshot is None:
            self._snapshot = tuple(self.all)
        return self._snapshot

    def matches(self, records: tuple[JobRecord, ...]) -> bool:
        """Whether the records are equal. If so, it adopts them, so that the next comparison is quick."""
        if self.snapshot is not records:
            if self.snapshot != records:
                return False
            for index in range(len(records)) if self.touched is None else self.touched:
                self.all[index] = records[index]
            self._snapshot = records
        self.touched = set()
        return True


def record_of(job: BatchJob | None, scheduling: ObjectName) -> JobRecord:
    """Derived from the job alone: its claim keeps the request until it is released."""
    if job is None or job.claim is None or job.claim.scheduling != scheduling:
        return JobRecord()
    request, state = job.claim.request, job.status.state
    if request is None:
        return JobRecord(JobProgress.IN_QUEUE if state is BatchJobState.IN_QUEUE else JobProgress.ACQUIRING)
    return JobRecord(_PROGRESS_AFTER_SUBMIT.get(state, JobProgress.SUBMITTED), request.slot_ids, job.status.application)


def most_advanced(record: JobRecord, seen: JobRecord) -> JobRecord:
    """The more advanced of the two, unless the job was lost: then it starts again."""
    is_lost = seen.progress < JobProgress.SUBMITTED
    return seen if is_lost or seen.progress > record.progress else record


def has_started(job: BatchJob, occupied: Set[SlotPlace]) -> bool:
    """Whether each of its executors runs, or has the slot that it was sent to."""
    if job.status.state is BatchJobState.SCHEDULED:
        return occupied >= set(job.status.places)
    return job.status.state in (BatchJobState.RUNNING, BatchJobState.COMPLETED)


def failure_message(job: BatchJob) -> str:
    reason = " ".join(job.status.problems) or "unknown reason"
    return f"Batch job {job.meta.object_name} is in {job.status.state.wire_name}: {reason}"
