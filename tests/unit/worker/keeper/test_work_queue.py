"""The keeper's queue: tasks that are taken back never run, the others run in order."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shunter.model.job.spec import TaskSpec
from shunter.worker.keeper.work_queue import Queue, RangeRow, Spec, TaskRange
from shunter.worker.process import protocol

SPEC = Spec(
    {
        "command": ["true"], "env": {"A": "ä"}, "dir": None, "cpu_milli": 0, "memory_bytes": 0, "disk_bytes": 0,
        "run_timeout_s": 0.0, "stop_grace_s": 5.0, "log_max_bytes": 0,
    },
    {b"PATH": b"/bin", b"A": b"old"},
)  # fmt: skip
RANGES = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 9), st.integers(1, 8), st.integers(1, 2)), max_size=6)


def test_a_keeper_needs_no_defaults_to_read_a_spec() -> None:
    _, _, fields = json.loads(protocol.spec(1, TaskSpec(command=("true",))))
    spec = Spec(fields, {})
    assert (spec.argv, spec.dir, spec.cpu_milli, spec.stop_grace_s) == ([b"true"], None, 1000, 5.0)


def order(job: int, first: int, last: int, reservation: int = 1, attempt: int = 1) -> list[Any]:
    return [job, 0, first, last, attempt, 1, reservation, 2, "default", "job", "main", 100, [], []]


def filled(ranges: list[tuple[int, int, int, int]]) -> tuple[Queue, list[tuple[int, int, int]]]:
    """A queue of disjoint ranges, and the tasks in it as (job, index, reservation)."""
    queue, tasks, offset = Queue(), [], 0
    for job, gap, length, reservation in ranges:
        first = offset + gap
        offset = first + length
        queue.add(TaskRange(order(job, first, offset - 1, reservation), SPEC))
        tasks += [(job, index, reservation) for index in range(first, offset)]
    return queue, tasks


def drained(queue: Queue) -> list[tuple[int, int, int]]:
    tasks = []
    while (found := queue.next()) is not None:
        task_range, index = found
        tasks.append((task_range.job, index, task_range.reservation))
    return tasks


def named(ranges: list[RangeRow]) -> set[tuple[int, int]]:
    return {(job, index) for job, _, _, first, last in ranges for index in range(first, last + 1)}


@given(RANGES)
def test_tasks_run_in_the_order_in_which_they_came(ranges: list[tuple[int, int, int, int]]) -> None:
    queue, tasks = filled(ranges)
    assert drained(queue) == tasks


@given(RANGES, st.integers(0, 40), st.integers(0, 10))
def test_taking_from_the_tail_leaves_those_next_in_turn(
    ranges: list[tuple[int, int, int, int]], count: int, started: int
) -> None:
    queue, tasks = filled(ranges)
    for _ in range(min(started, len(tasks))):
        queue.next()
    left = tasks[started:]
    reclaimed = named(queue.reclaim_tail(count))
    remaining = len(left) - min(count, len(left))
    assert drained(queue) == left[:remaining]
    assert reclaimed == {(job, index) for job, index, _ in left[remaining:]}


@given(RANGES, st.integers(1, 3), st.integers(0, 40), st.integers(0, 40))
def test_taking_a_range_takes_just_that_range(
    ranges: list[tuple[int, int, int, int]], job: int, first: int, last: int
) -> None:
    queue, tasks = filled(ranges)
    reclaimed = named(queue.reclaim_range(job, 0, first, last, 1))
    wanted = [task for task in tasks if task[0] == job and first <= task[1] <= last]
    assert reclaimed == {(job, index) for job, index, _ in wanted}
    assert drained(queue) == [task for task in tasks if task not in wanted]


@given(RANGES, st.sets(st.integers(1, 2)))
def test_taking_reservations_takes_just_theirs(ranges: list[tuple[int, int, int, int]], wanted: set[int]) -> None:
    queue, tasks = filled(ranges)
    reclaimed = named(queue.reclaim_reservations(list(wanted)))
    assert reclaimed == {(job, index) for job, index, reservation in tasks if reservation in wanted}
    assert drained(queue) == [task for task in tasks if task[2] not in wanted]


def test_what_is_left_of_a_range_is_told_as_an_order() -> None:
    queue = Queue()
    queue.add(TaskRange(order(1, 5, 9), SPEC))
    queue.next()
    assert queue.orders() == [order(1, 6, 9)]


def test_a_spec_s_variables_go_over_inherited_ones() -> None:
    assert SPEC.env == {b"PATH": b"/bin", b"A": "ä".encode()}
    environment = TaskRange(order(1, 3, 3), SPEC).environment(3, b"node", b"lane", {b"SHUNTER_DEVICES_GPU": b"1"})
    assert environment[b"SHUNTER_TASK_INDEX"] == b"3"
    assert b"SHUNTER_TASK_INDEX" not in SPEC.env
    assert environment[b"SHUNTER_DEVICES_GPU"] == b"1"


def test_each_task_is_told_its_own_index_and_entry_however_its_range_is_cut() -> None:
    queue = Queue()
    shown = [*order(1, 5, 9)[:12], [50, 52, 54, 56, 58], ["a", "b", "c", "d", "e"]]
    queue.add(TaskRange(shown, SPEC))
    queue.next()
    queue.reclaim_range(1, 0, 7, 7, 1)
    front, back = queue.orders()
    assert (front[2:4], front[12:]) == ([6, 6], [[52], ["b"]])
    assert (back[2:4], back[12:]) == ([8, 9], [[56, 58], ["d", "e"]])
    again = Queue()
    again.add(TaskRange(back, SPEC))
    told = []
    while (found := again.next()) is not None:
        task_range, index = found
        environment = task_range.environment(index, b"node", b"lane", {})
        told.append((index, environment[b"SHUNTER_TASK_INDEX"], environment[b"SHUNTER_ENTRY"]))
    assert told == [(8, b"56", b"d"), (9, b"58", b"e")]


def test_a_newer_attempt_than_the_one_meant_stays_in_the_queue() -> None:
    queue = Queue()
    queue.add(TaskRange(order(1, 0, 3, attempt=1), SPEC))
    queue.add(TaskRange(order(1, 0, 3, attempt=2), SPEC))
    assert queue.reclaim_range(1, 0, 0, 9, 1) == [[1, 0, 1, 0, 3]]
    assert queue.orders() == [order(1, 0, 3, attempt=2)]
