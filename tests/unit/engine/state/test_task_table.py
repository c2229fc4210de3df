"""Blocks of the task table as dry runs copy them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.engine.state import task_table
from shunter.engine.state.task_table import PACKED_COLUMNS, TaskTable
from shunter.model.lifecycles import TaskState

LARGE = 4
_task = st.tuples(st.sampled_from(TaskState), st.integers(0, 3))


@given(st.lists(st.tuples(st.booleans(), st.lists(_task, min_size=1, max_size=9)), max_size=8))
def test_a_copy_has_all_states_and_every_task_that_can_still_matter(
    blocks: list[tuple[bool, list[tuple[TaskState, int]]]],
) -> None:
    table, chosen = TaskTable(), []
    for is_chosen, tasks in blocks:
        base = table.allocate(len(tasks))
        for row, (state, attempt) in enumerate(tasks, base):
            table.state[row], table.attempt[row] = state, attempt
            table.node[row] = table.started_ms[row] = table.log[row] = attempt * (row + 1)
        if is_chosen:
            chosen.append((base, len(tasks)))
    rows = [row for base, count in chosen for row in range(base, base + count)]
    copy = TaskTable()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task_table, "LARGE_BLOCK", LARGE)
        copy.restore(len(rows), table.pack_blocks(chosen))
    assert copy.state[: len(rows)].tolist() == table.state[rows].tolist()
    is_large = [count >= LARGE for _, count in chosen for _ in range(count)]
    for number, row in enumerate(rows):
        if not is_large[number] or (table.attempt[row] and table.state[row] < TaskState.SUCCEEDED):
            for name in PACKED_COLUMNS:
                assert getattr(copy, name)[number] == getattr(table, name)[row]


def test_a_copy_of_a_huge_array_is_small() -> None:
    table, count = TaskTable(), 1_000_000
    base = table.allocate(count)
    table.state[base : base + 100], table.attempt[base : base + 100] = TaskState.RUNNING, 1
    table.state[base + 100 : base + 5_000] = TaskState.SUCCEEDED
    assert len(table.pack_blocks([(base, count)])) < count + 10_000
