"""What a keeper says about the times of a task while the date of the machine changes."""

from __future__ import annotations

import pytest

from shunter.worker.keeper.task import DATE_CHANGE_MIN_MS, Task

DAY_MS = 24 * 3600 * 1000
NOON_MS = 1_700_000_000_000


def task() -> Task:
    return Task(None, 0, 1, -1, NOON_MS, 50.0)  # type: ignore[arg-type]  # the task's order does not matter here


@pytest.mark.parametrize("change_ms", [DAY_MS, -DAY_MS])
def test_after_a_change_of_the_date_a_task_has_run_for_as_long_as_before(change_ms: int) -> None:
    now_ms = NOON_MS + change_ms + 3_000
    assert task().start_by_date(now_ms, 53.0) == now_ms - 3_000


def test_small_corrections_of_the_clock_do_not_move_a_start() -> None:
    assert task().start_by_date(NOON_MS + 3_000 + DATE_CHANGE_MIN_MS - 1, 53.0) == NOON_MS
