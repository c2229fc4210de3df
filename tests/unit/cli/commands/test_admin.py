"""The commands about templates, queues and dead letters; hold, release, retry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Cluster, Shunter, page
from tests.unit.sdk.calls.test_admin import DEAD, QUEUE, TEMPLATE
from tests.unit.sdk.scripted_server import answer, job_document, raw_response

SCHEDULED = TEMPLATE | {"cron": "0 1 * * *", "timezone": "Europe/Berlin", "next_at": "2100-01-01T00:00:00Z"}


def test_cron_lists_when_jobs_run_next_and_how_the_last_run_went(cluster: Cluster, shunter: Shunter) -> None:
    parameterised = TEMPLATE | {
        "name": "render",
        "state": "dispatchable",
        "required": ["in"],
        "optional": {"q": "high"},
    }
    cluster.answers["GET /templates"] = page(SCHEDULED | {"last_run": 3, "last_state": "failed"}, parameterised)
    said = shunter("cron", "list")
    lines = [line.split() for line in said.out.splitlines()]
    assert lines[1][:7] == ["nightly", "scheduled", "0", "1", "*", "*", "*"]
    assert "(Europe/Berlin)" in said.out and "3 failed" in said.out and "on dispatch: in, q=high" in said.out
    assert shunter("cron").out == said.out


def test_cron_shows_pauses_resumes_and_deletes(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["GET /templates/nightly"] = answer(200, SCHEDULED)
    cluster.answers["PATCH /templates/nightly"] = answer(200, SCHEDULED)
    cluster.answers["DELETE /templates/nightly"] = raw_response(204, b"")
    assert "2100-01-01T00:00:00Z (in " in shunter("cron", "show", "nightly").out
    assert shunter("cron", "pause", "nightly").out == "nightly paused\n"
    assert shunter("cron", "resume", "nightly").out.startswith("nightly resumed: next run ")
    assert shunter("cron", "delete", "nightly").out == "nightly deleted\n"


def test_dispatch_sends_parameters_and_a_file(cluster: Cluster, shunter: Shunter, tmp_path: Path) -> None:
    cluster.answers["POST /templates/render/runs"] = answer(201, job_document("render", run=5))
    (tmp_path / "in.bin").write_bytes(b"\x00\xff")
    said = shunter("dispatch", "render", "-p", "input=a=b", "--payload", str(tmp_path / "in.bin"))
    assert (said.code, said.out) == (0, "render@5\n")
    sent: Any = cluster.server.received[0].json
    assert sent == {"parameters": {"input": "a=b"}, "payload": "AP8="}


def test_dispatch_says_what_cannot_be_read(cluster: Cluster, shunter: Shunter) -> None:
    said = shunter("dispatch", "render", "--payload", "/nowhere/in.bin")
    assert said.code == 2 and "--payload: cannot be read" in said.err
    assert cluster.received == []


def test_queues_are_listed_with_their_rules(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["GET /queues"] = page(QUEUE | {"running_max": 10}, QUEUE | {"name": "night", "paused": True})
    lines = [line.split() for line in shunter("queues").out.splitlines()]
    assert lines[1:] == [
        ["film", "open", "3", "1", "10", "-", "fair"], ["night", "paused", "3", "1", "-", "-", "fair"],
    ]  # fmt: skip


def test_a_queue_is_set_paused_purged_and_deleted(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["GET /queues"] = page(QUEUE)
    cluster.answers["PATCH /queues/film"] = answer(200, QUEUE | {"running_max": 10, "strict": True})
    cluster.answers["POST /queues/film/purge"] = answer(200, {"count": 1234})
    cluster.answers["DELETE /queues/film"] = raw_response(204, b"")
    said = shunter("queue", "set", "film", "--running-max", "10", "--strict")
    assert said.out == "film: 3 queued, 1 running; at most 10 running, strict order\n"
    sent: Any = cluster.server.received[0].json
    assert sent == {"running_max": 10, "strict": True}
    assert shunter("queue", "pause", "film").out == "film paused: 3 queued, 1 running\n"
    assert shunter("queue", "resume", "film").out == "film resumed: 3 queued, 1 running\n"
    assert shunter("queue", "purge", "film").out == "film purged: 1,234 tasks cancelled\n"
    assert shunter("queue", "delete", "film").out == "rules of film removed; its tasks continue\n"
    assert shunter("queue", "set", "film").code == 2


def test_dead_letters_are_listed_replayed_and_purged(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["GET /dead"] = page(DEAD)
    run = {"name": "render", "namespace": "default", "id": 8, "run": 2, "created": True}
    cluster.answers["POST /dead/replay"] = answer(201, {"items": [run], "left": 3})
    cluster.answers["POST /dead/purge"] = answer(200, {"count": 2})
    assert shunter("dead").out.splitlines()[1].split()[:3] == ["7", "render@1/3", "1"]
    said = shunter("dead", "replay", "--all")
    assert said.out == "render@2\n" and "skipped 3 dead letters" in said.err
    shunter("dead", "replay", "7", "8")
    assert cluster.server.received[-1].json == {"numbers": [7, 8]}
    assert shunter("dead", "purge", "render").out == "purged 2 dead letters\n"
    assert cluster.server.received[-1].json == {"numbers": [], "job": "render"}


def test_a_replay_of_nothing_says_so(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["POST /dead/replay"] = answer(201, {"items": [], "left": 0})
    said = shunter("dead", "replay", "render")
    assert (said.code, said.out, said.err) == (0, "", "shunter: no dead letters to replay\n")


@pytest.mark.parametrize("words", [(), ("--all", "7"), ("render", "7"), ("render", "fetch")])
def test_which_letters_are_meant_must_be_clear(cluster: Cluster, shunter: Shunter, words: tuple[str, ...]) -> None:
    said = shunter("dead", "purge", *words)
    assert said.code == 2 and "give numbers of dead letters, the name of one job, or --all" in said.err
    assert cluster.received == []


def test_jobs_are_held_released_and_retried(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["GET /jobs/render"] = answer(200, job_document())
    cluster.answers["POST /jobs/id:7/hold"] = answer(200, job_document())
    cluster.answers["POST /jobs/id:7/release"] = answer(200, job_document())
    cluster.answers["POST /jobs/id:7/retry"] = answer(201, job_document(run=4))
    assert shunter("hold", "render").out == "render held\n"
    assert shunter("release", "render").out == "render released\n"
    assert shunter("retry", "render", "--failed").out == "render@4\n"
    assert cluster.received[-1] == "POST /jobs/id:7/retry?namespace=default&failed=true"


def test_a_job_shows_what_it_waits_for_and_its_terms(cluster: Cluster, shunter: Shunter) -> None:
    terms = {
        "queue": "film", "held": True, "deadline": "2026-01-01T00:00:00Z", "deadline_missed": True, "timeout_s": 90.0,
        "waits_for": ["fetch@1 to have succeeded (it is running)"],
    }  # fmt: skip
    cluster.answers["GET /jobs/render"] = answer(200, job_document(terms=terms))
    cluster.answers["GET /jobs/id:7/tasks"] = page()
    out = shunter("job", "render").out
    assert "  held       Start it with `shunter release render`\n" in out
    assert "  waits for  fetch@1 to have succeeded (it is running)\n" in out
    assert "2026-01-01T00:00:00Z (missed)" in out and "1m30s for the whole job" in out
