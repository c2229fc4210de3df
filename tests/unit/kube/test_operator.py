"""The operator on an API server in memory: slots are ghost pods, executors take their places, and a second look writes
nothing."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.kube.resources import NODES, OBJECTS, PODS
from shunter.model.errors import Unavailable
from tests.unit.kube.harness import KubeHarness

GHOSTS = {"ghostpod-bench-on-a-0", "ghostpod-bench-on-b-0", "ghostpod-bench-on-a-1", "ghostpod-bench-on-b-1"}


async def bench(harness: KubeHarness, **spec: Any) -> None:
    """Two nodes with two slots each."""
    for number, node in enumerate("ab"):
        await harness.api.add_node(node, {"bench": str(number)}, cpu="1", memory="1Gi", pods="10")
    size = {"slotsPerNode": 2, "nodeLabel": "bench", "resourcesPerSlot": {"cpu": "400m"}}
    await harness.apply("Testbed", "bench", **(size | spec))


async def job(harness: KubeHarness, name: str = "words") -> None:
    await harness.apply("BatchJob", name, commandSpec={"command": ["count", "$(A)"], "env": {"A": "$(B)"}})


async def scheduling(harness: KubeHarness, *jobs: str, name: str = "first") -> None:
    queue = [{"name": each} for each in jobs]
    await harness.apply("Scheduling", name, queueBased=queue, testbed={"name": "bench"})


def pod(harness: KubeHarness, name: str) -> dict[str, Any]:
    return harness.api.objects["pods", "default", name]


async def run_executors(harness: KubeHarness, *names: str) -> None:
    """As the kubelet does, once they are bound."""
    for name in names:
        await harness.wait_for(lambda name=name: name in harness.api.names(PODS))  # type: ignore[misc]
        await harness.wait_for(lambda name=name: bool(pod(harness, name)["spec"].get("nodeName")))  # type: ignore[misc]
        await harness.api.set_phase(name, "Running")


async def test_a_testbed_becomes_a_ghost_pod_for_each_slot_and_a_second_look_writes_nothing() -> None:
    harness = KubeHarness()
    async with harness.running():
        await bench(harness)
        found = await harness.wait_state("Testbed", "bench", "SUCCESS")
        assert harness.api.names(PODS) == GHOSTS
        slots = [(slot["position"], slot["podName"], slot["state"]) for slot in found["status"]["slots"]]
        assert slots == [
            (0, "ghostpod-bench-on-a-0", "FREE"),
            (1, "ghostpod-bench-on-b-0", "FREE"),
            (2, "ghostpod-bench-on-a-1", "FREE"),
            (3, "ghostpod-bench-on-b-1", "FREE"),
        ]
        assert found["status"]["freeSlots"] == "4/4"
        ghost = pod(harness, "ghostpod-bench-on-b-1")
        assert ghost["spec"]["nodeName"] == "b"
        assert ghost["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "400m"}
        await harness.settle()
        writes = harness.api.writes
        harness.view.mark_all()
        await harness.settle()
        assert harness.api.writes == writes


async def test_ghosts_heal_and_follow_labels_and_sizes() -> None:
    harness = KubeHarness()
    async with harness.running():
        await bench(harness)
        await harness.wait_state("Testbed", "bench", "SUCCESS")
        await harness.api.delete(PODS, "ghostpod-bench-on-a-0", "default")
        await harness.wait_for(lambda: harness.api.names(PODS) == GHOSTS)
        await harness.api.change(OBJECTS["Testbed"], "bench", "default", spec={"resourcesPerSlot": {"cpu": "100m"}})
        await harness.settle()
        requests = [pod(harness, name)["spec"]["containers"][0]["resources"]["requests"] for name in GHOSTS]
        assert requests == [{"cpu": "100m"}] * 4
        await harness.api.delete(NODES, "b")
        await harness.wait_for(lambda: len(harness.api.names(PODS)) == 2)
        await harness.api.delete(OBJECTS["Testbed"], "bench", "default")
        await harness.wait_for(lambda: harness.api.names(PODS) == set())


async def test_a_testbed_that_does_not_fit_says_where_and_leaves_no_ghosts() -> None:
    harness = KubeHarness()
    async with harness.running():
        await bench(harness)
        await harness.wait_state("Testbed", "bench", "SUCCESS")
        resources = {"requests": {"cpu": "300m"}}
        foreign = {"nodeName": "b", "containers": [{"name": "c", "resources": resources}]}
        await harness.api.create(PODS, {"metadata": {"name": "foreign", "namespace": "default"}, "spec": foreign})
        found = await harness.wait_state("Testbed", "bench", "ERROR")
        problem = "Requires 800m of cpu resources. Available: 700m"
        assert found["status"]["nodeProblems"] == {"b": [problem]}
        await harness.wait_for(lambda: harness.api.names(PODS) == {"foreign"})
        await harness.api.set_phase("foreign", "Succeeded")
        await harness.wait_state("Testbed", "bench", "SUCCESS")
        assert harness.api.names(PODS) == {*GHOSTS, "foreign"}


async def test_executors_take_the_places_of_ghosts_run_and_give_them_back() -> None:
    harness = KubeHarness()
    async with harness.running():
        await bench(harness)
        await job(harness)
        await scheduling(harness, "words", "words")
        await run_executors(harness, "words-executor-0", "words-executor-1")
        found = await harness.wait_state("BatchJob", "words", "RunningState")
        assert found["spec"]["activeScheduling"] == {"name": "first", "namespace": "default"}
        assert (found["status"]["slotIds"], found["status"]["replication"]) == ([0, 1], 2)
        testbed = await harness.wait_state("Testbed", "bench", "RUNNING")
        assert [slot["podName"] for slot in testbed["status"]["slots"]][:2] == ["words-executor-0", "words-executor-1"]
        ghosts = {"ghostpod-bench-on-a-1", "ghostpod-bench-on-b-1"}
        assert harness.api.names(PODS) == {"words-executor-0", "words-executor-1", *ghosts}
        for number in range(2):
            await harness.api.set_phase(f"words-executor-{number}", "Succeeded")
        await harness.wait_state("Scheduling", "first", "CompletedState")
        await harness.wait_state("Testbed", "bench", "SUCCESS")
        await harness.wait_for(lambda: harness.api.names(PODS) >= GHOSTS)
        await harness.settle()
        writes = harness.api.writes
        harness.view.mark_all()
        await harness.settle()
        assert harness.api.writes == writes
        await harness.api.delete(OBJECTS["Scheduling"], "first", "default")
        ready = await harness.wait_state("BatchJob", "words", "ReadyState")
        [event] = ready["status"]["scheduledEvents"]
        assert (event["successful"], event["slotIds"]) == (True, [0, 1])
        await harness.wait_for(lambda: harness.api.names(PODS) == GHOSTS)
        await harness.settle()
        assert "activeScheduling" not in (await harness.get("BatchJob", "words"))["spec"]
        assert "claims" not in (await harness.get("Testbed", "bench"))["status"]


async def test_an_executor_is_made_for_its_slot() -> None:
    """S1-16: size, testbed, slot ids, replication, priority, scheduler and affinity."""
    harness = KubeHarness()
    async with harness.running():
        await bench(harness)
        await job(harness)
        await scheduling(harness, "words")
        await harness.wait_for(lambda: "words-executor-0" in harness.api.names(PODS))
        made = pod(harness, "words-executor-0")
        annotations, spec = made["metadata"]["annotations"], made["spec"]
        assert annotations["shunter.dev/testbed"] == "default/bench"
        assert annotations["shunter.dev/slot-ids"] == "0"
        assert annotations["shunter.dev/replication"] == "1"
        assert (spec["schedulerName"], spec["priorityClassName"]) == ("default-scheduler", "shunter-executor")
        assert spec["schedulingGates"] == [{"name": "shunter.dev/slot"}]
        [never] = spec["topologySpreadConstraints"]  # of a label that no node has
        assert never["topologyKey"] == "shunter.dev/only-the-operator-binds"
        assert never["whenUnsatisfiable"] == "DoNotSchedule"
        [term] = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        assert term["matchFields"][0]["values"] == ["a"]
        [container] = spec["containers"]
        assert container["resources"]["requests"] == {"cpu": "400m"}
        env = {each["name"]: each["value"] for each in container["env"]}
        assert (env["SHUNTER_SLOT_ID"], env["SHUNTER_EXECUTOR_INDEX"], env["SHUNTER_NODE"]) == ("0", "0", "a")
        assert (container["command"], env["A"]) == (["count", "$$(A)"], "$$(B)")  # which Kubernetes would replace


async def test_a_second_scheduling_waits_for_the_testbed_and_starts_when_the_first_is_deleted() -> None:
    """S1-06: on Kubernetes, where it holds nothing while it waits."""
    harness = KubeHarness()
    async with harness.running():
        await bench(harness)
        await job(harness, "one")
        await job(harness, "two")
        await scheduling(harness, "one", name="first")
        await run_executors(harness, "one-executor-0")
        await scheduling(harness, "two", name="second")
        await harness.settle()
        second = await harness.get("Scheduling", "second")
        assert second["status"]["state"] == "AcquireState"
        assert second["status"]["waitsFor"] == "scheduling default/first, which uses testbed default/bench"
        assert "activeScheduling" not in (await harness.get("BatchJob", "two"))["spec"]
        await harness.api.delete(OBJECTS["Scheduling"], "first", "default")
        await run_executors(harness, "two-executor-0")
        await harness.wait_state("BatchJob", "two", "RunningState")


async def test_a_failed_executor_fails_the_job_with_its_reason_and_the_others_end() -> None:
    harness = KubeHarness()
    async with harness.running():
        await bench(harness)
        await job(harness)
        await scheduling(harness, "words", "words")
        await run_executors(harness, "words-executor-0", "words-executor-1")
        ended = {"state": {"terminated": {"exitCode": 3, "reason": "Error"}}}
        await harness.api.set_phase("words-executor-1", "Failed", containerStatuses=[ended])
        found = await harness.wait_state("BatchJob", "words", "FailedSubmissionState")
        assert found["status"]["problems"] == ["executor 1 failed: exit code 3"]
        failed = await harness.wait_state("Scheduling", "first", "FailedState")
        assert "exit code 3" in failed["status"]["problems"][0]
        await harness.wait_for(lambda: "words-executor-0" not in harness.api.names(PODS))
        assert "words-executor-1" in harness.api.names(PODS)  # its log can be read until the Scheduling is deleted
        await harness.api.delete(OBJECTS["Scheduling"], "first", "default")
        await harness.wait_state("BatchJob", "words", "ReadyState")
        assert harness.api.names(PODS) >= {"ghostpod-bench-on-a-0"}


@pytest.mark.parametrize("fails_at", range(1, 26))
async def test_it_gets_there_whichever_write_fails(fails_at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """S0-01: a write is refused once, as when the API server restarts. The end is the same."""
    harness = KubeHarness()
    monkeypatch.setattr("shunter.kube.operator.RETRY_S", 0.0)
    count = 0

    def fail(_method: str, _path: str) -> None:
        nonlocal count
        count += 1
        if count == fails_at:
            raise Unavailable("restarting")

    async with harness.running():
        await bench(harness)
        await job(harness)
        await scheduling(harness, "words", "words")
        harness.api.fail = fail
        await run_executors(harness, "words-executor-0", "words-executor-1")
        await harness.wait_state("BatchJob", "words", "RunningState")
        for number in range(2):
            await harness.api.set_phase(f"words-executor-{number}", "Succeeded")
        await harness.wait_state("Scheduling", "first", "CompletedState")
        await harness.wait_for(lambda: harness.api.names(PODS) >= GHOSTS)
