"""`shunter submit`: a manifest is accepted as a whole, or refused with all its problems."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.manifests import as_yaml, in_namespace, job, shell
from tests.e2e.task_gates import Gate

FULL = """
apiVersion: shunter.dev/v1
kind: Job
metadata: {name: render, namespace: default, labels: {team: film}}
spec:
  type: batch
  count: 3
  command: [/bin/sh, -c, 'echo "$QUALITY $SHUNTER_TASK_INDEX"']
  env: {QUALITY: high}
  resources: {cpu: 500m, memory: 64Mi}
  restart: {policy: on-failure, max: 3, delay: 1s, factor: 2, delay_max: 1m, jitter: 0.1}
  timeout: {queue: 1h, run: 10m}
  priority: 60
  datacenters: [dc1]
"""


def test_a_manifest_file_becomes_a_job(cluster: Cluster, tmp_path: Path) -> None:
    """D-08: a whole YAML manifest is taken; what it says is what the job has."""
    path = tmp_path / "job.yaml"
    path.write_text(FULL)
    done = cluster.shunter("submit", "-f", str(path), "--wait")
    assert done.out == "render submitted\n"
    found = cluster.json("job", "render")
    assert (found["state"], found["counts"], found["priority"]) == ("succeeded", {"succeeded": 3}, 60)
    assert (found["labels"], found["resources"]) == ({"team": "film"}, {"cpu": "500m", "memory": "64Mi"})
    assert cluster.shunter("logs", "render/2").out == "high 2\n"


def test_json_and_standard_input_do_as_well(cluster: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "job.json"
    path.write_text(json.dumps(job("from-json")))
    assert cluster.shunter("submit", "-f", str(path)).out == "from-json submitted\n"
    assert cluster.shunter("submit", "-f", "-", stdin=as_yaml(job("from-stdin"))).out == "from-stdin submitted\n"
    assert cluster.shunter("submit", "-f", "-", stdin=json.dumps(job("json-stdin"))).out == "json-stdin submitted\n"
    cluster.shunter("wait", "from-json", "from-stdin", "json-stdin")


def test_several_documents_are_submitted_together(cluster: Cluster) -> None:
    """D-49: one file, several jobs, one submit."""
    text = as_yaml(*(job(f"of-three-{number}") for number in range(3)))
    done = cluster.shunter("submit", "-f", "-", "--wait", stdin=text)
    assert done.out.splitlines() == [f"of-three-{number} submitted" for number in range(3)]


def test_a_file_with_one_bad_document_changes_nothing(cluster: Cluster) -> None:
    """D-08, D-49: a file is applied whole or not at all; the problem says in which document it is."""
    text = as_yaml(job("good-one"), job("bad-one", count=0), job("good-two"))
    done = cluster.shunter("submit", "-f", "-", stdin=text, code=2)
    assert "Job bad-one: spec.count" in done.err
    for name in ("good-one", "bad-one", "good-two"):
        cluster.shunter("job", name, code=2)


def test_every_problem_is_told_at_once_with_its_field_value_and_fix(cluster: Cluster) -> None:
    """D-08, R-01: a refused manifest exits with 2 and lists all that is wrong; nothing has changed."""
    before = cluster.json("jobs", "--limit", "0")
    document = job("Bad Name", ["/bin/true"], resources={"cpu": "lots"}, restart={"policy": "sometimes"}, conut=3)
    document["metadata"]["labels"] = {"bad key": "x"}
    done = cluster.shunter("submit", "-f", "-", stdin=json.dumps(document), code=2)
    for words in (
        ("metadata.name", "Bad Name"),
        ("metadata.labels", "bad key"),
        ("spec.resources.cpu", "lots"),
        ("spec.restart.policy", "sometimes", "on-failure"),
        ("spec.conut", "count"),
    ):
        assert any(all(word in line for word in words) for line in done.err.splitlines()), (words, done.err)
    assert cluster.json("jobs", "--limit", "0") == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{not: [valid", ["line"]),
        ("", ["document"]),
        ("apiVersion: shunter.dev/v2\nkind: Job\nspec: {command: [/bin/true]}", ["apiVersion", "shunter.dev/v2"]),
        ("apiVersion: shunter.dev/v1\nkind: Jobb\nspec: {command: [/bin/true]}", ["kind", "Jobb"]),
        ("apiVersion: shunter.dev/v1\nkind: Job\nspec: {command: /bin/true}", ["spec.command", "list"]),
        ("apiVersion: shunter.dev/v1\nkind: Job\nspec: {count: 2}", ["spec.command"]),
        ("apiVersion: shunter.dev/v1\nkind: Job\nspec: {command: [a], constraints: ['node.labels.x =']}", ["constr"]),
        ("apiVersion: shunter.dev/v1\nkind: Job\nspec: {command: [a], schedule: {cron: 'now and then'}}", ["schedule"]),
    ],
)
def test_what_is_no_manifest_is_refused_with_the_reason(cluster: Cluster, text: str, words: list[str]) -> None:
    """D-08: syntax, version, kind, missing and misspelt fields, bad expressions."""
    done = cluster.shunter("submit", "-f", "-", stdin=text, code=2)
    assert all(word in done.err for word in words), done.err
    assert "Traceback" not in done.err


def test_a_file_that_is_not_there_is_named(cluster: Cluster) -> None:
    assert "/no/such/file.yaml" in cluster.shunter("submit", "-f", "/no/such/file.yaml", code=2).err


def test_waiting_tells_whether_all_succeeded(cluster: Cluster) -> None:
    """D-09: with --wait, the exit code is 1 unless all succeeded, and those that did not are named."""
    text = as_yaml(job("fine"), shell("broken", "exit 4"))
    done = cluster.shunter("submit", "-f", "-", "--wait", stdin=text, code=1)
    assert "broken failed: exit code 4" in done.err
    assert "fine failed" not in done.err


def test_an_unfinished_job_is_left_as_it_is(cluster: Cluster, gate: Gate) -> None:
    """D-08: the same again is "unchanged"; another spec under the same name is refused with the way out."""
    same = as_yaml(job("busy", gate.command))
    cluster.shunter("submit", "-f", "-", stdin=same)
    gate.reached()
    assert cluster.shunter("submit", "-f", "-", stdin=same).out == "busy unchanged\n"
    refused = cluster.shunter("submit", "-f", "-", stdin=as_yaml(job("busy", ["/bin/false"])), code=2)
    assert "metadata.name" in refused.err
    assert "shunter stop busy" in refused.err
    gate.open()
    cluster.shunter("wait", "busy")
    assert len(gate.arrivals) == 1


def test_a_finished_name_starts_a_new_run(cluster: Cluster) -> None:
    """D-11: NAME is the newest run, NAME@2 the second; earlier ones stay readable with their output."""
    for number in (1, 2, 3):
        cluster.shunter("submit", "-f", "-", "--wait", stdin=as_yaml(shell("again", f"echo run {number}")))
    assert cluster.json("job", "again")["run"] == 3
    assert cluster.json("job", "again@2")["run"] == 2
    assert [cluster.shunter("logs", f"again@{number}").out for number in (1, 2, 3)] == ["run 1\n", "run 2\n", "run 3\n"]
    assert cluster.shunter("logs", "again").out == "run 3\n"
    assert "again@4" in cluster.shunter("job", "again@4", code=2).err


def test_equal_names_in_two_namespaces_are_two_jobs(cluster: Cluster) -> None:
    """D-08: every job lives in a namespace: the manifest's, that of -n, or default."""
    cluster.shunter("submit", "-f", "-", "--wait", stdin=as_yaml(in_namespace("film", shell("twin", "echo film"))))
    cluster.shunter("submit", "-n", "music", "-f", "-", "--wait", stdin=as_yaml(shell("twin", "echo music")))
    cluster.shunter("job", "twin", code=2)  # there is none in default
    assert cluster.shunter("logs", "-n", "film", "twin").out == "film\n"
    assert cluster.shunter("logs", "-n", "music", "twin").out == "music\n"
    everywhere = cluster.items("jobs", "-n", "*", "--limit", "0")
    assert {each["namespace"] for each in everywhere if each["name"] == "twin"} == {"film", "music"}
    assert [each["name"] for each in cluster.items("jobs", "-n", "film")] == ["twin"]
