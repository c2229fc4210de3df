"""`shunter simulate`: its report on a policy that starves tasks, and on wrong usage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shunter.cli.main import run_command
from tests.unit.cli.render.test_tables import on_terminal

LAZY = """
from shunter.scheduler import Decision

class Lazy:
    def decide(self, view, now, budget):
        return Decision(based_on=view.version)

LazyAllDay = Lazy
"""


@pytest.fixture
def lazy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "lazy_policy.py").write_text(LAZY)
    monkeypatch.chdir(tmp_path)
    return "lazy_policy:Lazy"


def test_a_policy_that_lets_jobs_wait_for_ever_is_found_out(lazy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["simulate", "--policy", lazy, "--policy", "e-pvm", "--seeds", "4-4"]) == 1
    said = capsys.readouterr().out
    assert f"seed 4, {lazy}: Violation: job " in said and "has not ended: ['queued'" in said
    assert [line.split()[:4] for line in said.splitlines()[-2:]] == [
        [lazy, "0", "of", "1"],
        ["e-pvm", "1", "of", "1"],
    ]


def test_a_narrow_report_has_the_whole_name_of_a_policy(lazy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"{lazy}AllDay"
    drawn = on_terminal(lambda: run_command(["simulate", "--policy", name, "--seeds", "4-4"]), monkeypatch, 60)
    header, row = drawn.splitlines()[-2:]
    assert header.split() == ["POLICY", "PASSED", "MEAN", "WAIT", "MEAN", "DURATION"] and row.startswith(f"{name}  ")


@pytest.mark.parametrize(("body", "fault"), [("1 / 0", "ZeroDivisionError"), ("pass", "decide returned None")])
def test_a_policy_in_whose_place_the_default_decided_is_not_praised(
    body: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In rounds, and outside of them as in world 5."""
    module = f"broken_{fault.split()[0].lower()}"
    (tmp_path / f"{module}.py").write_text(f"class Broken:\n    def decide(self, view, now, budget):\n        {body}\n")
    monkeypatch.chdir(tmp_path)
    assert run_command(["simulate", "--policy", f"{module}:Broken", "--seeds", "4-5"]) == 1
    said = capsys.readouterr().out
    for seed in (4, 5):
        assert f"seed {seed}, {module}:Broken: the default policy replaced it" in said
    assert said.count(fault) == 2 and "0 of 2" in said


def test_the_same_seed_gives_the_same_figures(capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for _ in range(2):
        assert run_command(["simulate", "--policy", "bin-pack", "--seeds", "4", "--output", "json"]) == 0
        said.append(json.loads(capsys.readouterr().out))
    [world] = said[0]["items"]
    assert said[0] == said[1]
    assert (world["seed"], world["policy"], world["error"]) == (4, "bin-pack", "") and world["tasks"] > 0


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--policy", "best-fitt"], "unknown policy"),
        (["--policy", "remote:mine"], "cannot be simulated"),
        (["--policy", "e-pvm", "--seeds", "9-1"], "is not a range of seeds"),
        (["--policy", "e-pvm", "--seeds", "some"], "is not a range of seeds"),
    ],
)
def test_wrong_use_is_said(words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["simulate", *words]) == 2
    assert complaint in capsys.readouterr().err
