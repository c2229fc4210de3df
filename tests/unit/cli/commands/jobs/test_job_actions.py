"""The commands that act: run, submit, stop, wait."""

from __future__ import annotations

import json
import os
import threading
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shunter.cli import follow
from shunter.cli.commands import services
from shunter.cli.commands.jobs import wait
from shunter.cli.commands.jobs.run_options import entries
from shunter.cli.exit_codes import print_notice
from tests.unit.cli.conftest import Cluster, Reply, Shunter
from tests.unit.sdk.calls.test_admin import TEMPLATE
from tests.unit.sdk.scripted_server import ReceivedRequest, answer, chunks, job_document, lines, raw_response

JOB = lines({"job": job_document("echo-1")})


def log(data: bytes, stream: str = "stdout") -> bytes:
    return lines({"log": {"stream": stream, "data": b64encode(data).decode()}})


def end(state: str = "succeeded", exit_code: int | None = 0, **fields: object) -> bytes:
    document: dict[str, object] = {"end": job_document("echo-1", state=state, **fields)}
    return lines(document if exit_code is None else document | {"exit_code": exit_code})


@pytest.mark.parametrize(("code", "expected"), [(0, 125), (7, 7)])
def test_run_never_exits_with_0_if_output_is_missing(
    cluster: Cluster, shunter: Shunter, code: int, expected: int
) -> None:
    document = {"end": job_document("echo-1", state="failed" if code else "succeeded"), "exit_code": code}
    cluster.answers["POST /jobs"] = chunks(201, JOB, lines(document | {"output_error": "the log could not be read"}))
    said = shunter("run", "--", "sh", "-c", "...")
    assert said.code == expected
    assert "the output of echo-1 is incomplete: the log could not be read; try: shunter logs echo-1" in said.err


def test_run_prints_what_the_task_prints_and_exits_as_it_does(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["POST /jobs"] = chunks(201, JOB, log(b"out\xff\n"), log(b"err\n", "stderr"), end("failed", 7))
    said = shunter("run", "--", "sh", "-c", "...")
    assert (said.code, said.err) == (7, "err\n")
    assert said.out.encode(errors="surrogateescape").startswith(b"out") and said.out.endswith("\n")
    assert cluster.received == ["POST /jobs?namespace=default&follow=logs"]


def test_run_says_all_that_was_asked_of_it(cluster: Cluster, shunter: Shunter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", "here")
    cluster.answers["POST /jobs"] = answer(201, job_document("render"))
    words = (
        "run -d --name render --count 3 --cpu 500m --memory 1Gi --disk 2Gi --gpu 1 --resource licence=2"
        " --env A=b=c -e MINE --dir /srv --timeout 10m --priority 70 --restart on-failure:5 --datacenter berlin"
        " --constraint x==1 --label team=film -n film render --quiet --name x"
    )
    assert shunter(*words.split()).out == "render\n"
    sent: Any = cluster.server.received[0].json
    assert sent["metadata"] == {"name": "render", "labels": {"team": "film"}}
    assert sent["spec"] == {
        "command": ["render", "--quiet", "--name", "x"], "count": 3, "env": {"A": "b=c", "MINE": "here"}, "dir": "/srv",
        "resources": {"cpu": "500m", "memory": "1Gi", "disk": "2Gi", "gpu": 1, "licence": 2}, "timeout": "10m",
        "priority": 70, "restart": {"policy": "on-failure", "max": 5}, "datacenters": ["berlin"],
        "constraints": ["x==1"],
    }  # fmt: skip
    assert cluster.received == ["POST /jobs?namespace=film"]


def test_run_says_when_how_often_and_in_what(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["POST /jobs"] = answer(201, job_document("render"))
    words = (
        "run -d --array 1-9:2%3 --failures-max 2 --gang --exclusive --queue night --after fetch --after check:failed"
        " --start-at 90m --deadline 2030-01-31T08:00Z --estimate 5m --timeout 1m --queue-timeout 1h --job-timeout 4h"
        " --retries 4 --hold --stdout out/%i.txt --user nobody --port web=80 --image busybox --mount /srv:/in:ro"
        " --network host --keep-entrypoint render --quiet"
    )
    shunter(*words.split())
    sent: Any = cluster.server.received[0].json
    assert sent["spec"] == {
        "array": "1-9:2", "parallel_max": 3, "failures_max": 2, "gang": True, "exclusive": True, "queue": "night",
        "after": [{"job": "fetch"}, {"job": "check", "when": "failed"}], "start_at": "90m",
        "deadline": "2030-01-31T08:00:00+00:00", "estimate": "5m", "hold": True, "env": {}, "user": "nobody",
        "timeout": {"run": "1m", "queue": "1h", "job": "4h"}, "restart": {"policy": "on-failure", "max": 4},
        "stdout": f"{os.getcwd()}/out/%i.txt", "ports": [{"name": "web", "host_port": 80}], "network": "host",  # noqa: PTH109
        "mounts": [{"source": "/srv", "target": "/in", "read_only": True}], "image": "busybox",
        "args": ["render", "--quiet"],
    }  # fmt: skip


def test_lines_of_any_machine_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes("\ufeffone\r\n\r\ntwo ü\r\n".encode())
    assert entries(str(tmp_path / "lines")) == ("one", "two ü")


def test_run_has_a_task_for_each_line(cluster: Cluster, shunter: Shunter, tmp_path: Path) -> None:
    file = tmp_path / "names.txt"
    file.write_text("one\n\ntwo words\n")
    last = end("succeeded", None, count=2, counts={"succeeded": 2})
    cluster.answers["POST /jobs"] = chunks(201, JOB, last)
    assert "2 succeeded" in shunter("run", "--each-line", str(file), "true").out
    sent: Any = cluster.server.received[0].json
    assert sent["spec"]["entries"] == ["one", "two words"]
    assert "count" not in sent["spec"]
    assert cluster.received == ["POST /jobs?namespace=default&follow=progress"]


def test_an_image_may_run_what_it_has(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["POST /jobs"] = chunks(201, JOB, end())
    assert shunter("run", "--image", "busybox").code == 0
    sent: Any = cluster.server.received[-1].json
    assert sent["spec"] == {"image": "busybox", "count": 1, "env": {}}


def test_run_works_in_the_callers_folder_with_no_variables_of_his(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["POST /jobs"] = chunks(201, JOB, end())
    shunter("run", "true")
    sent: Any = cluster.server.received[0].json
    assert sent["spec"] == {"command": ["true"], "count": 1, "env": {}, "dir": os.getcwd()}  # noqa: PTH109


def test_run_of_an_array_ends_with_a_summary(cluster: Cluster, shunter: Shunter) -> None:
    progress = lines({"progress": {"state": "running", "counts": {"running": 2, "queued": 8}}})
    last = end("failed", None, count=10, counts={"succeeded": 9, "failed": 1}, reason="task 3: exit code 9")
    cluster.answers["POST /jobs"] = chunks(201, JOB, progress, last)
    said = shunter("run", "--count", "10", "true")
    assert said.code == 1
    assert said.out.startswith("echo-1 failed: 9 succeeded, 1 failed in ") and said.out.endswith("tasks/s\n")
    assert said.err == "shunter: task 3: exit code 9\n"
    assert cluster.received == ["POST /jobs?namespace=default&follow=progress"]


def test_an_array_of_which_all_succeeded_exits_with_zero(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["POST /jobs"] = chunks(201, JOB, end("succeeded", None, count=10, counts={"succeeded": 10}))
    assert shunter("run", "--count", "10", "true").code == 0


@pytest.mark.parametrize(
    ("state", "exit_code", "code"),
    [("failed", 137, 137), ("failed", None, 1), ("cancelled", None, 1), ("succeeded", 0, 0)],
)
def test_run_says_why_where_the_exit_code_does_not(
    cluster: Cluster, shunter: Shunter, state: str, exit_code: int | None, code: int
) -> None:
    cluster.answers["POST /jobs"] = chunks(201, JOB, end(state, exit_code, reason="it ran out of memory"))
    said = shunter("run", "true")
    assert said.code == code
    assert ("ran out of memory" in said.err) == (code != 0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run"], "shunter run -- echo hello"),
        (["run", "--each-line", "/no/such/file", "true"], "/no/such/file"),
        (["run", "--array", "9-1", "true"], "count upwards"),
        (["run", "--retries", "2", "--restart", "always", "true"], "on-failure:2"),
        (["run", "--nonsense", "true"], "--nonsense"),
        (["run", "--env", "NOT_SET_ANYWHERE", "true"], "NOT_SET_ANYWHERE=VALUE"),
        (["run", "--resource", "gpu", "true"], "KEY=VALUE"),
        (["run", "--count", "0", "true"], "--count"),
        (["run", "true"], "no such thing"),
    ],
)
def test_errors_of_run_itself_are_told_apart_from_the_tasks(
    cluster: Cluster, shunter: Shunter, arguments: list[str], words: str
) -> None:
    cluster.answers["POST /jobs"] = answer(404, {"detail": "no such thing"})
    said = shunter(*arguments)
    assert said.code == 125 and words in said.err


def test_run_goes_on_where_the_connection_breaks(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers |= {
        "POST /jobs": chunks(201, JOB, log(b"one "), ended=False),
        "GET /jobs/id:7/follow": chunks(200, JOB, log(b"one two\n"), end()),
    }
    assert shunter("run", "true").out == "one two\n"


def test_a_job_that_waits_says_for_what(cluster: Cluster, shunter: Shunter, monkeypatch: pytest.MonkeyPatch) -> None:
    told = threading.Event()

    def tell_and_note(text: str) -> None:
        print_notice(text)
        told.set()

    def wait_until_notified(received: ReceivedRequest) -> Iterator[bytes]:
        yield from chunks(201, JOB, ended=False)
        while not told.wait(0.01) and not received.gone.is_set():
            pass
        yield from chunks(201, end())[1:]

    why = {"name": "echo-1", "state": "pending", "sentence": "no node is large enough", "counts": {}, "reasons": []}
    monkeypatch.setattr(follow, "EXPLAIN_DELAY_S", 0.0)
    monkeypatch.setattr(follow, "print_notice", tell_and_note)
    cluster.answers |= {"POST /jobs": wait_until_notified, "GET /jobs/id:7/why": answer(200, why)}
    assert "no node is large enough" in shunter("run", "true").err


@pytest.mark.parametrize(
    "service",
    [{}, {"type": "service", "state": "running", "update": {"status": "in_progress"}}],
    ids=["batch", "service"],
)
def test_submit_says_what_a_job_waits_for(
    cluster: Cluster, shunter: Shunter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, service: dict[str, Any]
) -> None:
    asked = threading.Event()
    if service:
        service["update"] |= {"healthy": 0, "wanted": 1, "updated": 0}
    final = {"state": "failed", "reason": "given up", "ended_at": "2026-01-01T00:00:00Z"}

    def job(_: ReceivedRequest) -> bytes:
        return answer(200, job_document("a", **(service | final if asked.is_set() else service)))

    def why(_: ReceivedRequest) -> bytes:
        asked.set()
        sentence = "Pending: no node has gpu (1 node)."
        return answer(200, {"name": "a", "state": "pending", "sentence": sentence, "counts": {"queued": 1}})

    def follow_until_asked(received: ReceivedRequest) -> Iterator[bytes]:
        yield from chunks(200, lines({"progress": {"state": "pending", "counts": {"queued": 1}}}), ended=False)
        while not asked.wait(0.01) and not received.gone.is_set():
            pass
        yield from chunks(200, lines({"end": job_document("a", **final)}))[1:]

    monkeypatch.setattr(follow, "EXPLAIN_DELAY_S", 0.0)
    monkeypatch.setattr(wait, "LOOK_INTERVAL_S", 0.01)
    monkeypatch.setattr(services, "POLL_INTERVAL_S", 0.01)
    submitted = {"name": "a", "namespace": "default", "id": 7, "run": 1, "created": True}
    cluster.answers |= {
        "POST /jobs": job,
        "POST /bulk/jobs": answer(201, {"items": [submitted]}),
        "GET /jobs/id:7": job,
        "GET /jobs/id:7/follow": follow_until_asked,
        "GET /jobs/id:7/why": why,
    }
    file = tmp_path / "job.json"
    file.write_text(json.dumps({"kind": "Job", "spec": {"type": service.get("type", "batch")}}))
    said = shunter("submit", str(file), "--wait")
    assert said.code == 1
    assert said.err.count("shunter: a: Pending: no node has gpu (1 node).\n") == 1


def test_submit_tells_what_became_of_every_job(cluster: Cluster, shunter: Shunter, tmp_path: Path) -> None:
    file = tmp_path / "jobs.yaml"
    file.write_text("kind: Job\nmetadata: {name: a}\n---\nkind: Job\nmetadata: {name: b}\n")
    items = [
        {"name": "a", "namespace": "default", "id": 1, "run": 1, "created": True},
        {"name": "b", "namespace": "default", "id": 2, "run": 1, "created": False},
    ]
    cluster.answers["POST /bulk/jobs"] = answer(201, {"items": items})
    assert shunter("submit", "-f", str(file)).out == "a submitted\nb unchanged\n"
    assert shunter("submit", "-q", str(file)).out == "a\nb\n"


def test_submit_waits_and_fails_with_the_job(cluster: Cluster, shunter: Shunter, tmp_path: Path) -> None:
    file = tmp_path / "job.json"
    file.write_text('{"kind": "Job"}')
    cluster.answers |= {
        "POST /jobs": answer(200, job_document("a")),
        "GET /jobs/id:7": answer(200, job_document("a")),
        "GET /jobs/id:7/follow": chunks(200, lines({"end": job_document("a", state="failed", reason="exit code 3")})),
    }
    said = shunter("submit", "-f", str(file), "--wait")
    assert (said.code, said.out) == (1, "a unchanged\n")
    assert "a failed: exit code 3" in said.err


def test_a_refused_manifest_lists_every_problem(cluster: Cluster, shunter: Shunter, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("kind: Job\n")
    problems = [
        {"field": "spec.cuont", "message": "unknown field", "value": None, "fix": "did you mean count?"},
        {"field": "spec.cpu", "message": "must be a quantity", "value": "lots", "fix": None},
    ]
    cluster.answers["POST /jobs"] = answer(400, {"detail": "two", "problems": problems})
    said = shunter("submit", "-f", str(file))
    assert said.code == 2
    assert said.err.splitlines() == [
        "shunter: error: found 2 problems:",
        "  spec.cuont: unknown field; did you mean count?",
        "  spec.cpu: must be a quantity (got 'lots')",
    ]


@pytest.mark.parametrize(("text", "words"), [("a: [", "line 2"), ("", "empty"), ("- a", "document 1")])
def test_a_file_that_is_no_manifest_is_told_before_anything_is_sent(
    cluster: Cluster, shunter: Shunter, tmp_path: Path, text: str, words: str
) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(text)
    said = shunter("submit", "-f", str(file))
    assert said.code == 2 and words in said.err and cluster.received == []


def test_stop_ends_jobs_and_single_tasks(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers |= {
        "GET /jobs/a": answer(200, job_document("a", state="running")),
        "GET /jobs/b": answer(200, job_document("b", state="succeeded")),
        "DELETE /jobs/id:7": raw_response(204, b""),
        "DELETE /jobs/id:7/tasks/4": raw_response(204, b""),
    }
    assert shunter("stop", "a/4", "b", "--now").out == "a/4 is stopping\nb has already ended (succeeded)\n"
    assert [path for path in cluster.received if path.startswith("DELETE")] == [
        "DELETE /jobs/id:7/tasks/4?namespace=default&now=true",
        "DELETE /jobs/id:7?namespace=default&now=true",
    ]


def test_wait_comes_to_how_the_jobs_ended(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers |= {
        "GET /jobs/a": answer(200, job_document("a", state="running")),
        "GET /jobs/b": answer(200, job_document("b", state="succeeded")),
        "GET /jobs/id:7/follow": chunks(200, lines({"end": job_document("a", state="succeeded")})),
    }
    assert shunter("wait", "a", "b").code == 0


def test_a_wait_ends_with_a_line_that_says_how_the_job_ended(cluster: Cluster, shunter: Shunter) -> None:
    times = {"started_at": "2026-01-02T03:04:05.000Z", "ended_at": "2026-01-02T03:04:06.200Z"}
    array = job_document("a", state="succeeded", count=100, counts={"succeeded": 100}, **times)
    cluster.answers |= {
        "GET /jobs/a": answer(200, array),
        "GET /jobs/b": answer(200, job_document("b", state="succeeded", **times)),
    }
    said = shunter("wait", "a", "b")
    assert (said.out, said.err) == ("", "shunter: a succeeded: 100 succeeded in 1.2s\nshunter: b succeeded in 1.2s\n")


@pytest.mark.parametrize("options", [(), ("-q",)])
def test_a_long_wait_says_how_far_the_job_is(
    cluster: Cluster, shunter: Shunter, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.setattr("shunter.cli.commands.jobs.wait.LOOK_INTERVAL_S", 0.05)
    monkeypatch.setattr("shunter.cli.render.progress.LINE_EVERY_S", 0.0)
    counts = {"succeeded": 2, "running": 1}
    looks = iter([counts, counts, {"succeeded": 3}])

    def follow(received: ReceivedRequest) -> Reply:
        if (now := next(looks, None)) is None:
            return chunks(200, lines({"end": job_document("a", state="succeeded", count=3, counts={"succeeded": 3})}))
        cluster.answers["GET /jobs/id:7"] = answer(200, job_document("a", state="running", count=3, counts=now))
        received.gone.wait(30)
        return None

    cluster.answers |= {"GET /jobs/a": answer(200, job_document("a", count=3)), "GET /jobs/id:7/follow": follow}
    said = shunter("wait", "a", *options)
    told = [line.partition(", ")[0] for line in said.err.splitlines()]
    assert said.code == 0 and told == (
        []
        if options
        else [
            "shunter: a: 2 of 3 done (2 succeeded",
            "shunter: a: 3 of 3 done (3 succeeded)",
            "shunter: a succeeded: 3 succeeded",
        ]
    )


def test_submitting_a_template_says_when_it_runs(cluster: Cluster, shunter: Shunter, tmp_path: Path) -> None:
    file = tmp_path / "jobs.yaml"
    file.write_text("kind: Job\n---\nkind: Job\n")
    saved = [{"name": name, "namespace": "film", "id": 0, "run": 0, "created": True} for name in ("tick", "ingest")]
    tick = TEMPLATE | {"name": "tick", "next_at": "2100-01-01T09:34:00+00:00"}
    cluster.answers |= {
        "POST /bulk/jobs": answer(201, {"items": saved}),
        "GET /templates/tick": answer(200, tick),
        "GET /templates/ingest": answer(200, TEMPLATE | {"name": "ingest"}),
    }
    said = shunter("submit", "-f", str(file))
    assert said.err == ""
    first, second = said.out.splitlines()
    assert first.startswith("tick: schedule saved, next run ") and second == (
        "ingest: template saved, run it with `shunter dispatch ingest`"
    )
    assert "GET /templates/tick?namespace=film" in cluster.received


def test_wait_gives_up_in_time_and_leaves_the_job_alone(cluster: Cluster, shunter: Shunter) -> None:
    def silent(received: ReceivedRequest) -> Reply:
        received.gone.wait(30)
        return None

    cluster.answers |= {"GET /jobs/a": answer(200, job_document("a")), "GET /jobs/id:7/follow": silent}
    said = shunter("wait", "a", "--timeout", "50ms")
    assert said.code == 1 and "a has not ended" in said.err
    assert not any(path.startswith("DELETE") for path in cluster.received)


@pytest.mark.parametrize("arguments", [["stop", "a/b"], ["wait", "a", "--timeout", "soon"], ["logs", "a/-1"]])
def test_wrong_words_are_refused_before_anything_is_asked(
    cluster: Cluster, shunter: Shunter, arguments: list[str]
) -> None:
    assert shunter(*arguments).code == 2 and cluster.received == []


def test_variables_come_from_files_too(cluster: Cluster, shunter: Shunter, tmp_path: Path) -> None:
    file = tmp_path / "env"
    file.write_text('# for tests\nA=1\n\nB=two words = x\nC="x y"\nD=\'p\'\nE="a" b\nF="\nG=\nexport H="h"\n')
    cluster.answers["POST /jobs"] = answer(201, job_document("echo-1"))
    said = shunter("run", "--detach", "--env-file", str(file), "--env", "A=3", "--", "true")
    assert said.code == 0
    sent: Any = cluster.server.received[0].json
    quoted = {"C": "x y", "D": "p", "E": '"a" b', "F": '"', "G": "", "H": "h"}
    assert sent["spec"]["env"] == {"A": "3", "B": "two words = x", **quoted}
    file.write_text("A\n")
    assert shunter("run", "--env-file", str(file), "true").err == (
        f"shunter: error: --env-file: line 1 of {file} must have the form KEY=VALUE (got 'A')\n"
    )
    for line in ("set A=1", "export", "export A", "export A B=1", "=1"):
        file.write_text(f"{line}\n")
        assert "line 1 of" in shunter("run", "--env-file", str(file), "true").err
    assert "--env-file: cannot be read: No such file" in shunter("run", "--env-file", str(file) + "x", "true").err
