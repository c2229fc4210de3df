"""The history record of a Scheduling: which jobs it ran, where, when, and how they ended. Called where a Scheduling is
deleted: by the engine, and by the Kubernetes operator."""

from __future__ import annotations

from collections.abc import Iterable

from shunter.model.objects.batch_jobs import BatchJob, ScheduledEvent
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.past_schedulings import PastRun, PastScheduling
from shunter.model.objects.schedulings import Scheduling

CUT_OFF = "the Scheduling was deleted before it ended"


def past_scheduling(scheduling: Scheduling, jobs: Iterable[BatchJob], now_ms: int) -> PastScheduling:
    meta, spec = scheduling.meta, scheduling.spec
    return PastScheduling(
        meta.uid, meta.namespace, meta.name, spec.testbed, spec.mode or "queue", meta.user,
        scheduling.status.state.wire_name, tuple(scheduling.status.problems), meta.created_ms, now_ms,
        past_runs(meta.object_name, meta.created_ms, jobs, now_ms),
    )  # fmt: skip


def past_runs(scheduling: ObjectName, created_ms: int, jobs: Iterable[BatchJob], now_ms: int) -> tuple[PastRun, ...]:
    """The runs of a Scheduling, also of jobs that its spec no longer names; but none of an earlier Scheduling of its
    name."""
    runs = [
        _past_run(job, event, now_ms)
        for job in jobs
        for event in job.status.events
        if event.scheduling == scheduling and event.start_ms >= created_ms
    ]
    return tuple(sorted(runs, key=lambda run: (run.start_ms, run.slot_ids)))


def _past_run(job: BatchJob, event: ScheduledEvent, now_ms: int) -> PastRun:
    is_cut_off, is_last = not event.stop_ms, event.job == job.status.application
    problems = "; ".join(job.status.problems) if is_last and not event.successful else ""
    reason = CUT_OFF if is_cut_off else problems or event.reason
    nodes = tuple(place.node for place in job.status.places) if is_last else ()
    return PastRun(
        job.meta.object_name, event.slot_ids, nodes, event.start_ms, event.stop_ms or now_ms,
        False if is_cut_off else event.successful, reason,
    )  # fmt: skip
