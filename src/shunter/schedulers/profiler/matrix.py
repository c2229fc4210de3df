"""How long each BatchJob took next to each other one: the cells stored with the jobs, the matrix they form, and which
pair to measure next. Pure; called by `profiler` and `pairing`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

EXTERNAL_KEY = "profiler"  # of externalScheduler
DIAGONAL = "/"
UNKNOWN = "-"

Pair: TypeAlias = tuple[str, str]  # (job, other): how long `job` takes next to `other`
Rows: TypeAlias = Sequence[Mapping[str, str]]  # as in externalScheduler: [{other: "24 (16)"}]

_CELL = re.compile(r"\s*(\d{1,15})\s*(?:\(\s*(\d{1,15})\s*\))?\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Mean:
    """A running mean in whole seconds, rounded down after every run, as in the reference implementation: exact if all
    runs take equally long; else it leans towards the shortest, and stays within the measured range."""

    seconds: int
    samples: int

    def add(self, duration_s: int) -> Mean:
        return Mean((self.seconds * self.samples + duration_s) // (self.samples + 1), self.samples + 1)

    def __str__(self) -> str:
        return f"{self.seconds} ({self.samples})" if self.samples != 1 else str(self.seconds)


def parse_mean(text: str) -> Mean | None:
    """`24 (16)` is 24 s over 16 samples, `30` is one sample; None for what is no mean."""
    found = _CELL.fullmatch(text)
    if found is None:
        return None
    samples = 1 if found[2] is None else int(found[2])
    return Mean(int(found[1]), samples) if samples > 0 else None


def add_run(rows: Rows, other: str, duration_s: int) -> list[dict[str, str]]:
    """The rows with one more run next to `other`. Entries about other jobs stay, also of deleted ones; an unreadable
    entry of this one starts again."""
    known = next((mean for row in rows if (mean := parse_mean(row.get(other, ""))) is not None), None)
    mean = Mean(duration_s, 1) if known is None else known.add(duration_s)
    updated: list[dict[str, str]] = []
    is_written = False
    for row in rows:
        if other in row and is_written:
            row = {name: text for name, text in row.items() if name != other}
        elif other in row:
            row, is_written = {**row, other: str(mean)}, True
        if row:
            updated.append(dict(row))
    return updated if is_written else [*updated, {other: str(mean)}]


@dataclass(frozen=True, slots=True)
class Matrix:
    """The means of all measured pairs of `jobs`. It is not symmetric, and has no diagonal: only one Scheduling at a
    time claims a job, so it never runs next to itself."""

    jobs: tuple[str, ...]
    means: Mapping[Pair, Mean] = field(default_factory=dict)

    @property
    def pairs(self) -> list[Pair]:
        return [(job, other) for job in self.jobs for other in self.jobs if job != other]

    def samples(self, pair: Pair) -> int:
        mean = self.means.get(pair)
        return 0 if mean is None else mean.samples

    @property
    def samples_min(self) -> int:
        """How often every pair was measured at least."""
        return min(map(self.samples, self.pairs), default=0)

    def next_pair(self, failures: Mapping[Pair, int]) -> Pair:
        """The pair with the fewest samples, the first in order among equals. A run that failed counts as one, so that a
        pair that cannot run does not keep the others waiting. There must be two jobs."""
        return min(self.pairs, key=lambda pair: self.samples(pair) + failures.get(pair, 0))


def read_matrix(rows_by_job: Mapping[str, Rows]) -> Matrix:
    """The matrix of jobs, from what is noted with each; what it says of jobs that are gone is left out."""
    jobs = tuple(sorted(rows_by_job))
    means: dict[Pair, Mean] = {}
    for job in jobs:
        for row in rows_by_job[job]:
            for other, text in row.items():
                mean = parse_mean(text)
                if mean is not None and other in rows_by_job and other != job:
                    means.setdefault((job, other), mean)
    return Matrix(jobs, means)


def unreadable_cells(rows_by_job: Mapping[str, Rows]) -> Iterable[tuple[str, str, str]]:
    """(job, other, text) of what is no mean."""
    for job, rows in rows_by_job.items():
        for row in rows:
            yield from ((job, other, text) for other, text in row.items() if parse_mean(text) is None)


def format_table(matrix: Matrix) -> list[str]:
    """A table for people: a row for each job, a column for each partner."""
    cells = [
        ["", *matrix.jobs],
        *([job, *(_format_cell(matrix, job, other) for other in matrix.jobs)] for job in matrix.jobs),
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]


def _format_cell(matrix: Matrix, job: str, other: str) -> str:
    if job == other:
        return DIAGONAL
    mean = matrix.means.get((job, other))
    return UNKNOWN if mean is None else str(mean)
