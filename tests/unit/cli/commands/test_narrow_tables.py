"""Listings on a terminal of 60 columns: what matters most is not cut, and no line is longer."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.app.diagnosis import doctor
from shunter.app.diagnosis.verdicts import Finding
from shunter.cli.render.object_tables import print_objects
from shunter.model.rest.object_views import ObjectView
from tests.unit.cli.commands.test_listings import CLUSTER
from tests.unit.cli.conftest import Cluster, Shunter, page
from tests.unit.cli.render.test_tables import on_terminal
from tests.unit.sdk.scripted_server import answer, job_document

SLOTS = [{"state": "FREE", "nodeName": "vm", "position": 0}]
TESTBED: dict[str, Any] = {"spec": {}, "status": {"state": "SUCCESS", "slots": SLOTS}}
BATCH_JOB: dict[str, Any] = {
    "spec": {"commandSpec": {}, "activeScheduling": {"name": "greet"}},
    "status": {"state": "CompletedState", "runs": 3, "slotIds": [0, 1]},
}
TEMPLATE = {
    "name": "thumbnail", "namespace": "default", "id": 1, "state": "dispatchable", "type": "batch", "count": 1,
    "command": ["sh", "-c", "x" * 50], "user": "ada", "labels": {}, "set_at": "2026-01-02T03:04:05Z",
    "required": ["width"], "last_run": 2, "last_state": "succeeded",
}  # fmt: skip
QUEUE = {"name": "night", "queued": 0, "running": 0, "paused": False, "strict": False, "running_max": 10}
TASK = {
    "name": "greeter/0", "index": 0, "state": "running", "attempt": 1, "node": "vm", "healthy": True,
    "started_at": "2026-01-02T03:04:05.000Z", "ports": {"web": 20001},
}  # fmt: skip
EVENT = {"id": "1760-5", "at": "2026-01-02T03:04:05.000Z", "type": "scheduling.moved", "name": "greet", "job": "greet",
         "state": "CompletedState"}  # fmt: skip
KEY = {"id": "b7k2mq9xwe", "user": "anna", "roles": ["submitter"], "note": "nightly build",
       "created_at": "2026-01-02T03:04:05.000Z", "expires_at": "2026-04-02T03:04:05.000Z"}  # fmt: skip
SEGMENT = {"name": "00000001", "started_at": "2026-01-02T03:04:05.000Z", "ended_at": "2026-01-02T04:04:05.000Z",
           "decisions": 1760, "bytes": 4096}  # fmt: skip
AUDIT = {
    "items": [{"number": 1234, "at": "2026-01-02T03:04:05.678Z", "user": "admin", "operation": "cordonNode",
               "source": "127.0.0.1", "names": ["node vm"]}],
    "next": None, "head": {"number": 1234, "hash": ""},
}  # fmt: skip
VALUES = [float(value % 7) for value in range(120)]
METRICS = {
    "name": "vm", "namespace": "", "start": "2026-01-02T03:04:05Z", "stop": "2026-01-02T03:14:05Z", "step_s": 5.0,
    "tasks": [], "nodes": [{"name": "vm", "node": "vm", "slot": None,
                            "metrics": {"io_write_bytes_per_s": {"mean": 1.0, "max": 6.0, "values": VALUES}}}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("line", "path", "found", "words"),
    [
        ("cron", "/templates", TEMPLATE, ["thumbnail", "dispatchable", "on dispatch: width"]),
        ("queues", "/queues", QUEUE, ["night", "RUNNING MAX", "QUEUED MAX"]),
        ("tasks greeter", "/jobs/id:7/tasks", TASK, ["greeter/0", "running", "web=20001"]),
        ("events", "/events", EVENT, ["scheduling.moved", "greet", "CompletedState"]),
        ("key list", "/keys", KEY, ["b7k2mq9xwe", "submitter", "2026-04-02 03:04Z", "never"]),
        ("audit list", "/audit", AUDIT, ["2026-01-02 03:04:05Z", "admin", "cordonNode", "node vm"]),
        ("flight", "/flight", SEGMENT, ["00000001", "2026-01-02T03:04:05.000Z", "DECISIONS", "4 KiB"]),
        ("metrics node vm", "/nodes/vm/metrics", METRICS, ["io_write_bytes_per_s", "█"]),
    ],
)
def test_a_narrow_listing_leaves_out_columns_before_it_cuts_words(
    cluster: Cluster, shunter: Shunter, monkeypatch: pytest.MonkeyPatch,
    line: str, path: str, found: dict[str, Any], words: list[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("NO_COLOR", "1")
    is_whole = line.startswith("metrics")
    cluster.answers[f"GET {path}"] = answer(200, found) if is_whole or "items" in found else page(found)
    cluster.answers["GET /cluster"] = answer(200, CLUSTER)
    cluster.answers["GET /jobs/greeter"] = answer(200, job_document("greeter"))
    drawn = on_terminal(lambda: shunter(*line.split()), monkeypatch, 60)
    table = drawn.splitlines()[is_whole:]
    assert all(word in drawn for word in words), drawn
    assert "…" not in drawn and max(map(len, table)) <= 60


@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        ("Testbed", TESTBED, ["bench", "SUCCESS", "CLAIMED BY"]),
        ("BatchJob", BATCH_JOB, ["bench", "CompletedState", "greet"]),
    ],
)
def test_narrow_objects_leave_out_columns_before_they_cut_words(
    monkeypatch: pytest.MonkeyPatch, kind: str, fields: dict[str, Any], words: list[str]
) -> None:
    metadata = {"name": "bench", "namespace": "default", "creationTimestamp": "2026-01-02T03:04:05Z"}
    found = ObjectView(api_version="batchjob.gcr.io/v1alpha1", kind=kind, metadata=metadata, **fields)
    monkeypatch.setenv("NO_COLOR", "1")
    drawn = on_terminal(lambda: print_objects(kind, [found], show_namespace=False), monkeypatch, 60)
    assert all(word in drawn for word in words), drawn and "…" not in drawn


def test_the_doctor_prints_a_fix_in_full(shunter: Shunter, monkeypatch: pytest.MonkeyPatch) -> None:
    fix = "`shunter up` runs tasks as you: do not start it as root; a worker has --task-user"
    found = [Finding("isolation", "warning", "tasks run as root, and can do everything on this machine", fix)]
    monkeypatch.setattr(doctor, "examine", lambda _: found)
    drawn = on_terminal(lambda: shunter("doctor"), monkeypatch, 60)
    assert fix in " ".join(drawn.split())
    assert max(map(len, drawn.splitlines())) <= 60
