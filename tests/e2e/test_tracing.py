"""One trace leads from a client's submit to the exit of its tasks, over a manager and a worker of another process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster, eventually
from tests.e2e.remote import Worker
from tests.otlp_receiver import OtlpReceiver, Received, running_receiver

TRACE, CLIENT_SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE}-{CLIENT_SPAN}-01"
NAMES = {"submitJob", "commit", "decision", "order", "keeper", "exit", "job"}


class Site:
    def __init__(self, cluster: Cluster, worker: Worker, receiver: OtlpReceiver) -> None:
        self.cluster, self.worker, self.receiver = cluster, worker, receiver

    def wait_for(self, trace: str, name: str = "exit") -> dict[str, list[Received]]:
        def is_complete() -> bool:
            return {"job", name} <= {span.name for span in self.receiver.spans(trace)}

        eventually(is_complete, f"the spans of {trace} have come")
        found: dict[str, list[Received]] = {}
        for span in self.receiver.spans(trace):
            found.setdefault(span.name, []).append(span)
        return found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home, worker_home = (tmp_path_factory.mktemp(name) for name in ("home", "worker"))
    cluster = Cluster(home)
    cluster.environment["SHUNTER_LOG"] = "info,engine.tracing=debug"
    with running_receiver() as receiver:
        options = "--otlp-endpoint", receiver.url
        worker = Worker(cluster, Cluster(worker_home), "second", ("--cpu", "2", *options))
        try:
            cluster.shunter("manager", "--detach", "--workers-listen", "127.0.0.1:0", *options)
            worker.start()
            eventually(lambda: len(cluster.items("nodes")) == 1, "the worker has joined")
            yield Site(cluster, worker, receiver)
        finally:
            worker.kill()
            cluster.down()
            cluster.kill_all()
            worker.home.kill_all()


def test_a_submit_of_a_traced_client_is_one_trace_up_to_the_exit_of_its_tasks(site: Site) -> None:
    """D-59"""
    site.cluster.environment["TRACEPARENT"] = TRACEPARENT
    shown = site.cluster.shunter("run", "--name", "traced", "--", "sh", "-c", "echo $TRACEPARENT").out
    found = site.wait_for(TRACE)
    assert set(found) == NAMES
    assert all(len(spans) == 1 for spans in found.values())
    parents = {name: spans[0].parent for name, spans in found.items()}
    ids = {name: spans[0].id for name, spans in found.items()}
    assert parents == {
        "submitJob": CLIENT_SPAN, "commit": ids["submitJob"], "decision": ids["submitJob"], "job": ids["submitJob"],
        "order": ids["decision"], "keeper": ids["order"], "exit": ids["keeper"],
    }  # fmt: skip
    assert shown.strip() == f"00-{TRACE}-{ids['order']}-01"
    assert {name: spans[0].service for name, spans in found.items() if name in ("order", "keeper")} == {
        "order": "shunter-manager",
        "keeper": "shunter-worker",
    }
    assert found["keeper"][0].attributes["shunter.node"] == found["order"][0].attributes["shunter.node"] == "second"
    assert all(span.start_ns <= span.end_ns for spans in found.values() for span in spans)


def test_log_lines_about_a_traced_job_have_the_id_of_its_trace(site: Site) -> None:
    """D-59"""
    trace = "6" * 32
    site.cluster.environment["TRACEPARENT"] = f"00-{trace}-{CLIENT_SPAN}-01"
    site.cluster.shunter("run", "--name", "logged", "--", "true")
    lines = (site.cluster.home / "shunter.log").read_text().splitlines()
    assert [line for line in lines if "job.submitted" in line and f"trace_id={trace}" in line]


def test_an_array_has_a_span_for_each_order_and_none_for_each_task(site: Site) -> None:
    trace = "1" * 32
    site.cluster.environment["TRACEPARENT"] = f"00-{trace}-{CLIENT_SPAN}-01"
    site.cluster.shunter("run", "--count", "200", "--name", "many", "--", "true")
    found = site.wait_for(trace)
    orders = found["order"]
    assert len(orders) < 20
    assert sorted(index for span in orders for index in _indexes(span)) == list(range(200))
    eventually(lambda: len(site.wait_for(trace)["exit"]) == len(orders), "every order has ended")
    assert sum(span.attributes["shunter.succeeded"] for span in site.wait_for(trace)["exit"]) == 200


def _indexes(span: Received) -> range:
    return range(span.attributes["shunter.first"], span.attributes["shunter.last"] + 1)


def test_a_failed_task_is_an_error_with_its_exit_code(site: Site) -> None:
    trace = "2" * 32
    site.cluster.environment["TRACEPARENT"] = f"00-{trace}-{CLIENT_SPAN}-01"
    site.cluster.shunter("run", "--name", "failing", "--", "sh", "-c", "exit 7", code=7)
    found = site.wait_for(trace)
    assert (found["exit"][0].is_error, found["exit"][0].attributes["shunter.exit_code"]) == (True, 7)
    assert found["job"][0].is_error


def test_a_trace_survives_a_manager_and_a_worker_that_are_killed(site: Site, tmp_path: Path) -> None:
    trace, gate = "3" * 32, tmp_path / "gate"
    site.cluster.environment["TRACEPARENT"] = f"00-{trace}-{CLIENT_SPAN}-01"
    script = f"until test -e {gate}; do sleep 0.05; done"
    site.cluster.shunter("run", "--detach", "--name", "long", "--", "sh", "-c", script)
    site.cluster.until("long", "running")
    workers = site.cluster.description["workers"]
    site.worker.kill()
    site.cluster.kill_manager()
    site.cluster.shunter("manager", "--detach", "--workers-listen", workers, "--otlp-endpoint", site.receiver.url)
    site.worker.start()
    held = "its new worker has found the task"
    eventually(lambda: "keeper.found" in (site.worker.home.home / "shunter.log").read_text(), held)
    gate.touch()
    found = site.wait_for(trace)
    assert (found["job"][0].attributes["shunter.job"], found["exit"][0].attributes["shunter.succeeded"]) == ("long", 1)


def test_spans_are_not_recorded_for_a_client_that_does_not_sample(site: Site) -> None:
    trace = "4" * 32
    site.cluster.environment["TRACEPARENT"] = f"00-{trace}-{CLIENT_SPAN}-00"
    shown = site.cluster.shunter("run", "--name", "unsampled", "--", "sh", "-c", "echo $TRACEPARENT").out
    assert shown.strip() == f"00-{trace}-{CLIENT_SPAN}-00"
    site.cluster.environment["TRACEPARENT"] = f"00-{'5' * 32}-{CLIENT_SPAN}-01"
    site.cluster.shunter("run", "--name", "sampled", "--", "true")
    site.wait_for("5" * 32)
    assert site.receiver.spans(trace) == []


def test_an_endpoint_that_is_none_is_refused(site: Site) -> None:
    refused = site.cluster.shunter("up", "--detach", "--otlp-endpoint", "collector:4318", code=2).err
    assert "--otlp-endpoint: is not the URL of an OTLP receiver" in refused
    secret = site.cluster.shunter("up", "--detach", "--otlp-endpoint", "http://me:pass@collector:4318", code=2).err
    assert "OTEL_EXPORTER_OTLP_HEADERS" in secret
    assert "pass@" not in secret


def test_a_submit_without_a_trace_begins_one(site: Site) -> None:
    site.cluster.environment.pop("TRACEPARENT", None)
    before = {span.trace for span in site.receiver.spans()}
    site.cluster.shunter("run", "--name", "plain", "--", "true")

    def new_root() -> list[Received]:
        spans = [span for span in site.receiver.spans() if span.trace not in before and span.name == "submitJob"]
        return [span for span in spans if not span.parent]

    eventually(lambda: len(new_root()) == 1, "a trace has begun")
    assert set(site.wait_for(new_root()[0].trace)) == NAMES
