"""Every command has output for programs, too: --output on all verbs, and the result after an action."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from shunter.cli.registry import ENTRIES, build
from tests.unit.cli.conftest import Cluster, Shunter, page
from tests.unit.sdk.calls.test_admin import QUEUE, TEMPLATE
from tests.unit.sdk.scripted_server import answer, chunks, job_document, lines, raw_response

# What has no --output, and why.
NOTHING_TO_FORMAT = {
    "run": "what it prints is the task's own output; with --detach, the name, for shunter job NAME -o json",
    "logs": "what it prints is the task's own output",
    "describe": "written for a person; for programs there is shunter get -o json",
    "edit": "a person edits",
    "top": "a screen",
    "flight export": "it writes a file",
    "profiler": "it runs until it is ended",
    "ui": "it opens a browser; --print is the URL alone",
    "up": "it starts a process",
    "down": "it ends a process",
    "manager": "it starts a process",
    "worker": "it starts a process",
    "install": "it installs software on this machine",
    "operator manifests": "what it prints is YAML",
    "operator install": "one line for each thing that it applies",
    "operator run": "it starts a process",
    "backup": "it writes a file",
    "restore": "it makes a home",
    "store copy": "it writes a store",
    "context add": "it writes a file of this user",
    "context use": "it writes a file of this user",
    "context remove": "it writes a file of this user",
    "context delete": "it is context remove by another name",
    "debug bundle": "it writes a file",
    "audit export": "it writes a file",
    "login": "it waits for a person with a browser",
    "version": "one word",
}
FAMILIES = {
    "context",
    "queue",
    "node",
    "tenant",
    "audit",
    "batchjob",
    "metrics",
    "store",
    "lab",
    "key",
    "join-token",
    "user",
    "token",
    "secret",
    "ca",
    "debug",
    "operator",
}  # they only have commands below them


def commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield name, command
    for inner_name, inner in getattr(command, "commands", {}).items():
        yield from commands(f"{name} {inner_name}", inner)


def test_every_command_has_an_output_but_those_with_nothing_to_format() -> None:
    lacking = {
        name
        for entry in ENTRIES.values()
        for name, command in commands(entry.name, build(entry))
        if not any("--output" in parameter.opts and "-o" in parameter.opts for parameter in command.params)
    }
    assert lacking == NOTHING_TO_FORMAT.keys() | FAMILIES


def read(text: str, output: str) -> Any:
    return json.loads(text) if output == "json" else yaml.safe_load(text)


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_what_was_stopped_comes_out_as_it_is_now(cluster: Cluster, shunter: Shunter, output: str) -> None:
    task = {"name": "a/4", "index": 4, "group": "main", "state": "stopping", "attempt": 1}
    cluster.answers |= {
        "GET /jobs/a": answer(200, job_document("a", state="running")),
        "GET /jobs/id:7": answer(200, job_document("a", state="stopping")),
        "GET /jobs/id:7/tasks/4": answer(200, task),
        "DELETE /jobs/id:7": raw_response(204, b""),
        "DELETE /jobs/id:7/tasks/4": raw_response(204, b""),
    }
    items = read(shunter("stop", "a/4", "a", "-o", output).out, output)["items"]
    assert [(each["name"], each["state"]) for each in items] == [("a/4", "stopping"), ("a", "stopping")]


def test_what_was_done_before_a_refusal_is_told(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers |= {
        "GET /jobs/a": answer(200, job_document("a")),
        "POST /jobs/id:7/hold": answer(200, job_document("a")),
    }
    said = shunter("hold", "a", "b", "-o", "json")
    assert said.code == 2 and "nothing at /jobs/b" in said.err
    assert [each["name"] for each in json.loads(said.out)["items"]] == ["a"]
    said = shunter("hold", "b", "a", "-o", "json")
    assert (said.code, said.out) == (2, "")


def test_how_jobs_ended_comes_out_whatever_the_exit_code(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers |= {
        "GET /jobs/a": answer(200, job_document("a", state="running")),
        "GET /jobs/b": answer(200, job_document("b", state="succeeded")),
        "GET /jobs/id:7/follow": chunks(200, lines({"end": job_document("a", state="failed", reason="exit code 3")})),
    }
    said = shunter("wait", "a", "b", "-o", "json")
    assert said.code == 1 and "a failed: exit code 3" in said.err
    assert [(each["name"], each["state"]) for each in json.loads(said.out)["items"]] == [
        ("a", "failed"), ("b", "succeeded"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (["retry", "render"], "POST /jobs/id:7/retry"),
        (["dispatch", "render", "-p", "in=x"], "POST /templates/render/runs"),
        (["cron", "run", "render"], "POST /templates/render/runs"),
    ],
)
def test_a_run_that_was_started_comes_out_whole_and_as_it_ended(
    cluster: Cluster, shunter: Shunter, words: list[str], path: str
) -> None:
    cluster.answers |= {
        "GET /jobs/render": answer(200, job_document("render", state="failed")),
        path: answer(201, job_document("render", run=4)),
        "GET /jobs/id:7/follow": chunks(200, lines({"end": job_document("render", run=4, state="failed")})),
    }
    started = json.loads(shunter(*words, "-o", "json").out)
    assert (started["name"], started["run"], started["state"]) == ("render", 4, "pending")
    said = shunter(*words, "--wait", "-o", "json")
    assert (said.code, json.loads(said.out)["state"]) == (1, "failed")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["release", "render"], {"items": [job_document()]}),
        (["cron", "pause", "nightly"], TEMPLATE),
        (["cron", "resume", "nightly"], TEMPLATE),
        (["cron", "delete", "nightly"], {"name": "nightly", "namespace": "default", "action": "deleted"}),
        (["queue", "pause", "film"], QUEUE),
        (["queue", "resume", "film"], QUEUE),
        (["queue", "purge", "film"], {"name": "film", "count": 1234}),
        (["queue", "delete", "film"], {"name": "film", "action": "deleted"}),
        (["dead", "purge", "--all"], {"count": 2}),
        (
            ["delete", "testbed", "bench"],
            {"items": [{"kind": "Testbed", "name": "bench", "namespace": "default", "action": "deleted"}]},
        ),
    ],
)
def test_one_object_for_each_thing(
    cluster: Cluster, shunter: Shunter, words: list[str], expected: dict[str, Any]
) -> None:
    cluster.answers |= {
        "GET /jobs/render": answer(200, job_document()),
        "POST /jobs/id:7/release": answer(200, job_document()),
        "PATCH /templates/nightly": answer(200, TEMPLATE),
        "DELETE /templates/nightly": raw_response(204, b""),
        "GET /queues": page(QUEUE),
        "PATCH /queues/film": answer(200, QUEUE),
        "POST /queues/film/purge": answer(200, {"count": 1234}),
        "DELETE /queues/film": raw_response(204, b""),
        "POST /dead/purge": answer(200, {"count": 2}),
        "DELETE /apis/batchjob.gcr.io/v1alpha1/namespaces/default/testbeds/bench": answer(200, TESTBED),
    }
    said = shunter(*words, "-o", "json")
    assert said.code == 0, said.err
    assert _contains(json.loads(said.out), expected)


TESTBED = {
    "apiVersion": "batchjob.gcr.io/v1alpha1", "kind": "Testbed", "metadata": {"name": "bench", "namespace": "default"},
    "spec": {}, "status": {},
}  # fmt: skip


def _contains(found: Any, expected: Any) -> bool:
    """Views have more fields than a server must send."""
    if isinstance(expected, dict):
        return all(key in found and _contains(found[key], value) for key, value in expected.items())
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(_contains, found, expected))
    return bool(found == expected)
