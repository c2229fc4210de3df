"""The commands that show state: tables for people, JSON and YAML for programs."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Any

import pytest
import yaml

from tests.e2e.cluster import Cluster
from tests.e2e.manifests import as_yaml, job, shell
from tests.e2e.task_gates import Gate

JOB_FIELDS = {"name", "state", "counts", "submitted_at", "ended_at"}
TASK_FIELDS = {"name", "index", "state", "attempt", "node", "exit_code", "started_at", "ended_at"}
WITHOUT_EXAMPLE = ("node", "top", "version")  # there is nothing to add to the name


@pytest.fixture(scope="module")
def seen(shared_cluster: Cluster) -> Cluster:
    """A cluster with something to look at."""
    fails_at_two = shell("mixed", 'test "$SHUNTER_TASK_INDEX" -ne 2 || exit 5', count=4)
    shared_cluster.shunter("submit", "-f", "-", "--wait", stdin=as_yaml(job("plain"), fails_at_two), code=1)
    return shared_cluster


def test_a_job_has_the_promised_fields(seen: Cluster) -> None:
    """D-09: `job NAME --output json`."""
    found = seen.json("job", "mixed")
    assert found.keys() >= JOB_FIELDS
    assert (found["name"], found["state"]) == ("mixed", "failed")
    assert found["counts"] == {"succeeded": 3, "failed": 1}
    assert is_time(found["submitted_at"])
    assert found["submitted_at"] <= found["started_at"] <= found["ended_at"]


def test_tasks_have_the_promised_fields(seen: Cluster) -> None:
    """C-10, D-11: each task with its node, attempt, exit code and times."""
    [node] = seen.items("nodes")
    tasks = seen.items("tasks", "mixed")
    assert [task["name"] for task in tasks] == [f"mixed/{index}" for index in range(4)]
    for task in tasks:
        assert task.keys() >= TASK_FIELDS
        assert (task["node"], task["attempt"]) == (node["name"], 1)
        assert is_time(task["started_at"])
        assert task["started_at"] <= task["ended_at"]
    assert [task["exit_code"] for task in tasks] == [0, 0, 5, 0]
    assert [task["state"] for task in tasks] == ["succeeded", "succeeded", "failed", "succeeded"]


def test_times_are_absent_until_they_are_known(seen: Cluster, gate: Gate) -> None:
    name = seen.shunter("run", "--detach", "--count", "3", "--", *gate.command).out.strip()
    gate.reached(2)
    seen.until(name, "running")
    assert seen.json("job", name)["ended_at"] is None
    waiting = seen.items("tasks", name, "--state", "queued")
    assert [(task["started_at"], task["node"], task["exit_code"]) for task in waiting] == [(None, None, None)]
    gate.open()
    seen.shunter("wait", name)


@pytest.mark.parametrize(
    "words", [("jobs",), ("job", "mixed"), ("tasks", "mixed"), ("nodes",), ("events",), ("why", "mixed")], ids=" ".join
)
def test_yaml_says_the_same_as_json(seen: Cluster, words: tuple[str, ...]) -> None:
    """C-20: every listing has --output json and yaml; what it has not is refused."""
    from_json = json.loads(seen.shunter(*words, "--output", "json").out)
    from_yaml = yaml.safe_load(seen.shunter(*words, "--output", "yaml").out)
    assert without_samples(from_yaml) == without_samples(from_json)
    refused = seen.shunter(*words, "--output", "xml", code=2)
    assert "json" in refused.err


def test_tables_are_for_people(seen: Cluster) -> None:
    """C-20: columns with titles, one line each."""
    title, *rows = seen.shunter("jobs").out.splitlines()
    assert title.split()[:3] == ["NAME", "RUN", "STATE"]
    assert any(row.split()[:3] == ["plain", "1", "succeeded"] for row in rows)
    shown = seen.shunter("job", "mixed").out
    assert "mixed" in shown
    assert "1 of 4 tasks failed; first failure: task 2: exit code 5" in shown
    title, *rows = seen.shunter("tasks", "mixed").out.splitlines()
    assert len(rows) == 4


def test_jobs_are_listed_newest_first_and_filtered(seen: Cluster) -> None:
    """D-11: by state, by label, and only so many."""
    names = [each["name"] for each in seen.items("jobs")]
    assert names.index("mixed") < names.index("plain")
    assert {each["state"] for each in seen.items("jobs", "--state", "failed")} == {"failed"}
    assert len(seen.items("jobs", "--limit", "1")) == 1
    seen.shunter("run", "--name", "labelled", "--label", "team=film", "--", "/bin/true")
    assert [each["name"] for each in seen.items("jobs", "--label", "team=film")] == ["labelled"]
    assert seen.items("jobs", "--label", "team=music") == []


def test_why_tells_how_a_job_ended(seen: Cluster) -> None:
    assert "failed" in seen.shunter("why", "mixed").out
    assert "task 2: exit code 5" in seen.shunter("why", "mixed").out
    assert "succeeded" in seen.shunter("why", "plain").out


def test_what_is_not_there_is_said_with_what_might_be_meant(seen: Cluster) -> None:
    """C-20: an unknown job is wrong use, and near names are offered."""
    done = seen.shunter("job", "mixde", code=2)
    assert "mixde" in done.err
    assert "did you mean mixed" in done.err
    assert "0 to 3" in seen.shunter("logs", "mixed/4", code=2).err
    assert "nowhere" in seen.shunter("node", "show", "nowhere", code=2).err


def test_without_a_cluster_every_command_says_how_to_start_one(home: Cluster) -> None:
    """C-20: not reachable is exit code 3."""
    for words in (["jobs"], ["job", "x"], ["tasks", "x"], ["logs", "x"], ["stop", "x"], ["wait", "x"], ["nodes"],
                  ["node", "show", "x"], ["events"], ["why", "x"]):  # fmt: skip
        done = home.shunter(*words, code=3)
        assert "shunter up --detach" in done.err, words
        assert "Traceback" not in done.err


def test_every_command_has_help_for_a_person(home: Cluster) -> None:
    """C-20: --help lists every command; each command's help has an example of its use."""
    shown = home.shunter("--help").out
    for command in ("run", "submit", "stop", "wait", "jobs", "job", "tasks", "logs", "why", "nodes", "node", "events",
                    "top", "up", "down", "manager", "worker", "version"):  # fmt: skip
        assert re.search(rf"^ +{command}\b", shown, re.MULTILINE), command
        help_of_one = home.shunter(command, "--help").out
        assert "Usage: shunter" in help_of_one
        assert re.search(rf"^ *shunter {command}\b", help_of_one, re.MULTILINE) or command in WITHOUT_EXAMPLE


def test_wrong_use_is_exit_code_2(home: Cluster) -> None:
    assert home.shunter("jbos", code=2).err
    assert "--limit" in home.shunter("jobs", "--limit", "many", code=2).err


def test_the_version_is_printed(home: Cluster) -> None:
    assert re.fullmatch(r"shunter \d+\.\d+\.\d+\n", home.shunter("version").out)
    assert home.shunter("--version").out == home.shunter("version").out


def test_the_shell_completes_commands_and_jobs(seen: Cluster) -> None:
    """C-20: shell completion offers what there is."""
    seen.environment |= {"_SHUNTER_COMPLETE": "complete_bash", "COMP_WORDS": "shunter job mix", "COMP_CWORD": "2"}
    try:
        assert seen.shunter().out.split() == ["mixed"]
    finally:
        for key in ("_SHUNTER_COMPLETE", "COMP_WORDS", "COMP_CWORD"):
            del seen.environment[key]


def is_time(text: str) -> bool:
    """ISO-8601, in UTC."""
    return text.endswith("Z") and datetime.fromisoformat(text).utcoffset() is not None


def without_samples(found: Any) -> Any:
    """A node's measured values differ from one call to the next."""
    if isinstance(found, dict):
        return {key: without_samples(value) for key, value in found.items() if key not in ("stats", "heard_at")}
    return [without_samples(each) for each in found] if isinstance(found, list) else found
