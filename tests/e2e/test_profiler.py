"""The profiling scheduler on real clusters: it measures BatchJobs in pairs, and runs them next to their best
partners."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cluster import Cluster

EXAMPLES = Path(__file__).parents[2] / "examples"
LABELS = {"measuring": "example.org/measuring", "running": "example.org/running"}

TESTBED = """
apiVersion: batchjob.gcr.io/v1alpha1
kind: Testbed
metadata: {{name: {name}}}
spec:
  slotsPerNode: 2
  nodeLabel: {label}
  resourcesPerSlot: {{cpu: 400m, memory: 64Mi}}
---
"""
JOB = """
apiVersion: batchjob.gcr.io/v1alpha1
kind: BatchJob
metadata: {{name: {name}}}
spec:
  commandSpec:
    command: {command}
---
"""

# How long a job takes depends on whom it meets in the other slot of its node: beside its partner 1 s, else 3 s.
MEETING = """cd {folder} && echo {name} > slot-$SHUNTER_SLOT_ID
other=slot-$((1 - SHUNTER_SLOT_ID)); until test -s $other; do sleep 0.02; done; read beside < $other
case $beside in {partner}) sleep 1.1;; *) sleep 3.1;; esac
rm slot-$SHUNTER_SLOT_ID"""
PARTNERS = {"a": "c", "b": "a", "c": "b"}


def means(cluster: Cluster) -> dict[tuple[str, str], tuple[int, int]]:
    """(job, other) -> mean in seconds and samples, as they are written at the jobs."""
    found = {}
    for job in cluster.items("get", "batchjobs"):
        for row in job["spec"].get("externalScheduler", {}).get("profiler", []):
            for other, text in row.items():
                mean, _, samples = text.rstrip(")").partition(" (")
                found[job["metadata"]["name"], other] = int(mean), int(samples or 1)
    return found


def past(cluster: Cluster, name: str) -> dict[str, list[str]]:
    """BatchJob -> the nodes that it ran on by the last Scheduling of that name, which is gone."""
    with cluster.client() as client:
        found = next(iter(client.past_schedulings(name, limit=1)))
    assert found.state == "CompletedState"
    return {run.name: run.nodes for run in found.runs}


def everything(cluster: Cluster) -> list[dict[str, Any]]:
    return cluster.items("get", "batchjobs") + cluster.items("get", "testbeds") + cluster.items("get", "schedulings")


def test_the_example_measures_a_job_of_the_processor_beside_one_of_the_disk(cluster: Cluster) -> None:
    """S1-25: both loops side by side; nothing of them is left but what they learnt."""
    (node,) = cluster.items("nodes")
    names = ("profiler", "scheduler")
    cluster.shunter("node", "label", node["name"], *(f"tuberlin.de/node-with-slots-{name}=0" for name in names))
    files = ("testbeds/profiler-testbed.yaml", "profiler/scheduler-testbed.yaml", "profiler/jobs.yaml")
    for file in files:
        cluster.shunter("apply", "-f", str(EXAMPLES / file))
    done = cluster.shunter("profiler", "-p", "profiler-testbed", "-s", "scheduler-testbed", "--runs", "1")
    assert "example-scheduling-0 has completed" in done.out
    assert {pair: samples for pair, (_, samples) in means(cluster).items()} == {
        ("cpu-bound", "io-bound"): 1,
        ("io-bound", "cpu-bound"): 1,
    }
    assert set(past(cluster, "profiler-scheduling-0")) == {"cpu-bound", "io-bound"}
    assert cluster.items("get", "schedulings") == []

    before = everything(cluster)
    printed = cluster.shunter("profiler", "--just-print").out.splitlines()
    assert printed[0].split() == ["cpu-bound", "io-bound"]
    assert printed[1].split()[:2] == ["cpu-bound", "/"]
    assert printed[-1] == "cpu-bound with io-bound"
    assert everything(cluster) == before
    for file in files:
        cluster.shunter("delete", "-f", str(EXAMPLES / file), "--wait")


def test_jobs_that_disturb_one_another_are_found_and_kept_apart(cluster: Cluster, tmp_path: Path) -> None:
    """S1-25: planted interference in real slots; the means are the truth in whole seconds, the partner is the best."""
    (node,) = cluster.items("nodes")
    cluster.shunter("node", "label", node["name"], f"{LABELS['measuring']}=0")
    manifest = TESTBED.format(name="measuring", label=LABELS["measuring"])
    for name, partner in PARTNERS.items():
        script = MEETING.format(folder=tmp_path, name=name, partner=partner).replace("\n", "; ")
        manifest += JOB.format(name=name, command=["sh", "-c", script])
    cluster.shunter("apply", "-f", "-", stdin=manifest)
    done = cluster.shunter("profiler", "-p", "measuring", "--runs", "3")
    found = means(cluster)
    assert set(found) == set(permutations(PARTNERS, 2))
    for (job, other), (mean_s, samples) in found.items():
        truth_s = 1 if PARTNERS[job] == other else 3
        assert samples == 1
        assert truth_s <= mean_s <= truth_s + 1, done.out  # a busy machine may let them wait for each other
    assert cluster.shunter("profiler", "--just-print", "-s", "measuring").out.splitlines()[-1] == "a with c"
    cluster.shunter("profiler", "-s", "measuring", "--runs", "1")
    assert set(past(cluster, "example-scheduling-0")) == {"a", "c"}
    cluster.shunter("delete", "-f", "-", "--wait", stdin=manifest)


def test_simulated_nodes_are_measured_and_filled_in_pairs(home: Cluster) -> None:
    """S1-25: two Testbeds, one of several nodes; every pair shares its nodes."""
    home.up("--simulate-nodes", "4", "--speed", "20")
    truth_s = {"a": 12, "b": 24, "c": 36, "d": 48}
    nodes = [node["name"] for node in home.items("nodes")]
    home.shunter("node", "label", nodes[0], f"{LABELS['measuring']}=0")
    for number, node in enumerate(nodes[1:]):
        home.shunter("node", "label", node, f"{LABELS['running']}={number}")
    manifest = "".join(TESTBED.format(name=name, label=label) for name, label in LABELS.items())
    manifest += "".join(JOB.format(name=name, command=["sleep", str(s)]) for name, s in truth_s.items())
    home.shunter("apply", "-f", "-", stdin=manifest)
    home.shunter("profiler", "-p", "measuring", "--runs", "6")
    found = means(home)
    assert set(found) == set(permutations(truth_s, 2))
    for (job, _), (mean_s, samples) in found.items():
        assert samples == 1
        assert abs(mean_s - truth_s[job]) <= 3  # at this speed, 0.15 s of the machine's time
    home.shunter("profiler", "-s", "running", "--runs", "1")
    places = past(home, "example-scheduling-0")
    assert set(places) == set(truth_s)
    by_nodes: dict[frozenset[str], set[str]] = {}
    for job, used in places.items():
        by_nodes.setdefault(frozenset(used), set()).add(job)
    assert sorted(map(len, by_nodes.values())) == [2, 2]
    assert frozenset().union(*by_nodes) == set(nodes[1:])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--profiler-testbed: no testbed is given"),
        (["-p", "nowhere"], "Testbed 'default/nowhere' does not exist"),
        (["-p", "x", "--run-max", "soon"], "--run-max"),
    ],
)
def test_wrong_use_is_told(cluster: Cluster, words: list[str], said: str) -> None:
    assert said in cluster.shunter("profiler", *words, code=2).err
