"""The unfinished jobs by id, namespace and state, for pages of the job list. Kept up to date by `engine.state.state`,
read by `gateway.jobs.jobs`.

Idea: three columns in the order of ids, which only ever grow. A job is found by bisection; a page is read backwards
from its cursor in blocks, so that a page costs the same however many jobs there are. Rows of ended jobs stay, marked,
until they are half of all."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator

import numpy as np

from shunter.model.lifecycles import JobState

BLOCK_ROWS = 16_384
COMPACT_ROWS_MIN = 1_024
_GONE = 255


class JobIndex:
    def __init__(self) -> None:
        self._ids = array("q")
        self._namespaces = array("i")  # codes
        self._states = bytearray()
        self._codes: dict[str, int] = {}
        self._counts: Counter[tuple[int, int]] = Counter()  # (code of the namespace, state)
        self._gone = 0

    def add(self, job_id: int, namespace: str, state: JobState) -> None:
        code = self._codes.setdefault(namespace, len(self._codes))
        assert not self._ids or self._ids[-1] < job_id, "ids only ever grow"
        self._ids.append(job_id)
        self._namespaces.append(code)
        self._states.append(state)
        self._counts[code, state] += 1

    def move(self, job_id: int, state: JobState) -> None:
        row = bisect_left(self._ids, job_id)
        code = self._namespaces[row]
        self._counts[code, self._states[row]] -= 1
        self._counts[code, state] += 1
        self._states[row] = state

    def remove(self, job_id: int) -> None:
        row = bisect_left(self._ids, job_id)
        self._counts[self._namespaces[row], self._states[row]] -= 1
        self._states[row] = _GONE
        self._gone += 1
        if self._gone * 2 > len(self._ids) >= COMPACT_ROWS_MIN:
            self._compact()

    def count(self, namespace: str | None, states: Collection[JobState]) -> int:
        """How many there are. None means any namespace, no states mean any."""
        codes = self._codes.values() if namespace is None else [self._codes.get(namespace, -1)]
        return sum(self._counts[code, state] for code in codes for state in states or JobState)

    def newest(self, namespace: str | None, states: Collection[JobState], before: int | None) -> Iterator[int]:
        """Their ids below the cursor, the greatest first. Not to be continued once a job was added or removed."""
        code = None if namespace is None else self._codes.get(namespace, -1)
        wanted = np.zeros(256, np.bool_)
        wanted[[int(state) for state in states or JobState]] = True
        end = len(self._ids) if before is None else bisect_left(self._ids, before)
        while end > 0:
            start = max(0, end - BLOCK_ROWS)
            matches = wanted[np.frombuffer(self._states, np.uint8, end - start, start)]
            if code is not None:
                matches &= np.frombuffer(self._namespaces, np.int32, end - start, start * 4) == code
            for row in np.flatnonzero(matches)[::-1].tolist():
                yield self._ids[start + row]
            end = start

    def rows(self) -> list[tuple[int, int, str]]:
        """All of it, for comparisons."""
        names = list(self._codes)
        columns = zip(self._ids, self._states, self._namespaces, strict=True)
        return [(job_id, state, names[code]) for job_id, state, code in columns if state != _GONE]

    def totals(self) -> dict[tuple[str, int], int]:
        """The number of jobs by namespace and state, for comparisons."""
        names = list(self._codes)
        return {(names[code], state): count for (code, state), count in self._counts.items() if count}

    def _compact(self) -> None:
        live = np.flatnonzero(np.frombuffer(self._states, np.uint8) != _GONE)
        ids, namespaces = np.frombuffer(self._ids, np.int64)[live], np.frombuffer(self._namespaces, np.int32)[live]
        self._states = bytearray(np.frombuffer(self._states, np.uint8)[live].tobytes())
        self._ids, self._namespaces = array("q", ids.tobytes()), array("i", namespaces.tobytes())
        self._gone = 0
        self._counts = +self._counts  # without zeroes
