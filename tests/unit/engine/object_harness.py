"""Testbeds, BatchJobs and Schedulings on the engine's harness: how tests create and inspect them."""

from __future__ import annotations

from shunter.model.objects.batch_jobs import BatchJobSpec, BatchJobState
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import BATCH_JOB, SCHEDULING, TESTBED, Draft
from shunter.model.objects.schedulings import SchedulingSpec, SchedulingState
from shunter.model.objects.testbeds import TestbedSpec
from tests.unit.engine.harness import Harness

LABEL = "example.org/slots"
TESTBED_NAME = ObjectName("default", "bed")


def testbed_draft(slots_per_node: int = 2, cpu: int = 500, name: ObjectName = TESTBED_NAME) -> Draft:
    return Draft(TESTBED, name, TestbedSpec(slots_per_node, LABEL, {"cpu": cpu, "memory": 2**20}))


def command(name: str) -> Draft:
    return Draft(BATCH_JOB, ObjectName("default", name), BatchJobSpec(command={"command": ["/bin/true"]}))


def queue(name: str, *jobs: str, testbed: ObjectName = TESTBED_NAME) -> Draft:
    return Draft(
        SCHEDULING,
        ObjectName("default", name),
        SchedulingSpec(testbed, queue=tuple(ObjectName("default", job) for job in jobs)),
    )


async def label(harness: Harness, *nodes: str) -> None:
    for number, node in enumerate(nodes):
        await harness.engine.label_node(node, {LABEL: str(number)})


async def apply_drafts(harness: Harness, *drafts: Draft) -> None:
    await harness.engine.apply_objects(list(drafts), "tester")
    await harness.settle()


async def setup_testbed(harness: Harness, nodes: int = 2, slots_per_node: int = 2) -> list[int]:
    ids = [await harness.join(f"n{number}", cpu=2) for number in range(nodes)]
    await label(harness, *(f"n{number}" for number in range(nodes)))
    await apply_drafts(harness, testbed_draft(slots_per_node))
    return ids


def slots(harness: Harness, name: ObjectName = TESTBED_NAME) -> list[tuple[str, int, str]]:
    found = harness.engine.state.objects.testbeds[name].status.slots
    return [(slot.place.node, slot.place.position, slot.state.wire_name) for slot in found]


def state_of(harness: Harness, name: str) -> BatchJobState:
    return harness.engine.state.objects.batch_jobs[ObjectName("default", name)].status.state


def scheduling(harness: Harness, name: str) -> SchedulingState:
    return harness.engine.state.objects.schedulings[ObjectName("default", name)].status.state
