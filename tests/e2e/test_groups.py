"""Jobs of several groups, and workloads from their creation to their end, by REST and by the command line."""

from __future__ import annotations

import sys
from typing import Any

from tests.e2e.cluster import Cluster, eventually
from tests.e2e.manifests import as_yaml, in_namespace, job
from tests.e2e.rest import Rest

SAY = ["/bin/sh", "-c", 'echo "$SHUNTER_GROUP/$SHUNTER_TASK_INDEX of $SHUNTER_TASK_COUNT: $TONE $COLOUR"']
SLEEP = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(3600)"]


def grouped(name: str, *groups: dict[str, Any], **spec: Any) -> dict[str, Any]:
    document = job(name, **spec)
    del document["spec"]["command"]
    document["spec"]["groups"] = list(groups)
    return document


def test_two_groups_of_three_are_six_tasks_in_the_datacenter_that_the_job_names(cluster: Cluster) -> None:
    """C-03: tasks in groups with a count each, the datacenters that may be used; a batch job ends."""
    [node] = cluster.items("nodes")
    groups = ({"name": "left", "command": SAY}, {"name": "right", "command": SAY})
    here = grouped("shop", *groups, count=3, datacenters=[node["datacenter"]], resources={"cpu": "100m"})
    cluster.shunter("submit", "-f", "-", "--wait", stdin=as_yaml(here))
    tasks = cluster.items("tasks", "shop")
    assert [task["name"] for task in tasks] == [f"shop/{side}/{n}" for side in ("left", "right") for n in range(3)]
    assert cluster.json("job", "shop")["state"] == "succeeded"

    elsewhere = grouped("abroad", *groups, datacenters=["mars"])
    cluster.shunter("submit", "-f", "-", stdin=as_yaml(elsewhere))
    assert "datacenter is not mars" in cluster.shunter("why", "abroad").out
    assert cluster.json("job", "abroad")["counts"] == {"queued": 2}
    cluster.shunter("stop", "abroad")


def test_fields_of_the_job_hold_for_all_groups_unless_a_group_says_otherwise(cluster: Cluster) -> None:
    """C-25: seen by the tasks themselves."""
    document = grouped(
        "tones",
        {"name": "plain", "command": SAY},
        {"name": "loud", "command": SAY, "count": 1, "env": {"TONE": "loud"}},
        count=2,
        env={"TONE": "soft", "COLOUR": "red"},
    )
    cluster.shunter("submit", "-f", "-", "--wait", stdin=as_yaml(document))
    assert cluster.shunter("logs", "tones/plain/1").out == "plain/1 of 2: soft red\n"
    assert cluster.shunter("logs", "tones/loud/0").out == "loud/0 of 1: loud red\n"


def test_a_workload_is_created_read_updated_and_deleted_by_rest_and_by_the_command_line(cluster: Cluster) -> None:
    """R-21: with its instances, in a namespace of its own; tenants are namespaces until there are more of them."""
    rest = Rest(cluster)
    update = {"healthy_for": "100ms"}
    web = in_namespace("films", job("web", SLEEP, type="service", update=update, resources={"cpu": "100m"}))
    assert rest.ask("POST", "/jobs", web).status == 201
    path = "/jobs/web?namespace=films"
    eventually(lambda: rest.ask("GET", path).json["counts"] == {"running": 1}, "one instance runs")
    assert rest.ask("GET", "/jobs/web").status == 404

    web["spec"]["count"] = 2
    cluster.shunter("update", "-f", "-", "--wait", stdin=as_yaml(web))
    listed = rest.ask("GET", "/jobs/web/tasks?namespace=films").json["items"]
    assert [(task["name"], task["state"]) for task in listed] == [("web/0", "running"), ("web/1", "running")]
    assert [job["name"] for job in cluster.items("jobs", "-n", "films")] == ["web"]

    assert rest.ask("DELETE", path).status == 204
    eventually(lambda: rest.ask("GET", path).json["state"] == "cancelled", "it has ended")
