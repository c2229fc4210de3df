"""Shunter Jobs as pods on a real kubelet: `shunter manager --kubernetes`, used by the command line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.cluster import Cluster, eventually
from tests.kube.kube_cluster import NODE, Document, Kube
from tests.kube.test_placement import foreign

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
IMAGE = "localhost/busybox:1"


class PodCluster(Cluster):
    """Its tasks are pods in the namespace of the test, made with the permissions of the account for it."""

    def __init__(self, home: Path, kube: Kube) -> None:
        super().__init__(home)
        self.kube = kube
        for name in ("KUBECONFIG", "PATH"):
            self.environment[name] = os.environ[name]

    def up(self, *options: str) -> Any:
        words = ("--kubernetes", "--image", IMAGE, "--pod-namespace", self.kube.namespace)
        account = ("--kubeconfig", str(self.kube.kubeconfig("shunter-jobs")))
        found = self.shunter("manager", "--detach", *words, *account, *options)
        eventually(lambda: self.items("nodes", "--state", "ready"), "a node is ready")
        return found

    def pods(self) -> list[str]:
        return sorted(self.kube.pods())


@pytest.fixture
def cluster(kube: Kube, tmp_path: Path) -> Iterator[PodCluster]:
    running = PodCluster(tmp_path / "home", kube)
    running.up()
    yield running
    running.stop_everything()
    running.down()
    running.kill_all()


@pytest.mark.smoke
def test_a_command_runs_as_a_pod_with_its_output_and_exit_code(cluster: PodCluster) -> None:
    done = cluster.shunter(
        "run", "--cpu", "100m", "--", "sh", "-c", "echo $SHUNTER_NODE; echo wrong >&2; exit 3", code=3
    )
    assert sorted(done.out.split()) == sorted([NODE, "wrong"])  # Kubernetes has one stream for both
    eventually(lambda: cluster.pods() == [], "the pod is removed when its result is stored")
    [job] = cluster.items("jobs")
    assert NODE in cluster.shunter("logs", job["name"]).out


def test_an_array_runs_every_index_once(cluster: PodCluster) -> None:
    script = "echo $SHUNTER_TASK_INDEX of $SHUNTER_TASK_COUNT"
    cluster.shunter("run", "--name", "array", "--count", "20", "--cpu", "50m", "--", "sh", "-c", script)
    printed = [cluster.shunter("logs", f"array/{index}").out.strip() for index in range(20)]
    assert printed == [f"{index} of 20" for index in range(20)]
    assert {task["attempt"] for task in cluster.items("tasks", "array")} == {1}


def test_limits_and_failed_starts_give_their_reasons(cluster: PodCluster) -> None:
    grow = "a=x; while true; do a=$a$a; done"
    cases = {
        ("--memory", "20Mi", "--", "sh", "-c", grow): (137, "memory limit of 20Mi"),
        ("--timeout", "2s", "--", "sleep", "600"): (143, "exceeded its timeout of 2s"),
        ("--", "nosuchprogram"): (127, "executable file not found"),
        ("--image", "localhost/nosuchimage:1", "--", "true"): (126, "ErrImagePull|ImagePullBackOff"),
    }
    for words, (code, reason) in cases.items():
        done = cluster.shunter("run", "--cpu", "100m", *words, code=code)
        assert any(each in done.err for each in reason.split("|")), done


def test_a_failed_task_is_restarted_and_a_stopped_one_gets_its_grace(cluster: PodCluster) -> None:
    script = 'echo attempt $SHUNTER_ATTEMPT; test "$SHUNTER_ATTEMPT" = 3'
    cluster.shunter("run", "--name", "flaky", "--cpu", "100m", "--retries", "5", "--", "sh", "-c", script)
    [task] = cluster.items("tasks", "flaky")
    assert (task["state"], task["attempt"]) == ("succeeded", 3)
    polite = 'trap "echo bye; exit 7" TERM; echo ready; while true; do sleep 0.1; done'
    cluster.shunter("run", "--name", "polite", "--detach", "--cpu", "100m", "--", "sh", "-c", polite)
    eventually(lambda: "ready" in cluster.shunter("logs", "polite").out, "it prints")
    cluster.shunter("stop", "polite")
    cluster.shunter("wait", "polite", code=None)
    assert "bye" in cluster.shunter("logs", "polite").out
    [task] = cluster.items("tasks", "polite")
    assert (task["state"], task["exit_code"]) == ("cancelled", 7)


@pytest.mark.smoke
def test_pods_outlive_a_manager_that_is_killed_and_nothing_runs_twice(cluster: PodCluster) -> None:
    script = "echo begin; while [ ! -e /tmp/go ]; do sleep 0.1; done; echo end; exit 5"
    cluster.shunter("run", "--name", "long", "--detach", "--cpu", "100m", "--", "sh", "-c", script)
    eventually(lambda: "begin" in cluster.shunter("logs", "long").out, "it runs")
    [pod] = cluster.pods()
    cluster.kill_manager()
    cluster.kube("exec", pod, "--", "touch", "/tmp/go")  # it ends while nobody looks
    cluster.kube.wait(lambda: cluster.kube.get("pod", pod)["status"]["phase"] == "Failed")
    cluster.up()
    cluster.shunter("wait", "long", code=1)
    [task] = cluster.items("tasks", "long")
    assert (task["attempt"], task["exit_code"]) == (1, 5)
    assert cluster.shunter("logs", "long").out.split() == ["begin", "end"]


def test_a_pod_that_somebody_deletes_is_lost_and_runs_again(cluster: PodCluster) -> None:
    script = 'test "$SHUNTER_ATTEMPT" = 2 || sleep 600'
    cluster.shunter("run", "--name", "victim", "--detach", "--cpu", "100m", "--", "sh", "-c", script)
    cluster.kube.wait(lambda: [each["status"]["phase"] for each in cluster.kube.pods().values()] == ["Running"])
    cluster.kube("delete", "pod", *cluster.pods())
    cluster.shunter("wait", "victim")
    [task] = cluster.items("tasks", "victim")
    assert (task["state"], task["attempt"]) == ("succeeded", 2)


def test_requests_of_other_pods_are_not_there_for_tasks(cluster: PodCluster) -> None:
    cpu = int(cluster.kube.get("node", NODE)["status"]["allocatable"]["cpu"])
    cluster.kube.apply(foreign("other", f"{cpu * 1000 - 300}m"))
    eventually(lambda: "300m" in [each["capacity"]["cpu"] for each in cluster.items("nodes")], "the room is taken")
    cluster.shunter("run", "--name", "waits", "--detach", "--cpu", "500m", "--", "echo", "there", "is", "room")
    assert "cpu" in cluster.shunter("why", "waits").out
    cluster.kube("delete", "pod", "other", "--now")
    cluster.shunter("wait", "waits")


def test_a_service_is_healthy_by_each_kind_of_check_and_is_replaced_when_it_is_not(cluster: PodCluster) -> None:
    script = "mkdir -p /tmp/www && echo fine >/tmp/www/index.html && exec httpd -f -p $SHUNTER_PORT_WEB -h /tmp/www"
    checks: list[Document] = [
        {"http": "/index.html", "port": "web"},
        {"tcp": "web"},
        {"command": ["test", "-e", "/tmp/www/index.html"]},
    ]
    health = [{**each, "interval": "1s", "failures": 2} for each in checks]
    spec = {
        "type": "service",
        "command": ["sh", "-c", script],
        "image": IMAGE,
        "resources": {"cpu": "100m"},
        "ports": [{"name": "web", "port": 8080}],
        "health": health,
    }
    document = {"apiVersion": "shunter.dev/v1", "kind": "Job", "metadata": {"name": "web"}, "spec": spec}
    cluster.shunter("submit", "-f", "-", stdin=yaml.safe_dump(document))
    eventually(lambda: healthy(cluster) == [1], "it is healthy")
    [pod] = cluster.pods()
    cluster.kube("exec", pod, "--", "rm", "/tmp/www/index.html")
    eventually(lambda: healthy(cluster) not in ([], [1]), "another attempt is healthy")
    cluster.shunter("stop", "web")


def healthy(cluster: PodCluster) -> list[int]:
    """Attempts of the service that are healthy."""
    return [each["attempt"] for each in cluster.items("tasks", "web") if each["healthy"]]
