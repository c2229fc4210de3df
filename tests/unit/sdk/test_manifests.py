"""Manifests made from the arguments of run, and read from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shunter.sdk.errors import Invalid
from shunter.sdk.manifests import job_manifest, read_manifest, read_manifests
from tests.unit.model.job.manifest_samples import parse_job


def test_a_command_alone_makes_a_job_that_the_cluster_takes() -> None:
    manifest = job_manifest(["/usr/bin/render", "-q"], {"name": None})
    assert (manifest["metadata"], manifest["spec"]) == ({}, {"command": ["/usr/bin/render", "-q"]})
    assert parse_job(manifest, name_default="x").groups[0].task.command == ("/usr/bin/render", "-q")


def test_every_option_ends_up_where_the_cluster_looks_for_it() -> None:
    options: dict[str, Any] = {
        "name": "render", "count": 3, "cpu": "500m", "memory": "1Gi", "disk": None, "resources": {"gpu": 1},
        "env": {"A": "b"}, "dir": Path("/srv"), "labels": {"team": "film"}, "timeout": "10m", "priority": 70,
        "restart": "on-failure:5", "datacenters": ["berlin"], "constraints": ["node.labels.disk == 'ssd'"],
    }  # fmt: skip
    job = parse_job(job_manifest(["x"], options))
    group = job.groups[0]
    assert (job.name, job.count, job.priority, job.labels) == ("render", 3, 70, {"team": "film"})
    assert group.needs == {"cpu": 500, "memory": 2**30, "gpu": 1}
    assert (group.task.env, group.task.dir, group.task.run_timeout_s) == ({"A": "b"}, "/srv", 600.0)
    assert (group.restart.policy, group.restart.max) == ("on-failure", 5)
    assert (group.datacenters, group.constraints) == (("berlin",), ("node.labels.disk == 'ssd'",))


@pytest.mark.parametrize("command", [[], "echo hello"])
def test_a_command_must_be_a_list_of_words(command: Any) -> None:
    with pytest.raises(Invalid, match="list"):
        job_manifest(command, {})


def test_a_restart_policy_must_end_in_a_number() -> None:
    with pytest.raises(Invalid, match="on-failure:5"):
        job_manifest(["x"], {"restart": "on-failure:many"})


@pytest.mark.parametrize(
    ("text", "restart"),
    [
        ("always", {"policy": "always"}),
        ("on-failure:0", {"policy": "on-failure", "max": 0}),
        ("on-failure:unlimited", {"policy": "on-failure", "max": "unlimited"}),
    ],
)
def test_a_restart_policy_may_be_a_word(text: str, restart: dict[str, object]) -> None:
    assert job_manifest(["x"], {"restart": text})["spec"]["restart"] == restart


def test_a_folder_is_taken_from_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert job_manifest(["x"], {"dir": "work"})["spec"]["dir"] == str(tmp_path / "work")


def test_a_file_is_read_with_all_its_documents(tmp_path: Path) -> None:
    path = tmp_path / "jobs.yaml"
    path.write_text("kind: Job\n---\nkind: Job\nspec: {count: 2}\n")
    assert read_manifests(path) == read_manifests(str(path)) == [{"kind": "Job"}, {"kind": "Job", "spec": {"count": 2}}]


@pytest.mark.parametrize("text", ["kind: Job\n", '{"kind": "Job"}', " {kind: Job}"])
def test_text_is_told_from_a_path(text: str) -> None:
    assert read_manifest(text) == {"kind": "Job"}


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(Invalid, match=r"nowhere\.yaml"):
        read_manifest("nowhere.yaml")


def test_one_manifest_is_not_several() -> None:
    with pytest.raises(Invalid, match="submit_many"):
        read_manifest("a: 1\n---\na: 2\n")


def test_a_document_that_is_no_manifest_is_named() -> None:
    with pytest.raises(Invalid, match="document 2"):
        read_manifests("a: 1\n---\n- b\n")


@pytest.mark.parametrize(
    ("option", "meant"),
    [("cpus", "did you mean cpu?"), ("mem", "did you mean memory?"), ("prioritty", "did you mean priority?"),
     ("gpus", 'write resources={"gpu": 1}')],
)  # fmt: skip
def test_a_misspelt_option_is_refused_with_the_right_one(option: str, meant: str) -> None:
    with pytest.raises(Invalid) as refused:
        job_manifest(["a"], {option: 2})
    assert [(each.field, each.fix) for each in refused.value.problems] == [(option, meant)]


def test_fields_of_a_spec_and_fields_of_newer_clusters_are_passed_on() -> None:
    assert job_manifest(["a"], {"at_most_once": True, "teleport": 1})["spec"] == {
        "command": ["a"],
        "at_most_once": True,
        "teleport": 1,
    }


@pytest.mark.parametrize("command", [print, lambda: 1, int])
def test_a_function_is_not_a_command(command: Any) -> None:
    with pytest.raises(Invalid, match=r"command: run takes a list of strings, not a Python function"):
        job_manifest(command, {})


@pytest.mark.parametrize("command", [7, None, b"ls", {"a": 1}])
def test_what_is_no_list_is_refused(command: Any) -> None:
    with pytest.raises(Invalid, match="command: must be a list of strings"):
        job_manifest(command, {})


@pytest.mark.parametrize("word", [print, None, ["a"], {"a": 1}, b"a"])
def test_what_is_no_text_or_number_is_no_word_of_a_command(word: Any) -> None:
    with pytest.raises(Invalid, match=r"command\[1\]: must be a string"):
        job_manifest(["echo", word], {})


def test_numbers_and_paths_are_words_of_a_command() -> None:
    words: list[Any] = ["sleep", 3, 0.5, Path("/a")]
    assert job_manifest(words, {})["spec"]["command"] == ["sleep", "3", "0.5", "/a"]


@pytest.mark.parametrize("source", [3, None, b"{}", ["a"]])
def test_what_is_no_manifest_is_refused_before_it_is_opened(source: Any) -> None:
    """A number would be a descriptor: reading it would close a connection of the program."""
    with pytest.raises(Invalid, match="must be a mapping, a path, or YAML or JSON text"):
        read_manifest(source)
