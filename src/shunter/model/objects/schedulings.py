"""Schedulings: decisions of an external scheduler. A Scheduling puts BatchJobs into slots of a Testbed, by a queue or
by slot ids."""

from __future__ import annotations

from functools import cached_property

import msgspec

from shunter.model.lifecycles import State
from shunter.model.objects.object_meta import Meta, ObjectName

STRICT, RELAXED = "strict", "relaxed"
CONFIRMATION_TIMEOUT_S = 120.0


class SchedulingState(State):
    ACQUIRE = 0
    CONFIRMATION = 1
    SUBMISSION = 2
    AWAITING_COMPLETION = 3
    COMPLETED = 4
    FINISHED = 5
    FAILED = 6

    @cached_property
    def wire_name(self) -> str:
        """The name in the API: `AwaitingCompletionState`."""
        return "".join(part.capitalize() for part in self.name.split("_")) + "State"


class JobProgress(State):
    """How far a Scheduling has got with one of its jobs, in order."""

    ACQUIRING = 0
    IN_QUEUE = 1
    SUBMITTED = 2
    SCHEDULED = 3
    COMPLETED = 4

    @cached_property
    def wire_name(self) -> str:
        return "".join(part.capitalize() for part in self.name.split("_"))


class SlotJob(msgspec.Struct, frozen=True, array_like=True):
    job: ObjectName
    slot_ids: tuple[int, ...]


class SchedulingSpec(msgspec.Struct, frozen=True, array_like=True):
    """Queue-based: `queue` names a job once for each executor. Slot-based: `slots` names each job once."""

    testbed: ObjectName
    queue: tuple[ObjectName, ...] = ()
    slots: tuple[SlotJob, ...] = ()
    mode: str = ""  # of slot-based ones: strict or relaxed
    confirmation_timeout_s: float = CONFIRMATION_TIMEOUT_S

    @property
    def is_slot_based(self) -> bool:
        return bool(self.mode)

    @property
    def distinct_jobs(self) -> tuple[ObjectName, ...]:
        """Each once, in the order in which they are first named: the order of `SchedulingStatus.jobs`."""
        return tuple(dict.fromkeys([each.job for each in self.slots] if self.is_slot_based else self.queue))


class JobRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a Scheduling has done with one job: the most advanced state, and its slots once it was submitted."""

    progress: JobProgress = JobProgress.ACQUIRING
    slot_ids: tuple[int, ...] = ()
    application: int = 0  # the job of the core


class SchedulingStatus(msgspec.Struct, frozen=True, array_like=True, gc=False):
    state: SchedulingState = SchedulingState.ACQUIRE
    since_ms: int = 0  # in this state
    jobs: tuple[JobRecord, ...] = ()  # in the order of `SchedulingSpec.distinct_jobs`
    waits_for: str = ""  # whom or what, in words
    problems: list[str] = []
    observed_generation: int = 0
    leaving: tuple[ObjectName, ...] = ()  # jobs that its spec no longer names, and that run to their end


class Scheduling(msgspec.Struct, frozen=True, array_like=True, gc=False):
    meta: Meta
    spec: SchedulingSpec
    status: SchedulingStatus = SchedulingStatus()
