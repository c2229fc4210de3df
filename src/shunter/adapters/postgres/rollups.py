"""Stores what happened in each minute and each hour, and drops the oldest rows. Called by PostgresStore."""

from __future__ import annotations

from collections.abc import Sequence

from shunter.adapters.postgres.connection import Connection
from shunter.ports.store import ROLLUP_BYTES_MAX, RollupRow


async def write_rows(connection: Connection, epoch: int, tier_s: int, rows: Sequence[RollupRow]) -> None:
    starts, bodies = [row.start for row in rows], [row.body for row in rows]
    await connection.fetchval(
        "SELECT save_rollups($1, $2, $3, $4, $5)", epoch, tier_s, starts, bodies, ROLLUP_BYTES_MAX
    )


async def read_rows(connection: Connection, tier_s: int, first: int) -> list[RollupRow]:
    rows = await connection.fetch(
        "SELECT start, body FROM rollups WHERE tier = $1 AND start >= $2 ORDER BY start", tier_s, first
    )
    return [RollupRow(*row) for row in rows]
