"""Blocks of the task table as dry runs copy them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.engine.state import task_table
from shunter.engine.state.records import ranges_of, ranges_where
from shunter.engine.state.task_table import LARGE_BLOCK, PACKED_COLUMNS, TaskTable
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


_ACT = st.tuples(st.sampled_from(["allocate", "release", "clear"]), st.integers(1, 12))


@given(st.lists(_ACT, max_size=30))
def test_a_new_block_never_shows_values_of_those_before_it(acts: list[tuple[str, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task_table, "LARGE_BLOCK", LARGE)
        table, blocks = TaskTable(), list[tuple[int, int]]()
        for act, number in acts:
            if act == "allocate":
                base = table.allocate(number)
                blocks.append((base, number))
                rows = slice(base, base + number)
                assert not any(getattr(table, name)[rows].any() for name in ("attempt", "node", "log", "group"))
                for column in table._columns:
                    column[rows] = 1
            elif act == "release" and blocks:
                base, count = blocks.pop(number % len(blocks))
                table.release(base, count)
                assert not table.state[base : base + count].any()
            elif act == "clear":
                table.clear_some(number)
        while table.clear_some(1):
            pass
        used = {row for base, count in blocks for row in range(base, base + count)}
        assert np.flatnonzero(table.node).tolist() == sorted(used)


def test_released_rows_are_cleared_by_and_by() -> None:
    table, count = TaskTable(), 3 * LARGE_BLOCK
    base = table.allocate(count)
    table.node[base : base + count] = 1
    table.release(base, count)
    assert table.clear_some(LARGE_BLOCK) and np.count_nonzero(table.node) == 2 * LARGE_BLOCK
    assert table.clear_some(LARGE_BLOCK) and not table.clear_some(LARGE_BLOCK) and not table.node.any()


@given(st.lists(st.booleans(), max_size=20))
def test_ranges_of_a_mask_are_those_of_its_rows(mask: list[bool]) -> None:
    rows = np.array(mask, np.bool_)
    assert ranges_where(rows) == list(ranges_of(np.flatnonzero(rows)))
