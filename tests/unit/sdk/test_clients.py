"""The two clients, blocking and async: the same names with the same meaning."""

from __future__ import annotations

import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest

import shunter
from shunter.model.rest.cluster_views import ClusterInfo, EventView
from shunter.model.rest.job_views import TaskView
from shunter.model.rest.node_views import NodeStatsView, NodeView
from shunter.model.rest.plan_views import PlanView, WhyView
from shunter.sdk.client import Job

from .scripted_server import ReceivedRequest, answer, chunks, job_document, lines, raw_response, serving

ROOT = Path(__file__).parents[3]
TASK = {"name": "render/0", "index": 0, "state": "running", "attempt": 1}
ATTEMPT = {"name": "render/0#1", "index": 0, "attempt": 1, "state": "running"}
EVENT = {"id": "5-0", "at": "2026-01-01T00:00:00Z", "type": "job.submitted", "name": "render"}
WHY = {"name": "render", "state": "pending", "sentence": "it waits", "counts": {}, "reasons": []}
PLAN: dict[str, Any] = {"starts": True, "sentence": "", "state_version": 7, "policy": "e-pvm", "jobs": []}
POLICY = {"name": "e-pvm", "kind": "score", "source": "built in", "active": True}
NODE = {
    "name": "vm", "id": 1, "state": "ready", "eligible": True, "reason": None, "datacenter": "dc1", "labels": {},
    "attributes": {}, "capacity": {"cpu": "2"}, "reserved": {}, "tasks": 0,
}  # fmt: skip
CLUSTER = {
    "name": "c", "version": "0.1.0", "state_version": 4, "epoch": 1, "policy": "e-pvm", "heartbeat_s": 1.0, "nodes": {},
    "jobs": {}, "started_at": "2026-01-01T00:00:00Z", "simulated": False, "tasks": {}, "capacity": {}, "reserved": {},
}  # fmt: skip
ENDED = job_document(state="succeeded", counts={"succeeded": 1})
SUBMITTED = {"name": "render", "namespace": "default", "id": 7, "run": 1, "created": True}


def page(*items: object) -> bytes:
    return answer(200, {"items": list(items), "next": None, "total": len(items)})


ANSWERS: dict[tuple[str, str], bytes | list[bytes]] = {
    ("POST", "/jobs"): answer(201, job_document()),
    ("POST", "/jobs?follow"): chunks(201, lines({"job": job_document()}), lines({"end": ENDED, "exit_code": 0})),
    ("POST", "/bulk/jobs"): answer(201, {"items": [SUBMITTED]}),
    ("POST", "/cluster/down"): answer(202, {"status": "stopping"}),
    ("GET", "/cluster"): answer(200, CLUSTER),
    ("PATCH", "/cluster"): answer(200, CLUSTER | {"heartbeat_s": 2.0}),
    ("GET", "/jobs"): page(job_document("a"), job_document("b")),
    ("GET", "/jobs/render"): answer(200, job_document()),
    ("GET", "/jobs/id:7"): answer(200, job_document(state="running")),
    ("DELETE", "/jobs/id:7"): raw_response(204, b""),
    ("DELETE", "/jobs/id:7/tasks/2"): raw_response(204, b""),
    ("GET", "/jobs/render/runs"): page(job_document(run=2), job_document(run=1)),
    ("GET", "/jobs/id:7/follow"): chunks(200, lines({"job": job_document()}), lines({"end": ENDED, "exit_code": 0})),
    ("GET", "/jobs/id:7/tasks"): page(TASK),
    ("GET", "/jobs/id:7/tasks/0"): answer(200, TASK),
    ("GET", "/jobs/id:7/tasks/0/attempts"): page(ATTEMPT),
    ("GET", "/jobs/id:7/tasks/0/logs"): raw_response(200, b"hello\n"),
    ("GET", "/jobs/id:7/tasks/0/logs?follow"): chunks(200, b"hel", b"lo\n"),
    ("GET", "/jobs/id:7/why"): answer(200, WHY),
    ("GET", "/jobs/render/why"): answer(200, WHY),
    ("POST", "/plan"): answer(200, PLAN),
    ("GET", "/policies"): page(POLICY),
    ("PUT", "/policies/active"): page(POLICY),
    ("GET", "/nodes"): page(NODE),
    ("GET", "/nodes/vm"): answer(200, NODE),
    ("PATCH", "/nodes/vm"): answer(200, NODE | {"labels": {"disk": "ssd"}}),
    ("GET", "/nodes/vm/stats"): answer(200, {"name": "vm", "at": "2026-01-01T00:00:00Z", "machine": {}, "tasks": []}),
    ("GET", "/events"): page(EVENT),
}


def script(received: ReceivedRequest) -> bytes | list[bytes]:
    path, _, query = received.path.removeprefix("/api/v1").partition("?")
    return ANSWERS[received.method, f"{path}?follow" if "follow=" in query else path]


def test_the_blocking_client_is_what_make_client_writes() -> None:
    generator = runpy.run_path(str(ROOT / "scripts" / "generate_client.py"))
    for name, text in generator["blocking_files"]().items():
        written = (ROOT / "src" / "shunter" / "sdk" / name).read_text(encoding="utf-8")
        assert written == text, f"run `make client` and commit sdk/{name}"


def test_the_blocking_client_has_a_typed_answer_to_every_question() -> None:
    with serving(script) as server, shunter.connect(server.url, "t") as c:
        job = c.run(["/bin/true"], count=2)
        assert (job.name, job.state, job.counts) == ("render", "pending", {"queued": 1})
        assert job.created and not job.ended
        assert c.run_to_end(["/bin/true"]).exit_code == 0
        assert c.submit({"kind": "Job"}).name == "render"
        assert isinstance(c.submit_many([{}])[0], Job)
        assert [line.end is not None for line in c.submit_and_follow({})] == [False, True]
        assert [each.name for each in c.jobs(states=["running"], labels={"a": "b"})] == ["a", "b"]
        assert [each.view.run for each in c.runs("render")] == [2, 1]
        assert isinstance(c.why("render"), WhyView) and isinstance(c.cluster(), ClusterInfo)
        assert isinstance(c.plan([{}]), PlanView) and isinstance(c.plan({}), PlanView)
        assert [each.name for each in c.policies()] == [each.name for each in c.use_policy("e-pvm")] == ["e-pvm"]
        assert isinstance(c.nodes()[0], NodeView) and isinstance(c.node("vm"), NodeView)
        assert c.label_node("vm", {"disk": "ssd"}).labels == {"disk": "ssd"}
        assert isinstance(c.node_stats("vm"), NodeStatsView)
        assert [type(event) for event in c.events(after="4")] == [EventView]
        assert c.update_cluster({"heartbeat": "2s"}).heartbeat_s == 2.0
        c.down(leave_running=True)

        assert c.job("render").refresh().state == "running"
        assert job.wait(timeout=60).state == "succeeded" and job.exit_code == 0 and job.ended
        assert [line.end is not None for line in job.follow()] == [False, True]
        assert [type(task) for task in job.tasks(states=["running"])] == [TaskView]
        assert job.task(0).name == "render/0" and job.attempts(0)[0].attempt == 1
        assert job.logs(0) == b"".join(job.logs(0, follow=True)) == b"hello\n"
        assert list(job.logs()) == list(job.logs(follow=True)) == ["hello\n"] and job.result() == "hello\n"
        assert job.why().sentence == "it waits"
        job.stop()
        job.stop(index=2, now=True)
    assert [received.path for received in server.received[-2:]] == [
        "/api/v1/jobs/id:7?namespace=default",
        "/api/v1/jobs/id:7/tasks/2?namespace=default&now=true",
    ]


async def test_the_async_client_has_a_typed_answer_to_every_question() -> None:
    with serving(script) as server:
        async with shunter.aio.connect(server.url, "t") as c:
            job = await c.run(["/bin/true"], count=2)
            assert (job.name, job.state, job.created, job.ended) == ("render", "pending", True, False)
            assert (await c.run_to_end(["/bin/true"])).exit_code == 0
            assert (await c.submit({"kind": "Job"})).name == "render"
            assert (await c.submit_many([{}]))[0].id == 7
            assert [line.end is not None async for line in c.submit_and_follow({})] == [False, True]
            assert [each.name async for each in c.jobs(states=["running"])] == ["a", "b"]
            assert [each.view.run async for each in c.runs("render")] == [2, 1]
            assert isinstance(await c.why("render"), WhyView) and isinstance(await c.cluster(), ClusterInfo)
            assert isinstance(await c.plan([{}]), PlanView)
            assert [each.name for each in await c.policies()] == ["e-pvm"]
            assert [each.active for each in await c.use_policy("e-pvm")] == [True]
            assert isinstance((await c.nodes())[0], NodeView) and isinstance(await c.node("vm"), NodeView)
            assert (await c.label_node("vm", {"disk": "ssd"})).labels == {"disk": "ssd"}
            assert isinstance(await c.node_stats("vm"), NodeStatsView)
            assert [type(event) async for event in c.events(after="4")] == [EventView]
            assert (await c.update_cluster({"heartbeat": "2s"})).heartbeat_s == 2.0
            await c.down(leave_running=True)

            assert (await (await c.job("render")).refresh()).state == "running"
            assert (await job.wait(timeout=60)).state == "succeeded" and job.ended
            assert [line.end is not None async for line in job.follow()] == [False, True]
            assert [type(task) async for task in job.tasks()] == [TaskView]
            assert (await job.task(0)).name == "render/0" and (await job.attempts(0))[0].attempt == 1
            assert await job.logs(0) == b"hello\n" and await job.result() == "hello\n"
            assert b"".join([piece async for piece in job.logs(0, follow=True)]) == b"hello\n"
            assert [line async for line in job.logs(follow=True)] == ["hello\n"]
            assert (await job.why()).sentence == "it waits"
            await job.stop()
            await job.stop(index=2, now=True)


def test_where_no_cluster_runs_the_error_says_how_to_start_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SHUNTER_URL", raising=False)
    monkeypatch.setenv("SHUNTER_HOME", str(tmp_path))
    with pytest.raises(shunter.NotReachable, match="shunter up --detach"):
        shunter.connect()


def test_the_package_offers_its_names_and_no_others() -> None:
    for name in ("connect", "aio", "errors", "Client", "Job", "Rejected", "NotFound", "Busy", "NotReachable"):
        assert name in dir(shunter) and getattr(shunter, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        shunter.nonsense  # noqa: B018


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert shunter.__version__ == project["version"]
