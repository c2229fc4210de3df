"""Jobs that wait for jobs, from one file to the end: drawn, submitted together, run in order, cancelled together."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.cluster import Cluster
from tests.e2e.manifests import as_yaml, job, shell
from tests.e2e.task_gates import Gate


def test_a_file_of_jobs_runs_in_the_order_of_its_graph(cluster: Cluster, gate: Gate, tmp_path: Path) -> None:
    """D-10: a DAG of jobs and groups, in one file in any order, is drawn, waits, and runs from top to bottom."""
    seen = tmp_path / "seen"
    note = f'echo "$SHUNTER_JOB/$SHUNTER_GROUP" >> {seen}'
    groups = [{"name": "join", "after": ["split"]}, {"name": "split"}]
    text = as_yaml(
        shell("report", note, after=["train", "fetch"]),
        shell("train", note, after=["fetch"], groups=groups),
        job("fetch", gate.command),
    )
    cluster.shunter("submit", "-f", "-", stdin=text)
    gate.reached()
    drawn = cluster.json("graph", "report")
    edges = {(edge["before"], edge["after"]) for edge in drawn["edges"] if edge["open"]}
    assert edges == {
        ("fetch", "train/split"), ("train/split", "train/join"), ("train/join", "report"), ("fetch", "report")
    }  # fmt: skip
    assert {node["name"]: node["state"] for node in drawn["nodes"]}["report"] == "pending"
    assert not seen.exists()
    gate.open()
    cluster.shunter("wait", "fetch", "train", "report")
    assert seen.read_text().split() == ["train/split", "train/join", "report/main"]
    drawn = cluster.json("graph", "report")
    settled = {(edge["before"], edge["after"]) for edge in drawn["edges"] if not edge["open"]}
    assert settled == edges
    assert {edge["outcome"] for edge in drawn["edges"] if edge["after"] == "report"} == {"succeeded"}


def test_what_can_no_longer_run_is_cancelled_with_the_reason(cluster: Cluster) -> None:
    """D-10: each edge has its own failure policy; with --wait, all jobs of the file are waited for, and told of."""
    text = as_yaml(
        shell("breaks", "exit 3"),
        shell("needs", "true", after=["breaks"]),
        shell("needs-that", "true", after=["needs"]),
        shell("tidies-up", "true", after=[{"job": "breaks", "when": "failed"}]),
        shell("anyway", "true", after=[{"job": "breaks", "otherwise": "run"}]),
    )
    done = cluster.shunter("submit", "-f", "-", "--wait", stdin=text, code=1)
    assert len(done.out.splitlines()) == 5
    assert "breaks failed: exit code 3" in done.err
    assert "needs cancelled: breaks@1 has failed" in done.err
    assert "needs-that cancelled: needs@1 was cancelled" in done.err
    states = {name: cluster.json("job", name)["state"] for name in ("tidies-up", "anyway")}
    assert states == {"tidies-up": "succeeded", "anyway": "succeeded"}
    [edge] = cluster.json("job", "needs")["terms"]["after"]
    assert (edge["name"], edge["outcome"], edge["open"]) == ("breaks@1", "failed", False)


def test_a_cycle_is_refused_with_the_cycle(cluster: Cluster) -> None:
    """D-10: cycles are refused, by the cluster and without one, and printed."""
    text = as_yaml(shell("egg", "true", after=["hen"]), shell("hen", "true", after=["egg"]))
    for command in ("submit", "validate", "graph"):
        assert "egg -> hen -> egg" in cluster.shunter(command, "-f", "-", stdin=text, code=2).err


def test_a_run_may_come_after_a_job_that_runs(cluster: Cluster, gate: Gate) -> None:
    """D-10: `run --after` waits as a manifest does; a job that does not exist is refused with its name."""
    cluster.shunter("run", "--detach", "--name", "first", "--", *gate.command)
    gate.reached()
    with cluster.begin("run", "--name", "second", "--after", "first", "--", "/bin/echo", "then") as second:
        cluster.until("first", "running")
        gate.open()
        assert second.communicate(timeout=30)[0] == "then\n"
    refused = cluster.shunter("run", "--after", "nobody", "--", "/bin/true", code=125)
    assert "nobody" in refused.err
