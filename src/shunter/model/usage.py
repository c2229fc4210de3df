"""What attempts used, added up by job and group: what the state keeps, and history after it. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from operator import sub

import msgspec

MEMORY_CLASS_MAX = 255  # far above any memory
SUM_MAX = 2**62  # sums stop there, below what a signed number of 64 bits holds


class AttemptsUsage(msgspec.Struct, array_like=True, gc=False):
    """What the attempts of an `Ended` used: sums, and maxima of single attempts. `memory_classes` has the class of each
    attempt's memory peak, see `class_end_bytes`."""

    cpu_ms: int
    cores_max_milli: int  # the mean of an attempt, in thousandths; short ones do not count
    read_bytes: int
    written_bytes: int
    memory_max_bytes: int
    memory_classes: list[int]


class Usage(msgspec.Struct, array_like=True, gc=False):
    """Sums over attempts, and maxima of single ones. `memory_classes` counts attempts by the class of their memory
    peak: four classes for each power of two."""

    attempts: int = 0
    run_ms: int = 0
    run_max_ms: int = 0
    cpu_ms: int = 0
    cores_max_milli: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    memory_max_bytes: int = 0
    memory_classes: dict[int, int] = {}

    def add(self, other: Usage) -> None:
        self.attempts += other.attempts
        self.run_ms = min(self.run_ms + other.run_ms, SUM_MAX)
        self.cpu_ms = min(self.cpu_ms + other.cpu_ms, SUM_MAX)
        self.read_bytes = min(self.read_bytes + other.read_bytes, SUM_MAX)
        self.written_bytes = min(self.written_bytes + other.written_bytes, SUM_MAX)
        self.run_max_ms = max(self.run_max_ms, other.run_max_ms)
        self.cores_max_milli = max(self.cores_max_milli, other.cores_max_milli)
        self.memory_max_bytes = max(self.memory_max_bytes, other.memory_max_bytes)
        for number, count in other.memory_classes.items():
            self.memory_classes[number] = self.memory_classes.get(number, 0) + count

    def memory_percentile(self, share: float) -> int:
        """The memory peak, in bytes, that this share of the attempts did not exceed: too high by a quarter at most."""
        wanted, counted = math.ceil(self.attempts * share), 0
        for number, count in sorted(self.memory_classes.items()):
            counted += count
            if counted >= wanted:
                return min(class_end_bytes(number), self.memory_max_bytes)
        return self.memory_max_bytes


def usage_of(measured: AttemptsUsage, started_ms: Sequence[int], ended_ms: Sequence[int]) -> Usage:
    """The usage of one range of attempts, which all have a start and an end."""
    ran_ms, classes = list(map(sub, ended_ms, started_ms)), measured.memory_classes
    return Usage(
        attempts=len(ran_ms),
        run_ms=max(0, sum(ran_ms)),
        run_max_ms=max(0, max(ran_ms)),
        cpu_ms=measured.cpu_ms,
        cores_max_milli=measured.cores_max_milli,
        read_bytes=measured.read_bytes,
        written_bytes=measured.written_bytes,
        memory_max_bytes=measured.memory_max_bytes,
        memory_classes={classes[0]: 1} if len(classes) == 1 else dict(Counter(classes)),
    )


def class_end_bytes(memory_class: int) -> int:
    """Where the class ends; `worker.keeper.usage.memory_class` is the opposite."""
    exponent, quarter = memory_class >> 2, memory_class & 3
    return ((5 + quarter) << exponent << 10) >> 2
