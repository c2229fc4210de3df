"""Conservative backfilling: every pending job is promised a start, and a job may start early only if that breaks no
promise. A strategy of `planning.batch.batch_policy`.

Mu'alem and Feitelson, IEEE TPDS 12(6), 2001. A promise is a time and rows, and it is remembered. At each decision the
jobs are looked at in order: each gives its promise back and gets the earliest start at which it fits among all other
promises. Its own place is still free then, so it never gets a later one, as long as running jobs end in time and no
node is lost. Of an array, the next task has a promise; the others start when they break none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shunter.planning.batch.decision_pass import DecisionPass
from shunter.planning.batch.free_space import Fit, FreeSpace
from shunter.planning.batch.pending_jobs import PendingJob
from shunter.planning.batch.releases import Releases
from shunter.planning.view import HeldRows, IntArray

PROMISES_MAX = 500  # jobs beyond it, in their order, have none yet


@dataclass(frozen=True, slots=True)
class Promise:
    """The job holds `amounts[i]` on row `rows[i]` from `start_ms` on."""

    start_ms: int
    rows: IntArray
    amounts: IntArray


class Conservative:
    def __init__(self) -> None:
        self._promises: dict[int, Promise] = {}  # by job

    @property
    def memory(self) -> dict[str, Any]:
        return (
            {
                "promises": [
                    [job, each.start_ms, each.rows.tolist(), each.amounts.tolist()]
                    for job, each in self._promises.items()
                ]
            }
            if self._promises
            else {}
        )

    @memory.setter
    def memory(self, memory: dict[str, Any]) -> None:
        self._promises = {
            job: Promise(start_ms, np.array(rows, np.int64), np.array(amounts, np.int64))
            for job, start_ms, rows, amounts in memory.get("promises", ())
        }

    def run(self, decision_pass: DecisionPass) -> None:
        pending, now_ms = decision_pass.pending, decision_pass.now_ms
        jobs = [pending.job(slot) for slot in pending.in_order().tolist()]
        jobs = [job for job in jobs if decision_pass.admissible_count(job)][:PROMISES_MAX]
        profile = _Profile(decision_pass)
        kept = {job.key: self._promises[job.key] for job in jobs if self._is_valid(job.key, decision_pass.free)}
        for job in jobs:
            promise = kept.get(job.key)
            if promise is not None:
                profile.hold(promise, job.estimate_ms)
        self._promises = {}
        for job in jobs:
            promise = kept.get(job.key)
            if promise is not None:
                profile.give_back(promise, job.estimate_ms)
            self._serve(decision_pass, profile, job)
            if decision_pass.decision.is_partial:
                self._promises = kept | self._promises
                break
        until: dict[int, int] = {}
        for promise in self._promises.values():
            for row in promise.rows.tolist():
                until[row] = min(until.get(row, promise.start_ms), promise.start_ms)
        decision_pass.decision.kept = HeldRows(None, {row: max(at_ms, now_ms) for row, at_ms in until.items()})

    def _is_valid(self, key: int, free: FreeSpace) -> bool:
        """Whether the job has a promise about the nodes and resources of now: a new kind of resource or fewer rows mean
        that it gets another one."""
        promise, (rows, resources) = self._promises.get(key), free.amounts.shape
        return promise is not None and promise.amounts.shape[1] == resources and bool((promise.rows < rows).all())

    def _serve(self, decision_pass: DecisionPass, profile: _Profile, job: PendingJob) -> None:
        """Start what can start now; what is left gets a promise."""
        tasks_max = decision_pass.admissible_count(job)
        affordable = decision_pass.affordable_count(job, tasks_max)
        started = 0
        if affordable:
            during = profile.least_free(0, job.estimate_ms)
            started = decision_pass.start(job, affordable, during)
            if started:
                rows, amounts = _held(decision_pass.started[-1].fit)
                profile.hold(Promise(decision_pass.now_ms, rows, amounts), job.estimate_ms)
        if started == affordable < tasks_max:
            decision_pass.decision.is_partial = True
        elif started < tasks_max:
            promise = profile.earliest(job)
            if promise is not None:
                profile.hold(promise, job.estimate_ms)
                self._promises[job.key] = promise


class _Profile:
    """What is free at each time, by estimates: `amounts[i]` from `times[i]` until the next time."""

    def __init__(self, decision_pass: DecisionPass) -> None:
        self._free = decision_pass.free
        ends, rows, amounts = Releases(decision_pass.view, decision_pass.now_ms, ()).entries
        times, place = np.unique(ends, return_inverse=True)
        released = np.zeros((len(times) + 1, *self._free.amounts.shape), np.int64)
        np.add.at(released, (place + 1, rows), amounts)
        self.times: IntArray = np.concatenate([[decision_pass.now_ms], times]).astype(np.int64)
        self.amounts: IntArray = self._free.amounts + released.cumsum(axis=0)

    def least_free(self, number: int, length_ms: int) -> FreeSpace:
        """What is free all the time, for that long from the time with this number."""
        last = int(np.searchsorted(self.times, self.times[number] + length_ms))
        return self._free.with_amounts(self.amounts[number : max(last, number + 1)].min(axis=0))

    def earliest(self, job: PendingJob) -> Promise | None:
        """The first time from which the job fits for as long as it is estimated to run."""
        is_enough = (self.amounts.clip(0).sum(axis=1) >= job.needs).all(axis=1)
        lasts = np.searchsorted(self.times, self.times + job.estimate_ms)
        short = np.concatenate([[0], (~is_enough).cumsum()])
        may_fit = short[np.maximum(lasts, np.arange(len(lasts)) + 1)] == short[: len(lasts)]
        for number in np.flatnonzero(may_fit).tolist():
            fit = self.least_free(number, job.estimate_ms).fit(job, 1)
            if fit is not None:
                rows, amounts = _held(fit)
                return Promise(int(self.times[number]), rows, amounts)
        return None

    def hold(self, promise: Promise, length_ms: int) -> None:
        self._add(promise, length_ms, -1)

    def give_back(self, promise: Promise, length_ms: int) -> None:
        self._add(promise, length_ms, 1)

    def _add(self, promise: Promise, length_ms: int, sign: int) -> None:
        first, last = self._cut(promise.start_ms), self._cut(promise.start_ms + length_ms)
        for row, amounts in zip(promise.rows.tolist(), promise.amounts, strict=True):
            self.amounts[first:last, row] += sign * amounts

    def _cut(self, at_ms: int) -> int:
        """The number of a time, which is added if it is not there. Earlier than all: the first."""
        number = int(np.searchsorted(self.times, at_ms))
        if number == 0 or (number < len(self.times) and self.times[number] == at_ms):
            return number
        self.times = np.insert(self.times, number, at_ms)
        self.amounts = np.insert(self.amounts, number, self.amounts[number - 1], axis=0)
        return number


def _held(fit: Fit) -> tuple[IntArray, IntArray]:
    rows = np.concatenate([part.rows for part in fit])
    return rows, np.concatenate([part.needs * part.counts[:, None] for part in fit])
