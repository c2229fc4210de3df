"""A whole experiment gives the same bytes each time, alone or side by side, and a report that is one plain file."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from shunter.app.lab import run_lab, write_results
from shunter.lab.experiment import EXACT, Experiment, Options
from shunter.lab.readers.detect import read_trace
from shunter.lab.readers.swf import write_swf
from shunter.lab.run import RunFailed
from shunter.model.errors import Invalid
from tests.unit.lab.sample_traces import draw_trace

POLICIES = ("fcfs", "easy", "e-pvm")


@pytest.fixture(scope="module")
def trace_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "drawn <b>.swf"
    path.write_text("\n".join(write_swf(draw_trace(seed=2, jobs=80, cpus=10))))
    return path


def run(path: Path, **changes: object) -> Experiment:
    options = Options(**{"policies": POLICIES, **changes})  # type: ignore[arg-type]
    return run_lab(path, options, lambda _: None)


def files_of(experiment: Experiment, folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in write_results(experiment, folder)}


def test_the_same_command_gives_the_same_bytes_also_side_by_side(trace_file: Path, tmp_path: Path) -> None:
    first = files_of(run(trace_file), tmp_path / "first")
    assert set(first) == {"results.json", "report.html", "jobs.csv", "fcfs.swf", "easy.swf", "e-pvm.swf"}
    assert files_of(run(trace_file), tmp_path / "second") == first
    assert files_of(run(trace_file, jobs=2), tmp_path / "third") == first


def test_results_name_the_trace_and_what_was_dropped(trace_file: Path, tmp_path: Path) -> None:
    experiment = run(trace_file, policies=("easy",), filters=("run", "first:50"), warm_up_s=60.0)
    results = msgspec.json.decode(files_of(experiment, tmp_path)["results.json"])
    assert results["trace"]["sha256"] == read_trace(trace_file).sha256
    assert [each["dropped"] for each in results["trace"]["filters"]] == [0, 30]
    assert results["policies"]["easy"]["jobs"] < results["trace"]["jobs"] == 50


def test_the_exported_schedule_is_the_trace_again(trace_file: Path, tmp_path: Path) -> None:
    write_results(run(trace_file, policies=("easy",)), tmp_path)
    exported, original = read_trace(tmp_path / "easy.swf"), read_trace(trace_file)
    for column in ("number", "submit_s", "run_s", "estimate_s", "tasks"):
        assert getattr(exported, column).tolist() == getattr(original, column).tolist()


def test_the_report_is_one_file_without_scripts_and_without_network(trace_file: Path, tmp_path: Path) -> None:
    report = files_of(run(trace_file), tmp_path)["report.html"].decode()
    assert not re.search(r"<script|<link|<img|https?:|url\(|@import|\bon\w+=", report)
    assert "drawn &lt;b&gt;.swf" in report
    assert report.count("<svg") == 4 + 2 * len(POLICIES), "four charts, and a legend and a Gantt chart for each policy"
    assert not re.search(r"\b(nan|inf)\b", report)


def test_exact_estimates_are_the_run_times(trace_file: Path) -> None:
    trace = run(trace_file, policies=("easy",), estimates=EXACT).trace
    assert trace.estimate_s.tolist() == trace.run_s.tolist()


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"policies": ()}, "name 1 to 20 different policies"),
        ({"policies": ("easy", "easy")}, "name 1 to 20 different policies"),
        ({"policies": ("eazy",)}, "did you mean easy"),
        ({"policies": ("remote:mine",)}, "has no virtual time"),
        ({"estimates": "guessed"}, "must be given, exact or learnt"),
        ({"jobs": 0}, "must be 1 to 64"),
        ({"shakes": -1}, "must be 0 to 100"),
        ({"warm_up_s": 1e9}, "leave no jobs to measure"),
        ({"warm_up_s": -1.0}, "must not be negative"),
    ],
)
def test_wrong_options_are_refused(changes: dict[str, object], fault: str, trace_file: Path) -> None:
    with pytest.raises(Invalid, match=fault):
        run(trace_file, **changes)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_policy_without_a_result_ends_the_experiment(
    jobs: int, trace_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wrong_policy.py").write_text("class Wrong:\n    def decide(self, view, now, budget):\n        1 / 0\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RunFailed, match="ZeroDivisionError"):
        run(trace_file, policies=("easy", "wrong_policy:Wrong"), jobs=jobs)


def test_repeated_runs_move_submissions_a_little_and_are_the_same_again(trace_file: Path, tmp_path: Path) -> None:
    experiment = run(trace_file, policies=("fcfs", "easy"), shakes=2)
    assert {name: len(means) for name, means in experiment.moved_slowdowns.items()} == {"fcfs": 2, "easy": 2}
    assert experiment.moved_slowdowns["fcfs"][0] != experiment.moved_slowdowns["fcfs"][1]
    files = files_of(experiment, tmp_path / "first")
    assert files_of(run(trace_file, policies=("fcfs", "easy"), shakes=2, jobs=2), tmp_path / "second") == files
    assert "with moved submissions (× 2)".encode() in files["report.html"]
