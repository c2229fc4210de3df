"""Changes of Testbeds, BatchJobs and Schedulings, and of the jobs that run BatchJobs."""

from __future__ import annotations

import msgspec

from shunter.engine.changes.change_struct import ChangeStruct
from shunter.model.objects.object_meta import Meta

NO_CLAIM = NO_RECORDS = msgspec.Raw(b"\xc0")  # nothing
SAME_EVENTS = msgspec.Raw(b"\x90")  # an empty list


class ObjectSet(ChangeStruct, tag=45):
    """An object was created, or its spec or metadata changed. Its status stays."""

    type: str  # BatchJob, Testbed or Scheduling
    meta: Meta
    spec: msgspec.Raw  # of the kind's Spec
    at_ms: int


class ObjectStatusSet(ChangeStruct, tag=46):
    """An object's status changed."""

    type: str  # BatchJob, Testbed or Scheduling
    uid: int
    status: msgspec.Raw  # of the kind's Status
    at_ms: int
    state: str  # the status's, in words
    ref: str  # namespace/name
    # Of a Scheduling: only the jobs that differ, by index. Of a BatchJob, SAME_EVENTS: its runs did not
    # change. Without either, the status has all of them.
    records: msgspec.Raw = NO_RECORDS


class BatchJobClaimed(ChangeStruct, tag=47):
    """A Scheduling claims a BatchJob, asks it to run, or releases it."""

    uid: int
    claim: msgspec.Raw  # Claim, or nothing
    at_ms: int
    by: str  # the Scheduling
    ref: str


class ObjectDropped(ChangeStruct, tag=48):
    type: str  # BatchJob, Testbed or Scheduling
    uid: int
    at_ms: int
    ref: str


class JobGroupsRefined(ChangeStruct, tag=49):
    """Refines the spec of an application's further task sets: the address of the driver is now known."""

    job: int
    groups: msgspec.Raw  # tuple[GroupSpec, ...]
    ref: str


ObjectChange = ObjectSet | ObjectStatusSet | BatchJobClaimed | ObjectDropped | JobGroupsRefined
