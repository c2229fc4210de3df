"""Mistakes in a command line: no texts of libraries, and the right command for words of other tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Shunter


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("run --priority high true", "Invalid value for '--priority': must be a whole number (got 'high')."),
        ("run --count 0 true", "Invalid value for '--count': must be between 1 and 10,000,000 (got 0)."),
        ("events --limit -4", "Invalid value for '--limit' / '-l': must be at least 0 (got -4)."),
        ("up --speed fast", "Invalid value for '--speed': must be a number (got 'fast')."),
    ],
)
def test_a_number_is_refused_in_plain_words(shunter: Shunter, line: str, said: str) -> None:
    assert f"Error: {said}\n" in shunter(*line.split()).err


def test_a_negative_number_of_instances_is_no_option(shunter: Shunter) -> None:
    said = shunter("scale", "web", "-1")
    assert said.err == "shunter: error: N: must be a number (got '-1'); write it as 5 or GROUP=5\n"


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("cancel x", "shunter stop"),
        ("kill x", "shunter stop"),
        ("ps", "shunter jobs"),
        ("list", "shunter jobs"),
        ("status", "shunter jobs"),
        ("rm x", "shunter stop"),
        ("node resume w0", "shunter node undrain"),
        ("node list", "shunter nodes"),
        ("queue list", "shunter queues"),
        ("status x", "shunter jobs` or `shunter job"),
        ("info", "shunter cluster"),
        ("inspect x", "shunter job"),
        ("create -f x", "shunter submit` or `shunter apply"),
        ("config use-context x", "shunter context"),
        ("drain w0", "shunter node drain"),
        ("cordon w0", "shunter node cordon"),
        ("label w0 a=b", "shunter node label"),
        ("rollout status x", "shunter job` or `shunter rollback"),
        ("alloc logs x", "shunter tasks` or `shunter logs"),
        ("server start", "shunter up"),
        ("start", "shunter up"),
        ("stats", "shunter top` or `shunter metrics"),
        ("sbatch x", "shunter submit` or `shunter run"),
        ("squeue", "shunter jobs"),
        ("srun x", "shunter run"),
        ("scancel 3", "shunter stop"),
        ("sinfo", "shunter nodes"),
        ("sacct", "shunter jobs"),
        ("help run", "shunter --help"),
        ("node status", "shunter nodes"),
        ("job list x", "shunter jobs"),
        ("job stop x", "shunter stop"),
        ("job run x.yaml", "shunter submit"),
        ("jobs list", "shunter jobs"),
        ("worker list --manager x", "shunter nodes"),
        ("context rm x", "shunter context remove"),
    ],
)
def test_words_of_other_tools_point_to_the_command(shunter: Shunter, line: str, command: str) -> None:
    said = shunter(*line.split())
    assert said.code == 2
    assert f"Use `{command}" in said.err


@pytest.mark.parametrize(
    ("line", "command"),
    [("delete job x", "shunter stop x"), ("describe job x", "shunter job x"), ("get job", "shunter jobs"),
     ("get job x", "shunter job x"), ("describe node w0", "shunter node show w0"), ("edit job x", "shunter submit")],
)  # fmt: skip
@pytest.mark.usefixtures("cluster")
def test_kinds_with_commands_of_their_own_point_to_them(shunter: Shunter, line: str, command: str) -> None:
    said = shunter(*line.split())
    assert said.code == 2
    assert said.err.endswith(f"; use: {command}\n")


def test_an_error_of_this_machine_names_the_file(shunter: Shunter, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise PermissionError(13, "Permission denied", "/etc/secret")

    monkeypatch.setattr("shunter.cli.commands.processes.processes.version", refuse)
    assert shunter("version").err == "shunter: error: /etc/secret: Permission denied\n"


@pytest.mark.parametrize("command", [("jobs",), ("up", "--detach")])
def test_a_home_that_is_a_file_is_called_so(
    shunter: Shunter, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "home").write_text("x")
    monkeypatch.delenv("SHUNTER_URL", raising=False)
    monkeypatch.delenv("SHUNTER_CONTEXT", raising=False)
    monkeypatch.setenv("SHUNTER_HOME", str(tmp_path / "home"))
    said = shunter(*command)
    assert said.code == 2
    assert said.err == (
        f"shunter: error: SHUNTER_HOME: is a file (got '{tmp_path}/home'); name a directory in SHUNTER_HOME\n"
    )


def test_contexts_are_deleted_as_they_are_removed(
    shunter: Shunter, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert "context 'x' does not exist" in shunter("context", "delete", "x").err
    assert "delete" not in shunter("context", "--help").out
