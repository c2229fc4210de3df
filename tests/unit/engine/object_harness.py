"""Testbeds, BatchJobs and Schedulings on the engine's stage: how tests make them and what they look at."""

from __future__ import annotations

from shunter.model.objects.batch_jobs import BatchJobSpec, BatchJobState
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import BATCH_JOB, SCHEDULING, TESTBED, Draft
from shunter.model.objects.schedulings import SchedulingSpec, SchedulingState
from shunter.model.objects.testbeds import TestbedSpec
from tests.unit.engine.harness import Stage

LABEL = "example.org/slots"
BED = ObjectName("default", "bed")


def bed(slots_per_node: int = 2, cpu: int = 500, name: ObjectName = BED) -> Draft:
    return Draft(TESTBED, name, TestbedSpec(slots_per_node, LABEL, {"cpu": cpu, "memory": 2**20}))


def command(name: str) -> Draft:
    return Draft(BATCH_JOB, ObjectName("default", name), BatchJobSpec(command={"command": ["/bin/true"]}))


def queue(name: str, *jobs: str, testbed: ObjectName = BED) -> Draft:
    return Draft(
        SCHEDULING,
        ObjectName("default", name),
        SchedulingSpec(testbed, queue=tuple(ObjectName("default", job) for job in jobs)),
    )


async def label(stage: Stage, *nodes: str) -> None:
    for number, node in enumerate(nodes):
        await stage.engine.label_node(node, {LABEL: str(number)})


async def make(stage: Stage, *drafts: Draft) -> None:
    await stage.engine.apply_objects(list(drafts), "tester")
    await stage.settle()


async def ready(stage: Stage, nodes: int = 2, slots_per_node: int = 2) -> list[int]:
    ids = [await stage.join(f"n{number}", cpu=2) for number in range(nodes)]
    await label(stage, *(f"n{number}" for number in range(nodes)))
    await make(stage, bed(slots_per_node))
    return ids


def slots(stage: Stage, name: ObjectName = BED) -> list[tuple[str, int, str]]:
    found = stage.engine.state.objects.testbeds[name].status.slots
    return [(slot.place.node, slot.place.position, slot.state.word) for slot in found]


def state_of(stage: Stage, name: str) -> BatchJobState:
    return stage.engine.state.objects.batch_jobs[ObjectName("default", name)].status.state


def scheduling(stage: Stage, name: str) -> SchedulingState:
    return stage.engine.state.objects.schedulings[ObjectName("default", name)].status.state
