"""The commands that look at manifests and their graph: validate, graph."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shunter.cli.commands.jobs.graph import BOXES_MAX
from tests.unit.cli.conftest import Cluster, Shunter, page
from tests.unit.sdk.scripted_server import answer, job_document

PIPELINE = """
apiVersion: shunter.dev/v1
kind: Job
metadata: {name: fetch}
spec: {command: [fetch]}
---
apiVersion: shunter.dev/v1
kind: Job
metadata: {name: train}
spec:
  after: [fetch, elsewhere]
  command: [train]
  groups: [{name: split}, {name: work, count: 5, after: [split]}]
---
apiVersion: shunter.dev/v1
kind: Job
metadata: {name: report}
spec: {command: [report], after: [{job: train, when: finished}]}
"""


@pytest.fixture
def pipeline(tmp_path: Path) -> str:
    path = tmp_path / "pipeline.yaml"
    path.write_text(PIPELINE)
    return str(path)


def edge(name: str, *, open: bool = True, when: str = "succeeded") -> dict[str, object]:
    return {"name": name, "when": when, "otherwise": "cancel", "open": open}


def test_a_valid_file_is_said_to_be_valid(shunter: Shunter, pipeline: str) -> None:
    said = shunter("validate", "-f", pipeline)
    assert (said.code, said.out, said.err) == (0, f"{pipeline}: valid, 3 jobs\n", "")


def test_every_problem_of_every_file_is_told(shunter: Shunter, pipeline: str, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(
        "apiVersion: shunter.dev/v1\nkind: Job\nspec: {comand: [x], constraints: ['node.lables.x == 1']}\n"
    )
    said = shunter("validate", "-f", pipeline, "-f", str(wrong), "-f", "nowhere.yaml")
    assert said.code == 2
    assert said.out == f"{pipeline}: valid, 3 jobs\n"
    assert f"{wrong}: spec.comand: unknown field; did you mean command?" in said.err
    assert "nowhere.yaml: file: cannot be read" in said.err


def test_an_expression_is_held_to_what_the_cluster_takes(shunter: Shunter, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    spec = "{command: [x], constraints: ['node.lables.x == 1'], affinity: [{to: job, match: 'job.nam == 1'}]}"
    wrong.write_text(f"apiVersion: shunter.dev/v1\nkind: Job\nspec: {spec}\n")
    said = shunter("validate", "-f", str(wrong), "-o", "json")
    assert said.code == 2
    [report] = json.loads(said.out)["items"]
    assert [each["field"] for each in report["problems"]] == ["spec.constraints[0]", "spec.affinity[0].match"]


def test_the_schema_is_printed(shunter: Shunter) -> None:
    said = shunter("validate", "--schema")
    published = Path(__file__).parents[5] / "docs" / "reference" / "schema" / "job.schema.json"
    assert json.loads(said.out) == json.loads(published.read_text())


def test_validate_needs_a_file(shunter: Shunter) -> None:
    said = shunter("validate")
    assert said.code == 2 and "FILE: is missing" in said.err


def test_a_file_is_drawn_with_its_groups_and_conditions(shunter: Shunter, pipeline: str) -> None:
    said = shunter("graph", "-f", pipeline, "--ascii")
    assert said.code == 0 and said.out.isascii()
    words = ("| fetch ", "| train/split ", "| 5 tasks ", "| if train finished |", "| elsewhere ", "| not in the file ")
    assert all(each in said.out for each in words), said.out


def test_edges_of_a_job_are_those_of_its_first_and_last_groups(shunter: Shunter, pipeline: str) -> None:
    found = json.loads(shunter("graph", "-f", pipeline, "-o", "json").out)
    assert {(each["before"], each["after"]) for each in found["edges"]} == {
        ("fetch", "train/split"),
        ("elsewhere", "train/split"),
        ("train/split", "train/work"),
        ("train/work", "report"),
    }
    names = [node["name"] for node in found["nodes"]]
    assert names.index("train/split") < names.index("train/work") < names.index("report")


def test_graphviz_gets_what_it_reads(shunter: Shunter, pipeline: str) -> None:
    lines = shunter("graph", "-f", pipeline, "-o", "dot").out.splitlines()
    assert (lines[0], lines[-1]) == ("digraph jobs {", "}")
    assert '  "fetch" -> "train/split";' in lines
    assert '  "train/work" -> "report" [label="finished"];' in lines


def test_a_cycle_is_refused_and_printed(shunter: Shunter, tmp_path: Path) -> None:
    file = tmp_path / "circle.yaml"
    job = "apiVersion: shunter.dev/v1\nkind: Job\nmetadata: {{name: {}}}\nspec: {{command: [x], after: [{}]}}\n"
    file.write_text(job.format("a", "b") + "---\n" + job.format("b", "a"))
    for command in ("graph", "validate"):
        said = shunter(command, "-f", str(file))
        assert said.code == 2 and "a -> b -> a" in said.err


def test_the_clusters_jobs_are_drawn_with_their_states(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers |= {
        "GET /jobs": page(
            job_document("report", id=3, state="pending", terms={"after": [edge("train@2"), edge("old", open=False)]}),
            job_document("train", id=2, run=2, state="running"),
            job_document("other", id=1, state="running"),
        ),
        "GET /jobs/old": answer(200, job_document("old", state="succeeded")),
    }
    found = json.loads(shunter("graph", "-o", "json").out)
    states = {node["name"]: node["state"] for node in found["nodes"]}
    assert states == {"other": "running", "train": "running", "old": "succeeded", "report": "pending"}
    assert {(each["before"], each["open"]) for each in found["edges"]} == {("train", True), ("old", False)}
    alone = json.loads(shunter("graph", "report", "-o", "json").out)
    assert {node["name"] for node in alone["nodes"]} == {"train", "old", "report"}


def test_two_runs_of_a_name_are_told_apart(cluster: Cluster, shunter: Shunter) -> None:
    later = job_document("nightly", id=2, run=2, state="pending", terms={"after": [edge("nightly@1", when="finished")]})
    cluster.answers["GET /jobs"] = page(later, job_document("nightly", id=1, run=1, state="running"))
    found = json.loads(shunter("graph", "-o", "json").out)
    assert [(each["before"], each["after"]) for each in found["edges"]] == [("nightly@1", "nightly@2")]


def settled(name: str, outcome: str, **fields: str) -> dict[str, object]:
    return {**edge(name, open=False), "outcome": outcome, **fields}


def test_a_job_that_has_ended_is_drawn_with_what_it_waited_for_and_who_waited_for_it(
    cluster: Cluster, shunter: Shunter
) -> None:
    def ended(name: str, id: int, state: str, *after: dict[str, object], run: int = 1) -> dict[str, object]:
        terms = {"after": list(after)} if after else None
        return job_document(name, id=id, run=run, state=state, ended_at="2026-03-01T00:00:00Z", terms=terms)

    cluster.answers["GET /jobs"] = page(
        ended("fetch", 6, "succeeded", run=2),
        ended("anyway", 5, "succeeded", settled("train@1", "cancelled", otherwise="run")),
        ended("other", 4, "succeeded"),
        ended("train", 3, "cancelled", settled("fetch@1", "failed"), settled("gone@7", "succeeded")),
        ended("fetch", 1, "failed"),
    )
    drawn = json.loads(shunter("graph", "train", "--output", "json").out)
    assert {node["name"]: node["state"] for node in drawn["nodes"]} == {
        "fetch": "failed", "gone@7": "succeeded", "train": "cancelled", "anyway": "succeeded"
    }  # fmt: skip
    assert {(link["before"], link["after"], link["outcome"]) for link in drawn["edges"]} == {
        ("fetch", "train", "failed"), ("gone@7", "train", "succeeded"), ("train", "anyway", "cancelled")
    }  # fmt: skip
    said = shunter("graph", "train", "--ascii").out
    assert "not run: fetch failed" in said and "although train cancelled" in said
    assert 'label="succeeded, but it was cancelled"' in shunter("graph", "train", "-o", "dot").out


def test_a_job_that_is_in_no_graph_is_named(cluster: Cluster, shunter: Shunter, pipeline: str) -> None:
    said = shunter("graph", "-f", pipeline, "nobody")
    assert said.code == 2 and "nobody" in said.err
    cluster.answers["GET /jobs"] = page()
    assert "no unfinished jobs" in shunter("graph").err


def test_a_graph_that_is_too_large_is_listed(cluster: Cluster, shunter: Shunter) -> None:
    many = [job_document(f"job-{number}", id=number) for number in range(BOXES_MAX)]
    last = job_document("last", id=BOXES_MAX, terms={"after": [edge("job-0@1"), edge("job-1@1", when="failed")]})
    cluster.answers["GET /jobs"] = page(last, *many)
    lines = [line.split() for line in shunter("graph").out.splitlines()]
    assert lines[0] == ["NAME", "STATE", "TASKS", "AFTER"]
    assert ["last", "pending", "1", "job-0,", "job-1", "(failed)"] in lines


def test_a_list_in_a_narrow_terminal_leaves_nobody_out(
    cluster: Cluster, shunter: Shunter, monkeypatch: pytest.MonkeyPatch
) -> None:
    edges = [edge(f"job-{number}@1") for number in range(10)] + [edge("hope@1") | {"otherwise": "run"}]
    others = [job_document(f"job-{number}", id=number) for number in range(10)] + [job_document("hope", id=10)]
    cluster.answers["GET /jobs"] = page(job_document("last", id=11, terms={"after": edges}), *others)
    monkeypatch.setattr("shunter.cli.commands.jobs.graph.on_terminal", lambda _: True)
    monkeypatch.setenv("COLUMNS", "50")
    lines = shunter("graph").out.splitlines()
    assert max(map(len, lines)) <= 50
    words = " ".join(" ".join(lines).split())
    assert all(f"job-{number}," in words for number in range(10)) and "hope (succeeded, or cannot be)" in words
