"""kill -9 of single processes, one at a time; `tests/chaos` does it at random."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.e2e.cluster import Cluster, eventually, is_alive
from tests.e2e.manifests import as_yaml, job, shell
from tests.e2e.rest import Rest, events_of
from tests.e2e.task_gates import Gate


def test_a_killed_manager_disturbs_no_task_and_loses_none(home: Cluster, gate: Gate) -> None:
    """R-12, C-12: killed in the middle of an array: after `up` all tasks end, the running ones undisturbed, none is
    recorded twice."""
    home.up("--cpu", "2")
    home.shunter("submit", "-f", "-", stdin=as_yaml(job("array", gate.command, count=50)))
    running = gate.reached(2)
    home.kill_manager()
    assert all(is_alive(arrival.pid) for arrival in running)
    home.up("--cpu", "2")
    assert all(is_alive(arrival.pid) for arrival in running)
    gate.open()
    home.shunter("wait", "array")
    assert home.json("job", "array")["counts"] == {"succeeded": 50}
    assert sorted((arrival.index, arrival.attempt) for arrival in gate.arrivals) == [(index, 1) for index in range(50)]
    succeeded = [event["tasks"] for event in home.items("events", "--job", "array", "--limit", "0")
                 if event["type"] == "tasks.succeeded"]  # fmt: skip
    assert sorted(index for tasks in succeeded for index in indexes(tasks)) == list(range(50))
    [node] = home.items("nodes")
    assert (node["reserved"]["cpu"], node["tasks"]) == ("0", 0)


def test_short_tasks_that_ended_meanwhile_are_recorded_once(home: Cluster, tmp_path: Path) -> None:
    """R-12: keepers go on with what they were given while there is no manager; no result is lost or counted twice. What
    no keeper had yet gets the next attempt number; no number runs twice."""
    home.up("--cpu", "2")
    script = f"echo $SHUNTER_TASK_INDEX $SHUNTER_ATTEMPT >> {tmp_path}/ran; sleep 0.01"
    home.shunter("submit", "-f", "-", stdin=as_yaml(shell("short", script, count=400)))
    with home.client() as client:
        found = client.job("short")
        eventually(lambda: found.refresh().counts.get("succeeded", 0) > 20, "some have ended")
    home.kill_manager()
    home.up("--cpu", "2")
    home.shunter("wait", "short")
    assert home.json("job", "short")["counts"] == {"succeeded": 400}
    assert {task["attempt"] for task in home.items("tasks", "short")} <= {1, 2}
    ran = (tmp_path / "ran").read_text().splitlines()
    assert len(ran) == len(set(ran)) == 400


def test_whoever_follows_a_job_outlives_the_manager(home: Cluster, gate: Gate) -> None:
    """R-13: `run` goes on with the new manager, and ends with the task's output and exit code."""
    home.up("--cpu", "2")
    script = f"echo before; /bin/sh -c '{gate.command[2]}' sh {gate.path}; echo after; exit 9"
    follower = home.begin("run", "--name", "followed", "--", "/bin/sh", "-c", script)
    gate.reached()
    assert follower.stdout is not None
    assert follower.stdout.readline() == "before\n"
    home.kill_manager()
    home.up("--cpu", "2")
    gate.open()
    out, _ = follower.communicate(timeout=60)
    assert (out, follower.returncode) == ("after\n", 9)


def test_a_submit_that_was_acknowledged_is_there(home: Cluster) -> None:
    """C-12: acknowledged means committed: killed at once after the answer, the manager still has the job."""
    home.up("--cpu", "2")
    for number in range(3):
        with home.client() as client:
            client.run(["/bin/true"], name=f"kept-{number}")
            home.kill_manager()
        home.up("--cpu", "2")
    home.shunter("wait", "kept-0", "kept-1", "kept-2")


def test_sigterm_leaves_tasks_alone(home: Cluster, gate: Gate) -> None:
    """R-12: as a supervisor would restart the manager."""
    home.up("--cpu", "2")
    home.shunter("run", "--detach", "--name", "unmoved", "--", *gate.command)
    [arrival] = gate.reached()
    pid = int(home.description["pid"])
    os.kill(pid, signal.SIGTERM)
    eventually(lambda: not is_alive(pid), "the manager ends")
    assert is_alive(arrival.pid)
    home.up("--cpu", "2")
    gate.open()
    home.shunter("wait", "unmoved")
    assert len(gate.arrivals) == 1


def test_a_killed_keepers_task_is_ended_and_runs_again(home: Cluster, gate: Gate) -> None:
    """D-25, C-17: without its keeper nobody would know a task's result: it is lost, and run anew. Never two at once."""
    home.up("--cpu", "2")
    home.shunter("submit", "-f", "-", stdin=as_yaml(job("orphaned", gate.command)))
    [first] = gate.reached()
    home.until("orphaned", "running")
    keeper = parent_of(first.pid)
    os.kill(keeper, signal.SIGKILL)
    [_, second] = gate.reached(2)
    assert not is_alive(first.pid)
    gate.open()
    home.shunter("wait", "orphaned")
    [task] = home.items("tasks", "orphaned")
    assert (task["state"], task["attempt"], task["lost"], task["restarts"]) == ("succeeded", 2, 1, 0)
    assert second.attempt == 2
    [node] = home.items("nodes")
    assert node["reserved"]["cpu"] == "0"


def test_a_task_that_is_lost_again_and_again_fails_with_that_reason(home: Cluster, gate: Gate) -> None:
    """D-25: a task under which two keepers die is given up."""
    home.up("--cpu", "2")
    home.shunter("submit", "-f", "-", stdin=as_yaml(job("cursed", gate.command)))
    for attempt in (1, 2):
        arrival = gate.reached(attempt)[-1]
        os.kill(parent_of(arrival.pid), signal.SIGKILL)
    home.shunter("wait", "cursed", code=1)
    [task] = home.items("tasks", "cursed")
    assert (task["state"], task["attempt"], task["exit_code"]) == ("failed", 2, None)
    assert "its keeper died twice while it ran" in task["reason"]


def test_everything_killed_at_once_is_cleaned_up_by_the_next_start(home: Cluster, gate: Gate) -> None:
    """R-12: as after a power cut, but for the tasks that went on without a keeper: they are found and ended."""
    home.up("--cpu", "2")
    home.shunter("submit", "-f", "-", stdin=as_yaml(job("cut", gate.command, count=2)))
    first = gate.reached(2)
    home.kill_manager()
    for keeper in {parent_of(arrival.pid) for arrival in first}:
        os.kill(keeper, signal.SIGKILL)
    assert all(is_alive(arrival.pid) for arrival in first)
    home.up("--cpu", "2")
    gate.reached(4)
    assert not any(is_alive(arrival.pid) for arrival in first)
    gate.open()
    home.shunter("wait", "cut")
    assert [task["attempt"] for task in home.items("tasks", "cut")] == [2, 2]


def test_the_next_manager_has_a_newer_epoch(home: Cluster) -> None:
    """R-12: an older manager that wakes up would be refused."""
    epochs = []
    for _ in range(2):
        home.up("--cpu", "2")
        epochs.append(home.json("cluster")["epoch"])
        home.kill_manager()
    assert epochs[0] < epochs[1]
    home.up("--cpu", "2")
    with Rest(home).stream("/events?follow=true&after=0") as lines:
        events = events_of(lines)
        assert [next(events)["type"] for _ in range(2)] == ["cluster.format_raised", "node.joined"]


def parent_of(pid: int) -> int:
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def indexes(tasks: str) -> range:
    first, _, last = tasks.partition("-")
    return range(int(first), int(last or first) + 1)
