"""All that an SQLite store holds, read from or written into one connection. Used by `app.store_copy` and `app.backup`,
while no manager uses the file."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator

from shunter.adapters.sqlite import rounds
from shunter.adapters.sqlite.audit_log import COLUMNS as AUDIT_COLUMNS
from shunter.adapters.sqlite.audit_log import insert_batch
from shunter.adapters.sqlite.connection import transaction
from shunter.adapters.sqlite.finished_jobs import JOB_COLUMNS, insert_finished, job_from_row
from shunter.adapters.sqlite.rollups import insert_rows, read_rows
from shunter.ports.store import AuditBatch, FinishedJob, FinishedTasks, PastRecord, RollupRow, Snapshot
from shunter.ports.store_contents import StoreContents, StoredRound

BATCH_ROWS = 500

# They are about commits, one after the other. A copy brings a log whose beginning was cut, and is compared at the end.
_RULES_OF_COMMITS = ("rounds_follow_one_another", "snapshots_are_of_committed_rounds")


class SqliteContents:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def leading_epoch(self) -> int:
        return rounds.read_leading_epoch(self._connection)

    async def snapshot(self) -> Snapshot | None:
        return rounds.read_snapshot(self._connection)

    async def rounds(self) -> AsyncIterator[list[StoredRound]]:
        cursor = self._connection.execute("SELECT version, epoch, at, body FROM rounds ORDER BY version")
        while rows := cursor.fetchmany(BATCH_ROWS):
            yield [StoredRound(*row) for row in rows]

    async def finished_jobs(self) -> AsyncIterator[list[FinishedJob]]:
        cursor = self._connection.execute(f"SELECT {JOB_COLUMNS} FROM jobs ORDER BY id")
        while rows := cursor.fetchmany(BATCH_ROWS):
            jobs = [job_from_row(row) for row in rows]
            for job in jobs:
                chunks = self._connection.execute(
                    "SELECT grp, first, count, body FROM job_tasks WHERE job = ? ORDER BY grp, first", (job.id,)
                )
                job.tasks = [FinishedTasks(*chunk) for chunk in chunks]
            yield jobs

    async def past_schedulings(self) -> AsyncIterator[list[PastRecord]]:
        cursor = self._connection.execute(
            "SELECT uid, namespace, name, deleted_at, body FROM past_schedulings ORDER BY uid"
        )
        while rows := cursor.fetchmany(BATCH_ROWS):
            yield [PastRecord(*row) for row in rows]

    async def audit(self) -> AsyncIterator[list[AuditBatch]]:
        if self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'audit'").fetchone() is None:
            return  # the file is of an older version
        cursor = self._connection.execute(f"SELECT {AUDIT_COLUMNS} FROM audit ORDER BY last")
        while rows := cursor.fetchmany(BATCH_ROWS):
            yield [AuditBatch(*row) for row in rows]

    async def rollups(self) -> AsyncIterator[tuple[int, list[RollupRow]]]:
        if self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'rollups'").fetchone() is None:
            return  # the file is of an older version
        for (tier_s,) in self._connection.execute("SELECT DISTINCT tier FROM rollups ORDER BY tier").fetchall():
            yield tier_s, read_rows(self._connection, tier_s, 0)


async def fill(connection: sqlite3.Connection, contents: StoreContents, epoch: int) -> None:
    """Write all of it into an empty store with the newest schema: all or nothing. Its last epoch is `epoch`."""
    with transaction(connection):
        rules = [
            connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).fetchone()[0]
            for name in _RULES_OF_COMMITS
        ]
        for name in _RULES_OF_COMMITS:
            connection.execute(f"DROP TRIGGER {name}")
        async for batch in contents.rounds():
            connection.executemany(
                "INSERT INTO rounds (version, epoch, at, body) VALUES (?, ?, ?, ?)",
                [(each.version, each.epoch, each.at, each.body) for each in batch],
            )
        snapshot = await contents.snapshot()
        if snapshot is not None:
            _insert_snapshot(connection, snapshot)
        async for jobs in contents.finished_jobs():
            insert_finished(connection, jobs)
        async for past in contents.past_schedulings():
            connection.executemany(
                "INSERT INTO past_schedulings (uid, namespace, name, deleted_at, body) VALUES (?, ?, ?, ?, ?)",
                [(each.uid, each.namespace, each.name, each.deleted_at, each.body) for each in past],
            )
        async for records in contents.audit():
            for record in records:
                insert_batch(connection, record)
        async for tier_s, rollups in contents.rollups():
            insert_rows(connection, tier_s, rollups)
        connection.execute("UPDATE leadership SET epoch = ?", (epoch,))
        for rule in rules:
            connection.execute(rule)


def _insert_snapshot(connection: sqlite3.Connection, snapshot: Snapshot) -> None:
    body = memoryview(snapshot.body)
    for part, start in enumerate(range(0, len(body), rounds.SNAPSHOT_PART_BYTES)):
        connection.execute(
            "INSERT INTO snapshot_parts (save, part, body) VALUES (1, ?, ?)",
            (part, body[start : start + rounds.SNAPSHOT_PART_BYTES]),
        )
    connection.execute("INSERT INTO snapshot (one, version, save) VALUES (1, ?, 1)", (snapshot.version,))
