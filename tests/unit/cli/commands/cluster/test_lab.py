"""`shunter lab run`: its table, its files, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shunter.cli.main import run_command
from shunter.lab.readers.swf import write_swf
from tests.unit.cli.render.test_tables import on_terminal
from tests.unit.lab.sample_traces import draw_trace


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "jobs.swf").write_text("\n".join(write_swf(draw_trace(seed=4, jobs=60, cpus=10))))
    monkeypatch.chdir(tmp_path)
    return "jobs.swf"


def test_policies_are_ranked_and_results_written(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["lab", "run", "--trace", trace, "--policy", "fcfs,easy-sjbf", "--out", "results"]) == 0
    captured = capsys.readouterr()
    assert [line.split()[1] for line in captured.out.splitlines()] == ["POLICY", "easy-sjbf", "fcfs"]
    assert "wrote results.json, report.html, jobs.csv" in captured.err
    assert sorted(path.name for path in Path("results").iterdir())[-2:] == ["report.html", "results.json"]


def test_a_narrow_terminal_shows_fewer_figures_and_cuts_none(trace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["lab", "run", "--trace", trace, "--policy", "fcfs,easy-sjbf", "--out", "results"]
    drawn = on_terminal(lambda: run_command(command), monkeypatch, 50)
    assert "…" not in drawn and max(map(len, drawn.splitlines())) <= 50
    assert drawn.splitlines()[0].split()[:3] == ["RANK", "POLICY", "SLOWDOWN"]


def test_figures_can_be_read_by_programs(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["lab", "run", "--trace", trace, "--policy", "easy", "--nodes", "5x2", "--output", "json", "--quiet"]
    assert run_command(command) == 0
    captured = capsys.readouterr()
    [row] = json.loads(captured.out)["items"]
    assert (row["policy"], row["jobs"], captured.err) == ("easy", 60, "")


def test_what_filters_dropped_is_printed(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["lab", "run", "--trace", trace, "--policy", "fcfs", "--filter", "run,first:50"]) == 0
    assert "shunter: filter first:50 dropped 10 of 60 jobs: take only the first N jobs\n" in capsys.readouterr().err


def test_a_policy_that_fails_prints_no_figures(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("idle_policy.py").write_text(
        "from shunter.scheduler import Decision\n\nclass Idle:\n"
        "    def decide(self, view, now, budget):\n        return Decision(based_on=view.version)\n"
    )
    assert run_command(["lab", "run", "--trace", trace, "--policy", "easy,idle_policy:Idle", "--out", "results"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "policy idle_policy:Idle left 60 jobs unfinished" in captured.err
    assert not Path("results").exists()


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        (["--warm-up", "soon"], "--warm-up: must be a duration (got 'soon')"),
        (["--nodes", "many"], "is not a node model"),
        (["--from-cluster"], "name a trace, or use --from-cluster"),
        (["--trace", "none.swf"], "none.swf: does not exist"),
    ],
)
def test_wrong_usage_is_named(trace: str, more: list[str], fault: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["lab", "run", "--trace", trace, "--policy", "easy", *more]) == 2
    assert fault in capsys.readouterr().err
