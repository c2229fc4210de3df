"""BatchJobs of commands, as a user runs them: any program as executors in slots, without Spark or Flink."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster, eventually

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "batchjobs"

JOB = """
apiVersion: batchjob.gcr.io/v1alpha1
kind: BatchJob
metadata: {{name: {name}}}
spec:
  commandSpec:
    command: [sh, -c, {script!r}]
---
apiVersion: batchjob.gcr.io/v1alpha1
kind: Scheduling
metadata: {{name: {name}}}
spec:
  queueBased: [{{name: {name}}}, {{name: {name}}}]
  testbed: {{name: batch}}
"""


@pytest.fixture
def testbed_cluster(cluster: Cluster) -> Iterator[Cluster]:
    (node,) = cluster.items("nodes")
    cluster.shunter("node", "label", node["name"], "bench=0")
    cluster.shunter("apply", "-f", str(EXAMPLES / "testbed.yaml"))
    yield cluster
    cluster.shunter("delete", "testbed", "batch", "--wait")


def apply(cluster: Cluster, manifest: str, code: int = 0) -> None:
    cluster.shunter("apply", "-f", "-", "--wait", stdin=manifest.replace("/opt/shunter", str(ROOT)), code=code)


def release(cluster: Cluster, name: str) -> None:
    cluster.shunter("delete", "scheduling", name)
    check = f"{name} is released"
    eventually(lambda: cluster.json("get", "batchjob", name)["status"]["state"] == "ReadyState", check)
    cluster.shunter("delete", "batchjob", name, "--wait")


def output(cluster: Cluster, name: str, executor: int) -> str:
    return cluster.shunter("logs", f"bj.{name}/executor/{executor}", "--stdout").out


def test_executors_meet_by_what_they_are_told_and_add_up_a_sum(testbed_cluster: Cluster) -> None:
    """S1-16: each knows its slot, its number, how many there are, and where the others are."""
    apply(testbed_cluster, (EXAMPLES / "command-sum.yaml").read_text())
    total = sum(range(1, 1_000_001))
    first, second = sum(range(1, 1_000_001, 2)), sum(range(2, 1_000_001, 2))
    assert output(testbed_cluster, "command-sum", 0) == f"sum {total}\nexecutor 0 of 2 in slot 0 had {first}\n"
    assert output(testbed_cluster, "command-sum", 1) == f"executor 1 of 2 in slot 1 had {second}\n"
    release(testbed_cluster, "command-sum")


def test_the_first_executor_that_fails_ends_the_others_and_fails_the_job(testbed_cluster: Cluster) -> None:
    """S1-27: with the reason, and ready again once it is released."""
    apply(
        testbed_cluster, JOB.format(name="torn", script="test $SHUNTER_EXECUTOR_INDEX = 0 && exit 7; sleep 600"), code=1
    )
    found = testbed_cluster.json("get", "batchjob", "torn")["status"]
    assert found["state"] == "FailedSubmissionState"
    assert found["problems"] == ["1 of 2 tasks failed; first failure: task 0: exit code 7"]
    states = {task["name"]: (task["state"], task["exit_code"]) for task in testbed_cluster.items("tasks", "bj.torn")}
    assert states["bj.torn/0"] == ("failed", 7)
    assert states["bj.torn/1"][0] == "cancelled"
    release(testbed_cluster, "torn")
