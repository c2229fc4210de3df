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

SAMPLE_SIZE = 1000  # of the prices, when looking for the k-th least
SAMPLE_MARGIN = 50  # how far beside its place in the sample it may lie: three times the usual deviation
NARROW_SHARE = 20  # where fewer than one row in so many is asked for, most are left out first
NARROW_STRIDE = 8
NARROW_MARGIN = 8


@dataclass(frozen=True, slots=True)
class Candidates:
    """What the nodes ask for tasks of one class."""

    scores: FloatArray  # by row, of the next task; infinite where the node cannot take one
    next_score: Callable[[IntArray, More], FloatArray]  # of one task more, after that many others of the class
    room: Callable[[IntArray], IntArray]  # how many fit, at least 1 where the price is finite


@dataclass(frozen=True, slots=True)
class Picked:
    """`counts[i]` tasks, at least one, go to row `rows[i]`; no row is named twice."""

    rows: IntArray
    counts: IntArray


def pick(candidates: Candidates, count: int, shape: Shape) -> Picked:
    """The nodes for `count` tasks, or for as many as find a place."""
    if count == 1:
        return _pick_one(candidates.scores)
    return _PICKS[shape](candidates, count)


def pick_rising(candidates: Candidates, count: int) -> Picked:
    """The `count` least of all prices that all nodes would ask in turn.

    The greedy takes prices in ascending order, for no node's next price is below its last. So find the waterline, the
    count-th least price; whatever is below it is taken, and of those level with it the lower rows' come first. A node
    can ask thousands of prices, but few are near the line: compute a band of them, and a deeper band only for nodes
    all of whose known prices are taken. More known prices can only lower the line, so nobody else has to be looked at.
    """
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
    """Fill node after node to the brim, the cheapest first.

    Once the greedy has chosen a node, that node asks no more than before and stays the cheapest until it is full. So
    one sort and a running sum of the room tell how far `count` tasks reach.
    """
    rows = _cheapest_rows(candidates.scores, count)
    rows = rows[np.argsort(candidates.scores[rows], kind="stable")]
    filled = np.cumsum(candidates.room(rows))
    reached = int(np.searchsorted(filled, count)) + 1
    counts = np.diff(np.minimum(filled[:reached], count), prepend=0)
    return Picked(rows[:reached], counts)


def pick_any(candidates: Candidates, count: int) -> Picked:
    """One task at a time, with the nodes' next prices in a heap."""
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
    """The `count` rows with the least prices, lower rows first among equals, in ascending order of rows.

    No others can be needed: each of these takes one task at least before any other row comes cheapest.
    """
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
    """The rows no dearer than a price below which there are `count` rows at least; None if the guess was too low.

    A thin sample guesses it; being generous costs little, for few rows are asked for.
    """
    sample = scores[::NARROW_STRIDE]
    position = min(count * 2 // NARROW_STRIDE + NARROW_MARGIN, len(sample) - 1)
    rows = np.flatnonzero(scores <= np.partition(sample, position)[position])
    return rows if count <= len(rows) < len(scores) else None


def _kth_least(values: FloatArray, k: int) -> float:
    """The number that would stand at place k if the values were sorted.

    A sorted sample tells between which two numbers it lies; only what lies between them is left to look through. This
    is Floyd and Rivest's idea. `np.partition` alone takes ten times as long, and far longer on runs of equal numbers.
    """
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
    """How many of its known prices each row gets: all below the waterline, and those level with it while tasks last."""
    below, level = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)
    for members, level_scores in bands:
        below[members] += np.count_nonzero(level_scores < waterline, axis=0)
        if waterline < math.inf:
            level[members] += np.count_nonzero(level_scores == waterline, axis=0)
    left = count - int(below.sum())
    taken: IntArray = below + np.clip(left - (np.cumsum(level) - level), 0, level)
    return taken
