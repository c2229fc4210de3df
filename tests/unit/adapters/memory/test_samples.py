"""Samples in memory: rates from sums, coarser steps for older samples, windows, and limits."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.adapters.memory.rings import Ring, Rings, Tier
from shunter.adapters.memory.samples import AGE_MAX_MS, FIRST_INTERVAL_MAX_MS, SERIES_BYTES, SampleStore
from shunter.ports.metrics import (
    CPU,
    MEMORY,
    NODE_METRICS,
    READ,
    TASK_METRICS,
    Measurement,
    MetricQuery,
    MetricResult,
    NodeSource,
    Series,
    Source,
    TaskSource,
)

TASK = TaskSource(7, "main", 0)
OTHER = TaskSource(1_000, "main", 0)
NODE = NodeSource("n1")
BEGIN = 1_000_000  # ms; on the border of a step of each tier


def sample(
    second: float, cpu_s: float, memory: float = 0.0, incarnation: int = 1, since_s: float | None = None
) -> Measurement:
    since_ms = None if since_s is None else BEGIN + int(since_s * 1000)
    return Measurement(BEGIN + int(second * 1000), "n1", incarnation, (cpu_s, memory, 0.0, 0.0), since_ms)


def ask(store: SampleStore, start_s: float, stop_s: float, step_s: float = 1, source: Source = TASK) -> MetricResult:
    start_ms, stop_ms = BEGIN + int(start_s * 1000), BEGIN + int(stop_s * 1000)
    return asyncio.run(store.query(MetricQuery((source,), start_ms, stop_ms, int(step_s * 1000))))


def cpu(answer: MetricResult) -> Series:
    return next(series for series in answer.series if series.metric == CPU)


def memory(answer: MetricResult) -> Series:
    return next(series for series in answer.series if series.metric == MEMORY)


# ---- rings ----


def test_samples_of_one_step_become_their_mean_and_their_highest() -> None:
    ring = Ring(Tier(1_000, 10), 1)
    for at_ms, value in ((5_000, 1.0), (5_400, 2.0), (5_999, 6.0), (6_000, 4.0)):
        ring.add(at_ms, [value])
    first, second = ring.rows(0, 10_000)
    assert (first.at_ms, first.count, first.means[0], first.maxima[0]) == (5_000, 3, 3.0, 6.0)
    assert (second.at_ms, second.count, second.means[0], second.maxima[0]) == (6_000, 1, 4.0, 4.0)


def test_a_full_ring_forgets_the_oldest_and_stays_in_order() -> None:
    ring = Ring(Tier(1_000, 4), 2)
    for second in range(11):
        ring.add(second * 1_000, [float(second), -1.0])
    assert [(row.at_ms, row.means[0]) for row in ring.rows(0, 20_000)] == [(s * 1_000, float(s)) for s in range(7, 11)]
    assert len(ring) == 4 and ring.evicted_before_ms == 7_000


def test_a_late_sample_counts_in_the_newest_step() -> None:
    ring = Ring(Tier(1_000, 4), 1)
    ring.add(3_000, [2.0])
    ring.add(1_000, [4.0])
    [row] = ring.rows(0, 10_000)
    assert (row.at_ms, row.means[0]) == (3_000, 3.0)


@given(count=st.integers(0, 12), gap=st.integers(1, 3), start=st.integers(-2, 40), length=st.integers(0, 40))
def test_a_window_finds_the_rows_that_overlap_it_and_no_others(count: int, gap: int, start: int, length: int) -> None:
    ring = Ring(Tier(1_000, 5), 1)
    for number in range(count):
        ring.add(number * gap * 1_000 + 400, [float(number)])
    there = [number * gap * 1_000 for number in range(count)][-5:]
    begin, end = start * 500, (start + length) * 500
    assert [row.at_ms for row in ring.rows(begin, end)] == [at for at in there if at + 1_000 > begin and at < end]


def test_what_the_finest_tier_forgot_is_there_in_coarser_steps() -> None:
    rings = Rings(1, (Tier(1_000, 5), Tier(5_000, 5)))
    for second in range(20):
        rings.add(second * 1_000, [float(second)])
    found = [(row.at_ms // 1_000, row.step_ms // 1_000, row.means[0]) for row in rings.rows(0, 20_000)]
    assert found == [(0, 5, 2.0), (5, 5, 7.0), (10, 5, 12.0), *((s, 1, float(s)) for s in range(15, 20))]


def test_a_short_series_is_never_answered_from_a_coarser_tier() -> None:
    rings = Rings(1, (Tier(1_000, 5), Tier(60_000, 5)))
    rings.add(61_500, [1.0])
    rings.add(62_500, [1.0])
    assert [row.step_ms for row in rings.rows(0, 70_000)] == [1_000, 1_000]


# ---- rates ----


def test_rates_are_differences_and_memory_is_a_level() -> None:
    store = SampleStore()
    for second, used_s, held in ((1, 0.5, 100.0), (2, 1.5, 300.0), (4, 2.5, 200.0)):
        store.record(TASK, sample(second, used_s, held))
    answer = ask(store, 0, 5)
    assert cpu(answer).values == (None, None, 1.0, None, 0.5)
    assert (cpu(answer).mean, cpu(answer).maximum) == (0.75, 1.0)
    assert memory(answer).values == (None, None, 300.0, None, 200.0)
    assert {series.metric for series in answer.series} == set(TASK_METRICS)


def test_the_first_sample_of_a_task_counts_from_its_start_where_that_is_near() -> None:
    store = SampleStore()
    store.record(TASK, sample(2, 1.0, since_s=0))
    assert cpu(ask(store, 0, 5)).values == (None, None, 0.5, None, None)
    long_ago = -FIRST_INTERVAL_MAX_MS / 1000
    store.record(OTHER, sample(2, 1.0, since_s=long_ago))
    assert ask(store, 0, 5, source=OTHER).series == ()


def test_a_new_attempt_is_not_compared_with_the_one_before() -> None:
    store = SampleStore()
    store.record(TASK, sample(1, 50.0, incarnation=1))
    store.record(TASK, sample(3, 0.5, incarnation=2, since_s=2))
    store.record(TASK, sample(3.5, 51.0, incarnation=1))  # late, of an attempt that is over
    store.record(TASK, sample(4, 1.5, incarnation=2))
    assert cpu(ask(store, 0, 5)).values == (None, None, None, 0.5, 1.0)


def test_a_sum_that_falls_is_no_use_and_no_negative_one() -> None:
    store = SampleStore()
    store.record(TASK, sample(1, 5.0))
    store.record(TASK, sample(2, 3.0))
    store.record(TASK, sample(2, 9.0))  # the same moment twice
    assert cpu(ask(store, 0, 3)).values == (None, None, 0.0)


def test_a_node_has_its_network_too() -> None:
    store = SampleStore()
    for second in (1, 2):
        totals = (0.0, 0.0, 0.0, 0.0, 1000.0 * second, 500.0 * second)
        store.record(NODE, Measurement(BEGIN + second * 1000, "n1", 0, totals))
    found = {series.metric: series.mean for series in ask(store, 0, 5, source=NODE).series}
    assert tuple(found) == NODE_METRICS
    assert found["net_received_bytes_per_s"] == 1000.0 and found["net_sent_bytes_per_s"] == 500.0 and found[READ] == 0.0


# ---- windows ----


def test_a_window_has_only_what_lies_in_it_on_the_grid_that_was_asked_for() -> None:
    store = SampleStore()
    for second in range(20):
        store.record(TASK, sample(second, second**2 / 2))  # so that each second uses more than the one before
    answer = ask(store, 10, 16, step_s=2)
    assert answer.step_ms == 2_000
    assert cpu(answer).values == (10.0, 12.0, 14.0)
    assert (cpu(answer).mean, cpu(answer).maximum) == (12.0, 14.5)


def test_an_old_window_comes_in_the_step_that_is_left() -> None:
    store = SampleStore(tiers=(Tier(1_000, 5), Tier(10_000, 100)))
    for second in range(101):
        store.record(TASK, sample(second, float(second)))
    answer = ask(store, 0, 40)
    assert answer.step_ms == 10_000 and cpu(answer).values == (1.0,) * 4
    assert ask(store, 97, 101).step_ms == 1_000


def test_nothing_is_known_of_a_stranger_or_of_another_time() -> None:
    store = SampleStore()
    store.record(TASK, sample(1, 0.0))
    store.record(TASK, sample(2, 1.0))
    assert ask(store, 0, 5, source=NodeSource("nobody")) == MetricResult(1_000, ())
    assert ask(store, 100, 105).series == ()


# ---- limits ----


def test_beyond_the_total_the_series_go_that_were_not_heard_of_for_longest() -> None:
    store = SampleStore(total_max_bytes=20 * SERIES_BYTES)
    for second in range(200):
        store.record(OTHER, sample(second, float(second)))
        for task in range(3):
            store.record(TaskSource(second, "main", task), sample(second, 1.0, since_s=second - 1))
        assert store.total_bytes <= 20 * SERIES_BYTES
    assert ask(store, 0, 200, source=OTHER).series, "it was heard of all the time"
    assert ask(store, 0, 200, source=TaskSource(199, "main", 2)).series
    assert not ask(store, 0, 200, source=TaskSource(0, "main", 0)).series


def test_one_series_is_bounded_by_its_tiers() -> None:
    store = SampleStore(total_max_bytes=1, tiers=(Tier(1_000, 50), Tier(10_000, 5)))
    for second in range(1_000):
        store.record(TASK, sample(second, float(second)))
    row_bytes = Ring(Tier(1, 1), 4).row_bytes
    assert store.total_bytes == SERIES_BYTES + 55 * row_bytes


@pytest.mark.parametrize(("later_ms", "left"), [(AGE_MAX_MS, 2), (AGE_MAX_MS + 1, 1)])
def test_a_series_without_samples_for_a_day_goes(later_ms: int, left: int) -> None:
    store = SampleStore()
    store.record(TASK, sample(0, 0.0))
    store.record(OTHER, sample(later_ms / 1000, 0.0))
    assert len(store) == left
