"""Placement by resources, labels, constraints and datacenters, and the explanation of pending tasks."""

from __future__ import annotations

import pytest

from shunter.sdk.manifests import RunOptions
from tests.e2e.cluster import Cluster, eventually
from tests.e2e.manifests import as_yaml, job
from tests.e2e.task_gates import Gate


def test_the_node_is_shown_with_all_that_it_has(cluster: Cluster) -> None:
    """R-05, R-11, C-19: state, role, resources, task count, attributes, the latest sample of the machine."""
    [node] = cluster.items("nodes")
    assert (node["state"], node["eligible"], node["role"]) == ("ready", True, "worker")
    assert node["capacity"]["cpu"] == "2"
    assert node["capacity"].keys() == node["reserved"].keys() >= {"cpu", "memory", "disk"}
    assert node["attributes"].keys() >= {"os", "kernel", "arch", "limits"}
    sample = eventually(lambda: cluster.json("node", "show", node["name"])["stats"], "a sample")
    assert sample["memory_total_bytes"] > sample["memory_available_bytes"] > 0
    assert not cluster.json("node", "show", node["name"])["stats_stale"]
    shown = cluster.shunter("node", "show", node["name"]).out
    assert "cpu 0/2" in shown


def test_what_runs_is_reserved_and_given_back(cluster: Cluster, gate: Gate) -> None:
    """D-15, R-02: reservations count what runs, and nothing is left when it has ended."""
    [node] = cluster.items("nodes")
    options = ["--detach", "--count", "3", "--cpu", "500m", "--memory", "32Mi"]
    name = cluster.shunter("run", *options, "--", *gate.command).out.strip()
    gate.reached(3)
    busy = cluster.json("node", "show", node["name"])
    assert (busy["reserved"]["cpu"], busy["reserved"]["memory"], busy["tasks"]) == ("1500m", "96Mi", 3)
    gate.open()
    cluster.shunter("wait", name)
    idle = cluster.json("node", "show", node["name"])
    assert (set(idle["reserved"].values()), idle["tasks"]) == ({"0"}, 0)


def test_no_more_runs_at_once_than_fits(cluster: Cluster, gate: Gate) -> None:
    """D-23, R-02: two cores run two tasks of one core each; the rest waits and comes after."""
    name = cluster.shunter("run", "--detach", "--count", "6", "--", *gate.command).out.strip()
    gate.reached(2)
    cluster.until(name, "running")
    eventually(lambda: cluster.json("job", name)["counts"] == {"queued": 4, "running": 2}, "two run")
    assert len(gate.arrivals) == 2
    gate.open()
    cluster.shunter("wait", name)
    assert sorted(arrival.index for arrival in gate.arrivals) == list(range(6))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"cpu": 64}, "cpu: needs 64"),
        ({"memory": "900Ti"}, "memory: needs 900Ti"),
        ({"disk": "900Ti"}, "disk: needs 900Ti"),
        ({"resources": {"gpu": 1}}, "gpu"),
        ({"resources": {"licence": 1}}, "licence"),
        ({"datacenters": ["mars"]}, "mars"),
        ({"constraints": ["node.labels.disk == 'ssd'"]}, "node.labels.disk"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_does_not_fit_waits_with_the_reason_and_is_not_lost(
    cluster: Cluster, options: RunOptions, reason: str
) -> None:
    """C-02, C-18, R-02: pending, with what each node lacks; for every kind of resource."""
    with cluster.client() as client:
        job = client.run(["/bin/true"], **options)
        why = job.why()
        assert why.state == "pending"
        assert any(reason in each.text and each.nodes == 1 for each in why.reasons), why
        assert job.refresh().counts == {"queued": 1}
    assert reason in cluster.shunter("why", job.name).out


def test_a_label_lets_a_waiting_job_start(cluster: Cluster) -> None:
    """C-18, R-02: it is placed as soon as something changes; labels are set and taken away by hand."""
    [node] = cluster.items("nodes")
    constraint = "node.labels.disk == 'ssd'"
    name = cluster.shunter("run", "--detach", "--constraint", constraint, "--", "/bin/true").out.strip()
    assert cluster.json("job", name)["state"] == "pending"
    labelled = cluster.shunter("node", "label", node["name"], "disk=ssd", "rack=b7").out
    assert "disk=ssd" in labelled
    cluster.shunter("wait", name)
    assert cluster.json("node", "show", node["name"])["labels"] == {"disk": "ssd", "rack": "b7"}
    cluster.shunter("node", "label", node["name"], "disk-", "rack-")
    assert cluster.json("node", "show", node["name"])["labels"] == {}
    refused = cluster.shunter("node", "label", node["name"], "disk", code=2)
    assert "KEY-" in refused.err
    assert "nobody" in cluster.shunter("node", "label", "nobody", "a=b", code=2).err


def test_a_reason_goes_when_the_way_is_free(cluster: Cluster, gate: Gate) -> None:
    """C-18: a job that waits behind another says so, and runs when that one ends."""
    first = cluster.shunter("run", "--detach", "--cpu", "2", "--", *gate.command).out.strip()
    gate.reached()
    second = cluster.shunter("run", "--detach", "--cpu", "1500m", "--", "/bin/true").out.strip()
    assert "cpu: needs 1500m, at most 0 free" in cluster.shunter("why", second).out
    gate.open()
    cluster.shunter("wait", first, second)


def test_more_urgent_jobs_go_first(cluster: Cluster, gate: Gate) -> None:
    """C-05: the order of what waits is by priority, then by age."""
    blocker = cluster.shunter("run", "--detach", "--cpu", "2", "--", *gate.command).out.strip()
    gate.reached()
    names = ("early", "later", "urgent")
    for name, priority in zip(names, (50, 50, 90), strict=True):
        document = job(name, ["/bin/true"], resources={"cpu": 2}, priority=priority)
        cluster.shunter("submit", "-f", "-", stdin=as_yaml(document))
    gate.open()
    cluster.shunter("wait", blocker, *names)
    started = {name: cluster.json("job", name)["started_at"] for name in names}
    assert started["urgent"] < started["early"] < started["later"]


def test_licences_are_counts_of_the_whole_cluster(cluster: Cluster, gate: Gate) -> None:
    """D-19: no more tasks run at once than there are licences; more of them let more tasks start."""
    cluster.shunter("cluster", "set", "licence/matlab=1")
    words = ("--detach", "--name", "licensed", "--count", "2", "--cpu", "100m", "--resource", "licence/matlab=1")
    cluster.shunter("run", *words, "--", *gate.command)
    gate.reached(1)
    assert cluster.json("cluster")["licences"] == {"matlab": {"total": 1, "used": 1}}
    assert cluster.json("job", "licensed")["counts"] == {"running": 1, "queued": 1}
    cluster.shunter("cluster", "set", "licence/matlab=2")
    gate.reached(2)
    gate.open()
    cluster.shunter("wait", "licensed")
    cluster.shunter("cluster", "set", "licence/matlab=none")
    assert cluster.json("cluster")["licences"] == {}
