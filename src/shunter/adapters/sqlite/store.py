"""The embedded store: one SQLite file in WAL mode, durable at every commit. `app` uses it as `ports.store.Store`.

Two threads own the connections. Long operations (snapshots, retention) are cut into short transactions, so that commits
can run in between."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from shunter.adapters.sqlite import audit_log, finished_jobs, finished_search, past_schedulings, rollups, rounds, schema
from shunter.adapters.sqlite.checkpoints import Checkpoints, secure_log
from shunter.adapters.sqlite.connection import LOCK_TIMEOUT_S, LOG_ALONE, connect, create_file, is_log_alone
from shunter.adapters.sqlite.connection_thread import ConnectionThread
from shunter.adapters.sqlite.errors import RESTORE_HINT, is_disk_failure
from shunter.adapters.sqlite.integrity import check_files, is_mark_recorded, record_mark
from shunter.adapters.sqlite.retention import drop_jobs, drop_rounds, free_pages
from shunter.adapters.sqlite.watermark import Mark, MarkDamaged, Watermark, watermark_path
from shunter.log import Log
from shunter.model.errors import StoreFailed
from shunter.ports.commit_signal import CommitSignal
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
    unseen_epoch,
)

log = Log(__name__)


class SqliteStore:
    """A write waits for another process that writes for up to `lock_timeout_s`. `size_max_bytes` limits the database
    file; beyond it commits fail as on a full disk; None means no limit. A store that lacks commits does not open,
    unless `accepts_loss`."""

    def __init__(
        self,
        path: Path | str,
        *,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
        size_max_bytes: int | None = None,
        accepts_loss: bool = False,
    ) -> None:
        self._path = Path(path)
        self._accepts_loss = accepts_loss
        self._watermark = Watermark(watermark_path(self._path))
        self._lock_timeout_s = lock_timeout_s
        self._size_max_bytes = size_max_bytes
        self._signal = CommitSignal()
        self._disk_failed = False  # a sync failed, so written data may not be on the disk
        self._reader = ConnectionThread("store-reader", self._path)
        checkpoints = Checkpoints(self._path, self._reader)
        self._writer = ConnectionThread("store-writer", self._path, after_each=checkpoints.after_write)

    async def open(self) -> None:
        create_file(self._path)
        try:
            await self._writer.open(self._connect_writer)
            await self._reader.open(self._connect_reader)
        except BaseException:
            await self._writer.close()
            self._watermark.close()
            raise
        log.info("store.opened", path=self._path)

    async def close(self) -> None:
        """The writer's connection closes last; with it SQLite empties and removes the write-ahead log."""
        await self._reader.close()
        await self._writer.close()
        self._watermark.sync()
        self._watermark.close()

    # ---- the log ----

    async def begin_epoch(self, term: int = 0) -> int:
        return await self._writer.run(self._begin_epoch, term)

    async def leading_epoch(self) -> int:
        return await self._reader.run(rounds.read_leading_epoch)

    async def leading_term(self) -> int:
        return await self._reader.run(rounds.read_leading_term)

    async def commit(self, commit: Commit) -> None:
        await self._writer.run(self._commit, commit)
        self._signal.announce(commit.version)

    async def wait_for_commit(self, after_version: int, timeout_s: float) -> None:
        """Hears of this store's own commits; others are found after the time-out."""
        await self._signal.wait(after_version, timeout_s)

    async def save_snapshot(self, epoch: int, snapshot: Snapshot) -> None:
        save = await self._writer.run(rounds.begin_save, epoch)
        body = memoryview(snapshot.body)
        for part, start in enumerate(range(0, len(body), rounds.SNAPSHOT_PART_BYTES)):
            part_body = body[start : start + rounds.SNAPSHOT_PART_BYTES]
            await self._writer.run(rounds.save_part, epoch, save, part, part_body)
        await self._writer.run(rounds.end_save, epoch, save, snapshot.version)
        while await self._writer.run(rounds.drop_stale_part, epoch):
            pass

    async def snapshot(self) -> Snapshot | None:
        return await self._reader.run(rounds.read_snapshot)

    async def rounds_after(self, version: int, limit: int) -> list[LoggedRound]:
        return await self._reader.run(rounds.read_rounds_after, version, limit)

    async def first_version(self) -> int:
        return await self._reader.run(rounds.read_first_version)

    async def last_version(self) -> int:
        return await self._reader.run(rounds.read_last_version)

    # ---- history ----

    async def finished_jobs(self, query: FinishedQuery) -> list[FinishedJob]:
        return await self._reader.run(finished_search.read_jobs, query)

    async def count_finished(self, query: FinishedQuery) -> int:
        return await self._reader.run(finished_search.count_jobs, query)

    async def finished_job(self, id: int) -> FinishedJob | None:
        return await self._reader.run(finished_jobs.read_job, id)

    async def finished_run(self, namespace: str, name: str, run: int | None) -> FinishedJob | None:
        return await self._reader.run(finished_jobs.read_run, namespace, name, run)

    async def finished_tasks(self, id: int, group: int, first: int, last: int) -> list[FinishedTasks]:
        return await self._reader.run(finished_jobs.read_tasks, id, group, first, last)

    async def ended_runs(self, keys: Sequence[RunKey]) -> dict[RunKey, EndedRun]:
        """By the writer's thread: a long list keeps the reader's busy."""
        return await self._writer.run(finished_jobs.read_ended_runs, keys)

    async def past_schedulings(self, query: PastQuery) -> list[PastRecord]:
        return await self._reader.run(past_schedulings.read_past, query)

    async def count_past(self, query: PastQuery) -> int:
        return await self._reader.run(past_schedulings.count_past, query)

    async def past_scheduling(self, uid: int) -> PastRecord | None:
        return await self._reader.run(past_schedulings.read_one, uid)

    async def audit_batches(self, query: AuditQuery) -> list[AuditBatch]:
        return await self._reader.run(audit_log.read_batches, query)

    async def expired_audit(self, through: int, before: float, limit: int) -> AuditBatch | None:
        return await self._reader.run(audit_log.read_expired, through, before, limit)

    async def drop_audit(self, epoch: int, through: int) -> None:
        await self._writer.run(rounds.drop_audit, epoch, through)

    async def save_rollups(self, epoch: int, tier_s: int, rows: Sequence[RollupRow]) -> None:
        await self._writer.run(rollups.write_rows, epoch, tier_s, rows)

    async def rollups(self, tier_s: int, first: int) -> list[RollupRow]:
        return await self._reader.run(rollups.read_rows, tier_s, first)

    async def purge(self, epoch: int, retention: Retention, now: float) -> Purged:
        names: list[tuple[str, str]] = []
        cut = 0
        while count := await self._writer.run(drop_rounds, epoch, retention, now):
            cut += count
        while (dropped := await self._writer.run(drop_jobs, epoch, retention, now)).rows:
            names += dropped.names
        while await self._writer.run(past_schedulings.drop_past, epoch, retention, now):
            pass
        while await self._writer.run(free_pages):
            pass
        if cut or names:
            log.info("store.purged", rounds=cut, names=len(names))
        return Purged(tuple(names), cut)

    # ---- the writer's thread ----

    def _begin_epoch(self, connection: sqlite3.Connection, term: int) -> int:
        if self._disk_failed:
            secure_log(connection)
            self._disk_failed = False
        epoch = rounds.begin_epoch(connection, term)
        self._watermark.write(Mark(epoch, rounds.read_last_version(connection)))
        if not is_mark_recorded(connection):
            self._watermark.sync()
            self._watermark.sync_name()
            record_mark(connection)
        return epoch

    def _commit(self, connection: sqlite3.Connection, commit: Commit) -> None:
        try:
            rounds.write_commit(connection, commit)
        except sqlite3.Error as error:
            self._disk_failed = self._disk_failed or is_disk_failure(error)
            raise
        self._watermark.write(Mark(commit.epoch, commit.version))

    def _connect_writer(self) -> sqlite3.Connection:
        lowest_epoch = self._check_files()
        connection = connect(self._path, lock_timeout_s=self._lock_timeout_s, size_max_bytes=self._size_max_bytes)
        try:
            schema.migrate(connection, schema.known_migrations())
            if rounds.read_leading_epoch(connection) < lowest_epoch:
                rounds.raise_epoch(connection, lowest_epoch)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_files(self) -> int:
        """Refuse a store that lacks commits. Returns the epoch up to which workers may know those of this store."""
        if is_log_alone(self._path):
            self._refuse(LOG_ALONE)
        mark, fault = None, "missing"
        try:
            mark = self._watermark.open()
        except MarkDamaged:
            fault = "damaged"
        store = check_files(self._path)
        found = store.end
        if mark is None:
            if not store.is_mark_recorded and fault == "missing":
                return found.epoch
            name = watermark_path(self._path).name
            self._refuse(f"the file {name} next to it is {fault}, so committed work may be missing unnoticed")
            return unseen_epoch(found.epoch, time.time())
        if found.epoch < mark.epoch or found.version < mark.version:
            self._refuse(
                f"committed work is missing: it ends at version {found.version} of epoch {found.epoch}, and version"
                f" {mark.version} of epoch {mark.epoch} was committed. Its write-ahead log was lost or damaged"
            )
            accepted = Mark(mark.epoch, found.version)
            self._watermark.write(accepted)
            self._watermark.write(accepted)  # into both slots: neither may name what is lost
        return max(found.epoch, mark.epoch)

    def _refuse(self, loss: str) -> None:
        """Raises StoreFailed, unless the loss is accepted."""
        if not self._accepts_loss:
            raise StoreFailed(
                f"{loss}. {RESTORE_HINT[0].upper()}{RESTORE_HINT[1:]}; or see what is left with"
                " `shunter store verify`, and go on with that with `shunter up --accept-loss`",
                self._path,
            )
        log.warning("store.loss_accepted", path=self._path, loss=loss)

    def _connect_reader(self) -> sqlite3.Connection:
        connection = connect(self._path, lock_timeout_s=self._lock_timeout_s)
        connection.execute("PRAGMA query_only = ON")
        return connection
