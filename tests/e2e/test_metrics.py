"""Resource usage of runs: series of nodes and slots over the window of a BatchJob."""

from __future__ import annotations

import sys
from typing import Any

from tests.e2e.cluster import Cluster, eventually
from tests.e2e.manifests import as_yaml
from tests.e2e.rest import Rest

API_VERSION = "batchjob.gcr.io/v1alpha1"
BATCH_JOBS = f"/apis/{API_VERSION}/namespaces/default/batchjobs"
PYTHON = [sys.executable, "-I", "-S", "-c"]
PROGRAMS = {
    "spinner": "while True: pass",
    "sleeper": "import time; time.sleep(600)",
    "holder": "data = bytearray(b'x') * 100_000_000; import time; time.sleep(600)",
}
LIMIT_CORES = 0.3
OVER_LIMIT_CORES = 0.1  # what a keeper may use beside its task, and how exactly a second is met
SAMPLES_MIN = 4
WAIT_S = 60.0


def document(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def manifests() -> list[dict[str, Any]]:
    """Three jobs in the slots 0, 1 and 2 of one node."""
    size = {"cpu": f"{LIMIT_CORES * 1000:.0f}m", "memory": "200Mi"}
    jobs = [{"name": {"name": name}, "slotIds": [slot]} for slot, name in enumerate(PROGRAMS)]
    return [
        document("Testbed", "yard", slotsPerNode=3, nodeLabel="yard", resourcesPerSlot=size),
        *(document("BatchJob", name, commandSpec={"command": [*PYTHON, code]}) for name, code in PROGRAMS.items()),
        document("Scheduling", "first", slotBased={"mode": "strict", "jobs": jobs}, testbed={"name": "yard"}),
    ]


def sampled(series: dict[str, Any]) -> int:
    values = series["metrics"].get("cpu_cores", {"values": []})["values"]
    return sum(value is not None for value in values)


def test_the_window_of_a_run_has_what_its_slots_and_nodes_used(cluster: Cluster) -> None:
    """S0-21: a busy executor is near its limit, a sleeping one near zero, and the memory that one holds is seen; the
    series end with the run."""
    [node] = cluster.items("nodes")
    cluster.shunter("node", "label", node["name"], "yard=0")
    cluster.shunter("apply", "-f", "-", stdin=as_yaml(*manifests()))
    rest = Rest(cluster)

    def window(name: str, query: str = "") -> dict[str, Any]:
        found: dict[str, Any] = rest.ask("GET", f"{BATCH_JOBS}/{name}/metrics{query}").json
        return found

    def is_sampled() -> bool:
        found = [window(name) for name in PROGRAMS]
        return all(each.get("tasks") and sampled(each["tasks"][0]) >= SAMPLES_MIN for each in found)

    eventually(is_sampled, "all three are sampled", WAIT_S)
    cluster.shunter("delete", "scheduling", "first", "--wait")

    found = {name: window(name, "?run=1") for name in PROGRAMS}
    slots = {name: each["tasks"][0] for name, each in found.items()}
    assert [(slot["slot"], slot["node"]) for slot in slots.values()] == [(n, node["name"]) for n in range(3)]
    assert rest.ask("GET", "/external/jobs/spinner/metrics?run=1").json == found["spinner"]
    cpu = {name: slot["metrics"]["cpu_cores"]["mean"] for name, slot in slots.items()}
    memory = {name: slot["metrics"]["memory_bytes"]["max"] for name, slot in slots.items()}
    assert cpu["spinner"] > LIMIT_CORES / 2
    if node["attributes"]["limits"] != "rlimits":
        assert cpu["spinner"] < LIMIT_CORES + OVER_LIMIT_CORES
    assert cpu["sleeper"] < 0.05
    assert 100e6 < memory["holder"] < 200 * 2**20 and memory["sleeper"] < 50e6
    [machine] = found["spinner"]["nodes"]
    assert machine["name"] == node["name"] and machine["metrics"]["cpu_cores"]["max"] > 0
    assert machine["metrics"]["memory_bytes"]["mean"] > memory["holder"]
    assert found["spinner"]["start"] < found["spinner"]["stop"]
    assert window("spinner") == found["spinner"], "it has ended: nothing is added"

    said = cluster.shunter("metrics", "batchjob", "holder", "--run", "1").out
    assert "slot 2" in said and "memory_bytes" in said
    assert "cpu_cores" in cluster.shunter("metrics", "node", node["name"], "--last", "1m").out
    with cluster.client() as client:
        view = client.batch_job_metrics("holder")
        assert view.run == 1 and view.tasks[0].metrics["memory_bytes"].max == memory["holder"]
    assert rest.ask("GET", f"{BATCH_JOBS}/spinner/metrics?run=2").status == 404


def test_an_ordinary_task_has_metrics_too(cluster: Cluster) -> None:
    """S0-21: the same of any task, over its own time."""
    with cluster.client() as client:
        job = client.submit({
            "apiVersion": "shunter.dev/v1",
            "kind": "Job",
            "metadata": {"name": "hold"},
            "spec": {"command": [*PYTHON, PROGRAMS["holder"]], "resources": {"cpu": "100m"}},
        })  # fmt: skip
        found = eventually(lambda: job.metrics().tasks[0].metrics.get("memory_bytes"), "it is sampled", WAIT_S)
        assert found.max > 0
        eventually(lambda: job.metrics().tasks[0].metrics["memory_bytes"].max > 100e6, "all of it is seen", WAIT_S)


def test_the_usage_of_a_finished_job_survives_a_restart(home: Cluster) -> None:
    """Two processes of 50 MB each, for long enough to be sampled together."""
    home.up()
    child = "data = bytearray(b'x') * 50_000_000; import time; time.sleep(2.5)"
    program = f"import os; pid = os.fork(); {child}; pid and os.waitpid(pid, 0); sum(range(3_000_000))"
    home.shunter("run", "--name", "two", "--memory", "400Mi", "--", *PYTHON, program)
    before = home.json("usage", "two")
    [group] = before["groups"]
    assert (group["attempts"], group["requested"]["memory"]) == (1, "400Mi")
    assert group["run_s"] >= 2.5
    assert group["cpu_s"] > 0
    assert 100_000_000 <= group["memory_max_bytes"] <= 300_000_000
    home.down()
    home.up()
    assert home.json("usage", "two") == before
    sums = {each["key"]: each for each in home.json("usage", "--by", "namespace")["items"]}
    assert (sums["default"]["jobs"], sums["default"]["cpu_s"]) == (1, group["cpu_s"])
