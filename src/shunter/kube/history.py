"""Keeps the records of Schedulings. Called by the operator for each Scheduling that has changed or is gone.

A record is made when the Scheduling is new, and rewritten when it has ended, so history survives a deletion that no
operator sees. The next operator finds an open record without its Scheduling and closes it with what the jobs say."""

from __future__ import annotations

from msgspec.structs import replace

from shunter.kube.cluster_view import ClusterView
from shunter.kube.custom_objects import CustomObject
from shunter.kube.past_records import RECORDS_MAX, Record, past_document, past_spec, read_past
from shunter.kube.writer import Writer
from shunter.log import Log
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import BATCH_JOB
from shunter.model.objects.past_schedulings import PastRun, PastScheduling
from shunter.model.objects.schedulings import Scheduling, SchedulingState
from shunter.testbeds.history import past_runs, past_scheduling

_ENDED = (SchedulingState.COMPLETED, SchedulingState.FINISHED, SchedulingState.FAILED)

log = Log(__name__)


class History:
    def __init__(self, view: ClusterView, writer: Writer, records_max: int = RECORDS_MAX) -> None:
        self._view, self._writer, self._records_max = view, writer, records_max

    async def record(self, name: ObjectName, found: CustomObject | None, now_ms: int) -> None:
        """`found` is the Scheduling of this name, if there is one."""
        uid = "" if found is None else found.uid
        for past_uid, past in [*self._view.ended.get(name, {}).items()]:
            await self._close(ObjectName(name.namespace, past_uid), past)
            self._view.forget_ended(name, past_uid)
        for record in [*self._view.open_records.get(name, {}).values()]:
            if record.name.name != uid:
                await self._close(record.name, self._as_the_jobs_say(record, now_ms))
        if found is not None and found.object is not None:
            await self._write(ObjectName(name.namespace, uid), self._open(found.object))

    def _open(self, scheduling: Scheduling) -> PastScheduling:
        """What is told of a Scheduling that exists must not change by itself: only runs that have ended."""
        jobs = self._jobs() if scheduling.status.state in _ENDED else []
        past = past_scheduling(scheduling, jobs, 0)
        has_ended = scheduling.status.state in _ENDED
        state = past.state if has_ended else SchedulingState.ACQUIRE.wire_name
        problems = past.problems if has_ended else ()
        return replace(past, state=state, problems=problems, runs=tuple(run for run in past.runs if run.stop_ms))

    def _as_the_jobs_say(self, record: Record, now_ms: int) -> PastScheduling:
        assert record.document is not None
        past = read_past(record.document)
        known: dict[tuple[ObjectName, int], PastRun] = {(run.job, run.start_ms): run for run in past.runs}
        for run in past_runs(record.scheduling, past.created_ms, self._jobs(), now_ms):
            known.setdefault((run.job, run.start_ms), run)
        runs = sorted(known.values(), key=lambda run: (run.start_ms, run.slot_ids))
        return replace(past, deleted_ms=now_ms, runs=tuple(runs))

    async def _close(self, name: ObjectName, past: PastScheduling) -> None:
        await self._write(name, past)
        closed = [each for each in self._view.records.items.values() if not each.is_open]
        surplus = len(closed) - self._records_max
        if surplus > 0:
            for record in sorted(closed, key=lambda each: each.deleted_ms)[:surplus]:
                await self._writer.delete_record(record)

    async def _write(self, name: ObjectName, past: PastScheduling) -> None:
        record = self._view.records.items.get(name)
        if record is None:
            await self._writer.create_record(past_document(name.name, past))
        elif record.document is not None and record.document["spec"] != past_spec(past):
            await self._writer.replace_record({**record.document, "spec": past_spec(past)})

    def _jobs(self) -> list:  # type: ignore[type-arg]
        return [each.object for each in self._view.objects[BATCH_JOB].items.values() if each.object is not None]
