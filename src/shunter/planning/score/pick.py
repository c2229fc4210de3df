"""Picks which nodes get how many tasks of a class. Called by the planner with the scores of all nodes.

The reference is the greedy algorithm that places one task at a time on the node with the lowest score (the lower row in
a tie), and then computes that node's score for one more task. All three methods below give exactly its result; a
property test compares them."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shunter.planning.score.scores import More, Shape
from shunter.planning.view import FloatArray, IntArray

SAMPLE_SIZE = 1000  # of the scores, to find the k-th lowest
SAMPLE_MARGIN = 50  # how far from its position in the sample it may lie: three times the standard deviation
NARROW_SHARE = 20  # if fewer than one row in this many is needed, most are excluded first
NARROW_STRIDE = 8
NARROW_MARGIN = 8


@dataclass(frozen=True, slots=True)
class Candidates:
    """The scores of nodes for tasks of one class."""

    scores: FloatArray  # by row, for the next task; infinite where the node cannot take one
    next_score: Callable[[IntArray, More], FloatArray]  # for one more task, after that many others of the class
    room: Callable[[IntArray], IntArray]  # how many fit, at least 1 where the score is finite


@dataclass(frozen=True, slots=True)
class Picked:
    """`counts[i]` tasks, at least one, go to row `rows[i]`; no row occurs twice."""

    rows: IntArray
    counts: IntArray


def pick(candidates: Candidates, count: int, shape: Shape) -> Picked:
    """Pick nodes for `count` tasks, or for as many as fit."""
    if count == 1:
        return _pick_one(candidates.scores)
    return _PICKS[shape](candidates, count)


def pick_rising(candidates: Candidates, count: int) -> Picked:
    """The `count` lowest of the scores that all nodes would have in turn.

    The greedy takes scores in ascending order, because no node's next score is below its last. So find the waterline,
    the count-th lowest score; everything below it is taken, and of scores equal to it those of the lower rows come
    first. A node can have thousands of scores, but few are near the line: compute a band of them, and a deeper band
    only for nodes whose known scores are all taken. More known scores can only lower the line, so no other node needs a
    second look."""
    rows = _cheapest_rows(candidates.scores, count)
    if not len(rows):
        return Picked(rows, rows)
    if len(rows) == count and candidates.next_score(rows, 1).min() > candidates.scores[rows].max():
        return Picked(rows, np.ones(count, dtype=np.int64))  # no second task is as cheap as the dearest first one
    room = candidates.room(rows)
    pool: FloatArray = np.empty(0)
    bands: list[tuple[IntArray, FloatArray]] = []
    deeper, depth, width = np.arange(len(rows)), 0, count // len(rows) + 2
    while len(deeper):
        width = min(width, int(room[deeper].max()) - depth)
        level = np.arange(depth, depth + width)[:, np.newaxis]
        level_scores = np.where(level < room[deeper], candidates.next_score(rows[deeper], level), np.inf)
        bands.append((deeper, level_scores))
        pool = np.concatenate([pool, level_scores.ravel()])
        waterline = _kth_least(pool, count - 1) if count <= len(pool) else math.inf
        counts = _taken(bands, waterline, len(rows), count)
        depth, width = depth + width, width * 2
        deeper = deeper[(counts[deeper] == depth) & (room[deeper] > depth)]
    served = counts > 0
    return Picked(rows[served], counts[served])


def pick_falling(candidates: Candidates, count: int) -> Picked:
    """Fill node after node completely, the cheapest first.

    Once the greedy has chosen a node, its score does not rise and it stays the cheapest until it is full. So one sort
    and a running sum of the room tell how far `count` tasks reach."""
    rows = _cheapest_rows(candidates.scores, count)
    rows = rows[np.argsort(candidates.scores[rows], kind="stable")]
    filled = np.cumsum(candidates.room(rows))
    reached = int(np.searchsorted(filled, count)) + 1
    counts = np.diff(np.minimum(filled[:reached], count), prepend=0)
    return Picked(rows[:reached], counts)


def pick_any(candidates: Candidates, count: int) -> Picked:
    """One task at a time, with the nodes' next scores in a heap."""
    rows = np.flatnonzero(candidates.scores < np.inf)
    room = dict(zip(rows.tolist(), candidates.room(rows).tolist(), strict=True))
    heap = list(zip(candidates.scores[rows].tolist(), rows.tolist(), strict=True))
    heapq.heapify(heap)
    counts: Counter[int] = Counter()
    while heap and count:
        row = heap[0][1]
        counts[row] += 1
        count -= 1
        if counts[row] < room[row]:
            next_score = float(candidates.next_score(np.array([row]), counts[row])[0])
            heapq.heapreplace(heap, (next_score, row))
        else:
            heapq.heappop(heap)
    return Picked(np.array(list(counts), dtype=np.int64), np.array(list(counts.values()), dtype=np.int64))


_PICKS = {Shape.RISING: pick_rising, Shape.FALLING: pick_falling, Shape.ANY: pick_any}


def _pick_one(scores: FloatArray) -> Picked:
    row = scores.argmin()
    found = [1] if scores[row] < math.inf else []
    return Picked(np.array([row] * len(found), dtype=np.int64), np.array(found, dtype=np.int64))


def _cheapest_rows(scores: FloatArray, count: int) -> IntArray:
    """The `count` rows with the lowest scores, lower rows first in a tie, in ascending order of rows.

    No others can be needed: each of these takes at least one task before any other row becomes the cheapest."""
    if count * NARROW_SHARE < len(scores):
        near = _narrow(scores, count)
        if near is not None:
            return near[_cheapest_rows(scores[near], count)]
    if count < len(scores):
        limit = _kth_least(scores, count - 1)
        if limit < np.inf:
            below = np.flatnonzero(scores < limit)
            level = np.flatnonzero(scores == limit)[: count - len(below)]
            return np.sort(np.concatenate([below, level]))
    return np.flatnonzero(scores < np.inf)


def _narrow(scores: FloatArray, count: int) -> IntArray | None:
    """The rows up to a score below which there are at least `count` rows; None if the guess was too low.

    A small sample gives the guess. A generous guess costs little, because few rows are needed."""
    sample = scores[::NARROW_STRIDE]
    position = min(count * 2 // NARROW_STRIDE + NARROW_MARGIN, len(sample) - 1)
    rows = np.flatnonzero(scores <= np.partition(sample, position)[position])
    return rows if count <= len(rows) < len(scores) else None


def _kth_least(values: FloatArray, k: int) -> float:
    """The value at position k if the values were sorted.

    A sorted sample gives two values between which it lies; only the values between them remain to be searched. This is
    Floyd and Rivest's idea. `np.partition` alone takes ten times as long, and far longer on runs of equal values."""
    while len(values) > SAMPLE_SIZE * 2:
        sample = np.sort(values[:: len(values) // SAMPLE_SIZE])
        position = k * len(sample) // len(values)
        low = sample[position - SAMPLE_MARGIN] if position >= SAMPLE_MARGIN else -math.inf
        high = sample[position + SAMPLE_MARGIN] if position + SAMPLE_MARGIN < len(sample) else math.inf
        for pivot in (low, high):
            if np.count_nonzero(values < pivot) <= k < np.count_nonzero(values <= pivot):
                return float(pivot)
        below, between = int(np.count_nonzero(values <= low)), values[(values > low) & (values < high)]
        if not below <= k < below + len(between) or 2 * len(between) > len(values):
            break  # an unlucky sample
        values, k = between, k - below
    return float(np.partition(values, k)[k])


def _taken(bands: list[tuple[IntArray, FloatArray]], waterline: float, rows: int, count: int) -> IntArray:
    """How many of its known scores each row gets: all below the waterline, and those equal to it while tasks last."""
    below, level = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)
    for members, level_scores in bands:
        below[members] += np.count_nonzero(level_scores < waterline, axis=0)
        if waterline < math.inf:
            level[members] += np.count_nonzero(level_scores == waterline, axis=0)
    left = count - int(below.sum())
    taken: IntArray = below + np.clip(left - (np.cumsum(level) - level), 0, level)
    return taken
