"""Collects the rows of a trace and turns them into columns; a row that is wrong is named by its line. Used by all
readers."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from shunter.lab.readers.lines import Lines, TraceError
from shunter.lab.trace import JOBS_MAX, Trace, make_trace

NUMBER_MAX = 2.0**53
UNKNOWN = -1.0  # a time or an amount that the trace does not have


class Rows:
    """One tuple of numbers per job, in the order of `names`, with its user and queue."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self._path, self._names = path, names
        self._rows: list[Sequence[float]] = []
        self._users: list[str] = []
        self._queues: list[str] = []

    def add(self, numbers: Sequence[float], user: str, queue: str) -> None:
        self._rows.append(numbers)
        self._users.append(user)
        self._queues.append(queue)

    def trace(self, facts: Mapping[str, str]) -> Trace:
        if not self._rows:
            raise TraceError(self._path, "has no jobs")
        if len(self._rows) > JOBS_MAX:
            raise TraceError(self._path, f"has more than {JOBS_MAX:,} jobs")
        table = np.array(self._rows, np.float64)
        columns = {name: table[:, column] for column, name in enumerate(self._names)}
        return make_trace(columns, self._users, self._queues, facts)


def parse_lines(path: Path, lines: Lines, parse: Callable[[str], None]) -> None:
    """Call `parse` for each line. A ValueError or IndexError that it raises becomes an error that names the line."""
    for number, text in lines:
        try:
            parse(text)
        except (ValueError, IndexError, KeyError) as error:
            fault = f"lacks a field: {error}" if isinstance(error, KeyError) else str(error)
            raise TraceError(path, fault, number) from error


def csv_rows(path: Path, lines: Lines, header: Sequence[str] | None = None) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV file by name, with the number of the line. `header`: the file has none of its own."""
    names = list(header) if header is not None else None
    for number, text in lines:
        try:
            [fields] = csv.reader([text], strict=True)
        except (csv.Error, ValueError) as error:
            raise TraceError(path, f"is not CSV: {error}", number) from error
        if names is None:
            names = [field.strip() for field in fields]
            continue
        if len(fields) != len(names):
            raise TraceError(path, f"has {len(fields)} fields instead of {len(names)}", number)
        yield number, dict(zip(names, fields, strict=True))


def number_of(text: str, *, unknown: float | None = None) -> float:
    """A finite number. An empty field is `unknown`, if that is given. Raises ValueError."""
    if unknown is not None and not text.strip():
        return unknown
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{text[:40]!r} is not a number") from None
    if not math.isfinite(value) or abs(value) > NUMBER_MAX:
        raise ValueError(f"{text[:40]!r} is not a number between -2^53 and 2^53")
    return value
