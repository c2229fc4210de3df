"""The ledger: each attempt is new only once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shunter.model.protocol.worker_messages import Ended, Order
from shunter.worker.process.range_ledger import TaskRange, TaskRangeLedger

RANGES = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 8), st.integers(1, 3), st.booleans()), max_size=8)


def order(first: int, last: int, attempt: int = 1, job: int = 1) -> Order:
    return Order(job, 0, first, last, attempt, 1, 1, 1, "default", "job", "main", 100)


@given(RANGES)
def test_only_what_is_neither_held_nor_ended_at_this_attempt_or_later_is_news(
    ranges: list[tuple[int, int, int, bool]],
) -> None:
    ledger, newest = TaskRangeLedger(), dict[int, int]()
    for first, length, attempt, ended in ranges:
        last = first + length
        requested_keepers = {index for index in range(first, last + 1) if newest.get(index, 0) < attempt}
        parts = ledger.new_parts(order(first, last, attempt))
        assert {index for low, high in parts for index in range(low, high + 1)} == requested_keepers
        assert sum(high - low + 1 for low, high in parts) == len(requested_keepers)
        for low, high in parts:
            if ended:
                times = [1] * (high - low + 1)
                ledger.add_ended(Ended(1, 0, attempt, low, [], times, times, 1, 0))
            else:
                ledger.add(TaskRange(order(low, high, attempt), low, high, 1))
        newest.update(dict.fromkeys(requested_keepers, attempt))


def test_what_was_acknowledged_is_forgotten() -> None:
    ledger, ended = TaskRangeLedger(), Ended(1, 0, 1, 5, [], [1], [1], 1, 0)
    ledger.add_ended(ended)
    assert ledger.new_parts(order(4, 6)) == [(4, 4), (6, 6)]
    ledger.remove_ended(ended)
    assert ledger.new_parts(order(4, 6)) == [(4, 6)]


def test_jobs_do_not_meet() -> None:
    ledger = TaskRangeLedger()
    ledger.add(TaskRange(order(0, 9, job=1), 0, 9, 1))
    assert ledger.new_parts(order(0, 9, job=2)) == [(0, 9)]
    assert ledger.overlapping(2, 0, 0, 9) == []
    assert len(ledger.overlapping(1, 0, 9, 30)) == 1
