"""Time series of numbers in compact arrays of limited size. Used by `adapters.memory.samples`.

A series stores the same samples in several rings, each coarser and longer than the one before. A row holds the mean and
the maximum of all samples of one step."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tier:
    step_ms: int
    rows_max: int


TIERS = (Tier(1_000, 900), Tier(10_000, 720), Tier(60_000, 1_440))  # a quarter of an hour, two hours, a day


@dataclass(frozen=True, slots=True)
class Row:
    at_ms: int  # the beginning of its step
    step_ms: int
    count: int
    means: Sequence[float]
    maxima: Sequence[float]


class Ring:
    """Grows to its limit; then the newest row replaces the oldest."""

    __slots__ = ("_counts", "_maxima", "_means", "_oldest", "_tier", "_times", "_width")

    def __init__(self, tier: Tier, width: int) -> None:
        self._tier, self._width = tier, width
        self._times, self._counts = array("q"), array("I")
        self._means, self._maxima = array("f"), array("f")
        self._oldest = 0

    def __len__(self) -> int:
        return len(self._times)

    @property
    def row_bytes(self) -> int:
        return self._times.itemsize + self._counts.itemsize + 2 * self._width * self._means.itemsize

    @property
    def evicted_before_ms(self) -> int | None:
        """None while it has all that ever came."""
        return self._times[self._oldest] if len(self) == self._tier.rows_max else None

    def add(self, at_ms: int, values: Sequence[float]) -> None:
        """Samples come in order; a late one is added to the newest row."""
        step_at = at_ms - at_ms % self._tier.step_ms
        newest = (self._oldest or len(self)) - 1
        if newest >= 0 and step_at <= self._times[newest]:
            self._merge(newest, values)
        elif len(self) < self._tier.rows_max:
            self._times.append(step_at)
            self._counts.append(1)
            self._means.extend(values)
            self._maxima.extend(values)
        else:
            row, self._oldest = self._oldest, (self._oldest + 1) % self._tier.rows_max
            self._times[row], self._counts[row] = step_at, 1
            first = row * self._width
            self._means[first : first + self._width] = array("f", values)
            self._maxima[first : first + self._width] = array("f", values)

    def rows(self, start_ms: int, stop_ms: int) -> Iterator[Row]:
        """The rows that overlap the time, oldest first."""
        step_ms, width, count = self._tier.step_ms, self._width, len(self)
        positions = range(count)
        first = bisect_right(positions, start_ms - step_ms, key=self._time_at)
        for position in range(first, bisect_left(positions, stop_ms, key=self._time_at)):
            row = (self._oldest + position) % count
            part = slice(row * width, (row + 1) * width)
            yield Row(self._times[row], step_ms, self._counts[row], self._means[part], self._maxima[part])

    def _time_at(self, position: int) -> int:
        """The time of the row at this place, counted from the oldest."""
        return self._times[(self._oldest + position) % len(self)]

    def _merge(self, row: int, values: Sequence[float]) -> None:
        count = self._counts[row] = self._counts[row] + 1
        for position, value in enumerate(values, start=row * self._width):
            self._means[position] += (value - self._means[position]) / count
            self._maxima[position] = max(self._maxima[position], value)


class Rings:
    """One source's samples in all tiers."""

    __slots__ = ("_rings",)

    def __init__(self, width: int, tiers: Sequence[Tier] = TIERS) -> None:
        self._rings = [Ring(tier, width) for tier in tiers]

    @property
    def size_bytes(self) -> int:
        return sum(len(ring) * ring.row_bytes for ring in self._rings)

    def add(self, at_ms: int, values: Sequence[float]) -> None:
        for ring in self._rings:
            ring.add(at_ms, values)

    def rows(self, start_ms: int, stop_ms: int) -> list[Row]:
        """The finest rows for each time, oldest first. Where a coarser tier continues a finer one, a step may
        overlap."""
        found: list[Row] = []
        for ring in self._rings:
            found = [*ring.rows(start_ms, stop_ms), *found]
            evicted_before_ms = ring.evicted_before_ms
            if evicted_before_ms is None or evicted_before_ms <= start_ms:
                break
            stop_ms = min(stop_ms, evicted_before_ms)
        return found
