"""Jobs with an image, on a real cluster and a private Docker daemon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cluster import Cluster, eventually
from tests.e2e.manifests import as_yaml, job, shell
from tests.services.docker_daemon import EXCEED_MEMORY, IMAGE, TestDaemon


@pytest.fixture
def home(make_home: Any, docker: TestDaemon) -> Iterator[Cluster]:
    """A home in which nothing runs yet; at the end no container is left of it."""
    cluster: Cluster = make_home()
    cluster.environment["DOCKER_HOST"] = docker.host
    yield cluster
    cluster.down()
    assert containers(cluster, docker) == []


def containers(cluster: Cluster, docker: TestDaemon) -> list[dict[str, Any]]:
    """Those of this home, whatever their state."""
    home_id = (cluster.home / "worker" / "docker" / "id").read_text()
    found = docker.call("GET", "containers/json", all="1")
    return [each for each in found if each["Labels"].get("shunter.home") == home_id]


def test_a_job_with_an_image_runs_in_containers(home: Cluster, docker: TestDaemon) -> None:
    """C-01, C-13: image, limits and arrays: the result and the output are those of the containers, which are gone."""
    home.up("--cpu", "2")
    [node] = home.items("nodes")
    assert node["attributes"]["runtime.docker"]
    script = (
        'echo "$SHUNTER_TASK_INDEX of $SHUNTER_TASK_COUNT in $(cat /etc/passwd | head -n 1)"; exit $SHUNTER_TASK_INDEX'
    )
    document = shell("boxes", script, image=IMAGE, network="none", count=2, resources={"cpu": 1, "memory": "64Mi"})
    home.shunter("submit", "-f", "-", "--wait", stdin=as_yaml(document), code=1)
    assert {task["index"]: task["exit_code"] for task in home.items("tasks", "boxes")} == {0: 0, 1: 1}
    assert home.shunter("logs", "boxes/1").out == "1 of 2 in root:x:0:0:root:/:/bin/sh\n"
    eventually(lambda: not containers(home, docker), "the containers are removed")


def test_a_container_over_its_memory_limit_fails_with_that_reason(home: Cluster) -> None:
    """C-22: a container over its memory limit is killed and failed with that reason."""
    home.up("--cpu", "2")
    document = job("hungry", EXCEED_MEMORY, image=IMAGE, network="none", resources={"memory": "32Mi"})
    home.shunter("submit", "-f", "-", "--wait", stdin=as_yaml(document), code=1)
    [task] = home.items("tasks", "hungry")
    assert (task["state"], task["exit_code"], task["reason"]) == ("failed", 137, "memory limit of 32Mi")


def test_containers_survive_a_killed_cluster_and_are_found_again(
    home: Cluster, docker: TestDaemon, tmp_path: Path
) -> None:
    """C-13, R-12: kill -9 while a container runs: it goes on, and its result and whole output are there afterwards."""
    gate = tmp_path / "gate"
    gate.mkdir()
    home.up("--cpu", "2")
    script = "echo before; until [ -e /gate/open ]; do sleep 0.05; done; echo after"
    mounts = [{"source": str(gate), "target": "/gate"}]
    document = shell("lasting", script, image=IMAGE, network="none", mounts=mounts)
    home.shunter("submit", "-f", "-", stdin=as_yaml(document))
    eventually(lambda: home.shunter("logs", "lasting").out == "before\n", "the log is followed")
    [before] = containers(home, docker)
    home.kill_manager()
    home.up("--cpu", "2")
    (gate / "open").touch()
    home.shunter("wait", "lasting")
    assert home.shunter("logs", "lasting").out == "before\nafter\n"
    [task] = home.items("tasks", "lasting")
    assert (task["state"], task["attempt"]) == ("succeeded", 1)
    eventually(lambda: not containers(home, docker), f"{before['Names']} is removed")


def test_an_array_of_containers_survives_being_killed_again_and_again(home: Cluster, docker: TestDaemon) -> None:
    """R-12: kill -9 in the middle of starts, ends and removals: each task ends once, with its whole output."""
    home.up("--cpu", "3")
    script = "echo begin $SHUNTER_TASK_INDEX; sleep 0.3; echo end $SHUNTER_TASK_INDEX"
    document = shell("array", script, image=IMAGE, network="none", count=12)
    home.shunter("submit", "-f", "-", stdin=as_yaml(document))
    for done in (1, 4, 7):
        with home.client() as client:
            found = client.job("array")
            eventually(lambda: found.refresh().counts.get("succeeded", 0) >= done, f"{done} have ended")  # noqa: B023
        home.kill_manager()
        home.up("--cpu", "3")
    home.shunter("wait", "array")
    assert home.json("job", "array")["counts"] == {"succeeded": 12}
    for index in range(12):
        assert home.shunter("logs", f"array/{index}").out == f"begin {index}\nend {index}\n"
    eventually(lambda: not containers(home, docker), "the containers are removed")


def test_down_stops_containers_and_up_runs_them_again(home: Cluster, docker: TestDaemon) -> None:
    """C-13: a cluster that stops leaves no container; its task was lost, not failed."""
    home.up("--cpu", "2")
    script = "[ $SHUNTER_ATTEMPT = 2 ] || exec sleep 600"
    home.shunter("submit", "-f", "-", stdin=as_yaml(shell("again", script, image=IMAGE, network="none")))
    home.until("again", "running")
    eventually(lambda: [each["State"] for each in containers(home, docker)] == ["running"], "the container runs")
    home.down()
    assert containers(home, docker) == []
    home.up("--cpu", "2")
    home.shunter("wait", "again")
    [task] = home.items("tasks", "again")
    assert (task["state"], task["attempt"]) == ("succeeded", 2)


def test_without_a_daemon_a_job_with_an_image_waits_and_says_why(make_home: Any, tmp_path: Path) -> None:
    home: Cluster = make_home()
    home.environment["DOCKER_HOST"] = f"unix://{tmp_path}/none.sock"
    home.up("--cpu", "2")
    home.shunter("submit", "-f", "-", stdin=as_yaml(job("waits", image="busybox")))
    eventually(lambda: "has no docker runtime" in home.shunter("why", "waits", code=None).out, "the reason is told")
    home.shunter("stop", "waits")
