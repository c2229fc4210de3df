"""Errors name what the user wrote on the command line, never fields of the REST interface."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.cli.option_names import describe_error, find_command
from shunter.cli.registry import ENTRIES
from shunter.model.errors import Conflict, Invalid, NotFound, Problem

from ..sdk.scripted_server import answer
from .conftest import Cluster, Shunter


@pytest.mark.parametrize(
    ("line", "field", "option"),
    [
        ("run --cpu abc true", "spec.resources.cpu", "--cpu"),
        ("run --gpu 3 true", "spec.resources.gpu", "--gpu"),
        ("run --resource licence=x true", "spec.resources.licence", "--resource"),
        ("run --array 5-1 true", "array", "--array"),
        ("run --array 5-1 true", "spec.array", "--array"),
        ("run --each-line f true", "spec.entries[3]", "--each-line"),
        ("run --port a=99999 true", "spec.ports[0].host_port", "--port"),
        ("run --mount a true", "mounts", "--mount"),
        ("run --timeout x true", "spec.timeout", "--timeout"),
        ("run --timeout x --job-timeout 3 true", "spec.timeout.run", "--timeout"),
        ("run --queue-timeout x true", "spec.timeout.queue", "--queue-timeout"),
        ("run --job-timeout x true", "spec.timeout.job", "--job-timeout"),
        ("run --retries 99999999 true", "spec.restart.max", "--retries"),
        ("run --restart on-failure:99999999 true", "spec.restart.max", "--restart"),
        ("run --retries=99999999 true", "spec.restart.max", "--retries"),
        ("run --after x true", "spec.after[0].job", "--after"),
        ("run --start-at x true", "spec.start_at", "--start-at"),
        ("run --env A!=3 true", "spec.env.A!", "--env"),
        ("run -e A!=3 true", "spec.env.A!", "--env"),
        ("run --label a!=3 true", "metadata.labels.a!", "--label"),
        ("run --name A true", "metadata.name", "--name"),
        ("run --dir x -- true", "spec.dir", "--dir"),
        ("run true", "spec.command[0]", "COMMAND"),
        ("run --keep-entrypoint --image x true", "spec.args[0]", "COMMAND"),
        ("--context prod run --cpu abc true", "spec.resources.cpu", "--cpu"),
        ("run -n A true", "metadata.namespace", "--namespace"),
        ("jobs --state foo", "query.state", "--state"),
        ("tasks x -s foo", "query.state", "--state"),
        ("jobs -n A/B", "query.namespace", "--namespace"),
        ("metrics task x --step 0", "query.step", "--step"),
        ("queue set film --running-max 9999999999", "body.running_max", "--running-max"),
        ("submit -f nofile", "file", "--file"),
        ("submit -f job.yaml", "spec.resources.cpu", "spec.resources.cpu"),
        ("submit -f job.yaml", "items[0].spec.after", "document 1: spec.after"),
        ("context add x http://y", "url", "URL"),
        ("jobs", "query.after", "after"),
    ],
)
def test_a_problem_names_the_option(line: str, field: str, option: str) -> None:
    error = Invalid([Problem(field, "is wrong")])
    assert describe_error(error, line.split()) == f"{option}: is wrong"


def test_every_field_that_run_can_set_has_an_option_that_exists() -> None:
    from shunter.cli.option_names import RUN_FIELDS
    from shunter.sdk.manifests import RunOptions

    command = find_command(["run"])
    assert command is not None
    options = {option for parameter in command.params for option in parameter.opts}
    named = {option for candidates in RUN_FIELDS.values() for option in candidates}
    assert named - options <= {"COMMAND"}
    for field in RunOptions.__annotations__.keys() - {"type", "health", "cpu", "memory", "disk", "retries", "stdin"}:
        assert f"spec.{field}" in RUN_FIELDS or f"metadata.{field}" in RUN_FIELDS


def test_text_and_fix_name_options_too() -> None:
    error = Invalid([Problem("array", "has a limit of 4, but parallel_max is 5", "1-9%4", "remove %4 or parallel_max")])
    assert describe_error(error, ["run", "--array", "1-9%4", "--parallel-max", "5", "true"]) == (
        "--array: has a limit of 4, but --parallel-max is 5 (got '1-9%4'); remove %4 or --parallel-max"
    )


def test_errors_about_other_things_stay_as_they_are() -> None:
    assert describe_error(NotFound("job 'x' does not exist"), ["job", "x"]) == "job 'x' does not exist"
    conflict = Conflict("job 'x' has ended; start it", (Problem("job", "has ended", "x", "start it"),))
    assert describe_error(conflict, ["scale", "x", "3"]) == "job 'x' has ended; start it"
    taken = Problem("metadata.name", "is taken", None, "choose another")
    assert describe_error(Conflict(str(taken), (taken,)), ["run", "--name", "x", "true"]) == (
        "--name: is taken; choose another"
    )


@pytest.mark.parametrize("name", ENTRIES)
def test_every_command_is_found(name: str) -> None:
    command = find_command(["--context", "prod", name, "--nonsense"])
    assert command is not None and command.name == name


def test_a_wrong_option_of_run_is_named_as_written(cluster: Cluster, shunter: Shunter) -> None:
    problem = {"field": "spec.resources.cpu", "message": "must be a quantity", "value": "abc", "fix": "write it like 2"}
    cluster.answers["POST /jobs"] = answer(400, {"detail": "x", "problems": [problem]})
    said = shunter("run", "--cpu", "abc", "--", "true")
    assert said.err == "shunter: error: --cpu: must be a quantity (got 'abc'); write it like 2\n"
    assert said.code == 125


def test_exit_codes_of_run_do_not_depend_on_a_context_before_it(
    shunter: Shunter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHUNTER_CONTEXT", "")  # the command changes it
    assert shunter("--context=nosuch", "run", "true").code == 125


def test_a_missing_file_names_its_option(shunter: Shunter) -> None:
    said = shunter("submit", "-f", "/no/such/file")
    assert said.err == "shunter: error: --file: cannot be read: No such file or directory (got '/no/such/file')\n"


def test_submit_names_the_document(cluster: Cluster, shunter: Shunter, tmp_path: Path) -> None:
    file = tmp_path / "jobs.yaml"
    job = "apiVersion: shunter.dev/v1\nkind: Job\nmetadata: {name: %s}\nspec: {command: [ls]}\n"
    file.write_text(job % "a" + "---\n" + job % "b")
    problem = {"field": "items[1].spec.after", "message": "is a cycle"}
    cluster.answers["POST /bulk/jobs"] = answer(400, {"detail": "x", "problems": [problem]})
    assert shunter("submit", "-f", str(file)).err == "shunter: error: Job b: spec.after: is a cycle\n"
