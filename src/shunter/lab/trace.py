"""A trace: jobs with their times, needs, users and queues, in columns. Readers make it, filters cut it, and `lab.run`
submits its jobs. Times are seconds; `submit_s` counts from the start of the trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

IntColumn = NDArray[np.int64]
FloatColumn = NDArray[np.float64]

JOBS_MAX = 5_000_000  # of one trace


@dataclass(frozen=True, slots=True)
class Trace:
    """One row per job, in the order of submission. Amounts are those of the whole job; `tasks` says into how many equal
    tasks they may be divided."""

    number: IntColumn  # as the trace numbers its jobs, or the position of its line
    submit_s: FloatColumn
    run_s: FloatColumn
    estimate_s: FloatColumn  # as the user gave it; 0 means unknown
    tasks: IntColumn
    cpu_milli: IntColumn
    memory_bytes: IntColumn
    gpu_milli: IntColumn
    user: list[str]
    queue: list[str]
    facts: Mapping[str, str] = field(default_factory=dict)  # of the trace's header
    source: str = ""  # the file's name, without its folder
    sha256: str = ""
    origin_s: float = 0.0  # what the trace calls its start

    def __len__(self) -> int:
        return len(self.number)

    def select(self, rows: NDArray[Any]) -> Trace:
        """The jobs of these rows: a mask, or positions."""
        positions = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        columns = {name: getattr(self, name)[positions] for name in COLUMNS}
        users, queues = ([names[row] for row in positions.tolist()] for names in (self.user, self.queue))
        return replace(self, user=users, queue=queues, **columns)


COLUMNS = ("number", "submit_s", "run_s", "estimate_s", "tasks", "cpu_milli", "memory_bytes", "gpu_milli")


def make_trace(columns: Mapping[str, Any], user: list[str], queue: list[str], facts: Mapping[str, str]) -> Trace:
    """A trace from columns that may lack optional ones, sorted by submission and counted from the first one. Rows that
    are submitted at the same time stay in the order of the file."""
    size = len(columns["submit_s"])
    zeros = np.zeros(size, np.int64)
    filled = {
        "number": np.arange(1, size + 1),
        "estimate_s": np.zeros(size),
        "tasks": np.ones(size, np.int64),
        "cpu_milli": zeros,
        "memory_bytes": zeros,
        "gpu_milli": zeros,
    } | {name: np.asarray(column) for name, column in columns.items()}
    typed = {name: filled[name].astype(np.float64 if name.endswith("_s") else np.int64) for name in COLUMNS}
    origin_s = float(typed["submit_s"].min()) if size else 0.0
    typed["submit_s"] = typed["submit_s"] - origin_s
    trace = Trace(**typed, user=user, queue=queue, facts=facts, origin_s=origin_s)
    return trace.select(np.argsort(typed["submit_s"], kind="stable"))
