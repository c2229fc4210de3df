"""The lab's benchmark still runs; its speed is not checked here."""

from __future__ import annotations

from tests.unit.planning.test_benchmark import run_small


def test_a_small_run_measures_idle_time_reading_and_two_policies() -> None:
    figures = run_small("lab")
    assert len(figures) == 4
    assert all(figure["value"] > 0 for figure in figures)
