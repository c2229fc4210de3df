"""The operator as a process, with its own permissions, on a real API server and kubelet."""

from __future__ import annotations

import pytest

from tests.kube.kube_cluster import NODE, Kube, command, document, queue, testbed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
GHOSTS = {f"ghostpod-bench-on-{NODE}-0", f"ghostpod-bench-on-{NODE}-1"}


def phases(kube: Kube) -> dict[str, str]:
    return {name: pod["status"]["phase"] for name, pod in kube.pods().items()}


def running(names: set[str]) -> dict[str, str]:
    return dict.fromkeys(names, "Running")


@pytest.mark.smoke
def test_a_testbed_becomes_slots_whose_ghost_pods_run_and_heal(kube: Kube) -> None:
    """S0-07, S0-09: the kubelet runs a ghost pod for each slot. A second look writes nothing, one that is deleted comes
    back, and they go with the label and with the Testbed."""
    kube("label", "namespace", kube.namespace, "pod-security.kubernetes.io/enforce=restricted")
    kube("label", "node", NODE, "bench=0")
    with kube.operator():
        kube.apply(testbed())
        found = kube.wait_state("testbed", "bench", "SUCCESS")
        kube.wait(lambda: phases(kube) == running(GHOSTS))
        assert [slot["nodeName"] for slot in found["status"]["slots"]] == [NODE, NODE]
    before = kube.pods()
    with kube.operator():  # which looks at everything anew, before it heals this one
        kube("delete", "pod", f"ghostpod-bench-on-{NODE}-0")
        kube.wait(lambda: phases(kube) == running(GHOSTS))
        after = kube.pods()
        other = f"ghostpod-bench-on-{NODE}-1"
        assert after[other]["metadata"]["uid"] == before[other]["metadata"]["uid"]
        version = found["metadata"]["resourceVersion"]
        assert kube.get("testbed", "bench")["metadata"]["resourceVersion"] == version
        kube("label", "node", NODE, "bench-")
        kube.wait(lambda: phases(kube) == {})
        kube("label", "node", NODE, "bench=0")
        kube.wait(lambda: phases(kube) == running(GHOSTS))
        kube("delete", "testbed", "bench")
        kube.wait(lambda: phases(kube) == {})


@pytest.mark.smoke
def test_a_queue_of_jobs_runs_in_the_slots_on_the_kubelet(kube: Kube) -> None:
    """S0-18, S1-17: three jobs on two slots start in order, and each run is remembered. A deleted Scheduling releases
    them."""
    kube("label", "node", NODE, "bench=0")
    script = "echo $SHUNTER_EXECUTOR_INDEX of $SHUNTER_EXECUTOR_COUNT in $SHUNTER_SLOT_ID"
    with kube.operator():
        kube.apply(testbed(), command("one", script), command("two", script), command("three", script))
        kube.apply(queue("first", "one", "one", "two", "three"))
        kube.wait_state("scheduling", "first", "CompletedState")
        assert kube("logs", "one-executor-0") == "0 of 2 in 0\n"
        assert kube("logs", "one-executor-1") == "1 of 2 in 1\n"
        events = [kube.get("batchjob", job)["status"]["scheduledEvents"][0] for job in ("one", "two", "three")]
        assert [event["successful"] for event in events] == [True, True, True]
        assert events[0]["stop"] <= events[1]["start"]
        kube.wait_state("testbed", "bench", "SUCCESS")
        kube("delete", "scheduling", "first")
        for job in ("one", "two", "three"):
            kube.wait_state("batchjob", job, "ReadyState")
        kube.wait(lambda: phases(kube) == running(GHOSTS))
        assert "activeScheduling" not in kube.get("batchjob", "one")["spec"]
        assert "claims" not in kube.get("testbed", "bench")["status"]


@pytest.mark.smoke
def test_a_full_node_says_what_is_missing_and_ghosts_keep_others_out(kube: Kube) -> None:
    """S0-08, S0-10: a pod of somebody else does not fit beside the ghost pods, and a testbed that does not fit has no
    ghost pods at all."""
    kube("label", "node", NODE, "bench=0", "second=0")
    with kube.operator():
        kube.apply(testbed(slotsPerNode=1, resourcesPerSlot={"cpu": "1500m"}))
        kube.wait(lambda: list(phases(kube).values()) == ["Running"])
        kube.apply(foreign_pod("foreign", "700m"))
        kube.wait(lambda: "Insufficient cpu" in kube("describe", "pod", "foreign"))
        kube.apply(testbed("more", "second", slotsPerNode=2, resourcesPerSlot={"cpu": "400m"}))
        more = kube.wait_state("testbed", "more", "ERROR")
        assert more["status"]["nodeProblems"] == {NODE: ["Requires 800m of cpu resources. Available: 500m"]}
        assert phases(kube) == {f"ghostpod-bench-on-{NODE}-0": "Running", "foreign": "Pending"}
        kube("delete", "testbed", "bench")
        kube.wait(lambda: phases(kube).get("foreign") == "Running")
        kube("delete", "pod", "foreign", "--now")
        kube.wait_state("testbed", "more", "SUCCESS")


def test_a_failing_executor_fails_its_job_with_the_exit_code(kube: Kube) -> None:
    """S1-27: its log can be read until the Scheduling is deleted, and then the job is ready again."""
    kube("label", "node", NODE, "bench=0")
    with kube.operator():
        kube.apply(testbed(), command("bad", "echo why; exit 3"), queue("first", "bad"))
        failed = kube.wait_state("scheduling", "first", "FailedState")
        assert "executor 0 failed: exit code 3" in failed["status"]["problems"][0]
        assert kube("logs", "bad-executor-0") == "why\n"
        kube("delete", "scheduling", "first")
        kube.wait_state("batchjob", "bad", "ReadyState")


def test_spark_and_flink_are_refused_with_the_reason(kube: Kube) -> None:
    kube("label", "node", NODE, "bench=0")
    flink = document("BatchJob", "flink", flinkSpec={"jarFile": "local:///words.jar"})
    with kube.operator():
        kube.apply(testbed(), flink, queue("first", "flink"))
        failed = kube.wait_state("scheduling", "first", "FailedState")
        assert "spec.flinkSpec is not run by this operator" in failed["status"]["problems"][0]


@pytest.mark.smoke
def test_another_operator_takes_over_when_one_is_killed_and_the_run_goes_on(kube: Kube) -> None:
    """S0-01: the same pod ends the same run."""
    kube("label", "node", NODE, "bench=0")
    with kube.operator() as first:
        kube.apply(testbed(), command("long", "sleep 8; echo done"), queue("first", "long"))
        kube.wait_state("batchjob", "long", "RunningState")
        uid = kube.pods()["long-executor-0"]["metadata"]["uid"]
        with kube.operator() as second:
            assert "lease.taken" not in second.log.read_text()
            first.kill()
            kube.wait(lambda: "lease.taken" in second.log.read_text())
            kube.wait_state("scheduling", "first", "CompletedState")
            assert kube.pods()["long-executor-0"]["metadata"]["uid"] == uid
            assert kube.get("batchjob", "long")["status"]["runs"] == 1


def test_objects_can_be_deleted_when_no_operator_runs(kube: Kube) -> None:
    kube("label", "node", NODE, "bench=0")
    with kube.operator():
        kube.apply(testbed(), command("long", "sleep 600"), queue("first", "long"))
        kube.wait_state("batchjob", "long", "RunningState")
    kube("delete", "scheduling/first", "batchjob/long", "testbed/bench", "--timeout=20s")
    kube.wait(lambda: phases(kube) == {})


def foreign_pod(name: str, cpu: str) -> dict[str, object]:
    container = {
        "name": "c",
        "image": "localhost/busybox:1",
        "command": ["sleep", "600"],
        "resources": {"requests": {"cpu": cpu}},
    }
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
