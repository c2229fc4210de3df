"""Parses array indexes (`1-100:2`, `1-3,7`, with Slurm's `%4` for at most four at once), and reads the lines of a file,
one for each task. Used for manifests and by `shunter run`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from shunter.model.job.spec import COUNT_MAX

INDEX_MAX = 2**31 - 1
RANGES_MAX = 512
TEXT_SIZE_MAX = 16 * 2**10
ENTRIES_MAX = 100_000
ENTRY_SIZE_MAX = 4096
PARTS_SHOWN = 8  # of an array, in messages and events

IndexRange = tuple[int, int, int]  # first, last (which is reached), step

PATTERN = r"^ *[0-9]{1,10}(-[0-9]{1,10}(:[0-9]{1,10})?)?( *, *[0-9]{1,10}(-[0-9]{1,10}(:[0-9]{1,10})?)?)* *$"
_RANGE = re.compile(r"([0-9]{1,10})(?:-([0-9]{1,10})(?::([0-9]{1,10}))?)?")
_LIMIT = re.compile(r"[1-9][0-9]{0,7}")


class Array(NamedTuple):
    parts: tuple[IndexRange, ...]
    parallel_max: int  # 0: no limit was given


def parse_array(text: str) -> Array:
    """`1-100:2%4` as an Array. Raises ValueError that says what is wrong."""
    if len(text) > TEXT_SIZE_MAX:
        raise ValueError(f"must be at most {TEXT_SIZE_MAX:,} characters")
    indexes, percent, limit = text.partition("%")
    if percent and not _LIMIT.fullmatch(limit.strip()):
        raise ValueError(f"must have a number after %, found {limit.strip()!r}")
    parts = tuple(_parse_range(part.strip()) for part in indexes.split(","))
    check_ranges(parts)
    return Array(parts, int(limit) if percent else 0)


def compress_indexes(indexes: Sequence[int]) -> tuple[IndexRange, ...]:
    """A list of indexes as few ranges, in the same order. Raises ValueError."""
    if not all(0 <= index <= INDEX_MAX for index in indexes):
        raise ValueError(f"must have indexes between 0 and {INDEX_MAX:,}")
    parts: list[IndexRange] = []
    for index in indexes:
        first, last, step = parts[-1] if parts else (0, 0, -1)
        if step == 0 and index > last:
            parts[-1] = (first, index, index - first)
        elif step > 0 and index == last + step:
            parts[-1] = (first, index, step)
        else:
            parts.append((index, index, 0))  # a step of 0: still a single index
    compressed = tuple((first, last, step or 1) for first, last, step in parts)
    check_ranges(compressed)
    return compressed


def count_indexes(parts: Iterable[IndexRange]) -> int:
    return sum((last - first) // step + 1 for first, last, step in parts)


def index_at(parts: Iterable[IndexRange], position: int) -> int:
    """The index that the task at `position` (from 0) sees."""
    for first, last, step in parts:
        size = (last - first) // step + 1
        if position < size:
            return first + position * step
        position -= size
    raise IndexError(position)


def position_of(parts: Iterable[IndexRange], index: int) -> int | None:
    """Where a task's index stands among those of its array; None if no task has it."""
    start = 0
    for first, last, step in parts:
        if first <= index <= last and not (index - first) % step:
            return start + (index - first) // step
        start += (last - first) // step + 1
    return None


def part_of(parts: Iterable[IndexRange], first: int, last: int) -> tuple[IndexRange, ...]:
    """The indexes from position `first` to position `last`."""
    found = []
    for start, end, step in parts:
        size = (end - start) // step + 1
        low, high = max(first, 0), min(last, size - 1)
        if low <= high:
            found.append((start + low * step, start + high * step, step if high > low else 1))
        first, last = first - size, last - size
    return tuple(found)


def format_indexes(parts: Sequence[IndexRange]) -> str:
    """`1-9:4,20`, as it is written in a manifest; of many ranges only the first."""
    texts = [
        str(first) if first == last else f"{first}-{last}" + (f":{step}" if step > 1 else "")
        for first, last, step in parts[:PARTS_SHOWN]
    ]
    return ",".join(texts) + (",…" if len(parts) > PARTS_SHOWN else "")


def parse_entries(text: str) -> tuple[str, ...]:
    """The lines of a file, one for each task; empty ones are left out. Raises ValueError."""
    entries = tuple(line for line in text.splitlines() if line.strip())
    if not entries:
        raise ValueError("must have at least one non-empty line")
    if len(entries) > ENTRIES_MAX:
        raise ValueError(f"must have at most {ENTRIES_MAX:,} lines, found {len(entries):,}")
    for number, entry in enumerate(entries, 1):
        if len(entry.encode()) > ENTRY_SIZE_MAX or "\0" in entry:
            raise ValueError(f"entry {number} must be at most {ENTRY_SIZE_MAX:,} bytes, without NUL characters")
    return entries


def _parse_range(text: str) -> IndexRange:
    match = _RANGE.fullmatch(text)
    if match is None:
        raise ValueError(f"is not a list of indexes, found {text!r}")
    first = int(match[1])
    last, step = int(match[2] or first), int(match[3] or 1)
    if last < first or not step:
        raise ValueError(f"must count upwards, found {text!r}")
    if last > INDEX_MAX:
        raise ValueError(f"must stay below {INDEX_MAX + 1:,}, found {text!r}")
    reached = first + (last - first) // step * step
    return first, reached, step if reached > first else 1


def check_ranges(parts: tuple[IndexRange, ...]) -> None:
    """Check that there are not too many ranges and indexes, and no index twice. Raises ValueError."""
    if not 1 <= len(parts) <= RANGES_MAX:
        raise ValueError(f"must have 1 to {RANGES_MAX} parts, found {len(parts):,}; give entries instead")
    if count_indexes(parts) > COUNT_MAX:
        raise ValueError(f"must have at most {COUNT_MAX:,} indexes, found {count_indexes(parts):,}")
    ordered = sorted(parts)
    for number, part in enumerate(ordered):
        for other in ordered[number + 1 :]:
            if other[0] > part[1]:
                break
            if (duplicate := _first_common(part, other)) is not None:
                raise ValueError(f"must not have an index twice, found {duplicate}")


def _first_common(one: IndexRange, other: IndexRange) -> int | None:
    """The least index of both progressions, by the Chinese remainder theorem."""
    step = math.gcd(one[2], other[2])
    if (other[0] - one[0]) % step:
        return None
    period = one[2] * other[2] // step
    multiple = (other[0] - one[0]) // step * pow(one[2] // step, -1, other[2] // step) % (other[2] // step)
    least = one[0] + multiple * one[2]
    lower_bound = max(one[0], other[0])
    least += -(-max(0, lower_bound - least) // period) * period
    return least if least <= min(one[1], other[1]) else None
