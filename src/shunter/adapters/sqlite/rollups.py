"""Stores what happened in each minute and each hour, and drops the oldest rows. Called by SqliteStore in its
threads."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from shunter.adapters.sqlite.rounds import leader_transaction
from shunter.ports.store import ROLLUP_BYTES_MAX, RollupRow

_TOO_OLD = """
DELETE FROM rollups WHERE tier = ?1 AND start IN (
    SELECT start FROM (
        SELECT start, sum(length(body)) OVER (ORDER BY start DESC) AS bytes FROM rollups WHERE tier = ?1
    ) WHERE bytes > ?2
)
"""


def write_rows(connection: sqlite3.Connection, epoch: int, tier_s: int, rows: Sequence[RollupRow]) -> None:
    with leader_transaction(connection, epoch):
        insert_rows(connection, tier_s, rows)
        connection.execute(_TOO_OLD, (tier_s, ROLLUP_BYTES_MAX))


def insert_rows(connection: sqlite3.Connection, tier_s: int, rows: Sequence[RollupRow]) -> None:
    """Inside the caller's transaction."""
    connection.executemany(
        "INSERT INTO rollups (tier, start, body) VALUES (?, ?, ?)"
        " ON CONFLICT (tier, start) DO UPDATE SET body = excluded.body",
        [(tier_s, row.start, row.body) for row in rows],
    )


def read_rows(connection: sqlite3.Connection, tier_s: int, first: int) -> list[RollupRow]:
    rows = connection.execute(
        "SELECT start, body FROM rollups WHERE tier = ? AND start >= ? ORDER BY start", (tier_s, first)
    )
    return [RollupRow(*row) for row in rows]
