"""`shunter down --cluster` with a process for each role: workers stop first, then watchers, then the other managers."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from shunter.model.rest.manager_views import API, SCHEDULER, WATCHER
from tests.manager_cluster import SHUNTER, ManagerCluster, manager_cluster, shared_folder, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PROCESSES = {"a1": API, "s1": SCHEDULER, "s2": SCHEDULER, "v1": WATCHER, "v2": WATCHER}


@pytest.fixture
def folder() -> Iterator[Path]:
    with shared_folder() as folder:
        yield folder


@pytest.fixture
def cluster(folder: Path) -> Iterator[ManagerCluster]:
    with manager_cluster(folder, managers=0, workers=2, roles=PROCESSES) as cluster:
        with cluster.client() as client:
            client.run(["/bin/sleep", "600"], count=4, name="sleeps")
            wait_for(lambda: client.job("sleeps").counts == {"running": 4}, "the tasks")
        yield cluster


@pytest.mark.smoke
@pytest.mark.parametrize("asked", ["a1", "v1"])
def test_everything_stops_whichever_manager_is_asked(cluster: ManagerCluster, folder: Path, asked: str) -> None:
    result = down(folder / asked)
    assert (result.returncode, result.stdout, result.stderr) == (0, "cluster stopped\n", ""), cluster.log_of(asked)
    for name, process in list(cluster.processes.items()):
        assert process.wait(30) == 0, cluster.log_of(name)
        del cluster.processes[name]
    cluster.start("a1", "s1")
    cluster.wait_until_managers_answer()
    with cluster.client() as client:
        assert client.job("sleeps").counts == {"queued": 4}, "their workers have stopped them and said so"


def test_what_cannot_be_stopped_is_named(cluster: ManagerCluster, folder: Path) -> None:
    follower = next(name for name in ("s1", "s2") if name != cluster.wait_for_leader())
    stopped = (follower, "w2")
    for name in stopped:
        cluster.send(name, signal.SIGSTOP)
    result = down(folder / "a1")
    assert result.returncode == 1
    lines = result.stderr.splitlines()
    assert any(line.startswith(f"not stopped: manager {follower}: ") for line in lines), result.stderr
    assert any(line.startswith("not stopped: worker w2: ") for line in lines), result.stderr
    assert len(lines) == 2, result.stderr
    for name in cluster.processes.keys() - set(stopped):
        assert cluster.processes.pop(name).wait(30) == 0, cluster.log_of(name)


def down(home: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SHUNTER_HOME": str(home)}
    command = [str(SHUNTER), "down", "--cluster", "--yes"]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
