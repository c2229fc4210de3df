"""The open dependencies between jobs in both directions, and how the settled ones of an unfinished job ended. Read by
`engine.jobs.dependencies`, which decides how each one settles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shunter.engine import changes as c

SettledEdge = tuple[str, str]  # NAME@RUN of the target, and the state in which it ended


class EdgeRegistry:
    def __init__(self) -> None:
        self._targets: dict[int, dict[int, int]] = {}  # job -> index of the edge -> the job that it waits for
        self._dependents: dict[int, dict[tuple[int, int], None]] = {}  # job -> (job that waits, index of its edge)

        self._settled: dict[int, dict[int, SettledEdge]] = {}  # job -> index of the edge

    def targets(self, job: int) -> Mapping[int, int]:
        """The jobs that this one still waits for, by the index of the edge."""
        return self._targets.get(job, {})

    def settled(self, job: int) -> Mapping[int, SettledEdge]:
        """How the other edges of an unfinished job were settled."""
        return self._settled.get(job, {})

    def dependents(self, job: int) -> list[tuple[int, int]]:
        """The jobs that wait for this one: (job, index of its edge), the oldest job first, whatever it waited for
        before."""
        return sorted(self._dependents.get(job, ()))

    def add(self, job: int, targets: list[int]) -> None:
        """A new job waits for these."""
        for edge, target in enumerate(targets):
            self._add(job, edge, target)

    def forget(self, job: int) -> None:
        """The job has ended and waits for nothing any more."""
        self._settled.pop(job, None)
        if job in self._targets:
            for edge in list(self._targets[job]):
                self._drop(job, edge)

    def appliers(self) -> Mapping[type, Callable[[Any], None]]:
        return {c.EdgeSettled: self._settle, c.EdgeRetargeted: self._retargeted}

    def dump(self) -> list[list[Any]]:
        return [
            *([job, edge, target] for job, edges in self._targets.items() for edge, target in edges.items()),
            *([job, edge, *how] for job, edges in self._settled.items() for edge, how in edges.items()),
        ]

    def rows_of(self, job: int) -> list[list[Any]]:
        """What `dump` has of one job."""
        return [
            *([job, edge, target] for edge, target in self._targets.get(job, {}).items()),
            *([job, edge, *how] for edge, how in self._settled.get(job, {}).items()),
        ]

    def load(self, dump: list[list[Any]]) -> None:
        for job, edge, target, *outcome in dump:
            if outcome:
                self._settled.setdefault(job, {})[edge] = target, outcome[0]
            else:
                self._add(job, edge, target)

    def _settle(self, change: c.EdgeSettled) -> None:
        self._drop(change.job, change.edge)
        self._settled.setdefault(change.job, {})[change.edge] = change.target, change.outcome

    def _retargeted(self, change: c.EdgeRetargeted) -> None:
        self._drop(change.job, change.edge)
        self._add(change.job, change.edge, change.target)

    def _add(self, job: int, edge: int, target: int) -> None:
        self._targets.setdefault(job, {})[edge] = target
        self._dependents.setdefault(target, {})[job, edge] = None

    def _drop(self, job: int, edge: int) -> None:
        target = self._targets[job].pop(edge)
        if not self._targets[job]:
            del self._targets[job]
        dependents = self._dependents[target]
        del dependents[job, edge]
        if not dependents:
            del self._dependents[target]
