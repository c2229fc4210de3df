"""Spark and Flink by the operators of others, which are emulated, on the API server in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from shunter.kube.applications.adapter import ApplicationAdapter
from shunter.kube.applications.applications import ADAPTERS
from shunter.kube.resources import OBJECTS, PODS
from tests.unit.kube.emulated_operators import WORDS, EmulatedOperator
from tests.unit.kube.harness import IMAGES, KubeHarness
from tests.unit.kube.test_operator import GHOSTS, bench, pod

SPECS: dict[str, dict[str, Any]] = {
    "spark": {
        "sparkSpec": {
            "type": "Scala",
            "sparkVersion": "3.5.0",
            "image": "spark:3.5",
            "mainApplicationFile": "local:///a.jar",
            "mainClass": "A",
        }
    },
    "flink": {"flinkSpec": {"jarFile": "local:///a.jar", "image": {"name": "flink:1.20"}, "flinkVersion": "1.20"}},
}
STATES = ["ReadyState", "InQueueState", "SubmittedState", "ScheduledState", "RunningState", "CompletedState"]
kinds = pytest.mark.parametrize("kind", list(ADAPTERS))


@asynccontextmanager
async def running(kind: str) -> AsyncIterator[tuple[KubeHarness, ApplicationAdapter]]:
    """A testbed of four slots, a job, and a Scheduling of three executors."""
    adapter = ADAPTERS[kind]()
    harness = KubeHarness(IMAGES, [adapter])
    emulated = asyncio.create_task(EmulatedOperator(harness.api, adapter).run())
    try:
        async with harness.running():
            await bench(harness, resourcesPerSlot={"cpu": "400m", "memory": "480Mi"})
            await harness.apply("BatchJob", "words", **SPECS[adapter.engine])
            names = [{"name": "words"}] * 3
            await harness.apply("Scheduling", "first", queueBased=names, testbed={"name": "bench"})
            yield harness, adapter
    finally:
        emulated.cancel()
        await asyncio.gather(emulated, return_exceptions=True)


def states(harness: KubeHarness) -> list[str]:
    """All that the BatchJob has had, in order."""
    found: list[str] = []
    for _, _, plural, document in harness.api.events:
        state = document.get("status", {}).get("state", "")
        if plural == "batchjobs" and state and state not in found[-1:]:
            found.append(state)
    return found


async def run_executors(harness: KubeHarness) -> list[str]:
    """Once all are bound; returns their nodes."""
    names = [f"words-exec-{number}" for number in range(3)]
    for name in names:
        await harness.wait_for(lambda name=name: name in harness.api.names(PODS))  # type: ignore[misc]
        await harness.wait_for(lambda name=name: bool(pod(harness, name)["spec"].get("nodeName")))  # type: ignore[misc]
        await harness.api.set_phase(name, "Running")
    await harness.wait_state("BatchJob", "words", "RunningState")
    return [pod(harness, name)["spec"]["nodeName"] for name in names]


@kinds
async def test_every_kind_of_application_passes_through_the_same_states(kind: str) -> None:
    """S0-04, S0-23: and its executors are in the slots that the request names; the driver is in none."""
    async with running(kind) as (harness, _):
        assert await run_executors(harness) == ["a", "b", "a"]
        occupied = (await harness.get("Testbed", "bench"))["status"]["slots"]
        assert [slot["state"] for slot in occupied] == ["OCCUPIED", "OCCUPIED", "OCCUPIED", "FREE"]
        driver = pod(harness, "words-driver")
        assert driver["spec"].get("schedulerName", "default-scheduler") == "default-scheduler"
        assert "shunter.dev/place" not in driver["metadata"]["annotations"]
        await harness.api.set_phase("words-driver", "Succeeded")
        await harness.wait_state("Scheduling", "first", "CompletedState")
        assert states(harness) == STATES


@kinds
async def test_the_object_asks_for_executors_of_the_size_of_slots_and_a_driver_outside(kind: str) -> None:
    """S1-15, S1-16: asserted on the object that was made."""
    async with running(kind) as (harness, adapter):
        await harness.wait_state("BatchJob", "words", "SubmittedState")
        made = await harness.api.get(adapter.resource, "words", "default")
        spec = made["spec"]
        assert made["metadata"]["ownerReferences"][0]["kind"] == "BatchJob"
        executor = spec["executor"] if kind == "SparkApplication" else spec["taskManager"]
        driver = spec["driver"] if kind == "SparkApplication" else spec["jobManager"]
        if kind == "FlinkDeployment":
            assert executor["resource"] == {"cpu": 0.4, "memory": "480m"}
            assert executor["replicas"] == 3
            template, metadata = executor["podTemplate"]["spec"], executor["podTemplate"]["metadata"]
            labels, annotations = metadata["labels"], metadata["annotations"]
            assert "spec" not in driver["podTemplate"]
        elif kind == "FlinkCluster":
            assert executor["resources"]["requests"] == {"cpu": "400m", "memory": str(480 * 2**20)}
            assert executor["replicas"] == 3
            template, labels, annotations = executor, executor["podLabels"], executor["podAnnotations"]
            assert "affinity" not in driver
        else:
            assert (executor["coreRequest"], executor["instances"]) == ("400m", 3)
            assert sum(int(executor[each].removesuffix("m")) for each in ("memory", "memoryOverhead")) == 480
            template = {**executor, **executor["template"]["spec"]}
            labels, annotations = executor["labels"], executor["annotations"]
            assert not driver.keys() & {"affinity", "schedulerName", "priorityClassName"}
        terms = template["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        nodes = [term["matchFields"][0]["values"] for term in terms["nodeSelectorTerms"]]
        assert nodes == [["a"], ["b"]]
        if kind != "FlinkCluster":  # which takes none of these
            assert template["schedulerName"] == "default-scheduler"
            assert template["priorityClassName"] == "shunter-executor"
            assert template["schedulingGates"] == [{"name": "shunter.dev/slot"}]
            assert [each["whenUnsatisfiable"] for each in template["topologySpreadConstraints"]] == ["DoNotSchedule"]
        assert labels["shunter.dev/testbed"] == "bench"
        assert annotations["shunter.dev/slot-ids"] == "0,1,2"
        assert annotations["shunter.dev/replication"] == "3"
        assert annotations["shunter.dev/places"] == "a/0,b/0,a/1"


@kinds
async def test_a_released_job_is_ready_when_the_last_pod_of_its_application_is_gone(kind: str) -> None:
    """S1-17."""
    async with running(kind) as (harness, adapter):
        await run_executors(harness)
        held = pod(harness, "words-driver")
        held["metadata"]["ownerReferences"] = []  # its kubelet does not answer: the garbage collector cannot remove it
        await harness.api.delete(OBJECTS["Scheduling"], "first", "default")
        await harness.wait_for(lambda: not harness.api.names(adapter.resource))
        await harness.wait_state("BatchJob", "words", "PendingDeletion")
        await harness.settle()
        assert (await harness.get("BatchJob", "words"))["status"]["state"] == "PendingDeletion"
        await harness.api.delete(PODS, "words-driver", "default")
        await harness.wait_state("BatchJob", "words", "ReadyState")
        await harness.wait_for(lambda: harness.api.names(PODS) == GHOSTS)


@kinds
async def test_an_application_that_fails_fails_its_job(kind: str) -> None:
    """S1-27: with the words of its operator."""
    async with running(kind) as (harness, _):
        await run_executors(harness)
        await harness.api.set_phase("words-driver", "Failed")
        failed = await harness.wait_state("Scheduling", "first", "FailedState")
        assert f"its {kind} is {WORDS[kind][3]}" in failed["status"]["problems"][0]


@pytest.mark.parametrize("kind", ["FlinkDeployment", "FlinkCluster"])
async def test_flink_without_an_image_says_what_is_missing(kind: str) -> None:
    harness = KubeHarness(IMAGES, [ADAPTERS[kind]()])
    async with harness.running():
        await bench(harness)
        await harness.apply("BatchJob", "words", flinkSpec={"jarFile": "local:///a.jar"})
        await harness.apply("Scheduling", "first", queueBased=[{"name": "words"}], testbed={"name": "bench"})
        failed = await harness.wait_state("Scheduling", "first", "FailedState")
        assert "spec.flinkSpec.image: is needed on Kubernetes" in failed["status"]["problems"][0]
