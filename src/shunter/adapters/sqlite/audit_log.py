"""Stores the records of the audit log with the round that has them, reads them, and drops them by retention. Called by
SqliteStore in its threads."""

from __future__ import annotations

import sqlite3

from shunter.ports.store import AuditBatch, AuditQuery

COLUMNS = "first, last, at, body"


# ---- the writer's thread ----


def insert_batch(connection: sqlite3.Connection, batch: AuditBatch) -> None:
    """Inside the caller's transaction."""
    connection.execute(
        f"INSERT INTO audit ({COLUMNS}) VALUES (?, ?, ?, ?)", (batch.first, batch.last, batch.at, batch.body)
    )


def delete_batches(connection: sqlite3.Connection, through: int) -> None:
    """Inside the caller's transaction."""
    connection.execute("DELETE FROM audit WHERE last <= ?", (through,))


# ---- the reader's thread ----


def read_batches(connection: sqlite3.Connection, query: AuditQuery) -> list[AuditBatch]:
    if query.before is None:
        where, value = "last > ? ORDER BY last", query.after
    else:
        where, value = "first < ? ORDER BY last DESC", query.before
    rows = connection.execute(f"SELECT {COLUMNS} FROM audit WHERE {where} LIMIT ?", (value, max(0, query.limit)))
    return [AuditBatch(*row) for row in rows]


def read_expired(connection: sqlite3.Connection, through: int, before: float, limit: int) -> AuditBatch | None:
    row = connection.execute(
        f"SELECT {COLUMNS} FROM audit WHERE last = (SELECT max(last) FROM (SELECT last, at FROM audit ORDER BY last"
        " LIMIT ?) WHERE last <= ? OR at <= ?)",
        (limit, through, before),
    ).fetchone()
    return None if row is None else AuditBatch(*row)
