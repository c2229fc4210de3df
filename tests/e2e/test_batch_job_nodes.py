"""BatchJobs whose nodes are lost or drained while they run; the workers are separate processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cluster import Cluster, eventually
from tests.e2e.remote import RemoteCluster
from tests.e2e.task_gates import Gate
from tests.e2e.test_objects import apply, command, got, queue, testbed
from tests.e2e.test_stomp import ONE, endpoint, stomp_py

NODES = ("left", "right")
__all__ = ["endpoint"]  # a fixture


@pytest.fixture
def remote(make_home: Callable[[], Cluster], endpoint: str) -> Iterator[RemoteCluster]:
    """Two labelled nodes, which are soon down when they are silent."""
    running = RemoteCluster(make_home, timeout="2s")
    running.start_manager("--external-listen", endpoint)
    for number, name in enumerate(NODES):
        running.add_worker(name, "--cpu", "1")
        running.manager.shunter("node", "label", name, f"bench={number}")
    yield running
    running.close()


def status(cluster: Cluster, kind: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = got(cluster, kind, name)["status"]
    return found


def until(cluster: Cluster, kind: str, name: str, state: str) -> dict[str, Any]:
    eventually(lambda: status(cluster, kind, name)["state"] == state, f"{name} is in {state}")
    return status(cluster, kind, name)


def slot_states(cluster: Cluster) -> list[str]:
    return [slot["state"] for slot in status(cluster, "tb", "bench")["slots"]]


def test_a_run_that_loses_a_node_fails_as_a_whole_and_nothing_of_it_runs_again(
    remote: RemoteCluster, endpoint: str, gate: Gate
) -> None:
    """kill -9 of one worker with its keepers and its task."""
    cluster = remote.manager
    with stomp_py(endpoint, cluster.token) as received:
        received.until(connected=True)
        apply(cluster, testbed(slots=1), command("crawler", *gate.command), queue("first", "crawler", "crawler"))
        gate.reached(2)
        until(cluster, "bj", "crawler", "RunningState")
        remote.workers["right"].kill_machine()
        failed = until(cluster, "bj", "crawler", "FailedSubmissionState")
        [reason] = failed["problems"]
        assert reason.startswith("executor 1 was lost: node right is down: ")
        assert reason in status(cluster, "sched", "first")["problems"][0]
        while (told := received.until(topic=ONE)[-1]["resource"])["state"] != "FailedSubmissionState":
            pass
        assert told["problems"] == [reason]
    [run] = failed["scheduledEvents"]
    assert run["successful"] is False and run["stop"] is not None
    eventually(lambda: slot_states(cluster) == ["FREE", "ERROR"], "the survivor was stopped")
    remote.workers["right"].start()
    eventually(lambda: slot_states(cluster) == ["FREE", "FREE"], "the node is back")
    assert sorted((each.index, each.attempt) for each in gate.arrivals) == [(0, 1), (1, 1)]
    assert status(cluster, "bj", "crawler")["scheduledEvents"] == [run]
    cluster.shunter("delete", "sched", "first", "--wait")
    gate.open()
    apply(cluster, queue("second", "crawler", "crawler"))
    until(cluster, "sched", "second", "CompletedState")


def test_a_run_restarts_as_a_whole_when_its_node_is_back_if_it_says_so(remote: RemoteCluster, tmp_path: Path) -> None:
    cluster, gate = remote.manager, Gate(tmp_path, "again")
    pair = command("crawler", *gate.command)
    pair["spec"]["onNodeLoss"] = "restart"
    apply(cluster, testbed(slots=1), pair, queue("first", "crawler", "crawler"))
    gate.reached(2)
    until(cluster, "bj", "crawler", "RunningState")
    remote.workers["right"].kill_machine()
    until(cluster, "bj", "crawler", "InQueueState")
    assert "slot" in status(cluster, "sched", "first")["waitsFor"]
    remote.workers["right"].start()
    again = gate.reached(4)[2:]
    assert sorted((each.index, each.attempt) for each in again) == [(0, 1), (1, 1)]
    until(cluster, "bj", "crawler", "RunningState")
    gate.open()
    until(cluster, "sched", "first", "CompletedState")
    done = status(cluster, "bj", "crawler")
    assert [run["successful"] for run in done["scheduledEvents"]] == [False, True]
    assert done["restarts"] == 1


def test_a_drain_with_a_deadline_ends_the_run_with_the_reason(remote: RemoteCluster, gate: Gate) -> None:
    cluster = remote.manager
    apply(cluster, testbed(slots=1), command("crawler", *gate.command), queue("first", "crawler", "crawler"))
    gate.reached(2)
    until(cluster, "bj", "crawler", "RunningState")
    cluster.shunter("node", "drain", "right", "--deadline", "1s")
    failed = until(cluster, "bj", "crawler", "FailedSubmissionState")
    assert failed["problems"] == ["executor 1 was stopped: node right is draining and its deadline has passed"]
    eventually(lambda: slot_states(cluster) == ["FREE", "ERROR"], "all executors have ended")
    assert len(gate.arrivals) == 2
    gate.open()
