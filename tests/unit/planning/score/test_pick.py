"""Picking alone, with made-up prices: bands, ties, full nodes and the search for the waterline."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shunter.planning.score.pick import SAMPLE_SIZE, Candidates, Picked, _kth_least, pick
from shunter.planning.score.scores import More, Shape
from shunter.planning.view import FloatArray, IntArray

SEED = 7

ScoreTable = list[list[float]]  # by row: the prices of its first task, its second, and so on


def ordered_for(scores: list[float], shape: Shape) -> list[float]:
    return scores if shape is Shape.ANY else sorted(scores, reverse=shape is Shape.FALLING)


@pytest.mark.parametrize("shape", Shape)
@given(
    st.lists(st.lists(st.integers(-2, 6).map(float), max_size=60), min_size=1, max_size=12),
    st.integers(1, 150),
)
@settings(max_examples=200)
def test_any_shape_equals_taking_the_least_price_again_and_again(
    shape: Shape, score_table: ScoreTable, count: int
) -> None:
    score_table = [ordered_for(scores, shape) for scores in score_table]
    assert as_dict(pick(candidates_of(score_table), count, shape)) == take_one_by_one(score_table, count)


def test_equal_prices_go_to_the_lower_row_until_it_is_full() -> None:
    score_table = [[5.0], [1.0] * 3, [1.0] * 3]
    for shape in Shape:
        assert as_dict(pick(candidates_of(score_table), 4, shape)) == {1: 3, 2: 1}


def test_one_deep_node_takes_far_more_than_its_share() -> None:
    score_table = [[float(level) for level in range(1000)], *([[500.0, 501.0]] * 50)]
    assert as_dict(pick(candidates_of(score_table), 502, Shape.RISING)) == {0: 501, 1: 1}


@pytest.mark.parametrize("shape", Shape)
def test_ties_among_hundreds_of_nodes_are_broken_by_row(shape: Shape) -> None:
    rng = random.Random(SEED)
    for _ in range(10):
        score_table = [
            ordered_for([float(rng.randrange(4)) for _ in range(rng.randrange(4))], shape) for _ in range(300)
        ]
        count = rng.randrange(1, 500)
        assert as_dict(pick(candidates_of(score_table), count, shape)) == take_one_by_one(score_table, count), (
            f"seed {SEED}"
        )


def test_nothing_is_picked_where_no_node_has_room() -> None:
    for shape in Shape:
        assert as_dict(pick(candidates_of([[], []]), 3, shape)) == {}


@given(st.integers(0, 2**32), st.integers(SAMPLE_SIZE * 2 + 1, SAMPLE_SIZE * 20), st.floats(0, 1))
@settings(max_examples=50)
def test_the_kth_least_is_what_sorting_would_find(seed: int, size: int, fraction: float) -> None:
    rng = np.random.default_rng(seed)
    k = int(fraction * (size - 1))
    few_values = rng.integers(0, 3, size).astype(np.float64)
    mostly_closed = np.where(rng.random(size) < 0.9, np.inf, rng.random(size))
    runs = np.concatenate([np.full(size // 2, np.inf), np.zeros(size - size // 2)])
    periodic = (np.arange(size) % (size // SAMPLE_SIZE)).astype(np.float64)  # every sample sees a single value
    for values in (rng.random(size), few_values, mostly_closed, runs, periodic):
        assert _kth_least(values, k) == np.sort(values)[k]


def candidates_of(score_table: ScoreTable) -> Candidates:
    def next_score(rows: IntArray, more: More) -> FloatArray:
        levels = np.broadcast_to(more, np.broadcast_shapes(np.shape(more), rows.shape))
        owners = np.broadcast_to(rows, levels.shape)
        found = [
            score_table[row][level]
            if level < len(score_table[row])
            else -1000.0  # beyond its room, what is said must not matter
            for row, level in zip(owners.ravel().tolist(), levels.ravel().tolist(), strict=True)
        ]
        return np.array(found).reshape(levels.shape)

    scores = np.array([levels[0] if levels else np.inf for levels in score_table])
    return Candidates(
        scores, next_score, lambda rows: np.array([len(score_table[row]) for row in rows.tolist()], np.int64)
    )


def take_one_by_one(score_table: ScoreTable, count: int) -> dict[int, int]:
    counts = dict.fromkeys(range(len(score_table)), 0)
    for _ in range(count):
        open_rows = [row for row in counts if counts[row] < len(score_table[row])]
        if not open_rows:
            break
        counts[min(open_rows, key=lambda row: (score_table[row][counts[row]], row))] += 1
    return {row: taken for row, taken in counts.items() if taken}


def as_dict(picked: Picked) -> dict[int, int]:
    assert len(set(picked.rows.tolist())) == len(picked.rows)
    return dict(zip(picked.rows.tolist(), picked.counts.tolist(), strict=True))
