"""How far a Scheduling has got with its jobs, as the jobs themselves tell it. Called by `reconcile_scheduling`."""

from __future__ import annotations

from collections.abc import Iterable, Set

from shunter.model.batch_jobs import BatchJob, BatchJobState
from shunter.model.object_meta import ObjectName
from shunter.model.schedulings import JobProgress, JobRecord
from shunter.model.testbeds import SlotPlace

_OF_SUBMITTED = {
    BatchJobState.SCHEDULED: JobProgress.SCHEDULED,
    BatchJobState.RUNNING: JobProgress.SCHEDULED,
    BatchJobState.COMPLETED: JobProgress.COMPLETED,
}


class Records:
    """The records of a Scheduling, by how far their jobs have come. They are sorted in one walk, and again only when
    one of them was changed: most of a long queue has completed, or waits."""

    def __init__(self, records: Iterable[JobRecord]) -> None:
        self.all = list(records)
        self._sort()

    def _sort(self) -> None:
        self._is_sorted = True
        self._unacquired: list[int] = []
        self._queued: list[int] = []
        self._active: list[int] = []
        completed, queued, acquiring = JobProgress.COMPLETED, JobProgress.IN_QUEUE, JobProgress.ACQUIRING
        for index, record in enumerate(self.all):
            progress = record.progress
            if progress is completed:
                continue
            if progress is queued:
                self._queued.append(index)
            elif progress is acquiring:
                self._unacquired.append(index)
            else:
                self._active.append(index)

    def _sorted(self) -> Records:
        if not self._is_sorted:
            self._sort()
        return self

    def put(self, index: int, record: JobRecord) -> None:
        if record is not self.all[index]:
            self.all[index] = record
            self._is_sorted = False

    @property
    def unacquired(self) -> list[int]:
        return self._sorted()._unacquired

    @property
    def queued(self) -> list[int]:
        return self._sorted()._queued

    @property
    def active(self) -> list[int]:
        """Submitted, and not completed."""
        return self._sorted()._active

    @property
    def are_completed(self) -> bool:
        return not (self.active or self.queued or self.unacquired)


def record_of(job: BatchJob | None, scheduling: ObjectName) -> JobRecord:
    """Worked out from the job alone: its claim keeps the request until it is released."""
    if job is None or job.claim is None or job.claim.scheduling != scheduling:
        return JobRecord()
    request, state = job.claim.request, job.status.state
    if request is None:
        return JobRecord(JobProgress.IN_QUEUE if state is BatchJobState.IN_QUEUE else JobProgress.ACQUIRING)
    return JobRecord(_OF_SUBMITTED.get(state, JobProgress.SUBMITTED), request.slot_ids, job.status.application)


def further(record: JobRecord, seen: JobRecord) -> JobRecord:
    """The most advanced of the two, unless the job was lost: then it begins anew."""
    is_lost = seen.progress < JobProgress.SUBMITTED
    return seen if is_lost or seen.progress > record.progress else record


def has_started(job: BatchJob, taken: Set[SlotPlace]) -> bool:
    """That each of its executors runs, or has the slot that it was sent to."""
    if job.status.state is BatchJobState.SCHEDULED:
        return taken >= set(job.status.places)
    return job.status.state in (BatchJobState.RUNNING, BatchJobState.COMPLETED)


def failure(job: BatchJob) -> str:
    why = " ".join(job.status.problems) or "no reason is known"
    return f"Batch job {job.meta.object_name} is in {job.status.state.word}: {why}"
