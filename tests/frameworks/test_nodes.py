"""An application over several machines: each executor runs on the node of its slot, and finds the driver from there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.remote import RemoteCluster
from tests.frameworks.expected_results import as_lines, word_counts
from tests.frameworks.framework_cluster import FrameworkCluster

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_each_executor_runs_on_the_node_of_its_slot(make_home: Callable[[], Cluster], jars: Path) -> None:
    """S1-02, S1-16, S1-30: a jar of Java. Slots are numbered breadth-first, so that the first two are on two nodes."""
    remote = RemoteCluster(make_home, timeout="30s")
    remote.start_manager()
    for number, name in enumerate(("north", "south")):
        remote.add_worker(name, "--cpu", "2", "--label", f"bench={number}")
    framework_cluster = FrameworkCluster(remote.manager, jars)
    framework_cluster.apply(framework_cluster.manifest("testbed"))
    ended = framework_cluster.run("flink-words")
    assert ended["status"]["state"] == "CompletedState", framework_cluster.stderr("flink-words")
    nodes = {task["name"]: task["node"] for task in framework_cluster.tasks("flink-words")}
    assert nodes["bj.flink-words/executor/0"] == "north"
    assert nodes["bj.flink-words/executor/1"] == "south"
    assert framework_cluster.stdout("flink-words") == as_lines(word_counts())
    remote.close()
