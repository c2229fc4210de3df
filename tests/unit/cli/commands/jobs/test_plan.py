"""The commands about decisions: why, plan, policies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Cluster, Shunter, page
from tests.unit.sdk.scripted_server import answer

JOB = "apiVersion: shunter.dev/v1\nkind: Job\nmetadata: {name: render}\nspec: {command: [x], count: 3}\n"
PLANNED = {
    "name": "render", "namespace": "default", "verdict": "waits", "sentence": "Pending: cpu.", "count": 3,
    "starts": 2, "waits": 1, "placements": [{"node": "n1", "count": 2, "group": "main"}],
    "reasons": [
        {"text": "queue night is full", "nodes": 0},
        {"text": "cpu: needs 1, at most 0 free", "nodes": 4, "examples": ["n1"]},
    ],
}  # fmt: skip
PLAN = {"starts": False, "sentence": "2 of 3 start.", "state_version": 7, "policy": "e-pvm", "jobs": [PLANNED]}
POLICIES = [
    {"name": "e-pvm", "kind": "score", "source": "built in", "active": True},
    {
        "name": "mine",
        "kind": "policy",
        "source": "example 1.0",
        "active": False,
        "error": "ValueError: x",
        "failures": 3,
    },
]


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    return str(path)


def test_why_of_an_object_asks_for_the_object(cluster: Cluster, shunter: Shunter) -> None:
    path = "/apis/batchjob.gcr.io/v1alpha1/namespaces/default/testbeds/bed/why"
    why = {"name": "default/bed", "state": "SUCCESS", "sentence": "Testbed default/bed has 2 slots.", "counts": {}}
    cluster.answers[f"GET {path}"] = answer(200, why)
    assert shunter("why", "testbed/bed").out == shunter("why", "tb/bed").out == "Testbed default/bed has 2 slots.\n"
    cluster.answers["GET /jobs/testbed/tasks/0/why"] = answer(200, why | {"sentence": "testbed/0 runs."})
    assert shunter("why", "testbed/0").out == "testbed/0 runs.\n"  # the first task of a job with that name


def test_a_plan_of_objects_prints_each_with_its_problems(cluster: Cluster, shunter: Shunter, tmp_path: Path) -> None:
    path = tmp_path / "bed.yaml"
    path.write_text(JOB.replace("kind: Job", "kind: Testbed"))
    planned = {
        "kind": "Testbed", "name": "bed", "namespace": "default", "action": "created", "verdict": "waits",
        "state": "ERROR", "sentence": "It would be created. Then: it has no slots.",
        "reasons": [{"text": "Requires 10 of cpu", "nodes": 2, "examples": ["n1"]}],
    }  # fmt: skip
    cluster.answers["POST /plan"] = answer(200, PLAN | {"jobs": [], "objects": [planned], "sentence": "1 would wait."})
    said = shunter("plan", "-f", str(path))
    assert said.code == 1
    assert said.out == (
        "Testbed bed: waits. It would be created. Then: it has no slots.\n"
        "  2 nodes: Requires 10 of cpu\n"
        "\n1 would wait.\n"
    )


def test_why_lists_what_would_start_the_job_and_when_it_may_start(cluster: Cluster, shunter: Shunter) -> None:
    suggestion = {
        "field": "spec.resources.memory", "before": "64Gi", "after": "48Gi", "text": "memory 64Gi → 48Gi fits 12 nodes",
    }  # fmt: skip
    why = {
        "name": "render", "state": "pending", "sentence": "render waits.", "counts": {}, "suggestions": [suggestion],
        "reasons": PLANNED["reasons"],
        "start": {"at": None, "basis": "nothing that runs says how long"},
    }  # fmt: skip
    cluster.answers["GET /jobs/render/why"] = answer(200, why)
    said = shunter("why", "render").out
    assert [line.split()[:2] for line in said.splitlines()[3:5]] == [["-", "queue"], ["4", "cpu:"]]
    assert "Any one of these would start it now:\n  memory 64Gi → 48Gi fits 12 nodes  (spec.resources.memory)\n" in said
    assert said.endswith("No start estimate: nothing that runs says how long.\n")
    timed = why | {"start": {"at": "2026-01-02T03:04:05.000Z", "basis": "when a@1 ends"}}
    cluster.answers["GET /jobs/render/why"] = answer(200, timed)
    assert ": when a@1 ends." in shunter("why", "render").out


def test_why_asks_about_one_task(cluster: Cluster, shunter: Shunter) -> None:
    why = {"name": "render/4", "state": "running", "sentence": "render/4 is running.", "counts": {}}
    cluster.answers["GET /jobs/render/tasks/4/why"] = answer(200, why)
    assert shunter("why", "render/4").out == "render/4 is running.\n"


def test_a_plan_that_waits_exits_with_1_and_says_why(cluster: Cluster, shunter: Shunter, manifest: str) -> None:
    cluster.answers["POST /plan"] = answer(200, PLAN)
    said = shunter("plan", "-f", manifest)
    assert said.code == 1
    assert said.out.splitlines() == [
        "render: pending: cpu.",
        "  n1  2 tasks",
        "  queue night is full",
        "  4 nodes: cpu: needs 1, at most 0 free",
        "",
        "2 of 3 start.",
    ]


def test_a_plan_that_starts_exits_with_0_and_tells_whom_it_ends(
    cluster: Cluster, shunter: Shunter, manifest: str
) -> None:
    ended = [{"name": "old", "namespace": "default", "node": "n1", "count": 2}]
    cluster.answers["POST /plan"] = answer(200, PLAN | {"starts": True, "preemptions": ended})
    said = shunter("plan", "-f", manifest)
    assert said.code == 0
    assert "preempts 2 tasks of old on n1" in said.out
    assert json.loads(shunter("plan", "-f", manifest, "-o", "json").out)["preemptions"] == ended


def test_of_very_many_nodes_a_plan_names_a_few(cluster: Cluster, shunter: Shunter, manifest: str) -> None:
    ended = [{"name": "old", "namespace": "default", "node": f"n{number}", "count": 2} for number in range(300)]
    placed = [{"node": f"n{number}", "count": 1} for number in range(11)]
    job = PLANNED | {"verdict": "starts", "placements": placed, "reasons": []}
    cluster.answers["POST /plan"] = answer(200, PLAN | {"starts": True, "jobs": [job], "preemptions": ended})
    said = shunter("plan", "-f", manifest).out.splitlines()
    assert said.count("  and 1 more node") == 1
    assert said.count("and on 290 more nodes") == 1
    assert len(said) < 30


def test_a_plan_that_is_refused_exits_with_2(cluster: Cluster, shunter: Shunter, manifest: str) -> None:
    problem: dict[str, Any] = {"title": "conflict", "status": 409, "detail": "render is an unfinished job"}
    cluster.answers["POST /plan"] = answer(409, problem)
    said = shunter("plan", "-f", manifest)
    assert (said.code, "render is an unfinished job" in said.err) == (2, True)


def test_policies_show_what_was_refused_of_them(cluster: Cluster, shunter: Shunter) -> None:
    remote = {
        "name": "remote:mine", "kind": "remote", "source": "overruled, 20 decisions", "active": True,
        "error": "overruled: fallback e-pvm is active", "failures": 0, "state": "overruled", "refusals": 20,
        "last_refusal": "placements[0]: no room",
    }  # fmt: skip
    cluster.answers["GET /policies"] = page(remote)
    assert (
        shunter("policies")
        .out.splitlines()[1]
        .endswith(
            "overruled: fallback e-pvm is active; 20 items of its decisions refused; last: placements[0]: no room"
        )
    )


def test_policies_show_their_source_who_decides_and_what_went_wrong(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers |= {"GET /policies": page(*POLICIES), "PUT /policies/active": page(*POLICIES)}
    header, first, second = shunter("policies").out.splitlines()
    assert header.split() == ["NAME", "KIND", "SOURCE", "ERROR"]
    assert first.split() == ["*", "e-pvm", "score", "built", "in"]
    assert second.endswith("ValueError: x (3 times; the default policy decided)")
    assert shunter("policies", "use", "e-pvm").out.splitlines()[1] == first
    assert cluster.server.received[-1].body == b'{"name":"e-pvm"}'
