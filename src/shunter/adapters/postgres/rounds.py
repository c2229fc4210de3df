"""Reads and writes epochs, committed rounds and the snapshot: what recovery needs. Called by PostgresStore.

Everything that the leader writes is one call of a function in the database (see migrations/), so that no transaction,
and with it the fence's lock, ever waits for a client."""

from __future__ import annotations

from shunter.adapters.postgres.connection import Connection, Server
from shunter.adapters.postgres.finished_jobs import job_columns
from shunter.model.errors import NotFound
from shunter.ports.store import Commit, LoggedRound, PastRecord, Snapshot

SNAPSHOT_PART_BYTES = 4 * 2**20

_COMMIT = f"SELECT commit_round({', '.join(f'${number}' for number in range(1, 25))})"
_COMMIT_AUDITED = f"SELECT commit_audited_round({', '.join(f'${number}' for number in range(1, 28))})"
_NO_PAST = (None,) * 5


# ---- the writer ----


async def begin_epoch(connection: Connection, term: int, server: Server) -> int:
    return int(
        await connection.fetchval(
            "SELECT begin_epoch($1, $2, $3)", term, server.system_identifier, server.timeline, timeout=None
        )
    )


async def raise_epoch(connection: Connection, epoch: int) -> None:
    """Use no epoch up to this one: workers may have seen it."""
    await connection.execute("UPDATE leadership SET epoch = greatest(epoch, $1)", epoch)


async def record_server(connection: Connection, server: Server) -> None:
    await connection.execute(
        "UPDATE leadership SET system_identifier = $1, timeline = $2", server.system_identifier, server.timeline
    )


async def write_commit(connection: Connection, commit: Commit) -> None:
    audit = commit.audit
    await connection.fetchval(
        _COMMIT if audit is None else _COMMIT_AUDITED,
        commit.epoch,
        commit.version,
        commit.at,
        commit.body,
        *job_columns(commit.finished),
        *_past_columns(commit.past),
        *(() if audit is None else (audit.first, audit.last, audit.body)),
        timeout=None,
    )


def _past_columns(past: list[PastRecord]) -> tuple[list[object] | None, ...]:
    if not past:
        return _NO_PAST
    return (
        [record.uid for record in past],
        [record.namespace for record in past],
        [record.name for record in past],
        [record.deleted_at for record in past],
        [record.body for record in past],
    )


# ---- the pool ----


async def begin_save(connection: Connection, epoch: int) -> int:
    """The number of a new save, above those that a crash left unfinished."""
    return int(await connection.fetchval("SELECT begin_save($1)", epoch))


async def save_part(connection: Connection, epoch: int, save: int, part: int, body: memoryview) -> None:
    await connection.fetchval("SELECT save_part($1, $2, $3, $4)", epoch, save, part, body)


async def end_save(connection: Connection, epoch: int, save: int, version: int) -> None:
    """From here on the new parts are the snapshot, and older ones are gone."""
    await connection.fetchval("SELECT end_save($1, $2, $3)", epoch, save, version)


async def read_snapshot(connection: Connection) -> Snapshot | None:
    """As of one moment."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        return await read_snapshot_parts(connection)


async def read_snapshot_parts(connection: Connection) -> Snapshot | None:
    """Inside a transaction: part by part, so that none takes longer than a statement may."""
    row = await connection.fetchrow("SELECT version, save FROM snapshot")
    if row is None:
        return None
    version, save = row
    parts: list[bytes] = []
    while part := await connection.fetchrow(
        "SELECT body FROM snapshot_parts WHERE save = $1 AND part = $2", save, len(parts)
    ):
        parts.append(part["body"])
    return Snapshot(version, b"".join(parts))


async def read_leading_epoch(connection: Connection) -> int:
    return int(await connection.fetchval("SELECT epoch FROM leadership"))


async def read_leading_term(connection: Connection) -> int:
    return int(await connection.fetchval("SELECT term FROM leadership"))


async def read_last_version(connection: Connection) -> int:
    return int(await connection.fetchval("SELECT version FROM log_end"))


async def read_first_version(connection: Connection) -> int:
    return int(
        await connection.fetchval(
            "SELECT coalesce((SELECT min(version) FROM rounds), log_end.version + 1) FROM log_end"
        )
    )


async def read_rounds_after(connection: Connection, version: int, limit: int) -> list[LoggedRound]:
    """The log's end comes with the rounds, because two statements would see two moments."""
    rows = await connection.fetch(
        "SELECT log_end.version AS last, found.version, found.at, found.body FROM log_end LEFT JOIN"
        " (SELECT version, at, body FROM rounds WHERE version > $1 ORDER BY version LIMIT $2) AS found ON true"
        " ORDER BY found.version",
        version,
        max(0, limit),
    )
    expected = version + 1
    if rows[0]["last"] >= expected and limit > 0 and rows[0]["version"] != expected:
        raise NotFound(f"rounds from version {expected} on were cut by retention; start from the snapshot")
    return [LoggedRound(version, at, body) for _, version, at, body in rows if version is not None]
