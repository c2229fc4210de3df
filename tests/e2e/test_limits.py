"""Limits of tasks: memory, cpu, disk, time. Each failure has its reason."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.e2e.cluster import Cluster, eventually
from tests.e2e.manifests import as_yaml, job, shell
from tests.machine_limits import NO_CGROUPS

PYTHON = (sys.executable, "-I", "-S", "-c")
GRAB_300_MIB = "data = bytearray(300 * 2**20)"
THREE_CHILDREN = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        data = bytearray(40 * 2**20)
        time.sleep(600)
os.wait()
raise SystemExit(3)
"""
SPIN_FOR_A_WHILE = """
import time
began = time.monotonic()
cpu = time.process_time()
while time.monotonic() - began < 1.5:
    pass
print((time.process_time() - cpu) / (time.monotonic() - began))
"""


@pytest.fixture(scope="module")
def has_cgroups(shared_cluster: Cluster) -> None:
    [node] = shared_cluster.items("nodes")
    if node["attributes"]["limits"] == "rlimits":
        pytest.skip(NO_CGROUPS)


def ended(cluster: Cluster, document: dict[str, Any], code: int = 1) -> dict[str, Any]:
    """Submit, wait, and return the only task."""
    cluster.shunter("submit", "-f", "-", "--wait", stdin=as_yaml(document), code=code)
    [task] = cluster.items("tasks", document["metadata"]["name"])
    return task


def test_what_limits_tasks_is_told(cluster: Cluster) -> None:
    """C-01: the node says by what means its limits hold."""
    [node] = cluster.items("nodes")
    assert node["attributes"]["limits"] in ("cgroup-v2", "cgroup-v1", "rlimits")


@pytest.mark.usefixtures("has_cgroups")
def test_a_task_over_its_memory_limit_is_killed_and_failed_with_that_reason(cluster: Cluster) -> None:
    """C-01, C-22: the task is ended by the kernel; its keeper goes on to run the next one."""
    task = ended(cluster, job("greedy", [*PYTHON, GRAB_300_MIB], resources={"memory": "64Mi"}))
    assert (task["state"], task["exit_code"]) == ("failed", 137)
    assert "memory limit of 64Mi" in task["reason"]
    assert "memory limit of 64Mi" in cluster.json("job", "greedy")["reason"]
    assert ended(cluster, job("after-greedy", [*PYTHON, "print(1)"]), code=0)["state"] == "succeeded"


@pytest.mark.usefixtures("has_cgroups")
def test_within_its_memory_limit_it_runs(cluster: Cluster) -> None:
    """C-01: the limit is the task's; what the keeper itself needs does not count."""
    task = ended(cluster, job("modest", [*PYTHON, GRAB_300_MIB], resources={"memory": "400Mi"}), code=0)
    assert task["state"] == "succeeded"


@pytest.mark.usefixtures("has_cgroups")
def test_children_count_against_the_limit_too(cluster: Cluster) -> None:
    """C-22: a task cannot escape by starting processes that are small enough one by one."""
    task = ended(cluster, job("family", [*PYTHON, THREE_CHILDREN], resources={"memory": "80Mi"}, timeout="20s"))
    assert "memory limit of 80Mi" in task["reason"]


@pytest.mark.usefixtures("has_cgroups")
def test_cpu_is_throttled(cluster: Cluster) -> None:
    """C-22: a task that asked for a tenth of a core gets about that, however much it wants."""
    ended(cluster, job("spinning", [*PYTHON, SPIN_FOR_A_WHILE], resources={"cpu": "100m"}), code=0)
    assert float(cluster.shunter("logs", "spinning").out) < 0.2


def test_a_file_over_the_disk_limit_fails_the_task_with_that_reason(cluster: Cluster) -> None:
    """C-22: disk."""
    script = "head -c 4000000 /dev/zero > big"
    task = ended(cluster, shell("hoarder", script, resources={"disk": "1Mi"}))
    assert task["state"] == "failed"
    assert "disk limit of 1Mi" in task["reason"]


def test_a_task_gets_a_folder_of_its_own_which_goes_away_with_it(cluster: Cluster) -> None:
    """R-23: without a `dir`, a fresh and empty one for every attempt."""
    task = ended(cluster, shell("tidy-folder", "pwd; ls -A; touch left"), code=0)
    assert task["state"] == "succeeded"
    [folder] = cluster.shunter("logs", "tidy-folder").out.split()
    assert folder.startswith(str(cluster.home))
    ended(cluster, shell("next-folder", "ls -A"), code=0)
    assert cluster.shunter("logs", "next-folder").out == ""


def test_a_task_that_runs_too_long_is_ended_and_failed_with_that_reason(cluster: Cluster) -> None:
    """D-25: timeout.run; first gracefully, and a task that does not listen is killed."""
    task = ended(cluster, job("slow", ["/bin/sleep", "600"], timeout="300ms"))
    assert (task["state"], task["exit_code"]) == ("failed", 143)
    assert "0.3s" in task["reason"]
    deaf = shell("slow-and-deaf", 'trap "" TERM; while :; do sleep 0.05; done', timeout="300ms", stop_grace="200ms")
    task = ended(cluster, deaf)
    assert (task["state"], task["exit_code"]) == ("failed", 137)


def test_an_attempt_that_timed_out_is_retried_like_any_failure(cluster: Cluster) -> None:
    """D-25: whatever exit code the task made of being told to end."""
    script = 'test "$SHUNTER_ATTEMPT" = 2 && exit 0; trap "exit 0" TERM; while :; do sleep 0.02; done'
    restart = {"policy": "on-failure", "max": 1, "delay": "10ms"}
    task = ended(cluster, shell("second-chance", script, timeout="300ms", restart=restart), code=0)
    assert (task["state"], task["attempt"]) == ("succeeded", 2)


def test_a_task_that_queues_too_long_fails_with_that_reason(cluster: Cluster) -> None:
    """C-02: what fits nowhere stays queued, and fails only when its queueing time-out passes."""
    task = ended(cluster, job("impatient", resources={"cpu": 64}, timeout={"queue": "300ms"}))
    assert (task["state"], task["attempt"], task["exit_code"]) == ("failed", 0, None)
    assert "timeout.queue" in task["reason"]


def test_the_statistics_of_running_tasks_are_told(cluster: Cluster) -> None:
    """C-15, R-05: machine and tasks, fresh from the worker."""
    [node] = cluster.items("nodes")
    holding = f"{GRAB_300_MIB}; import time; time.sleep(600)"
    cluster.shunter("submit", "-f", "-", stdin=as_yaml(job("measured", [*PYTHON, holding])))
    with cluster.client() as client:
        stats = eventually(lambda: found if (found := client.node_stats(node["name"])).tasks else None, "it runs")
        assert stats.machine["memory_total_bytes"] > 0
        assert 0 <= stats.machine["cpu_busy"] <= 1
        eventually(lambda: client.node_stats(node["name"]).tasks[0].memory_bytes > 300 * 2**20, "its memory is seen")
        [task] = client.node_stats(node["name"]).tasks
        assert (task.name, task.attempt, task.processes) == ("measured/0", 1, 1)
        assert task.cpu_s > 0
