"""The embedded store: one SQLite file in WAL mode, durable at every commit. Wired by `app` behind `ports.store.Store`.

Two threads own the connections. Whatever would hold up commits for long (snapshots, retention) is cut into short
transactions here, and commits slip in between.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from shunter.adapters.sqlite import finished_jobs, finished_search, past_schedulings, rounds, schema
from shunter.adapters.sqlite.checkpoints import Checkpoints
from shunter.adapters.sqlite.connection import LOCK_TIMEOUT_S, connect, create_file
from shunter.adapters.sqlite.connection_thread import ConnectionThread
from shunter.adapters.sqlite.retention import drop_jobs, drop_rounds, free_pages
from shunter.log import Log
from shunter.ports.store import (
    Commit,
    FinishedJob,
    FinishedName,
    FinishedQuery,
    FinishedTasks,
    LoggedRound,
    PastQuery,
    PastRecord,
    Purged,
    Retention,
    Snapshot,
)

log = Log(__name__)


class SqliteStore:
    """A write waits for another process that writes for up to `lock_timeout_s`. `size_max_bytes` limits the database
    file, past it commits fail as on a full disk; None means what the disk has."""

    def __init__(
        self, path: Path | str, *, lock_timeout_s: float = LOCK_TIMEOUT_S, size_max_bytes: int | None = None
    ) -> None:
        self._path = Path(path)
        self._lock_timeout_s = lock_timeout_s
        self._size_max_bytes = size_max_bytes
        self._reader = ConnectionThread("store-reader", self._path)
        checkpoints = Checkpoints(self._path, self._reader)
        self._writer = ConnectionThread("store-writer", self._path, after_each=checkpoints.after_write)

    async def open(self) -> None:
        create_file(self._path)
        await self._writer.open(self._connect_writer)
        try:
            await self._reader.open(self._connect_reader)
        except BaseException:
            await self._writer.close()
            raise
        log.info("store.opened", path=self._path)

    async def close(self) -> None:
        """The writer's connection goes last, and with the last one SQLite empties and removes the write-ahead log."""
        await self._reader.close()
        await self._writer.close()

    # ---- the log ----

    async def begin_epoch(self) -> int:
        return await self._writer.run(rounds.begin_epoch)

    async def commit(self, commit: Commit) -> None:
        await self._writer.run(rounds.write_commit, commit)

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

    async def finished_names(self) -> list[FinishedName]:
        return await self._reader.run(finished_jobs.read_names)

    async def past_schedulings(self, query: PastQuery) -> list[PastRecord]:
        return await self._reader.run(past_schedulings.read_past, query)

    async def count_past(self, query: PastQuery) -> int:
        return await self._reader.run(past_schedulings.count_past, query)

    async def past_scheduling(self, uid: int) -> PastRecord | None:
        return await self._reader.run(past_schedulings.read_one, uid)

    async def purge(self, epoch: int, retention: Retention, now: float) -> Purged:
        names: list[FinishedName] = []
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

    def _connect_writer(self) -> sqlite3.Connection:
        connection = connect(self._path, lock_timeout_s=self._lock_timeout_s, size_max_bytes=self._size_max_bytes)
        try:
            schema.migrate(connection, schema.known_migrations())
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect_reader(self) -> sqlite3.Connection:
        connection = connect(self._path, lock_timeout_s=self._lock_timeout_s)
        connection.execute("PRAGMA query_only = ON")
        return connection
