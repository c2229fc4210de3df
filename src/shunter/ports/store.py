"""The store, which is the source of truth: an append-only log of committed rounds, a snapshot, and the finished jobs.

Every adapter passes `tests/contracts/store.py`. Bodies are opaque bytes made by the engine's codec."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

EPOCHS_PER_SECOND = 2**20  # far more than a cluster begins


def unseen_epoch(leading: int, now: float) -> int:
    """An epoch above all that workers may have seen of a store whose last epochs are lost, or of its original, even if
    the clock is wrong."""
    return max(leading + EPOCHS_PER_SECOND, int(now) * EPOCHS_PER_SECOND)


class FinishedTasks(msgspec.Struct, array_like=True, gc=False):
    """One chunk of a finished group's tasks: columns packed by the engine's codec, first..first+count-1."""

    group: int
    first: int
    count: int
    body: bytes


class FinishedJob(msgspec.Struct, gc=False):
    """A run that ended, as history keeps it. `summary` is the job as REST shows it, encoded."""

    id: int
    namespace: str
    name: str
    run: int
    state: str
    submitted_at: float
    ended_at: float
    labels: dict[str, str]
    summary: bytes
    tasks: list[FinishedTasks]


class PastRecord(msgspec.Struct, array_like=True, gc=False):
    """A Scheduling that was deleted, as history keeps it: `body` is its PastScheduling, encoded."""

    uid: int
    namespace: str
    name: str
    deleted_at: float
    body: bytes


class AuditBatch(msgspec.Struct, array_like=True, gc=False):
    """Records `first` to `last` of the audit log, which one round has: `body` is their lines."""

    first: int
    last: int
    at: float
    body: bytes


class RollupRow(msgspec.Struct, array_like=True, gc=False):
    """What happened from `start` on, in seconds since 1970, for as long as a row of its tier takes."""

    start: int
    body: bytes


ROLLUP_ROW_BYTES_MAX = 256 * 2**10
ROLLUP_BYTES_MAX = 16 * 2**20  # of a tier: one to two months of minutes, or many years of hours


@dataclass(frozen=True, slots=True)
class Commit:
    """One round: everything in it is written, or nothing. `version` is the last one plus 1."""

    epoch: int
    version: int
    at: float
    body: bytes
    finished: list[FinishedJob] = field(default_factory=list)
    past: list[PastRecord] = field(default_factory=list)
    audit: AuditBatch | None = None


@dataclass(frozen=True, slots=True)
class LoggedRound:
    version: int
    at: float
    body: bytes


@dataclass(frozen=True, slots=True)
class Snapshot:
    version: int
    body: bytes | bytearray


@dataclass(frozen=True, slots=True)
class FinishedQuery:
    """Newest first, by id. `before_id` is the keyset cursor: only smaller ids. None means any. A job that ended at
    `ended_after` is found, one that ended at `ended_before` is not, so that windows of time can follow one another."""

    namespace: str | None = None
    name: str | None = None
    states: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    ended_after: float | None = None
    ended_before: float | None = None
    before_id: int | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True)
class PastQuery:
    """Deleted Schedulings, the newest first, by uid. `before_uid` is the keyset cursor. None means any."""

    namespace: str | None = None
    name: str | None = None
    before_uid: int | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """Batches that have a record after `after`, in order; or with `before`, those that have one before it, the newest
    first. At most `limit`."""

    after: int = 0
    before: int | None = None
    limit: int = 100


# A run by namespace, name and number; None means the newest of the name.
RunKey = tuple[str, str, int | None]


@dataclass(frozen=True, slots=True)
class EndedRun:
    """Enough to number the next run of a name, and to know how this one ended."""

    run: int
    id: int
    state: str


@dataclass(frozen=True, slots=True)
class Share:
    """How many finished jobs history keeps at most of these namespaces together."""

    namespaces: tuple[str, ...]
    finished_max: int


@dataclass(frozen=True, slots=True)
class Retention:
    """What history keeps. A limit of 0 keeps nothing of that kind. Deleted Schedulings count like finished jobs, except
    in shares."""

    finished_age_s: float = 30 * 86400.0
    finished_max: int = 100_000
    rounds_age_s: float = 7 * 86400.0
    rounds_max: int = 1_000_000
    audit_age_s: float = 365 * 86400.0
    audit_max: int = 1_000_000  # records of the audit log
    shares: tuple[Share, ...] = ()  # of tenants; no namespace is in two


@dataclass(frozen=True, slots=True)
class Purged:
    """What is gone: the names (namespace, name) of which history has no run left; of the rounds, how many."""

    names: tuple[tuple[str, str], ...]
    rounds: int


class Store(Protocol):
    async def open(self) -> None:
        """Create or migrate what is there. Raises StoreFailed with the reason (a newer schema, no permission)."""
        ...

    async def close(self) -> None: ...

    async def begin_epoch(self, term: int = 0) -> int:
        """A new epoch, one above every earlier one. It waits for a commit in flight; from then on no commit of an older
        epoch is written, even if its connection is lost and nobody knows what became of it. Raises Fenced if an epoch
        of a newer term of the election has begun. A manager that is alone has term 0."""
        ...

    async def leading_epoch(self) -> int:
        """The newest epoch that has begun."""
        ...

    async def leading_term(self) -> int:
        """The newest term that has begun an epoch; 0 if only managers that were alone did."""
        ...

    async def snapshot(self) -> Snapshot | None: ...

    async def rounds_after(self, version: int, limit: int) -> list[LoggedRound]:
        """Committed rounds with a greater version, in order. Raises NotFound if some of them were cut by retention."""
        ...

    async def first_version(self) -> int:
        """The version of the oldest stored round; if there is none, of the next one."""
        ...

    async def last_version(self) -> int: ...

    async def commit(self, commit: Commit) -> None:
        """All or nothing, durable when it returns. Raises Fenced for an older epoch, StoreFailed otherwise."""
        ...

    async def wait_for_commit(self, after_version: int, timeout_s: float) -> None:
        """Wait until a round with a greater version may be there, for at most `timeout_s`. It is a hint: it may return
        early for nothing, and it may miss a commit of another process, so the caller reads the rounds in any case."""
        ...

    async def save_snapshot(self, epoch: int, snapshot: Snapshot) -> None:
        """Replace the snapshot. Fenced like a commit."""
        ...

    async def finished_jobs(self, query: FinishedQuery) -> list[FinishedJob]:
        """Without their tasks (`tasks` is empty)."""
        ...

    async def count_finished(self, query: FinishedQuery) -> int:
        """How many match, the cursor and the limit left aside."""
        ...

    async def finished_job(self, id: int) -> FinishedJob | None:
        """The job without its tasks."""
        ...

    async def finished_run(self, namespace: str, name: str, run: int | None) -> FinishedJob | None:
        """Without its tasks; run None means the newest."""
        ...

    async def finished_tasks(self, id: int, group: int, first: int, last: int) -> list[FinishedTasks]:
        """The chunks that hold tasks first..last, in order."""
        ...

    async def ended_runs(self, keys: Sequence[RunKey]) -> dict[RunKey, EndedRun]:
        """The runs among these that history has. Rounds wait for it, so it waits for nothing that a commit does not
        wait for, such as a long list."""
        ...

    async def past_schedulings(self, query: PastQuery) -> list[PastRecord]: ...

    async def count_past(self, query: PastQuery) -> int:
        """How many match, the cursor and the limit left aside."""
        ...

    async def past_scheduling(self, uid: int) -> PastRecord | None: ...

    async def audit_batches(self, query: AuditQuery) -> list[AuditBatch]: ...

    async def expired_audit(self, through: int, before: float, limit: int) -> AuditBatch | None:
        """The last one of the oldest `limit` batches that ends with record `through` at most, or is not newer than
        `before`."""
        ...

    async def drop_audit(self, epoch: int, through: int) -> None:
        """Drop the batches that end with this record at most, all or nothing. Fenced like a commit."""
        ...

    async def save_rollups(self, epoch: int, tier_s: int, rows: Sequence[RollupRow]) -> None:
        """Adds rows, or replaces those of the same start, and drops the oldest ones beyond ROLLUP_BYTES_MAX. Fenced
        like a commit."""
        ...

    async def rollups(self, tier_s: int, first: int) -> list[RollupRow]:
        """The rollups that start at `first` or later, the oldest first."""
        ...

    async def purge(self, epoch: int, retention: Retention, now: float) -> Purged:
        """Drop what is older or more than retention keeps, what ended first before the rest. Rounds are cut only behind
        the snapshot."""
        ...
