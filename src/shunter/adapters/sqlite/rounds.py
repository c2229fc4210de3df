"""Reads and writes epochs, committed rounds and the snapshot: what recovery needs. Called by SqliteStore in its
threads."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from shunter.adapters.sqlite.audit_log import delete_batches, insert_batch
from shunter.adapters.sqlite.connection import read_transaction, transaction
from shunter.adapters.sqlite.finished_jobs import insert_finished
from shunter.model.errors import Fenced, NotFound, StoreFailed
from shunter.ports.store import Commit, LoggedRound, Snapshot

SNAPSHOT_PART_BYTES = 512 * 1024  # one part is one transaction: commits wait for at most that


# ---- the writer's thread ----


def begin_epoch(connection: sqlite3.Connection, term: int) -> int:
    with transaction(connection):
        newest = read_leading_term(connection)
        if term < newest:
            raise Fenced(f"term {term} may no longer lead: term {newest} has begun")
        connection.execute("UPDATE leadership SET epoch = epoch + 1, term = ?", (term,))
        return read_leading_epoch(connection)


def raise_epoch(connection: sqlite3.Connection, epoch: int) -> None:
    """Use no epoch up to this one: workers may have seen it."""
    with transaction(connection):
        connection.execute("UPDATE leadership SET epoch = max(epoch, ?)", (epoch,))


@contextmanager
def leader_transaction(connection: sqlite3.Connection, epoch: int) -> Iterator[None]:
    """A transaction of the leader; refused if a newer epoch has begun, however late the caller learns of it."""
    with transaction(connection):
        leading = read_leading_epoch(connection)
        if epoch < leading:
            raise Fenced(f"epoch {epoch} may no longer write: epoch {leading} leads")
        if epoch > leading:
            raise StoreFailed(f"epoch {epoch} was never begun: epoch {leading} leads")
        yield


def write_commit(connection: sqlite3.Connection, commit: Commit) -> None:
    with leader_transaction(connection, commit.epoch):
        connection.execute(
            "INSERT INTO rounds (version, epoch, at, body) VALUES (?, ?, ?, ?)",
            (commit.version, commit.epoch, commit.at, commit.body),
        )
        if commit.finished:
            insert_finished(connection, commit.finished)
        if commit.audit is not None:
            insert_batch(connection, commit.audit)
        if commit.past:
            connection.executemany(
                "INSERT INTO past_schedulings (uid, namespace, name, deleted_at, body) VALUES (?, ?, ?, ?, ?)",
                [(past.uid, past.namespace, past.name, past.deleted_at, past.body) for past in commit.past],
            )


def drop_audit(connection: sqlite3.Connection, epoch: int, through: int) -> None:
    with leader_transaction(connection, epoch):
        delete_batches(connection, through)


def begin_save(connection: sqlite3.Connection, epoch: int) -> int:
    """The number of a new save, above those that a crash left unfinished."""
    with leader_transaction(connection, epoch):
        (save,) = connection.execute(
            "SELECT max(ifnull((SELECT max(save) FROM snapshot_parts), 0), ifnull((SELECT save FROM snapshot), 0)) + 1"
        ).fetchone()
    return int(save)


def save_part(connection: sqlite3.Connection, epoch: int, save: int, part: int, body: memoryview) -> None:
    with leader_transaction(connection, epoch):
        connection.execute("INSERT INTO snapshot_parts (save, part, body) VALUES (?, ?, ?)", (save, part, body))


def end_save(connection: sqlite3.Connection, epoch: int, save: int, version: int) -> None:
    """From here on the new parts are the snapshot."""
    with leader_transaction(connection, epoch):
        connection.execute(
            "INSERT INTO snapshot (one, version, save) VALUES (1, ?, ?)"
            " ON CONFLICT (one) DO UPDATE SET version = excluded.version, save = excluded.save",
            (version, save),
        )


def drop_stale_part(connection: sqlite3.Connection, epoch: int) -> bool:
    """Drop one part of an earlier save; returns whether there was one."""
    with leader_transaction(connection, epoch):
        dropped = connection.execute(
            "DELETE FROM snapshot_parts WHERE id IN"
            " (SELECT id FROM snapshot_parts WHERE save < (SELECT save FROM snapshot) LIMIT 1)"
        )
        return dropped.rowcount > 0


def read_leading_epoch(connection: sqlite3.Connection) -> int:
    (epoch,) = connection.execute("SELECT epoch FROM leadership").fetchone()
    return int(epoch)


def read_leading_term(connection: sqlite3.Connection) -> int:
    (term,) = connection.execute("SELECT term FROM leadership").fetchone()
    return int(term)


# ---- the reader's thread ----


def read_last_version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("SELECT version FROM log_end").fetchone()
    return int(version)


def read_first_version(connection: sqlite3.Connection) -> int:
    with read_transaction(connection):
        (version,) = connection.execute("SELECT min(version) FROM rounds").fetchone()
        return int(version) if version is not None else read_last_version(connection) + 1


def read_rounds_after(connection: sqlite3.Connection, version: int, limit: int) -> list[LoggedRound]:
    with read_transaction(connection):
        rows = connection.execute(
            "SELECT version, at, body FROM rounds WHERE version > ? ORDER BY version LIMIT ?", (version, max(0, limit))
        ).fetchall()
        last = read_last_version(connection)
    expected = version + 1
    if last >= expected and limit > 0 and (not rows or rows[0][0] != expected):
        raise NotFound(f"rounds from version {expected} on were cut by retention; start from the snapshot")
    return [LoggedRound(*row) for row in rows]


def read_snapshot(connection: sqlite3.Connection) -> Snapshot | None:
    with read_transaction(connection):
        row = connection.execute("SELECT version, save FROM snapshot").fetchone()
        if row is None:
            return None
        version, save = row
        parts = connection.execute("SELECT body FROM snapshot_parts WHERE save = ? ORDER BY part", (save,))
        return Snapshot(version, b"".join(body for (body,) in parts))
