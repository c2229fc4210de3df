"""Reads the audit log, and drops what retention does not keep. Called by PostgresStore. A commit stores it
(`rounds`)."""

from __future__ import annotations

from shunter.adapters.postgres.connection import Connection
from shunter.ports.store import AuditBatch, AuditQuery

COLUMNS = "first, last, at, body"


async def read_batches(connection: Connection, query: AuditQuery) -> list[AuditBatch]:
    if query.before is None:
        where, value = "last > $1 ORDER BY last", query.after
    else:
        where, value = "first < $1 ORDER BY last DESC", query.before
    rows = await connection.fetch(f"SELECT {COLUMNS} FROM audit WHERE {where} LIMIT $2", value, max(0, query.limit))
    return [AuditBatch(*row) for row in rows]


async def read_expired(connection: Connection, through: int, before: float, limit: int) -> AuditBatch | None:
    row = await connection.fetchrow(
        f"SELECT {COLUMNS} FROM audit WHERE last = (SELECT max(last) FROM (SELECT last, at FROM audit ORDER BY last"
        " LIMIT $1) AS oldest WHERE last <= $2 OR at <= $3)",
        limit,
        through,
        before,
    )
    return None if row is None else AuditBatch(*row)


async def drop(connection: Connection, epoch: int, through: int) -> None:
    await connection.fetchval("SELECT drop_audit($1, $2)", epoch, through)
