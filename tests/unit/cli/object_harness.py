"""The objects that the commands are tried on, and how a test moves them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import msgspec

from shunter.model.objects.batch_jobs import BatchJobState, BatchJobStatus, Claim, ScheduledEvent
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.schedulings import JobProgress, JobRecord, SchedulingState, SchedulingStatus
from shunter.model.objects.testbeds import Slot, SlotHolder, SlotPlace, SlotState, TestbedState, TestbedStatus
from tests.contracts.memory_objects import T0_MS, MemoryObjectService

JOB, FIRST, BENCH = (ObjectName("default", name) for name in ("crawler", "first", "bench"))


def do(action: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(action)


async def move(object_service: MemoryObjectService, kind: str, name: ObjectName, **changes: Any) -> None:
    found: Any = await object_service.object(kind, name)
    await object_service.put(msgspec.structs.replace(found, **changes))


async def occupy(object_service: MemoryObjectService) -> None:
    """Four slots on two nodes, one reserved and one occupied, by a job that runs for the second time."""
    size, holder = {"cpu": 100}, SlotHolder(JOB, 0, FIRST)
    slots = (
        Slot(SlotPlace("beta", 0), 0, size, SlotState.OCCUPIED, T0_MS, holder),
        Slot(SlotPlace("alpha", 0), 1, size, SlotState.RESERVED, T0_MS, SlotHolder(JOB, 1, FIRST)),
        Slot(SlotPlace("beta", 1), 0, size, SlotState.FREE, T0_MS),
        Slot(SlotPlace("alpha", 1), 1, size, SlotState.FREE, T0_MS, is_leaving=True),
    )
    problems = {"gamma": ["Requires 200m of cpu. Available: 100m"]}
    status = TestbedStatus(TestbedState.RUNNING, slots, problems, ["a node is too small"], 1, (FIRST,))
    await move(object_service, "Testbed", BENCH, status=status)
    events = (
        ScheduledEvent(T0_MS, ObjectName("other", "past"), BENCH, (0,), 4, T0_MS + 24_000, False, "node n1 is down"),
        ScheduledEvent(T0_MS, FIRST, BENCH, (0, 1), 5),
    )
    places = (SlotPlace("beta", 0), SlotPlace("alpha", 0))
    running = BatchJobStatus(
        BatchJobState.RUNNING, events, FIRST, BENCH, (0, 1), places, 5, ["once it failed"], 1, runs=2
    )
    await move(object_service, "BatchJob", JOB, claim=Claim(FIRST), status=running)
    records = (JobRecord(JobProgress.SCHEDULED, (0, 1), 5),)
    waiting = SchedulingStatus(SchedulingState.SUBMISSION, T0_MS, records, "a free slot", ["late"], 1)
    await move(object_service, "Scheduling", FIRST, status=waiting)
