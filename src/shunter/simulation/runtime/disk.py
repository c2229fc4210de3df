"""The store as one simulated manager sees it: sometimes slow, and sometimes failing before or after a commit is
durable.

All managers of a world share the durable store behind it. `simulation.runtime.faults` controls the `Disk`."""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shunter.model.errors import NotFound, ShunterError, StoreFailed
from shunter.ports.clock import Clock
from shunter.ports.store import (
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
    Store,
)
from shunter.simulation.runtime.process import Gate
from shunter.simulation.trace import Trace

OnDurable = Callable[[Commit, bool], None]  # the commit, and whether it landed after its writer was told that it failed
OnPurged = Callable[[Purged, list[FinishedJob]], None]  # what is gone, and the runs that are left
OnBegun = Callable[[int, int], None]  # the term and its new epoch

LATENCY_DEFAULT_S = 0.001
LATE_COMMIT_S = (0.001, 0.05, 0.5)  # on average, until a commit lands whose connection was lost
CUT_OFF_TIMEOUT_S = 0.5


@dataclass(slots=True)
class Disk:
    """How the disk behaves at present."""

    rng: random.Random
    trace: Trace
    latency_s: float = LATENCY_DEFAULT_S
    fail_before_rate: float = 0.0  # nothing was written
    fail_after_rate: float = 0.0  # it was written, and the writer is told otherwise
    late_rate: float = 0.0  # the writer is told that it failed, and it may be written later

    def draw_latency_s(self) -> float:
        return self.rng.expovariate(1 / self.latency_s)

    def maybe_fail(self, rate: float, what: str) -> None:
        if rate and self.rng.random() < rate:
            self.trace.record(what)
            raise StoreFailed(f"simulated: {what}")


class FaultyStore:
    """The store port of one manager's process. `on_durable`, `on_purged` and `on_begun` are told of what the disk has,
    has no more, and refuses from now on."""

    def __init__(
        self,
        store: Store,
        disk: Disk,
        clock: Clock,
        gate: Gate,
        on_durable: OnDurable,
        on_purged: OnPurged,
        on_begun: OnBegun,
    ) -> None:
        self._store = store
        self._on_purged = on_purged
        self._on_begun = on_begun
        self._disk = disk
        self._clock = clock
        self._gate = gate
        self._on_durable = on_durable
        self._late: set[asyncio.Task[None]] = set()
        self.is_cut_off = False  # this process cannot reach the store
        self.is_connection_lost = False  # the next call fails; the one after it connects again
        self.commit_begun = asyncio.Event()

    async def open(self) -> None:
        await self._store.open()

    async def close(self) -> None:
        """The disk outlives the process."""

    async def commit(self, commit: Commit) -> None:
        self.commit_begun.set()
        await self._wait_for_disk()
        self._disk.maybe_fail(self._disk.fail_before_rate, "commit.failed_before")
        if self._disk.late_rate and self._disk.rng.random() < self._disk.late_rate:
            self._commit_later(commit)
            raise StoreFailed("simulated: the connection was lost in the middle of a commit")
        await self._store.commit(commit)
        self._on_durable(commit, False)
        await self._wait_for_disk()
        self._disk.maybe_fail(self._disk.fail_after_rate, "commit.failed_after")

    def _commit_later(self, commit: Commit) -> None:
        """The server goes on with what it has received, whatever became of the process that sent it."""

        async def land() -> None:
            await asyncio.sleep(self._disk.rng.expovariate(1 / self._disk.rng.choice(LATE_COMMIT_S)))
            try:
                await self._store.commit(commit)
            except ShunterError as error:
                self._disk.trace.record("commit.late_refused", str(error))
            else:
                self._disk.trace.record("commit.late", f"version {commit.version}")
                self._on_durable(commit, True)

        task = asyncio.create_task(land())
        self._late.add(task)
        task.add_done_callback(self._late.discard)

    async def wait_for_commit(self, after_version: int, timeout_s: float) -> None:  # noqa: ARG002
        """The hint never comes, so that followers lag as far as they may."""
        await self._clock.sleep(timeout_s)

    async def save_snapshot(self, epoch: int, snapshot: Snapshot) -> None:
        await self._wait_for_disk()
        self._disk.maybe_fail(self._disk.fail_before_rate, "snapshot.failed_before")
        await self._store.save_snapshot(epoch, snapshot)
        self._disk.trace.record("snapshot.saved", f"version {snapshot.version}")
        await self._wait_for_disk()

    async def begin_epoch(self, term: int = 0) -> int:
        await self._wait_for_disk()
        epoch = await self._store.begin_epoch(term)
        self._on_begun(term, epoch)
        await self._wait_for_disk()
        return epoch

    async def leading_epoch(self) -> int:
        await self._gate.wait_open()
        return await self._store.leading_epoch()

    async def leading_term(self) -> int:
        await self._wait_for_disk()
        return await self._store.leading_term()

    async def purge(self, epoch: int, retention: Retention, now: float) -> Purged:
        await self._wait_for_disk()
        purged = await self._store.purge(epoch, retention, now)
        self._on_purged(purged, await self._store.finished_jobs(FinishedQuery(limit=sys.maxsize)))
        await self._wait_for_disk()
        return purged

    async def snapshot(self) -> Snapshot | None:
        await self._wait_for_disk()
        return await self._store.snapshot()

    async def rounds_after(self, version: int, limit: int) -> list[LoggedRound]:
        await self._wait_for_disk()
        self._disk.maybe_fail(self._disk.fail_before_rate, "read.failed")
        try:
            return await self._store.rounds_after(version, limit)
        except NotFound:
            self._disk.trace.record("read.cut_off", f"after version {version}")
            raise

    async def first_version(self) -> int:
        return await self._store.first_version()

    async def last_version(self) -> int:
        return await self._store.last_version()

    async def finished_jobs(self, query: FinishedQuery) -> list[FinishedJob]:
        return await self._store.finished_jobs(query)

    async def count_finished(self, query: FinishedQuery) -> int:
        return await self._store.count_finished(query)

    async def finished_job(self, id: int) -> FinishedJob | None:
        return await self._store.finished_job(id)

    async def finished_run(self, namespace: str, name: str, run: int | None) -> FinishedJob | None:
        return await self._store.finished_run(namespace, name, run)

    async def finished_tasks(self, id: int, group: int, first: int, last: int) -> list[FinishedTasks]:
        return await self._store.finished_tasks(id, group, first, last)

    async def ended_runs(self, keys: Sequence[RunKey]) -> dict[RunKey, EndedRun]:
        """Rounds wait for it, so it is as slow as a commit, and fails as often. What is found may change before the
        answer is there."""
        await self._wait_for_disk()
        self._disk.maybe_fail(self._disk.fail_before_rate, "history.failed")
        found = await self._store.ended_runs(keys)
        await self._wait_for_disk()
        return found

    async def past_schedulings(self, query: PastQuery) -> list[PastRecord]:
        return await self._store.past_schedulings(query)

    async def count_past(self, query: PastQuery) -> int:
        return await self._store.count_past(query)

    async def past_scheduling(self, uid: int) -> PastRecord | None:
        return await self._store.past_scheduling(uid)

    async def audit_batches(self, query: AuditQuery) -> list[AuditBatch]:
        return await self._store.audit_batches(query)

    async def expired_audit(self, through: int, before: float, limit: int) -> AuditBatch | None:
        return await self._store.expired_audit(through, before, limit)

    async def drop_audit(self, epoch: int, through: int) -> None:
        await self._wait_for_disk()
        await self._store.drop_audit(epoch, through)

    async def save_rollups(self, epoch: int, tier_s: int, rows: Sequence[RollupRow]) -> None:
        await self._wait_for_disk()
        await self._store.save_rollups(epoch, tier_s, rows)

    async def rollups(self, tier_s: int, first: int) -> list[RollupRow]:
        return await self._store.rollups(tier_s, first)

    async def _wait_for_disk(self) -> None:
        """Time on the disk; a process that was paused or killed meanwhile does not get any further."""
        await self._gate.wait_open()
        if self.is_cut_off:
            await self._clock.sleep(CUT_OFF_TIMEOUT_S)
            raise StoreFailed("simulated: the store cannot be reached")
        await self._clock.sleep(self._disk.draw_latency_s())
        await self._gate.wait_open()
        if self.is_connection_lost:
            self.is_connection_lost = False
            self._disk.trace.record("store.connection_lost")
            raise StoreFailed("simulated: the connection was lost")
