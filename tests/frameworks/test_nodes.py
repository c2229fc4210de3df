"""An application over several machines: each executor runs on the node of its slot, and finds the driver from there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.remote import RemoteCluster
from tests.frameworks.expected_results import as_lines, word_counts
from tests.frameworks.framework_cluster import Yard

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_each_executor_runs_on_the_node_of_its_slot(make_home: Callable[[], Cluster], jars: Path) -> None:
    """S1-16: slots are numbered breadth-first, so that the first two are on two nodes."""
    remote = RemoteCluster(make_home, timeout="30s")
    remote.start_manager()
    for number, name in enumerate(("north", "south")):
        remote.add_worker(name, "--cpu", "2", "--label", f"yard={number}")
    yard = Yard(remote.manager, jars)
    yard.apply(yard.manifest("testbed"))
    ended = yard.run("flink-words")
    assert ended["status"]["state"] == "CompletedState", yard.complaints("flink-words")
    nodes = {task["name"]: task["node"] for task in yard.tasks("flink-words")}
    assert nodes["bj.flink-words/executor/0"] == "north"
    assert nodes["bj.flink-words/executor/1"] == "south"
    assert yard.output("flink-words") == as_lines(word_counts())
    remote.close()
