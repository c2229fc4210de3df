"""Builds the history record of a deleted Scheduling: which jobs it ran, where, when, and how they ended. Called by
`engine.objects.controller`."""

from __future__ import annotations

import msgspec

from shunter.engine.round import Round
from shunter.model.objects.batch_jobs import BatchJob, ScheduledEvent
from shunter.model.objects.past_schedulings import PastRun, PastScheduling
from shunter.model.objects.schedulings import Scheduling
from shunter.ports.store import PastRecord

CUT_OFF = "the Scheduling was deleted before it ended"


def past_scheduling(round: Round, scheduling: Scheduling) -> PastRecord:
    meta, spec = scheduling.meta, scheduling.spec
    runs = [  # also those of jobs that its spec no longer names; but none of an earlier one of its name
        _past_run(round, job, event)
        for job in round.state.objects.batch_jobs.values()
        for event in job.status.events
        if event.scheduling == meta.object_name and event.start_ms >= meta.created_ms
    ]
    past = PastScheduling(
        meta.uid, meta.namespace, meta.name, spec.testbed, spec.mode or "queue", meta.user,
        scheduling.status.state.wire_name, tuple(scheduling.status.problems), meta.created_ms, round.now_ms,
        tuple(sorted(runs, key=lambda run: (run.start_ms, run.slot_ids))),
    )  # fmt: skip
    body = msgspec.msgpack.encode(past)
    return PastRecord(meta.uid, meta.namespace, meta.name, round.now_ms / 1000, body)


def _past_run(round: Round, job: BatchJob, event: ScheduledEvent) -> PastRun:
    is_cut_off, is_last = not event.stop_ms, event.job == job.status.application
    problems = "; ".join(job.status.problems) if is_last and not event.successful else ""
    reason = CUT_OFF if is_cut_off else problems or event.reason
    nodes = tuple(place.node for place in job.status.places) if is_last else ()
    return PastRun(
        job.meta.object_name, event.slot_ids, nodes, event.start_ms, event.stop_ms or round.now_ms,
        False if is_cut_off else event.successful, reason,
    )  # fmt: skip
