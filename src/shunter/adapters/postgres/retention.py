"""Deletes what has expired: whole months of history by dropping their partitions, everything else in slices. Each slice
is one short transaction, so that a new leader waits for at most one. Called by PostgresStore."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import asyncpg

from shunter.adapters.postgres.connection import Connection
from shunter.log import Log
from shunter.ports.store import Retention

ROWS_PER_SLICE_MAX = 2_000
MONTH_MAX_S = 32 * 86400.0

log = Log(__name__)


@dataclass(frozen=True, slots=True)
class Purge:
    epoch: int
    retention: Retention
    now: float


async def drop_rounds(connection: Connection, purge: Purge) -> int:
    """The oldest ones, only before the snapshot; returns how many."""
    oldest = cutoff(purge.retention.rounds_age_s, purge.now)
    return await _until_none(
        lambda: connection.fetchval(
            "SELECT drop_rounds($1, $2, $3, $4)", purge.epoch, purge.retention.rounds_max, oldest, ROWS_PER_SLICE_MAX
        )
    )


async def drop_history(connection: Connection, purge: Purge) -> list[tuple[str, str]]:
    """Finished jobs that expired, those that ended first before the rest; returns the names (namespace, name) of which
    no run is left. Then drop the months that are empty, and make the partitions of this month and the next."""
    oldest = cutoff(purge.retention.finished_age_s, purge.now)
    kept_from = await connection.fetchval(
        "SELECT month_start(first_kept_end($1, $2))", purge.retention.finished_max, oldest
    )
    this_month = await connection.fetchval("SELECT month_start($1)", purge.now)
    whole_until = min(this_month, math.inf if kept_from is None else kept_from)
    names: list[tuple[str, str]] = []
    while rows := await connection.fetch(
        "SELECT * FROM drop_jobs($1, $2, $3, $4, $5)",
        purge.epoch,
        purge.retention.finished_max,
        oldest,
        whole_until,
        ROWS_PER_SLICE_MAX,
    ):
        names += await _names_without_runs(connection, [row for row in rows if row["is_newest"]])
    names += await _drop_beyond_shares(connection, purge, whole_until)
    await _drop_months(connection, purge.epoch, whole_until)
    await connection.execute("SELECT add_months($1)", [purge.now, purge.now + MONTH_MAX_S])
    return names


async def _drop_beyond_shares(connection: Connection, purge: Purge, whole_until: float) -> list[tuple[str, str]]:
    names: list[tuple[str, str]] = []
    for share in purge.retention.shares:
        while rows := await connection.fetch(
            "SELECT * FROM drop_jobs_of($1, $2, $3, $4, $5)",
            purge.epoch,
            list(share.namespaces),
            share.finished_max,
            whole_until,
            ROWS_PER_SLICE_MAX,
        ):
            names += await _names_without_runs(connection, [row for row in rows if row["is_newest"]])
    return names


async def _names_without_runs(connection: Connection, dropped: list[asyncpg.Record]) -> list[tuple[str, str]]:
    """Names whose newest run was dropped, unless an older one is left, which ended later."""
    rows = await connection.fetch(
        "SELECT namespace, name FROM unnest($1::text[], $2::text[]) AS dropped (namespace, name) WHERE NOT EXISTS"
        " (SELECT FROM jobs WHERE jobs.name = dropped.name AND jobs.namespace = dropped.namespace)",
        [row["namespace"] for row in dropped],
        [row["name"] for row in dropped],
    )
    return [(row["namespace"], row["name"]) for row in rows]


async def drop_past(connection: Connection, purge: Purge) -> int:
    oldest = cutoff(purge.retention.finished_age_s, purge.now)
    return await _until_none(
        lambda: connection.fetchval(
            "SELECT drop_past($1, $2, $3, $4)", purge.epoch, purge.retention.finished_max, oldest, ROWS_PER_SLICE_MAX
        )
    )


async def _drop_months(connection: Connection, epoch: int, until: float) -> None:
    try:
        await connection.fetchval("SELECT drop_months($1, $2)", epoch, until)
    except asyncpg.LockNotAvailableError:
        log.info("store.months_in_use", reason="they are read at present; the next purge tries again")


async def _until_none(drop_slice: Callable[[], Awaitable[int]]) -> int:
    total = 0
    while count := await drop_slice():
        total += count
    return total


def cutoff(age_s: float, now: float) -> float:
    """Everything at or before this time is too old. An age of 0 keeps nothing, whatever the clock says."""
    return now - age_s if age_s > 0 else math.inf
