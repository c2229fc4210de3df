"""Sums, maxima and percentiles of what attempts used."""

from __future__ import annotations

import pytest

from shunter.model.usage import MEMORY_CLASS_MAX, SUM_MAX, AttemptsUsage, Usage, class_end_bytes, usage_of
from shunter.worker.keeper.usage import RangeUsage, Used, memory_class, used_by_both

MIB = 2**20


def task(cpu_ms: int, peak_kib: int) -> Used:
    return (0, 0, 0, cpu_ms * 1000, peak_kib, 2, 4)


@pytest.mark.parametrize("kib", [1, 4, 5, 7, 8, 1023, 1024, 1300, 10**6, 2**40])
def test_a_class_ends_above_its_memory_by_a_quarter_at_most(kib: int) -> None:
    end = class_end_bytes(memory_class(kib)) / 1024
    assert kib < end <= max(kib * 1.25 + 1, 5)
    assert memory_class(kib) <= MEMORY_CLASS_MAX


def test_a_larger_memory_has_no_lower_class() -> None:
    classes = [memory_class(kib) for kib in range(1, 5_000)]
    assert classes == sorted(classes)


def test_a_keeper_adds_up_a_range_and_rates_only_attempts_that_ran_for_a_while() -> None:
    found = RangeUsage()
    found.add(task(200, 64 * 1024), 400)
    found.add(task(5, 16 * 1024), 5)
    assert found.encoded() == f"[205,500,2048,4096,{64 * MIB},{[memory_class(65536), memory_class(16384)]}]"


def test_the_processes_of_a_task_add_up_and_its_peak_is_that_of_the_largest() -> None:
    one, other = (1, 2, 3, 4, 50, 6, 7), (10, 20, 30, 40, 5, 60, 70)
    assert used_by_both(one, other) == used_by_both(other, one) == (11, 22, 33, 44, 50, 66, 77)


def test_usage_is_added_up() -> None:
    total = Usage()
    total.add(usage_of(AttemptsUsage(700, 800, 1, 2, 30 * MIB, [52, 60]), [0, 0], [1_000, 3_000]))
    total.add(usage_of(AttemptsUsage(100, 900, 10, 20, 10 * MIB, [52]), [500], [400]))
    assert total == Usage(3, 4_000, 3_000, 800, 900, 11, 22, 30 * MIB, {52: 2, 60: 1})
    total.add(Usage(cpu_ms=SUM_MAX))
    assert total.cpu_ms == SUM_MAX


def test_the_percentile_leaves_out_a_few_large_attempts_and_never_exceeds_the_maximum() -> None:
    small, large = memory_class(10 * 1024), memory_class(1000 * 1024)
    usage = Usage(100, memory_max_bytes=1000 * MIB, memory_classes={small: 97, large: 3})
    assert 10 * MIB <= usage.memory_percentile(0.95) <= 12.5 * MIB
    assert usage.memory_percentile(0.99) == 1000 * MIB
    assert Usage().memory_percentile(0.95) == 0
