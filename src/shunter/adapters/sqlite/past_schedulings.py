"""Stores deleted Schedulings with the round that deletes them, finds them by name, and drops them by retention. Called
by SqliteStore in its threads."""

from __future__ import annotations

import sqlite3
from typing import Any

from shunter.adapters.sqlite.retention import cutoff
from shunter.adapters.sqlite.rounds import leader_transaction
from shunter.ports.store import PastQuery, PastRecord, Retention

PAST_PER_SLICE_MAX = 500
_COLUMNS = "uid, namespace, name, deleted_at, body"


def read_past(connection: sqlite3.Connection, query: PastQuery) -> list[PastRecord]:
    where, values = _where(query)
    if query.before_uid is not None:
        where, values = f"{where} AND uid < ?", [*values, query.before_uid]
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM past_schedulings WHERE {where} ORDER BY uid DESC LIMIT ?",
        [*values, max(0, query.limit)],
    )
    return [PastRecord(*row) for row in rows]


def count_past(connection: sqlite3.Connection, query: PastQuery) -> int:
    where, values = _where(query)
    (count,) = connection.execute(f"SELECT count(*) FROM past_schedulings WHERE {where}", values).fetchone()
    return int(count)


def read_one(connection: sqlite3.Connection, uid: int) -> PastRecord | None:
    row = connection.execute(f"SELECT {_COLUMNS} FROM past_schedulings WHERE uid = ?", (uid,)).fetchone()
    return None if row is None else PastRecord(*row)


def drop_past(connection: sqlite3.Connection, epoch: int, retention: Retention, now: float) -> int:
    """Drop some expired ones; returns how many."""
    with leader_transaction(connection, epoch):
        cursor = connection.execute(
            "DELETE FROM past_schedulings WHERE uid IN (SELECT uid FROM past_schedulings WHERE deleted_at <= ? OR uid"
            " IN (SELECT uid FROM past_schedulings ORDER BY uid DESC LIMIT -1 OFFSET ?) LIMIT ?)",
            (cutoff(retention.finished_age_s, now), retention.finished_max, PAST_PER_SLICE_MAX),
        )
        return cursor.rowcount


def _where(query: PastQuery) -> tuple[str, list[Any]]:
    conditions, values = ["1"], []
    for column, value in (("namespace", query.namespace), ("name", query.name)):
        if value is not None:
            conditions.append(f"{column} = ?")
            values.append(value)
    return " AND ".join(conditions), values
