"""Starts that config.toml forbids, and errors of the environment."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shunter.app.options import UpOptions, WorkerOptions
from shunter.app.serve import Readiness, run
from shunter.app.worker import run_worker
from shunter.app.worker_backends import SimulatedBackend
from shunter.model.errors import Conflict, Invalid


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home with two mistakes in its configuration."""
    monkeypatch.setenv("SHUNTER_HOME", str(tmp_path))
    (tmp_path / "config.toml").write_text('[nodes]\nhartbeat = "2s"\n[limits]\njobs_max = 0\n')
    return tmp_path


def test_a_refused_file_starts_no_cluster_and_tells_every_problem(home: Path) -> None:
    told: list[Readiness] = []
    assert run(UpOptions(), told.append) == 2
    [readiness] = told
    assert readiness.is_rejected and readiness.error.splitlines()[1:] == [
        "  config.toml: nodes.hartbeat: unknown field; did you mean heartbeat?",
        "  config.toml: limits.jobs_max: must be 1 to 100,000,000 (got 0)",
    ]
    assert {file.name for file in home.iterdir()} == {"config.toml", "lock"}


def test_a_refused_file_starts_no_worker(home: Path) -> None:
    options = msgspec.json.encode(WorkerOptions(manager="127.0.0.1:1", token="t"))
    with pytest.raises(Invalid, match="did you mean heartbeat"):
        run_worker(options)
    assert [file.name for file in home.iterdir()] == ["config.toml"]


def test_the_heartbeat_of_simulated_nodes_cannot_be_set() -> None:
    with pytest.raises(Conflict, match="simulated"):
        SimulatedBackend(UpOptions(simulate_nodes=1)).set_heartbeat(2.0)
