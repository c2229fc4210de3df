"""The planner's benchmark still runs; how fast is not asked here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_a_small_run_measures_three_policies_in_three_scenes() -> None:
    command = [sys.executable, "-m", "benchmarks.planner", "--small", "--json"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    figures = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(figures) == 9
    assert all(figure["value"] > 0 for figure in figures)
