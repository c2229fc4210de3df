"""The REST API of a running cluster: status codes, safety, limits, repeated and bulk submits."""

from __future__ import annotations

import json
import socket
import stat
from collections.abc import Iterator

import psutil
import pytest

from tests.e2e.cluster import Cluster, eventually, is_alive
from tests.e2e.manifests import job, shell
from tests.e2e.rest import Rest
from tests.e2e.task_gates import Gate

MIB = 2**20


@pytest.fixture
def rest(cluster: Cluster) -> Rest:
    return Rest(cluster)


def test_nothing_is_told_without_the_token(rest: Rest) -> None:
    """D-02: 401 comes before anything else, also for paths and bodies that are wrong in other ways."""
    for method, path in (("GET", "/jobs"), ("POST", "/jobs"), ("GET", "/nothing"), ("DELETE", "/jobs/x"),
                         ("PATCH", "/nodes/x"), ("GET", "/openapi.json"), ("POST", "/cluster/down")):  # fmt: skip
        answer = rest.ask(method, path, b"{" if method == "POST" else None, token=False)
        assert (answer.status, answer.headers["content-type"]) == (401, "application/problem+json")
        assert rest.ask(method, path, headers={"authorization": "Bearer wrong"}, token=False).status == 401
        assert rest.ask(method, path, headers={"authorization": "Basic x"}, token=False).status == 401


def test_health_is_open_to_all(rest: Rest) -> None:
    answer = rest.ask("GET", "/healthz", token=False)
    assert (answer.status, answer.json) == (200, {"status": "ok"})


def test_only_its_owner_can_read_the_token(cluster: Cluster) -> None:
    """Safe by default: the token is made at the first start, mode 0600, in a folder of mode 0700."""
    for name in ("token", "worker-token", "store.db"):
        assert stat.S_IMODE((cluster.home / name).stat().st_mode) == 0o600, name
    assert stat.S_IMODE(cluster.home.stat().st_mode) == 0o700
    assert len(cluster.token) >= 32


def test_it_listens_on_loopback_only(cluster: Cluster, home: Cluster) -> None:
    """Safe by default: no socket of the cluster is open to other machines; asking for it needs a flag."""
    listening = [
        each.laddr.ip
        for process in cluster.processes()
        for each in psutil.Process(process.pid).net_connections("inet")
        if each.status == psutil.CONN_LISTEN
    ]
    assert listening == ["127.0.0.1"]
    refused = home.shunter("up", "--detach", "--listen", "0.0.0.0:0", code=2)
    assert "--listen" in refused.err
    assert "--insecure" in refused.err


def test_starting_and_stopping_a_job(cluster: Cluster, rest: Rest, gate: Gate) -> None:
    """C-09: 201 for a start, 200 for the same again, 204 for a stop, also when it has ended; 404 and 400."""
    created = rest.ask("POST", "/jobs", job("by-rest", gate.command))
    assert created.status == 201
    assert (created.json["name"], created.json["state"]) == ("by-rest", "pending")
    assert rest.ask("POST", "/jobs", job("by-rest", gate.command)).status == 200
    assert rest.ask("POST", "/jobs", job("by-rest", ["/bin/false"])).status == 409
    gate.reached()
    cluster.until("by-rest", "running")
    assert rest.ask("DELETE", "/jobs/by-rest").status == 204
    lines = list(map(json.loads, follow(rest, "by-rest")))
    assert lines[-1]["end"]["state"] == "cancelled"
    assert rest.ask("DELETE", "/jobs/by-rest").status == 204
    assert rest.ask("DELETE", "/jobs/unknown").status == 404
    refused = rest.ask("POST", "/jobs", job("by-rest", count=-1, priority=101))
    assert (refused.status, sorted(refused.fields)) == (400, ["spec.count", "spec.priority"])
    assert rest.ask("POST", "/jobs", b"{").status == 400
    assert rest.ask("POST", "/jobs/by-rest").status == 405


def test_one_task_is_stopped_by_its_path(rest: Rest, gate: Gate) -> None:
    """C-26, over REST."""
    rest.ask("POST", "/jobs", job("pair", gate.command, count=2))
    [pid] = [arrival.pid for arrival in gate.reached(2) if arrival.index == 0]
    assert rest.ask("DELETE", "/jobs/pair/tasks/0?now=true").status == 204
    eventually(lambda: not is_alive(pid), "task 0 ends")
    gate.open()
    list(follow(rest, "pair"))
    states = [task["state"] for task in rest.ask("GET", "/jobs/pair/tasks").json["items"]]
    assert states == ["cancelled", "succeeded"]
    assert rest.ask("DELETE", "/jobs/pair/tasks/2").status == 404


def test_repeating_a_submit_with_its_key_returns_the_same_job(rest: Rest) -> None:
    """D-08: a client that did not hear the answer may ask again, also after the job has ended: it runs once."""
    key = {"idempotency-key": "key-1"}
    first = rest.ask("POST", "/jobs", {**job("x"), "metadata": {}}, key)
    assert first.status == 201
    name = first.json["name"]
    list(follow(rest, name))
    for _ in range(2):
        again = rest.ask("POST", "/jobs", {**job("x"), "metadata": {}}, key)
        assert (again.status, again.json["id"], again.json["state"]) == (200, first.json["id"], "succeeded")
    assert rest.ask("GET", f"/jobs/{name}/runs").json["total"] == 1
    other = rest.ask("POST", "/jobs", {**job("x"), "metadata": {}}, {"idempotency-key": "key-2"})
    assert (other.status, other.json["id"] != first.json["id"]) == (201, True)


def test_bulk_submit_takes_all_or_none(rest: Rest) -> None:
    """D-49: many jobs in one request; one that is refused refuses them all, and every problem is told."""
    names = [f"bulk-{number}" for number in range(200)]
    refused = rest.ask("POST", "/bulk/jobs", {"items": [*map(job, names), job("bad", count=0), job("worse", cnt=1)]})
    assert (refused.status, refused.fields) == (400, ["items[200].spec.count", "items[201].spec.cnt"])
    assert rest.ask("GET", "/jobs/bulk-0").status == 404
    taken = rest.ask("POST", "/bulk/jobs", {"items": list(map(job, names))}, {"idempotency-key": "bulk"})
    assert taken.status == 201
    assert [(item["name"], item["created"]) for item in taken.json["items"]] == [(name, True) for name in names]
    again = rest.ask("POST", "/bulk/jobs", {"items": list(map(job, names))}, {"idempotency-key": "bulk"})
    assert [item["id"] for item in again.json["items"]] == [item["id"] for item in taken.json["items"]]
    assert not any(item["created"] for item in again.json["items"])
    for name in names:
        list(follow(rest, name))
    assert rest.ask("GET", "/jobs/bulk-199").json["state"] == "succeeded"


def test_a_submit_can_follow_to_the_end_in_one_answer(rest: Rest) -> None:
    """D-09: the job, its output, its end and exit code, in one streamed response."""
    answer = rest.ask("POST", "/jobs?follow=logs", shell("streamed", "echo out; echo err >&2; exit 6"))
    assert (answer.status, answer.headers["content-type"]) == (201, "application/x-ndjson")
    lines = [json.loads(line) for line in answer.body.splitlines()]
    assert lines[0]["job"]["name"] == "streamed"
    assert {line["log"]["stream"] for line in lines if "log" in line} == {"stdout", "stderr"}
    assert (lines[-1]["end"]["state"], lines[-1]["exit_code"]) == ("failed", 6)


def test_bodies_have_limits(rest: Rest) -> None:
    """D-08: one manifest, or a bulk of them, at most 32 MiB: 413. Fields have limits of their own: 400."""
    big = json.dumps(job("big", env={"X": "x" * (32 * MIB + 1)})).encode()
    assert rest.ask("POST", "/jobs", big).status == 413
    crowded = rest.ask("POST", "/jobs", job("crowded", env={f"X{number}": "x" for number in range(257)}))
    assert (crowded.status, crowded.fields) == (400, ["spec.env"])
    assert rest.ask("POST", "/bulk/jobs", {"items": [job("x")] * 20_001}).status in (400, 413)
    assert rest.ask("GET", "/jobs").status == 200


def test_a_body_past_its_limit_is_refused_before_it_is_read(rest: Rest) -> None:
    """D-08: whoever announces too much hears 413 without having to send it."""
    with socket.create_connection((rest.host, rest.port), timeout=30) as connection:
        head = f"POST /api/v1/bulk/jobs HTTP/1.1\r\nhost: x\r\ncontent-length: {33 * MIB}\r\n"
        authorization = rest.ask("GET", "/cluster") and f"authorization: {rest.authorization}\r\n"
        connection.sendall(f"{head}{authorization}content-type: application/json\r\n\r\n".encode())
        assert connection.recv(12) == b"HTTP/1.1 413"


def test_history_is_read_in_pages(rest: Rest) -> None:
    """D-11: newest first, by a cursor, every job once, however small the pages are."""
    rest.ask("POST", "/bulk/jobs", {"items": [job(f"page-{number}") for number in range(25)]})
    for number in range(25):
        list(follow(rest, f"page-{number}"))
    seen, after = [], ""
    while True:
        page = rest.ask("GET", f"/jobs?limit=10{after}").json
        seen += [item["id"] for item in page["items"]]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"
    assert seen == sorted(set(seen), reverse=True)
    assert len(seen) == page["total"] >= 25
    tasks = rest.ask("POST", "/jobs?follow=end", job("wide", count=25)) and rest.ask("GET", "/jobs/wide/tasks?limit=10")
    assert (len(tasks.json["items"]), tasks.json["next"], tasks.json["total"]) == (10, "0.9", 25)
    rest_of_it = rest.ask("GET", "/jobs/wide/tasks?limit=100&after=9").json
    assert ([item["index"] for item in rest_of_it["items"]], rest_of_it["next"]) == (list(range(10, 25)), None)


def follow(rest: Rest, name: str) -> Iterator[bytes]:
    """A job to its end."""
    with rest.stream(f"/jobs/{name}/follow?mode=end") as lines:
        yield from lines


def test_a_poll_costs_nothing_until_something_has_changed(rest: Rest, cluster: Cluster) -> None:
    """Heartbeats and samples of the node change no list of jobs."""
    cluster.shunter("run", "--name", "polled", "--", "/bin/true")
    for path in ("/jobs", "/jobs/polled", "/jobs/polled/tasks"):
        tag = rest.ask("GET", path).headers["etag"]
        answer = rest.ask("GET", path, headers={"if-none-match": tag})
        assert (answer.status, answer.body) == (304, b"")
        wait_for_heartbeat(rest)
        assert rest.ask("GET", path, headers={"if-none-match": tag}).status == 304
        cluster.shunter("run", "--", "/bin/true")
        assert rest.ask("GET", path, headers={"if-none-match": tag}).status == 200


def wait_for_heartbeat(rest: Rest) -> None:
    def heard_at() -> str:
        return str(rest.ask("GET", "/nodes").json["items"][0]["heard_at"])

    before = heard_at()
    eventually(lambda: heard_at() != before or None, "a heartbeat")
