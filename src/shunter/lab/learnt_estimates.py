"""Run times learnt from jobs that have ended, in place of users' estimates (`--estimates learnt`). Used by `lab.run`.

After Tsafrir, Etsion and Feitelson, "Backfilling Using System-Generated Predictions Rather than User Runtime
Estimates", IEEE TPDS 18(6), 2007: the mean of the last two similar jobs of the user, but not more than the user says. A
job that runs longer than that is from then on expected to run as long as its user says. Nothing is known about jobs
that have not ended yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from shunter.lab.trace import Trace
from shunter.planning.remote.view_scope import wants_of
from shunter.planning.view import ClusterView, Decision, Policy, Running

LAST = 2  # jobs whose mean counts


class RunTimeHistory:
    """Run times of jobs that have ended, by user, estimate and size."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._ran_s: dict[tuple[Any, ...], deque[float]] = {}

    def add(self, row: int) -> None:
        """The job has ended."""
        for key in self._keys(row):
            self._ran_s.setdefault(key, deque(maxlen=LAST)).append(float(self._trace.run_s[row]))

    def estimate_s(self, row: int) -> float:
        """By the most similar jobs of the same user; by the user's estimate if none has ended."""
        given_s = float(self._trace.estimate_s[row])
        for key in self._keys(row):
            found = self._ran_s.get(key)
            if found:
                learnt_s = max(sum(found) / len(found), 1.0)
                return min(learnt_s, given_s) if given_s > 0 else learnt_s
        return given_s

    def _keys(self, row: int) -> tuple[tuple[Any, ...], ...]:
        """The most similar jobs first."""
        user, estimate_s = self._trace.user[row], float(self._trace.estimate_s[row])
        return (user, estimate_s, int(self._trace.tasks[row])), (user, estimate_s), (user,)


class CorrectsOverdue:
    """A policy that sees the users' estimates of jobs that run longer than was learnt."""

    fast = True

    def __init__(self, policy: Policy, given_ms: Callable[[int], int]) -> None:
        """`given_ms`: the user's estimate, by class."""
        self._policy, self._given_ms = policy, given_ms
        self.name, self.wants = policy.name, wants_of(policy)

    def decide(self, view: ClusterView, now: float, budget: int) -> Decision:
        if view.running is not None:
            running, now_ms = view.running, int(now * 1000)
            view = replace(view, running=lambda: self._corrected(running(), now_ms))
        return self._policy.decide(view, now, budget)

    def _corrected(self, running: Running, now_ms: int) -> Running:
        overdue = np.flatnonzero((running.end_ms > 0) & (running.end_ms <= now_ms))
        if not len(overdue):
            return running
        ends = running.end_ms.copy()
        for number in overdue.tolist():
            given_ms = self._given_ms(int(running.class_ids[number]))
            ends[number] = max(int(running.started_ms[number]) + given_ms, int(ends[number]))
        return replace(running, end_ms=ends)
