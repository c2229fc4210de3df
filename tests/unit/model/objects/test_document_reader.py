"""Objects read from the documents that were written of them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from shunter.model.objects import testbeds as tb
from shunter.model.objects.batch_jobs import BatchJob, BatchJobSpec
from shunter.model.objects.document_reader import read_object
from shunter.model.objects.document_writer import object_document
from shunter.model.objects.objects import Object
from shunter.model.objects.schedulings import Scheduling, SchedulingSpec, SlotJob
from tests.unit.wire.test_messages import JOB, META, ONE, SCHEDULING, TESTBED, TWO

TIMED = replace(META, created_ms=1_700_000_000_123, deleting_ms=1_700_000_001_000)
QUEUE = SchedulingSpec(TWO, queue=(ONE, ONE, TWO), confirmation_timeout_s=33.0)
SLOTS = SchedulingSpec(TWO, slots=(SlotJob(ONE, (0, 2)),), mode="relaxed")
PROFILED = BatchJobSpec(command={"command": ["sort"]}, external={"profiler": [{"sort": "24 (16)"}]})
OBJECTS: dict[str, Object] = {
    "a testbed in use": replace(TESTBED, meta=TIMED),
    "a testbed nobody looked at": tb.Testbed(META, tb.TestbedSpec(1, "slots", {"cpu": 500})),
    "a job that runs": replace(JOB, meta=TIMED, spec=PROFILED),
    "a job that waits": BatchJob(META, BatchJobSpec(command={"command": ["sort"]})),
    "a queue": Scheduling(META, QUEUE, replace(SCHEDULING.status, jobs=())),
    "slots": Scheduling(META, SLOTS, replace(SCHEDULING.status, jobs=SCHEDULING.status.jobs[:1])),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_what_was_read_is_written_as_the_same_document(name: str) -> None:
    document = object_document(OBJECTS[name])
    found = read_object(document)
    assert type(found) is type(OBJECTS[name])
    assert object_document(found) == document
