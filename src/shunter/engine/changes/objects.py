"""Changes of Testbeds, BatchJobs and Schedulings, and of the jobs that run BatchJobs."""

from __future__ import annotations

import msgspec

from shunter.engine.changes.change_struct import ChangeStruct
from shunter.model.objects.object_meta import Meta

NO_CLAIM = NO_RECORDS = msgspec.Raw(b"\xc0")  # nothing
SAME_EVENTS = msgspec.Raw(b"\x90")  # an empty list


class ObjectSet(ChangeStruct, tag=45):
    """An object was made, or has another spec or meta. What it came to be stays as it is."""

    type: str  # BatchJob, Testbed or Scheduling
    meta: Meta
    spec: msgspec.Raw  # of the kind's Spec
    at_ms: int


class ObjectStatusSet(ChangeStruct, tag=46):
    """An object has another status."""

    type: str  # BatchJob, Testbed or Scheduling
    uid: int
    status: msgspec.Raw  # of the kind's Status
    at_ms: int
    state: str  # the status's, in words
    ref: str  # namespace/name
    # Of a Scheduling: jobs that differ, by index; the others are as they were. Of a BatchJob, SAME_EVENTS: its runs are
    # as they were. Where nothing is said, the status has all of them.
    records: msgspec.Raw = NO_RECORDS


class BatchJobClaimed(ChangeStruct, tag=47):
    """A Scheduling claims a BatchJob, asks it to run, or lets it go."""

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
    """What further task sets of an application's job look like: its executors know by now where the driver is."""

    job: int
    groups: msgspec.Raw  # tuple[GroupSpec, ...]
    ref: str


ObjectChange = ObjectSet | ObjectStatusSet | BatchJobClaimed | ObjectDropped | JobGroupsRefined
