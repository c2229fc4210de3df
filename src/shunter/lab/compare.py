"""Compares the policies of an experiment: which differences are more than chance. Called by `lab.experiment`.

Jobs of one week influence each other, so jobs are not drawn one by one: whole weeks are drawn with replacement, the
same ones for every policy (a paired bootstrap over blocks). A trace of few weeks is cut into shorter blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shunter.lab.trace import FloatColumn, IntColumn

BLOCK_S = 7 * 86_400.0
BLOCKS_MIN = 8  # with fewer draws to choose from, an interval says little
DRAWS = 2_000
INTERVAL = (2.5, 97.5)  # percent: 95 % lie in between


@dataclass(frozen=True, slots=True)
class Difference:
    """By how much the mean slowdown of `policy` exceeds that of `other`, with a 95 % interval. It is infinite if there
    is only one block."""

    policy: str
    other: str
    mean: float
    low: float
    high: float

    @property
    def is_tie(self) -> bool:
        return self.low <= 0.0 <= self.high


@dataclass(frozen=True, slots=True)
class Place:
    """A row of the leaderboard. Policies with the same rank are tied with the first of them."""

    rank: int
    policy: str
    slowdown_mean: float


def compare(policy: str, other: str, values: Mapping[str, FloatColumn], submit_s: FloatColumn, seed: int) -> Difference:
    """`values`: the slowdown of each measured job, by policy."""
    difference = values[policy] - values[other]
    blocks = _number_blocks(submit_s)
    _, place = np.unique(blocks, return_inverse=True)
    sums, counts = np.bincount(place, difference), np.bincount(place)
    if len(sums) == 1:
        return Difference(policy, other, float(difference.mean()), -np.inf, np.inf)
    drawn = np.random.default_rng(seed).integers(0, len(sums), (DRAWS, len(sums)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.percentile(means, INTERVAL).tolist()
    return Difference(policy, other, float(difference.mean()), low, high)


def _number_blocks(submit_s: FloatColumn) -> IntColumn:
    """The block of each job. The last instant belongs to the last whole block."""
    length_s = block_length_s(submit_s)
    last = max(int(np.ceil((submit_s[-1] - submit_s[0]) / length_s)) - 1, 0)
    blocks: IntColumn = np.minimum((submit_s - submit_s[0]) // length_s, last).astype(np.int64)
    return blocks


def block_length_s(submit_s: FloatColumn) -> float:
    """A week, or a part of a shorter trace."""
    return min(BLOCK_S, float(submit_s[-1] - submit_s[0]) / BLOCKS_MIN) or BLOCK_S


def rank_policies(
    values: Mapping[str, FloatColumn], submit_s: FloatColumn, seed: int
) -> tuple[list[Place], list[Difference]]:
    """The leaderboard by mean slowdown, the lowest first, and the difference of each policy to the first of its rank:
    a policy is tied with it if the interval contains 0."""
    means = {policy: float(column.mean()) for policy, column in values.items()}
    ordered = sorted(means, key=lambda policy: (means[policy], policy))
    places, differences, leader, rank = [Place(1, ordered[0], means[ordered[0]])], [], ordered[0], 1
    for position, policy in enumerate(ordered[1:], start=2):
        difference = compare(policy, leader, values, submit_s, seed)
        differences.append(difference)
        if not difference.is_tie:
            leader, rank = policy, position
        places.append(Place(rank, policy, means[policy]))
    return places, differences
