"""A store in memory, with the same guarantees as any other for as long as the process lives.

Used by tests, simulations and clusters without durable state. Closing keeps the data, so that a second engine can open
the same store and recover from it."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Sequence
from itertools import islice

from msgspec.structs import replace

from shunter.model.errors import Fenced, NotFound, StoreFailed
from shunter.ports.commit_signal import CommitSignal
from shunter.ports.store import (
    ROLLUP_BYTES_MAX,
    AuditBatch,
    AuditQuery,
    Commit,
    EndedRun,
    FinishedJob,
    FinishedQuery,
    FinishedTasks,
    LoggedRound,
    PastQuery,
    PastRecord,
    Purged,
    Retention,
    RollupRow,
    RunKey,
    Snapshot,
)


class MemoryStore:
    def __init__(self) -> None:
        self._epoch = 0
        self._term = 0
        self._rounds: list[LoggedRound] = []  # without gaps; the last one is the log's end
        self._snapshot: Snapshot | None = None
        self._jobs: dict[int, FinishedJob] = {}
        self._ids: list[int] = []  # the keys of _jobs, rising
        self._runs: dict[tuple[str, str], dict[int, int]] = {}  # (namespace, name) -> run -> id
        self._past: dict[int, PastRecord] = {}  # by uid
        self._audit: list[AuditBatch] = []
        self._rollups: dict[int, dict[int, RollupRow]] = {}  # tier -> start -> row
        self._signal = CommitSignal()

    async def open(self) -> None:
        """Nothing to prepare."""

    async def close(self) -> None:
        """The data stays."""

    # ---- the log ----

    async def begin_epoch(self, term: int = 0) -> int:
        if term < self._term:
            raise Fenced(f"term {term} may no longer lead: term {self._term} has begun")
        self._term = term
        self._epoch += 1
        return self._epoch

    async def leading_epoch(self) -> int:
        return self._epoch

    async def leading_term(self) -> int:
        return self._term

    async def commit(self, commit: Commit) -> None:
        self._check_epoch(commit.epoch)
        if commit.version != self._last_version() + 1:
            raise StoreFailed(f"version {commit.version} does not follow {self._last_version()}")
        self._check_new(commit.finished)
        if any(past.uid in self._past for past in commit.past):
            raise StoreFailed("the commit has a deleted scheduling that already exists")
        if commit.audit is not None:
            if self._audit and commit.audit.first <= self._audit[-1].last:
                raise StoreFailed("the commit has records of the audit log that already exist")
            self._audit.append(commit.audit)
        self._rounds.append(LoggedRound(commit.version, commit.at, commit.body))
        for job in commit.finished:
            self._jobs[job.id] = replace(job, labels=dict(job.labels), tasks=list(job.tasks))
            insort(self._ids, job.id)
            self._runs.setdefault((job.namespace, job.name), {})[job.run] = job.id
        self._past.update((past.uid, past) for past in commit.past)
        self._signal.announce(commit.version)

    async def wait_for_commit(self, after_version: int, timeout_s: float) -> None:
        await self._signal.wait(after_version, timeout_s)

    async def save_snapshot(self, epoch: int, snapshot: Snapshot) -> None:
        self._check_epoch(epoch)
        if snapshot.version > self._last_version():
            raise StoreFailed(f"the snapshot of version {snapshot.version} is ahead of the log")
        if self._snapshot is not None and snapshot.version < self._snapshot.version:
            raise StoreFailed(f"the snapshot would go back from version {self._snapshot.version}")
        self._snapshot = snapshot

    async def snapshot(self) -> Snapshot | None:
        return self._snapshot

    async def rounds_after(self, version: int, limit: int) -> list[LoggedRound]:
        first = await self.first_version()
        if version + 1 < first:
            raise NotFound(f"rounds from version {version + 1} on were cut by retention; start from the snapshot")
        start = version + 1 - first
        return self._rounds[start : start + max(0, limit)]

    async def first_version(self) -> int:
        return self._rounds[0].version if self._rounds else self._last_version() + 1

    async def last_version(self) -> int:
        return self._last_version()

    def _last_version(self) -> int:
        if self._rounds:
            return self._rounds[-1].version
        return self._snapshot.version if self._snapshot is not None else 0

    def _check_epoch(self, epoch: int) -> None:
        if epoch < self._epoch:
            raise Fenced(f"epoch {epoch} may no longer write: epoch {self._epoch} leads")
        if epoch > self._epoch:
            raise StoreFailed(f"epoch {epoch} was never begun: epoch {self._epoch} leads")

    def _check_new(self, jobs: list[FinishedJob]) -> None:
        """Before anything is written: what a database refuses by its constraints."""
        runs = {(job.namespace, job.name, job.run) for job in jobs}
        if len({job.id for job in jobs}) < len(jobs) or len(runs) < len(jobs):
            raise StoreFailed("the commit has a finished run twice")
        for job in jobs:
            if job.id in self._jobs or job.run in self._runs.get((job.namespace, job.name), {}):
                raise StoreFailed(f"the finished run {job.namespace}/{job.name}@{job.run} already exists")
            if len({(chunk.group, chunk.first) for chunk in job.tasks}) < len(job.tasks):
                raise StoreFailed(f"the finished run {job.namespace}/{job.name}@{job.run} has a chunk of tasks twice")

    # ---- history ----

    async def finished_jobs(self, query: FinishedQuery) -> list[FinishedJob]:
        newest_first = (self._jobs[id] for id in reversed(self._ids) if query.before_id is None or id < query.before_id)
        matching = (job for job in newest_first if _matches(job, query))
        return [_without_tasks(job) for job in islice(matching, max(0, query.limit))]

    async def count_finished(self, query: FinishedQuery) -> int:
        return sum(_matches(job, query) for job in self._jobs.values())

    async def finished_job(self, id: int) -> FinishedJob | None:
        job = self._jobs.get(id)
        return None if job is None else _without_tasks(job)

    async def finished_run(self, namespace: str, name: str, run: int | None) -> FinishedJob | None:
        runs = self._runs.get((namespace, name))
        if not runs:
            return None
        id = runs.get(max(runs) if run is None else run)
        return None if id is None else _without_tasks(self._jobs[id])

    async def finished_tasks(self, id: int, group: int, first: int, last: int) -> list[FinishedTasks]:
        job = self._jobs.get(id)
        chunks = [
            chunk
            for chunk in (job.tasks if job is not None else [])
            if chunk.group == group and chunk.first <= last and chunk.first + chunk.count > first
        ]
        return sorted(chunks, key=lambda chunk: chunk.first)

    async def ended_runs(self, keys: Sequence[RunKey]) -> dict[RunKey, EndedRun]:
        found: dict[RunKey, EndedRun] = {}
        for key in keys:
            namespace, name, run = key
            runs = self._runs.get((namespace, name), {})
            id = runs.get(max(runs, default=0) if run is None else run)
            if id is not None:
                found[key] = EndedRun(self._jobs[id].run, id, self._jobs[id].state)
        return found

    async def past_schedulings(self, query: PastQuery) -> list[PastRecord]:
        newest_first = (self._past[uid] for uid in sorted(self._past, reverse=True))
        behind = (past for past in newest_first if query.before_uid is None or past.uid < query.before_uid)
        return list(islice((past for past in behind if _matches_past(past, query)), max(0, query.limit)))

    async def count_past(self, query: PastQuery) -> int:
        return sum(_matches_past(past, query) for past in self._past.values())

    async def past_scheduling(self, uid: int) -> PastRecord | None:
        return self._past.get(uid)

    # ---- the audit log ----

    async def audit_batches(self, query: AuditQuery) -> list[AuditBatch]:
        if query.before is None:
            return list(islice((each for each in self._audit if each.last > query.after), query.limit))
        before = query.before
        return list(islice((each for each in reversed(self._audit) if each.first < before), query.limit))

    async def expired_audit(self, through: int, before: float, limit: int) -> AuditBatch | None:
        oldest = self._audit[:limit]
        return next((each for each in reversed(oldest) if each.last <= through or each.at <= before), None)

    async def drop_audit(self, epoch: int, through: int) -> None:
        self._check_epoch(epoch)
        self._audit = [each for each in self._audit if each.last > through]

    # ---- rollups ----

    async def save_rollups(self, epoch: int, tier_s: int, rows: Sequence[RollupRow]) -> None:
        self._check_epoch(epoch)
        tier = self._rollups.setdefault(tier_s, {})
        tier.update((row.start, row) for row in rows)
        size = sum(len(row.body) for row in tier.values())
        for start in sorted(tier):
            if size <= ROLLUP_BYTES_MAX:
                break
            size -= len(tier.pop(start).body)

    async def rollups(self, tier_s: int, first: int) -> list[RollupRow]:
        tier = self._rollups.get(tier_s, {})
        return [tier[start] for start in sorted(tier) if start >= first]

    # ---- retention ----

    async def purge(self, epoch: int, retention: Retention, now: float) -> Purged:
        self._check_epoch(epoch)
        cut = self._cut_rounds(retention, now)
        self._drop_past(retention, now)
        return Purged(tuple(self._drop_jobs(retention, now)), cut)

    def _cut_rounds(self, retention: Retention, now: float) -> int:
        behind = self._snapshot.version if self._snapshot is not None else 0
        retained_from = self._last_version() - retention.rounds_max + 1
        cutoff = _cutoff(retention.rounds_age_s, now)
        count = 0
        for round in self._rounds:
            if round.version > behind or (round.version >= retained_from and round.at > cutoff):
                break
            count += 1
        del self._rounds[:count]
        return count

    def _drop_past(self, retention: Retention, now: float) -> None:
        cutoff = _cutoff(retention.finished_age_s, now)
        newest_first = sorted(self._past.values(), key=lambda past: past.uid, reverse=True)[: retention.finished_max]
        self._past = {past.uid: past for past in newest_first if past.deleted_at > cutoff}

    def _drop_jobs(self, retention: Retention, now: float) -> list[tuple[str, str]]:
        """Drop the jobs that ended first; returns the names of which none is left."""
        cutoff = _cutoff(retention.finished_age_s, now)
        surplus = len(self._jobs) - retention.finished_max
        dropped_names = []
        oldest_first = sorted(self._jobs.values(), key=lambda job: (job.ended_at, job.id))
        expired = [job for index, job in enumerate(oldest_first) if index < surplus or job.ended_at <= cutoff]
        left = oldest_first[len(expired) :]
        for share in retention.shares:
            of_share = [job for job in left if job.namespace in share.namespaces]
            expired += of_share[: max(0, len(of_share) - share.finished_max)]
        for job in expired:
            runs = self._runs[job.namespace, job.name]
            del self._jobs[job.id], runs[job.run]
            if not runs:
                dropped_names.append((job.namespace, job.name))
                del self._runs[job.namespace, job.name]
        self._ids = sorted(self._jobs)
        return dropped_names


def _matches(job: FinishedJob, query: FinishedQuery) -> bool:
    return (
        (query.namespace is None or job.namespace == query.namespace)
        and (query.name is None or job.name == query.name)
        and (not query.states or job.state in query.states)
        and all(job.labels.get(key) == value for key, value in query.labels)
        and (query.ended_after is None or job.ended_at >= query.ended_after)
        and (query.ended_before is None or job.ended_at < query.ended_before)
    )


def _matches_past(past: PastRecord, query: PastQuery) -> bool:
    return query.namespace in (None, past.namespace) and query.name in (None, past.name)


def _without_tasks(job: FinishedJob) -> FinishedJob:
    return replace(job, labels=dict(job.labels), tasks=[])


def _cutoff(age_s: float, now: float) -> float:
    """Everything at or before this time is too old. An age of 0 keeps nothing, whatever the clock says."""
    return now - age_s if age_s > 0 else math.inf
