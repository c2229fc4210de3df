"""What the command line says of services whose tasks crash, gave up, or are being replaced."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.cli.commands.jobs import wait
from tests.unit.cli.conftest import Cluster, Shunter
from tests.unit.sdk.scripted_server import answer, chunks, job_document, lines

CRASH = "restart 3, last exit code 1"


def service(status: str, reason: str | None = None, **fields: Any) -> dict[str, Any]:
    update = {"status": status, "wanted": 1, "updated": 1, "healthy": 0, "reason": reason}
    update |= {name: fields.pop(name) for name in ("wanted", "healthy", "leaving") if name in fields}
    return job_document("web", **{"type": "service", "state": "running", "update": update, **fields})


def test_jobs_and_job_show_that_a_service_crashes(cluster: Cluster, shunter: Shunter) -> None:
    document = service("crashing", CRASH)
    cluster.answers["GET /jobs"] = answer(200, {"items": [document], "next": None, "total": 1})
    cluster.answers["GET /jobs/web"] = answer(200, document)
    cluster.answers["GET /jobs/id:7/tasks"] = answer(200, {"items": [], "next": None, "total": 0})
    assert "crashing" in shunter("jobs").out
    shown = shunter("job", "web").out
    assert f"crashing: {CRASH}\n" in shown
    assert "1: crashing, 1 of 1 updated, 0 healthy\n" in shown


def test_jobs_can_be_filtered_by_the_states_that_the_listing_shows(cluster: Cluster, shunter: Shunter) -> None:
    found = [service("degraded", "1 of 2 tasks gave up"), service("steady") | {"name": "db"}]
    cluster.answers["GET /jobs"] = answer(200, {"items": found, "next": None, "total": 2})
    assert shunter("jobs", "--quiet", "--state", "degraded").out == "web\n"
    assert "state=running" in cluster.received[-1] and "degraded" not in cluster.received[-1]
    assert shunter("jobs", "--quiet", "--state", "running", "--state", "degraded").out == "web\ndb\n"
    assert shunter("jobs", "--quiet", "--state", "crashing").out == ""


def test_job_counts_what_is_being_replaced_apart(cluster: Cluster, shunter: Shunter) -> None:
    document = service("updating", wanted=2, healthy=2, leaving=1, count=2, counts={"running": 2})
    old = {"name": "web/0~0", "index": 0, "state": "running", "attempt": 1}
    tasks = [old, old | {"name": "web/0"}, old | {"name": "web/1", "index": 1}]
    cluster.answers["GET /jobs/web"] = answer(200, document)
    cluster.answers["GET /jobs/id:7/tasks"] = answer(200, {"items": tasks, "next": None, "total": 2})
    shown = shunter("job", "web").out
    assert "2: 2 running; 1 more is being replaced or removed\n" in shown
    assert [line.split()[0] for line in shown.splitlines() if line.startswith("web/")] == ["web/0~0", "web/0", "web/1"]
    assert "is being replaced" in next(line for line in shown.splitlines() if line.startswith("web/0~0"))


def test_an_ended_service_has_no_rollout_status_whatever_was_stored(cluster: Cluster, shunter: Shunter) -> None:
    ended = {"state": "failed", "reason": "exit code 1", "ended_at": "2026-01-01T00:00:00Z"}
    cluster.answers["GET /jobs/web"] = answer(200, service("steady", **ended))
    cluster.answers["GET /jobs/id:7/tasks"] = answer(200, {"items": [], "next": None, "total": 0})
    assert "steady" not in shunter("job", "web").out


def test_waiting_for_a_restart_says_what_crashes_and_how_it_ended(cluster: Cluster, shunter: Shunter) -> None:
    ended = {"state": "succeeded", "ended_at": "2026-01-01T00:00:00Z"}
    answers = iter([service("starting"), service("crashing", CRASH), service("crashing", CRASH)])
    cluster.answers["GET /jobs/web"] = answer(200, service("steady"))
    cluster.answers["GET /jobs/id:7"] = lambda _: answer(200, next(answers, service("ended", **ended)))
    cluster.answers["POST /jobs/id:7/restart"] = answer(200, service("starting"))
    said = shunter("restart", "web", "--wait")
    assert said.err.splitlines()[0] == f"shunter: web is crashing: {CRASH}"
    assert said.err.splitlines()[1].startswith("shunter: web succeeded")
    assert said.code == 0


def test_waiting_ends_with_1_where_a_task_gave_up(cluster: Cluster, shunter: Shunter) -> None:
    gave_up = service("degraded", "1 of 2 tasks gave up", counts={"running": 1, "failed": 1}, count=2)
    cluster.answers["GET /jobs/web"] = answer(200, gave_up)
    cluster.answers["POST /jobs/id:7/restart"] = answer(200, gave_up)
    said = shunter("restart", "web", "--wait")
    assert (said.code, said.err) == (1, "shunter: web is degraded: 1 of 2 tasks gave up\n")


def test_waiting_for_a_service_says_what_crashes_and_how_it_ended(
    cluster: Cluster, shunter: Shunter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wait, "LOOK_INTERVAL_S", 0.05)
    ended = service("ended") | {"state": "failed", "reason": "exit code 1", "ended_at": "2026-01-01T00:00:00Z"}
    cluster.answers["GET /jobs/web"] = answer(200, service("starting"))
    cluster.answers["GET /jobs/id:7"] = answer(200, service("crashing", CRASH))
    streams = iter([chunks(200, lines({"job": service("starting")}), ended=False)])
    cluster.answers["GET /jobs/id:7/follow"] = lambda _: next(
        streams, chunks(200, lines({"end": ended, "exit_code": 1}))
    )
    said = shunter("wait", "web")
    assert (said.code, said.err.splitlines()) == (
        1, ["shunter: web is starting", f"shunter: web is crashing: {CRASH}", "shunter: web failed: exit code 1"]
    )  # fmt: skip


def test_waiting_for_a_healthy_service_says_at_once_that_it_is_up(cluster: Cluster, shunter: Shunter) -> None:
    ended = service("ended") | {"state": "cancelled", "reason": "stopped by ada", "ended_at": "2026-01-01T00:00:00Z"}
    cluster.answers["GET /jobs/web"] = answer(200, service("steady", wanted=2, healthy=2))
    cluster.answers["GET /jobs/id:7/follow"] = chunks(200, lines({"end": ended, "exit_code": None}))
    said = shunter("wait", "web")
    assert (said.code, said.err.splitlines()) == (
        1, ["shunter: web is up: 2/2 healthy; it runs until it is stopped", "shunter: web cancelled: stopped by ada"]
    )  # fmt: skip


def test_a_failed_task_is_reported_when_the_others_have_started_so_that_the_count_is_final(
    cluster: Cluster, shunter: Shunter
) -> None:
    ongoing = service("degraded", "1 of 3 tasks gave up", counts={"assigned": 1, "queued": 1, "failed": 1}, count=3)
    final = service("degraded", "2 of 3 tasks gave up", counts={"running": 1, "failed": 2}, count=3)
    cluster.answers["GET /jobs/web"] = cluster.answers["POST /jobs/id:7/restart"] = answer(200, ongoing)
    cluster.answers["GET /jobs/id:7"] = answer(200, final)
    said = shunter("restart", "web", "--wait")
    assert (said.code, said.err.splitlines()[-1]) == (1, "shunter: web is degraded: 2 of 3 tasks gave up")


def test_jobs_shows_a_stalled_update(cluster: Cluster, shunter: Shunter) -> None:
    found = service("stalled", "task web/0 failed: exit code 1", counts={"running": 1})
    cluster.answers["GET /jobs"] = answer(200, {"items": [found], "next": None, "total": 1})
    assert shunter("jobs").out.splitlines()[1].split()[:3] == ["web", "1", "stalled"]


@pytest.mark.parametrize("command", [["why"], ["stop"], ["restart"], ["move"]])
def test_a_replaced_instance_can_only_be_read(cluster: Cluster, shunter: Shunter, command: list[str]) -> None:
    said = shunter(*command, "web/front/0~2", *(["n1"] if command == ["move"] else []))
    assert (said.code, cluster.server.received) == (2, [])
    assert said.err == (
        "shunter: error: task: is a replaced instance, which only logs, tasks and metrics show "
        "(got 'web/front/0~2'); write web/front/0 for its successor\n"
    )
