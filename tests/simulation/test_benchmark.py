"""The engine's benchmark still runs; its speed is not checked here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_small_run_gives_every_figure() -> None:
    command = [sys.executable, "-m", "benchmarks.engine", "--small", "--json"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    figures = {figure["what"]: figure["value"] for figure in map(json.loads, run.stdout.splitlines())}
    assert len(figures) == 10
    rates = [value for what, value in figures.items() if "growth" not in what]
    assert all(value > 0 for value in rates)
