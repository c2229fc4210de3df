"""The usage of an attempt from its samples."""

from __future__ import annotations

import math

from shunter.model.usage import AttemptsUsage
from shunter.worker.keeper.usage import memory_class
from shunter.worker.runtimes.port import Usage
from shunter.worker.runtimes.sampled_usage import SampledUsage

MIB = 2**20


def test_sums_are_those_of_the_last_sample_and_the_peak_is_the_highest() -> None:
    sampled = SampledUsage()
    sampled.add(Usage(0.5, 90 * MIB, 2, 10, 20))
    sampled.add(Usage(1.5, 40 * MIB, 1, 30, 50))
    assert sampled.of_attempt(3_000) == AttemptsUsage(1_500, 500, 30, 50, 90 * MIB, [memory_class(90 * 1024)])


def test_without_a_sample_nothing_is_known() -> None:
    assert SampledUsage().of_attempt(50) is None


def test_amounts_that_cannot_be_count_as_nothing() -> None:
    sampled = SampledUsage()
    sampled.add(Usage(math.inf, -1, 1, 2**60, -5))
    assert sampled.of_attempt(3_000) == AttemptsUsage(0, 0, 0, 0, 0, [memory_class(0)])
