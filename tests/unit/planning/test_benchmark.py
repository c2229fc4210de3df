"""The planner's benchmarks still run; their speed is not checked here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]


def test_a_small_run_measures_three_policies_in_three_scenes() -> None:
    figures = run_small("planner")
    assert len(figures) == 9
    assert all(figure["value"] > 0 for figure in figures)


def test_a_small_run_of_the_order_measures_passes_slices_rounds_and_gangs_for_two_sizes() -> None:
    figures = run_small("order")
    assert len(figures) == 14 + 12
    assert all(figure["value"] > 0 for figure in figures)


def test_a_small_run_of_the_packing_tells_five_shares_of_three_policies() -> None:
    figures = {figure["what"]: figure["value"] for figure in run_small("packing")}
    assert len(figures) == 15
    assert all(0 <= value <= 100 for value in figures.values())
    empty = {policy: figures[f"nodes empty at half load, {policy}, 30 nodes"] for policy in ("bin-pack", "spread")}
    assert empty["bin-pack"] > empty["spread"]


def run_small(name: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", f"benchmarks.{name}", "--small", "--json"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]
