"""All that a PostgreSQL store holds: read as of one moment, or written into an empty store in one transaction. Used by
`app.store_copy` and `app.backup`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from shunter.adapters.postgres import rounds, schema
from shunter.adapters.postgres.connection import Connection, connect
from shunter.adapters.postgres.errors import translated
from shunter.adapters.postgres.finished_jobs import JOB_COLUMNS, WITH_DETAILS, job_from_row, labels_text
from shunter.adapters.postgres.rollups import read_rows
from shunter.adapters.postgres.sessions import close_connection
from shunter.adapters.postgres.url import StoreUrl
from shunter.model.errors import Conflict
from shunter.ports.store import AuditBatch, FinishedJob, FinishedTasks, PastRecord, RollupRow, Snapshot
from shunter.ports.store_contents import StoreContents, StoredRound

BATCH_ROWS = 500

_IS_EMPTY = "SELECT epoch = 0 AND NOT EXISTS (SELECT FROM rounds) AND NOT EXISTS (SELECT FROM jobs) FROM leadership"


class PostgresContents:
    """Pages by key, within the transaction of `contents_of`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def leading_epoch(self) -> int:
        return await rounds.read_leading_epoch(self._connection)

    async def snapshot(self) -> Snapshot | None:
        return await rounds.read_snapshot_parts(self._connection)

    async def rounds(self) -> AsyncIterator[list[StoredRound]]:
        async for rows in self._pages(
            "SELECT version, epoch, at, body FROM rounds WHERE version > $1 ORDER BY version"
        ):
            yield [StoredRound(*row) for row in rows]

    async def finished_jobs(self) -> AsyncIterator[list[FinishedJob]]:
        page = f"SELECT {JOB_COLUMNS} FROM jobs AS job {WITH_DETAILS} WHERE job.id > $1 ORDER BY job.id"
        async for rows in self._pages(page):
            jobs = {row["id"]: job_from_row(row) for row in rows}
            chunks = await self._connection.fetch(
                "SELECT task.job, task.grp, task.first, task.count, task.body FROM jobs AS job"
                " JOIN job_tasks AS task ON task.job = job.id AND task.ended_at = job.ended_at"
                " WHERE job.id = ANY ($1) ORDER BY task.job, task.grp, task.first",
                list(jobs),
            )
            for id, *chunk in chunks:
                jobs[id].tasks.append(FinishedTasks(*chunk))
            yield list(jobs.values())

    async def past_schedulings(self) -> AsyncIterator[list[PastRecord]]:
        page = "SELECT uid, namespace, name, deleted_at, body FROM past_schedulings WHERE uid > $1 ORDER BY uid"
        async for rows in self._pages(page):
            yield [PastRecord(*row) for row in rows]

    async def audit(self) -> AsyncIterator[list[AuditBatch]]:
        async for rows in self._pages("SELECT last, first, at, body FROM audit WHERE last > $1 ORDER BY last"):
            yield [AuditBatch(first, last, at, body) for last, first, at, body in rows]

    async def rollups(self) -> AsyncIterator[tuple[int, list[RollupRow]]]:
        for (tier_s,) in await self._connection.fetch("SELECT DISTINCT tier FROM rollups ORDER BY tier"):
            yield tier_s, await read_rows(self._connection, tier_s, 0)

    async def _pages(self, query: str) -> AsyncIterator[list[Any]]:
        """The first column is the key."""
        last = -(2**63)
        while rows := await self._connection.fetch(f"{query} LIMIT {BATCH_ROWS}", last):
            yield rows
            last = rows[-1][0]


@asynccontextmanager
async def contents_of(url: StoreUrl) -> AsyncIterator[PostgresContents]:
    """As of one moment. Changes nothing. Raises NotFound if there is no store, and StoreFailed."""
    with translated(url.public_url):
        connection = await connect(url)
        try:
            await schema.check(connection, url, schema.known_migrations())
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                yield PostgresContents(connection)
        finally:
            await close_connection(connection)


@asynccontextmanager
async def filled_store(url: StoreUrl, contents: StoreContents, epoch: int) -> AsyncIterator[PostgresContents]:
    """Write all of it into an empty store, whose last epoch is `epoch`. What was written can be read inside, and is
    committed at the end, unless an error is raised. Raises Conflict if the store is not empty."""
    with translated(url.public_url):
        connection = await connect(url)
        try:
            await schema.migrate(connection, url.schema, schema.known_migrations())
            async with connection.transaction():
                await connection.execute("SET LOCAL statement_timeout = 0; LOCK TABLE leadership IN EXCLUSIVE MODE")
                if not await connection.fetchval(_IS_EMPTY):
                    raise Conflict(
                        f"{url.public_url} already has a store; name another database, or another schema in the URL"
                    )
                await _fill(connection, contents)
                await connection.execute("UPDATE leadership SET epoch = $1", epoch)
                yield PostgresContents(connection)
        finally:
            await close_connection(connection)


async def _fill(connection: Connection, contents: StoreContents) -> None:
    async for batch in contents.rounds():
        await _copy(connection, "rounds", [(each.version, each.epoch, each.at, each.body) for each in batch])
    snapshot = await contents.snapshot()
    if snapshot is not None:
        body = memoryview(snapshot.body)
        for part, start in enumerate(range(0, len(body), rounds.SNAPSHOT_PART_BYTES)):
            await _copy(connection, "snapshot_parts", [(1, part, body[start : start + rounds.SNAPSHOT_PART_BYTES])])
        await connection.execute("INSERT INTO snapshot (version, save) VALUES ($1, 1)", snapshot.version)
    async for jobs in contents.finished_jobs():
        await connection.execute("SELECT add_months($1)", [job.ended_at for job in jobs])
        await _copy_jobs(connection, jobs)
    async for past in contents.past_schedulings():
        rows = [(each.uid, each.namespace, each.name, each.deleted_at, each.body) for each in past]
        await _copy(connection, "past_schedulings", rows)
    async for batches in contents.audit():
        await _copy(connection, "audit", [(each.first, each.last, each.at, each.body) for each in batches])
    async for tier_s, rollups in contents.rollups():
        await _copy(connection, "rollups", [(tier_s, each.start, each.body) for each in rollups])
    await connection.execute(
        "INSERT INTO job_counts (namespace, state, jobs) SELECT namespace, state, count(*) FROM jobs GROUP BY 1, 2"
    )


async def _copy_jobs(connection: Connection, jobs: list[FinishedJob]) -> None:
    await _copy(
        connection, "jobs", [(job.id, job.namespace, job.name, job.run, job.state, job.ended_at) for job in jobs]
    )
    details = [(job.id, job.ended_at, job.submitted_at, labels_text(job.labels), job.summary) for job in jobs]
    await _copy(connection, "job_details", details)
    chunks = [
        (job.id, job.ended_at, chunk.group, chunk.first, chunk.count, chunk.body) for job in jobs for chunk in job.tasks
    ]
    await _copy(connection, "job_tasks", chunks)
    labels = [(key, value, job.id, job.ended_at) for job in jobs for key, value in job.labels.items()]
    await _copy(connection, "job_labels", labels)


async def _copy(connection: Connection, table: str, rows: list[tuple[Any, ...]]) -> None:
    """The rows have all columns of the table, in its order."""
    if rows:
        await connection.copy_records_to_table(table, records=rows, timeout=None)
