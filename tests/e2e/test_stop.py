"""Stops jobs, single tasks and whole process trees, and waits for their ends."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster, eventually, is_alive
from tests.e2e.manifests import as_yaml, shell
from tests.e2e.task_gates import Gate


def test_a_running_job_is_cancelled(cluster: Cluster, gate: Gate) -> None:
    """D-27, R-04: the order reaches the node, the process ends, the job is cancelled and its room is free again."""
    name = cluster.shunter("run", "--detach", "--count", "5", "--", *gate.command).out.strip()
    pids = [arrival.pid for arrival in gate.reached(2)]
    assert cluster.shunter("stop", name).out == f"{name} is stopping\n"
    cluster.shunter("wait", name, code=1)
    found = cluster.json("job", name)
    assert (found["state"], found["counts"]) == ("cancelled", {"cancelled": 5})
    assert not any(is_alive(pid) for pid in pids)
    [node] = cluster.items("nodes")
    assert (node["reserved"]["cpu"], node["tasks"]) == ("0", 0)


def test_stopping_one_task_leaves_its_siblings_alone(cluster: Cluster, gate: Gate) -> None:
    """C-26: only that task ends; the others run on and succeed."""
    name = cluster.shunter("run", "--detach", "--count", "2", "--", *gate.command).out.strip()
    pids = {arrival.index: arrival.pid for arrival in gate.reached(2)}
    cluster.shunter("stop", f"{name}/1")
    eventually(lambda: not is_alive(pids[1]), "task 1 ends")
    assert is_alive(pids[0])
    gate.open()
    cluster.shunter("wait", name, code=1)
    assert [task["state"] for task in cluster.items("tasks", name)] == ["succeeded", "cancelled"]


def test_a_task_may_tidy_up_before_it_ends(cluster: Cluster) -> None:
    """R-23: first TERM, with a grace period; the task's last words are kept."""
    script = 'trap "echo tidy; exit 0" TERM; echo ready; while :; do sleep 0.05; done'
    cluster.shunter("submit", "-f", "-", stdin=as_yaml(shell("tidy", script)))
    eventually(lambda: cluster.shunter("logs", "tidy").out == "ready\n", "it runs")
    cluster.shunter("stop", "tidy")
    cluster.shunter("wait", "tidy", code=None)
    assert cluster.shunter("logs", "tidy").out == "ready\ntidy\n"


def test_after_the_grace_it_is_killed(cluster: Cluster, gate: Gate) -> None:
    """R-23: a task that ignores TERM is killed when its grace is over."""
    script = f"trap \"\" TERM; {' '.join(gate.command[:2])} '{gate.command[2]}' sh {gate.path}"
    cluster.shunter("submit", "-f", "-", stdin=as_yaml(shell("deaf", script, stop_grace="300ms")))
    [arrival] = gate.reached()
    cluster.shunter("stop", "deaf")
    cluster.shunter("wait", "deaf", code=1)
    assert cluster.json("job", "deaf")["state"] == "cancelled"
    assert not is_alive(arrival.pid)


def test_stop_now_leaves_no_grace(cluster: Cluster, gate: Gate) -> None:
    script = f"trap \"\" TERM; {' '.join(gate.command[:2])} '{gate.command[2]}' sh {gate.path}"
    cluster.shunter("submit", "-f", "-", stdin=as_yaml(shell("at-once", script, stop_grace="10m")))
    gate.reached()
    cluster.shunter("stop", "--now", "at-once")
    cluster.shunter("wait", "at-once", "--timeout", "10s", code=1)


@pytest.mark.parametrize("how", ["stopped", "ended"])
def test_the_whole_process_tree_ends_with_the_task(cluster: Cluster, tmp_path: Path, how: str) -> None:
    """R-23: children, and a daemon that left its session, do not outlive the task; neither a stop nor an end
    leaves any."""
    pids = tmp_path / "pids"
    wait = "sleep 600" if how == "stopped" else ":"
    script = f"(sleep 601 & echo $! >> {pids}); setsid sh -c 'echo $$ >> {pids}; exec sleep 602' & sleep 0.1; {wait}"
    name = f"tree-{how}"
    cluster.shunter("submit", "-f", "-", stdin=as_yaml(shell(name, script)))
    eventually(lambda: pids.exists() and len(pids.read_text().split()) == 2, "both are there")
    if how == "stopped":
        cluster.shunter("stop", name)
    cluster.shunter("wait", name, code=None)
    assert not [pid for pid in pids.read_text().split() if is_alive(int(pid))]


def test_what_has_ended_stays_as_it_is(cluster: Cluster) -> None:
    """R-20: a terminal state never changes."""
    cluster.shunter("run", "--name", "over", "--", "/bin/true")
    assert cluster.shunter("stop", "over").out == "over has already ended (succeeded)\n"
    assert cluster.json("job", "over")["state"] == "succeeded"
    cluster.shunter("stop", "no-such-job", code=2)


def test_a_queued_job_is_cancelled_without_ever_running(cluster: Cluster, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    name = cluster.shunter("run", "--detach", "--cpu", "64", "--", "/usr/bin/touch", str(mark)).out.strip()
    assert cluster.json("job", name)["state"] == "pending"
    cluster.shunter("stop", name)
    assert cluster.json("job", name)["state"] == "cancelled"
    assert not os.path.exists(mark)  # noqa: PTH110


def test_wait_gives_up_after_its_time_and_the_job_goes_on(cluster: Cluster, gate: Gate) -> None:
    """D-09: the time-out is the waiter's, not the job's."""
    name = cluster.shunter("run", "--detach", "--", *gate.command).out.strip()
    gate.reached()
    done = cluster.shunter("wait", name, "--timeout", "200ms", code=1)
    assert "it continues to run" in done.err
    cluster.until(name, "running")
    gate.open()
    cluster.shunter("wait", name)
