"""Slots on several busy nodes, and testbeds next to each other; the workers are separate processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster, eventually
from tests.e2e.remote import RemoteCluster
from tests.e2e.task_gates import Gate
from tests.e2e.test_objects import apply, command, got, queue, testbed

NODES = ("left", "right")


@pytest.fixture
def nodes(make_home: Callable[[], Cluster]) -> Iterator[Cluster]:
    """Two nodes, each with a label of its own and one that both have."""
    remote = RemoteCluster(make_home, timeout="20s")
    remote.start_manager()
    for number, name in enumerate(NODES):
        remote.add_worker(name, "--cpu", "1")
        remote.manager.shunter("node", "label", name, f"bench={number}", f"{name}=0")
    yield remote.manager
    remote.close()


def running(cluster: Cluster, job: str) -> dict[str, str]:
    """Where its tasks run."""
    return {task["name"]: task["node"] for task in cluster.items("tasks", job) if task["state"] == "running"}


def test_executors_run_on_the_nodes_of_their_slots_while_other_work_fills_the_rest(nodes: Cluster, gate: Gate) -> None:
    """S0-15."""
    apply(nodes, testbed(), command("a", *gate.command), command("b", *gate.command))
    eventually(lambda: len(got(nodes, "tb", "bench")["status"]["slots"]) == 4, "the slots are there")
    nodes.shunter("run", "--detach", "--name", "fill", "--count", "9", "--cpu", "400m", "--", "sleep", "600")
    filled = eventually(lambda: found if len(found := running(nodes, "fill")) == 4 else None, "the rest is full")
    apply(nodes, queue("first", "a", "b", "b", "a"))
    gate.reached(4)
    eventually(lambda: states(nodes) == {"OCCUPIED"}, "all slots are used")
    assert running(nodes, "bj.a") == {"bj.a/0": "left", "bj.a/1": "right"}
    assert running(nodes, "bj.b") == {"bj.b/0": "right", "bj.b/1": "left"}
    assert running(nodes, "fill") == filled  # nobody had to go for them
    gate.open()
    nodes.shunter("stop", "fill", "--now")


def test_testbeds_on_different_nodes_run_at_the_same_time_without_interfering(nodes: Cluster, tmp_path: Path) -> None:
    """S0-22."""
    gates = {name: Gate(tmp_path, name) for name in NODES}
    for name in NODES:
        apply(
            nodes, testbed(name, label=name), command(f"on-{name}", *gates[name].command),
            queue(name, f"on-{name}", f"on-{name}", testbed=name),
        )  # fmt: skip
    for name in NODES:
        gates[name].reached(2)
        eventually(lambda name=name: set(running(nodes, f"bj.on-{name}").values()) == {name}, "they run")  # type: ignore[misc]
    before = [got(nodes, kind, name) for kind, name in (("tb", "right"), ("bj", "on-right"))]
    nodes.shunter("delete", "sched", "left", "--wait")
    nodes.shunter("delete", "tb", "left", "--wait")
    after = [got(nodes, kind, name) for kind, name in (("tb", "right"), ("bj", "on-right"))]
    assert after == before  # their versions too: nobody wrote to them
    gates["right"].open()
    eventually(lambda: got(nodes, "sched", "right")["status"]["state"] == "CompletedState", "the other completes")
    gates["left"].open()


def states(cluster: Cluster) -> set[str]:
    return {slot["state"] for slot in got(cluster, "tb", "bench")["status"]["slots"]}
