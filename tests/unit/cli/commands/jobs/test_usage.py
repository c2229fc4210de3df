"""The command usage."""

from __future__ import annotations

import json

from tests.unit.cli.conftest import Cluster, Shunter
from tests.unit.sdk.scripted_server import answer

MIB = 2**20
JOB = {
    "name": "render", "namespace": "default", "id": 7, "run": 2, "state": "succeeded", "type": "batch", "count": 2,
    "counts": {}, "priority": 50, "submitted_at": "2026-01-01T00:00:00Z",
}  # fmt: skip
MAIN = {
    "name": "main", "tasks": 2, "attempts": 3, "requested": {"cpu": "2", "memory": "1Gi"},
    "suggested": {"cpu": "400m", "memory": "120Mi"}, "run_s": 300.0, "run_max_s": 120.0, "cpu_s": 90.0,
    "cores_mean": 0.3, "cores_max": 0.35, "memory_p95_bytes": 100 * MIB, "memory_max_bytes": 110 * MIB,
    "read_bytes": 0, "written_bytes": 5 * MIB,
}  # fmt: skip
USAGE = {
    "name": "render", "namespace": "default", "id": 7, "run": 2, "state": "succeeded", "user": "anna",
    "groups": [MAIN, {"name": "later", "tasks": 1, "attempts": 0}],
}  # fmt: skip
ANNA = {
    "key": "anna", "jobs": 4, "measured_jobs": 3, "attempts": 9, "run_s": 7200.0, "cpu_s": 3600.0,
    "cpu_requested_s": 14400.0, "memory_max_bytes": 2**30, "read_bytes": 0, "written_bytes": 0,
}  # fmt: skip
SUMS = {"by": "user", "since": "2026-01-01T00:00:00Z", "items": [ANNA, {"key": "", "jobs": 1}], "partial": True}


def test_a_job_shows_each_group_with_a_suggestion(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["GET /jobs/render"] = answer(200, JOB)
    cluster.answers["GET /jobs/id:7/usage"] = answer(200, USAGE)
    lines = shunter("usage", "render").out.splitlines()
    assert lines[:3] == [
        "render@2, succeeded",
        "main: 3 measured attempts ran 5m00s, the longest 2m00s, CPU time 1m30s, read 0, written 5.0Mi",
        "later: no attempt was measured yet",
    ]
    assert [line.split() for line in lines[3:]] == [
        ["GROUP", "RESOURCE", "REQUESTED", "MEAN", "P95", "MAX", "SUGGESTED"],
        ["main", "cpu", "2", "0.30", "-", "0.35", "400m"],
        ["main", "memory", "1Gi", "-", "100.0Mi", "110.0Mi", "120Mi"],
    ]
    assert json.loads(shunter("usage", "render", "-o", "json").out)["groups"][0]["attempts"] == 3


def test_sums_are_of_all_namespaces_and_seven_days_by_user(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["GET /usage"] = answer(200, SUMS)
    lines = shunter("usage").out.splitlines()
    assert [line.split() for line in lines[1:3]] == [
        ["anna", "4", "3", "2h00m", "1h00m", "25%", "1.0Gi", "0", "0"],
        ["-", "1", "0", "0.00s", "0.00s", "-", "0", "0", "0"],
    ]
    assert "only the newest were added up" in lines[3]
    assert cluster.received[-1].startswith("GET /usage?namespace=%2A&by=user&since=")
    assert shunter("usage", "--by", "tenant", "--since", "1h", "-n", "film", "-o", "json").code == 0
    assert cluster.received[-1].startswith("GET /usage?namespace=film&by=tenant&since=")


def test_sums_and_a_job_are_two_questions(shunter: Shunter) -> None:
    assert "give either them or a JOB" in shunter("usage", "render", "--by", "user").err
