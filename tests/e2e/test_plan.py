"""Plans and explanations on a real cluster predict what happens."""

from __future__ import annotations

from tests.e2e.cluster import Cluster, eventually
from tests.e2e.manifests import as_yaml, job
from tests.e2e.task_gates import Gate


def test_a_plan_says_by_its_exit_code_whether_everything_would_start(cluster: Cluster, gate: Gate) -> None:
    """U-04: 0 when all would start, 1 when something would wait, 2 when it would be refused; nothing is done."""
    small, large = as_yaml(job("small", count=2)), as_yaml(job("large", count=3))
    told = cluster.shunter("plan", "-f", "-", stdin=small, code=0).out
    assert "All tasks would start now: 2 tasks" in told
    assert (
        "2 of 3 tasks would start now, 1 would stay pending"
        in cluster.shunter("plan", "-f", "-", stdin=large, code=1).out
    )
    assert "command" in cluster.shunter("plan", "-f", "-", stdin=small.replace("command", "comand"), code=2).err
    assert cluster.items("jobs") == []
    cluster.shunter("run", "--detach", "--name", "busy", "--count", "2", "--", *gate.command)
    gate.reached(2)
    cluster.shunter("plan", "-f", "-", stdin=small, code=1)
    gate.open()
    cluster.shunter("wait", "busy")
    cluster.shunter("plan", "-f", "-", stdin=small, code=0)
    cluster.shunter("submit", "-f", "-", "--wait", stdin=small, code=0)


def test_why_says_what_would_start_a_job_and_when_and_it_does(cluster: Cluster, gate: Gate) -> None:
    """U-03: as a person reads it, and as a program does."""
    cluster.shunter("run", "--detach", "--name", "holder", "--timeout", "10m", "--", *gate.command)
    gate.reached(1)
    cluster.shunter("run", "--detach", "--name", "wide", "--cpu", "2", "--", "true")
    told = cluster.shunter("why", "wide").out
    assert "cpu 2 → 1 fits 1 node  (spec.resources.cpu)" in told
    assert "because its timeout.run is 10m00s" in told
    found = cluster.json("why", "wide")["suggestions"]
    [suggestion] = [each for each in found if each["field"] == "spec.resources.cpu"]
    assert (suggestion["before"], suggestion["after"], suggestion["starts"]) == ("2", "1", 1)
    cluster.shunter("stop", "wide")
    cluster.shunter("run", "--name", "wide", "--cpu", suggestion["after"], "--", "true", code=0)
    gate.open()
    eventually(lambda: cluster.json("job", "holder")["state"] == "succeeded", "holder ends")
