"""Testbeds, BatchJobs and Schedulings, and the dependencies between them. `engine.objects.apply` adds them, and
`engine.objects.controller` reconciles the dirty ones.

Slots are reservations on nodes. They are stored here, and the nodes' columns count them while they exist."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from shunter.engine import changes as c
from shunter.engine.state.node_table import NodeTable
from shunter.engine.state.registries.recent_events import RecentEvents
from shunter.model.objects.batch_jobs import BatchJob, BatchJobSpec, BatchJobState, BatchJobStatus, Claim
from shunter.model.objects.object_meta import Meta, ObjectName
from shunter.model.objects.objects import BATCH_JOB, KINDS, SCHEDULING, TESTBED, Object, ObjectEvent
from shunter.model.objects.schedulings import JobRecord, Scheduling, SchedulingSpec, SchedulingStatus
from shunter.model.objects.testbeds import Slot, Testbed, TestbedSpec, TestbedStatus
from shunter.testbeds.queue_order import ReconcileCache
from shunter.testbeds.slots import LayoutCache

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"

_STATES_IN_SLOTS = (
    BatchJobState.SUBMITTED, BatchJobState.SCHEDULED, BatchJobState.RUNNING, BatchJobState.PENDING_DELETION,
    BatchJobState.FAILED_SUBMISSION,
)  # fmt: skip

Key = tuple[str, ObjectName]
_TYPES: dict[str, type[Any]] = {TESTBED: Testbed, BATCH_JOB: BatchJob, SCHEDULING: Scheduling}
_spec_decoders: dict[str, msgspec.msgpack.Decoder[Any]] = {
    TESTBED: msgspec.msgpack.Decoder(TestbedSpec),
    BATCH_JOB: msgspec.msgpack.Decoder(BatchJobSpec),
    SCHEDULING: msgspec.msgpack.Decoder(SchedulingSpec),
}
_status_decoders: dict[str, msgspec.msgpack.Decoder[Any]] = {
    TESTBED: msgspec.msgpack.Decoder(TestbedStatus),
    BATCH_JOB: msgspec.msgpack.Decoder(BatchJobStatus),
    SCHEDULING: msgspec.msgpack.Decoder(SchedulingStatus),
}
_claim_decoder = msgspec.msgpack.Decoder(Claim | None)
_records_decoder = msgspec.msgpack.Decoder(list[tuple[int, JobRecord]] | None)


class ObjectRegistry:
    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self.revision = 0  # of the newest change
        self.next_uid = 1
        self.testbeds: dict[ObjectName, Testbed] = {}
        self.batch_jobs: dict[ObjectName, BatchJob] = {}
        self.schedulings: dict[ObjectName, Scheduling] = {}
        self._tables: dict[str, dict[ObjectName, Any]] = {
            TESTBED: self.testbeds,
            BATCH_JOB: self.batch_jobs,
            SCHEDULING: self.schedulings,
        }
        self._names: dict[int, ObjectName] = {}  # by uid
        # Derived from the objects:
        self.applications: dict[int, ObjectName] = {}  # job of the core -> the BatchJob that it runs, until released
        # testbed -> BatchJobs with executors in its slots
        self.jobs_by_testbed: dict[ObjectName, dict[ObjectName, None]] = {}
        # testbed -> BatchJobs that were assigned to it
        self.requests_by_testbed: dict[ObjectName, dict[ObjectName, None]] = {}
        self.schedulings_by_job: dict[ObjectName, dict[ObjectName, None]] = {}  # BatchJob -> Schedulings that name it
        self.claimed_jobs: dict[ObjectName, dict[ObjectName, None]] = {}  # Scheduling -> BatchJobs, as it claimed them
        # testbed -> Schedulings that target it
        self.schedulings_by_testbed: dict[ObjectName, dict[ObjectName, None]] = {}
        self.submitted: dict[ObjectName, None] = {}  # BatchJobs of which some executors have no node yet
        # Not part of the committed state:
        self.recent_events = RecentEvents()
        self.dirty_objects: dict[Key, None] = {}  # objects to reconcile, each once
        self.scheduling_memories: dict[ObjectName, ReconcileCache] = {}  # of reconciled Schedulings
        self.testbed_layouts: dict[ObjectName, LayoutCache] = {}  # of reconciled testbeds
        # testbeds that do not fit -> the nodes as they were when that was found
        self.unplaced_testbeds: dict[ObjectName, tuple[tuple[int, int], ...]] = {}

    def get(self, kind: str, name: ObjectName) -> Object | None:
        found: Object | None = self._tables[kind].get(name)
        return found

    def name_of(self, uid: int) -> ObjectName | None:
        return self._names.get(uid)

    def all(self, kind: str) -> Iterator[Object]:
        return iter(self._tables[kind].values())

    def mark_dirty(self, kind: str, name: ObjectName) -> None:
        if name in self._tables[kind]:
            self.dirty_objects[kind, name] = None

    def mark_all_dirty(self) -> None:
        for kind in KINDS:
            self.dirty_objects.update(dict.fromkeys((kind, name) for name in self._tables[kind]))

    def mark_testbeds_dirty(self) -> None:
        self.dirty_objects.update(dict.fromkeys((TESTBED, name) for name in self.testbeds))

    def mark_application_dirty(self, job: int) -> None:
        """Mark the BatchJob of a job that changed: its slots may be free now."""
        name = self.applications.get(job)
        if name is not None:
            self.mark_dirty(BATCH_JOB, name)
            testbed = self.batch_jobs[name].status.testbed
            if testbed is not None:
                self.mark_dirty(TESTBED, testbed)

    # ---- the registry ----

    def appliers(self) -> Mapping[type, Callable[[Any], None]]:
        return {
            c.ObjectSet: self._set,
            c.ObjectStatusSet: self._status_set,
            c.BatchJobClaimed: self._claimed,
            c.ObjectDropped: self._dropped,
        }

    def dump(self) -> dict[str, Any]:
        return {
            "revision": self.revision,
            "next_uid": self.next_uid,
            "objects": [
                [kind, msgspec.msgpack.encode(object)] for kind in KINDS for object in self._tables[kind].values()
            ],
            "claims": [self.batch_jobs[job].meta.uid for jobs in self.claimed_jobs.values() for job in jobs],
        }

    def load(self, dump: dict[str, Any]) -> None:
        self.revision, self.next_uid = dump["revision"], dump["next_uid"]
        for kind, body in dump["objects"]:
            loaded = msgspec.msgpack.decode(body, type=_TYPES[kind])
            self._put(kind, loaded.meta.object_name, None, loaded)
            self.recent_events.set_spec_size(loaded.meta.uid, len(body))
        for uid in dump.get("claims", ()):  # they are released in this order
            claim = self.batch_jobs[self._names[uid]].claim
            assert claim is not None, f"BatchJob {uid} is claimed"
            jobs = self.claimed_jobs[claim.scheduling]
            jobs[self._names[uid]] = jobs.pop(self._names[uid])
        self.mark_all_dirty()

    # ---- changes ----

    def _set(self, change: c.ObjectSet) -> None:
        spec, name = _spec_decoders[change.type].decode(change.spec), change.meta.object_name
        before = self.get(change.type, name)
        self.recent_events.set_spec_size(change.meta.uid, len(msgspec.msgpack.encode(change.meta)) + len(change.spec))
        meta = self._with_next_revision(change.meta)
        if before is None:
            self._record_change(ADDED, change.type, name, None, _TYPES[change.type](meta, spec))
            self.next_uid = max(self.next_uid, meta.uid + 1)
        else:
            self._record_change(MODIFIED, change.type, name, before, replace(before, meta=meta, spec=spec))
        self.dirty_objects[change.type, name] = None

    def _status_set(self, change: c.ObjectStatusSet) -> None:
        kind, name = change.type, self._names[change.uid]
        before, status = self._tables[kind][name], _status_decoders[kind].decode(change.status)
        if kind == BATCH_JOB and change.records == c.SAME_EVENTS:
            status = replace(status, events=before.status.events)
        elif kind == SCHEDULING and (records := _records_decoder.decode(change.records)) is not None:
            status = replace(status, jobs=_merge_records(before.status.jobs, records))
        self.recent_events.set_status_size(change.uid, len(change.status) + len(change.records))
        after = replace(before, meta=self._with_next_revision(before.meta), status=status)
        self._record_change(MODIFIED, kind, name, before, after)

    def _claimed(self, change: c.BatchJobClaimed) -> None:
        name = self._names[change.uid]
        before, claim = self.batch_jobs[name], _claim_decoder.decode(change.claim)
        after = replace(before, meta=self._with_next_revision(before.meta), claim=claim)
        self._record_change(MODIFIED, BATCH_JOB, name, before, after)

    def _dropped(self, change: c.ObjectDropped) -> None:
        name = self._names[change.uid]
        self.revision += 1
        self._record_change(DELETED, change.type, name, self._tables[change.type][name], None)

    def _with_next_revision(self, meta: Meta) -> Meta:
        self.revision += 1
        return replace(meta, revision=self.revision)

    def _record_change(self, action: str, kind: str, name: ObjectName, before: Any, after: Any) -> None:
        """Store the object, and record the change for watchers. It has the newest revision."""
        self._put(kind, name, before, after)
        event = ObjectEvent(self.revision, action, kind, after if after is not None else before)
        self.recent_events.append(event, is_last=after is None)

    def _put(self, kind: str, name: ObjectName, before: Any, after: Any) -> None:
        if after is None:
            del self._tables[kind][name]
            del self._names[before.meta.uid]
            self.dirty_objects.pop((kind, name), None)
            if kind == SCHEDULING:
                self.scheduling_memories.pop(name, None)
            elif kind == TESTBED:
                self.testbed_layouts.pop(name, None)
        else:
            self._tables[kind][name] = after
            if before is None:
                self._names[after.meta.uid] = name
        if kind == TESTBED:
            self._index_testbed(name, before, after)
        elif kind == BATCH_JOB:
            self._index_batch_job(name, before, after)
        else:
            self._index_scheduling(name, before, after)

    # ---- consequences of a change ----

    def _index_testbed(self, name: ObjectName, before: Testbed | None, after: Testbed | None) -> None:
        old, new = before.status.slots if before else (), after.status.slots if after else ()
        if old is not new:
            self._reserve(old, new)
        for scheduling in self.schedulings_by_testbed.get(name, ()):
            self.mark_dirty(SCHEDULING, scheduling)
        for job in self.requests_by_testbed.get(name, ()):
            self.mark_dirty(BATCH_JOB, job)

    def _reserve(self, old: tuple[Slot, ...], new: tuple[Slot, ...]) -> None:
        """Reserve a testbed's slots on the nodes. Usually only their use has changed, not their place or size."""
        if len(old) == len(new) and all(map(_reserves_same, old, new)):
            return
        sizes: dict[str, dict[str, int]] = {}
        for sign, slots in ((-1, old), (1, new)):
            for slot in slots:
                amounts = sizes.setdefault(slot.place.node, {})
                for resource, amount in slot.size.items():
                    amounts[resource] = amounts.get(resource, 0) + sign * amount
        for node, amounts in sizes.items():
            if any(amounts.values()):
                vector = self._nodes.vector(amounts)
                self._nodes.reserve(self._nodes.by_name[node].id, tuple(enumerate(vector.tolist())), 1)

    def _index_batch_job(self, name: ObjectName, before: BatchJob | None, after: BatchJob | None) -> None:
        self._index_application(name, before, after)
        old_request, old_testbed = _testbeds_of(before)
        new_request, new_testbed = _testbeds_of(after)
        if old_request != new_request:
            _reindex(self.requests_by_testbed, name, old_request, new_request)
        if old_testbed != new_testbed:
            _reindex(self.jobs_by_testbed, name, old_testbed, new_testbed)
            self._mark_holder_dirty(old_testbed, name)
            if new_testbed is not None:
                self.mark_dirty(TESTBED, new_testbed)
        if after is not None and after.status.state is BatchJobState.SUBMITTED:
            self.submitted[name] = None
        else:
            self.submitted.pop(name, None)
        self._index_claim(name, before.claim if before else None, after.claim if after else None)
        for scheduling in self.schedulings_by_job.get(name, ()):
            self.mark_dirty(SCHEDULING, scheduling)

    def _index_application(self, name: ObjectName, before: BatchJob | None, after: BatchJob | None) -> None:
        old, new = before.status.application if before else 0, after.status.application if after else 0
        if old != new:
            self.applications.pop(old, None)
            if new:
                self.applications[new] = name

    def _index_claim(self, name: ObjectName, old: Claim | None, new: Claim | None) -> None:
        if old is new:
            if new is not None:
                self.mark_dirty(SCHEDULING, new.scheduling)
            return
        if old is not None and (new is None or new.scheduling != old.scheduling):
            _discard(self.claimed_jobs, old.scheduling, name)
            self.mark_dirty(SCHEDULING, old.scheduling)
        if new is not None:
            self.claimed_jobs.setdefault(new.scheduling, {})[name] = None
            self.mark_dirty(SCHEDULING, new.scheduling)
        if old != new:
            self.mark_dirty(BATCH_JOB, name)

    def _mark_holder_dirty(self, testbed: ObjectName | None, job: ObjectName) -> None:
        """Mark the testbed if it still shows a slot as held by the job."""
        found = self.testbeds.get(testbed) if testbed is not None else None
        if found is not None and any(slot.holder and slot.holder.job == job for slot in found.status.slots):
            self.dirty_objects[TESTBED, found.meta.object_name] = None

    def _index_scheduling(self, name: ObjectName, before: Scheduling | None, after: Scheduling | None) -> None:
        old, new = before.spec if before else None, after.spec if after else None
        if old is not new:
            if old is not None:
                _discard(self.schedulings_by_testbed, old.testbed, name)
                for job in named_jobs(old):
                    _discard(self.schedulings_by_job, job, name)
            if new is not None:
                self.schedulings_by_testbed.setdefault(new.testbed, {})[name] = None
                for job in named_jobs(new):
                    self.schedulings_by_job.setdefault(job, {})[name] = None
            for job in (*(named_jobs(old) if old else ()), *(named_jobs(new) if new else ())):
                self.mark_dirty(BATCH_JOB, job)


def named_jobs(spec: SchedulingSpec) -> dict[ObjectName, None]:
    """Each job once, in the order of its first occurrence."""
    return dict.fromkeys(each.job for each in spec.slots) if spec.is_slot_based else dict.fromkeys(spec.queue)


def _reserves_same(old: Slot, new: Slot) -> bool:
    return old.place == new.place and old.size == new.size


def _merge_records(jobs: tuple[JobRecord, ...], records: list[tuple[int, JobRecord]]) -> tuple[JobRecord, ...]:
    """Without differences it stays the same tuple, which compares at once."""
    if not records:
        return jobs
    changed = list(jobs)
    for index, record in records:
        changed[index] = record
    return tuple(changed)


def _testbeds_of(job: BatchJob | None) -> tuple[ObjectName | None, ObjectName | None]:
    """The testbed that it was assigned and has not used yet, and the one in whose slots it may have executors."""
    if job is None:
        return None, None
    state = job.status.state
    if state is BatchJobState.IN_QUEUE:
        request = job.claim.request if job.claim is not None else None
        return request.testbed if request is not None else None, None
    return None, job.status.testbed if state in _STATES_IN_SLOTS else None


def _reindex(
    index: dict[ObjectName, dict[ObjectName, None]], name: ObjectName, old: ObjectName | None, new: ObjectName | None
) -> None:
    """Update the index after a BatchJob changed its testbed."""
    if old is not None:
        _discard(index, old, name)
    if new is not None:
        index.setdefault(new, {})[name] = None


def _discard(index: dict[ObjectName, dict[ObjectName, None]], key: ObjectName, value: ObjectName) -> None:
    values = index.get(key)
    if values is not None:
        values.pop(value, None)
        if not values:
            del index[key]
