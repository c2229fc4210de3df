"""What the database itself refuses, whatever the code above it requests; and saves that a crash interrupted."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from shunter.adapters.sqlite import rounds
from shunter.adapters.sqlite.connection import connect
from shunter.adapters.sqlite.schema import known_migrations, migrate
from shunter.adapters.sqlite.store import SqliteStore
from shunter.ports.store import Commit, FinishedJob, Snapshot


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Epoch 1, rounds 1 to 3 of which 2 are in the snapshot, and one finished job."""
    connection = connect(tmp_path / "store.db")
    migrate(connection, known_migrations())
    epoch = rounds.begin_epoch(connection, term=0)
    job = FinishedJob(1, "default", "a", 1, "failed", 1.0, 2.0, {"team": "film"}, b"", [])
    for version in (1, 2, 3):
        rounds.write_commit(connection, Commit(epoch, version, 0.0, b"", [job] if version == 1 else []))
    rounds.end_save(connection, epoch, rounds.begin_save(connection, epoch), 2)
    yield connection
    connection.close()


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE leadership SET epoch = 0", "epochs never go back"),
        ("INSERT INTO leadership (one, epoch) VALUES (2, 9)", "CHECK"),
        ("INSERT INTO rounds (version, epoch, at, body) VALUES (4, 0, 0, '')", "older epoch"),
        ("INSERT INTO rounds (version, epoch, at, body) VALUES (5, 1, 0, '')", "last one plus 1"),
        ("INSERT INTO rounds (version, epoch, at, body) VALUES (3, 1, 0, '')", "last one plus 1"),
        ("UPDATE rounds SET body = 'x' WHERE version = 1", "never changes"),
        ("DELETE FROM rounds WHERE version = 3", "behind the snapshot"),
        ("UPDATE snapshot SET version = 1", "go back"),
        ("UPDATE jobs SET state = 'succeeded'", "never changes"),
        ("INSERT INTO job_tasks (job, grp, first, count, body) VALUES (7, 0, 0, 1, '')", "FOREIGN KEY"),
    ],
)
def test_the_database_refuses_what_must_never_be(connection: sqlite3.Connection, statement: str, reason: str) -> None:
    with pytest.raises(sqlite3.IntegrityError, match=reason):
        connection.execute(statement)


async def test_a_save_that_was_cut_short_is_ignored_and_later_swept_away(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = SqliteStore(path)
    await store.open()
    epoch = await store.begin_epoch()
    await store.commit(Commit(epoch, 1, 0.0, b""))
    await store.save_snapshot(epoch, Snapshot(1, b"whole"))
    await store.close()

    crashing = connect(path)
    rounds.save_part(crashing, epoch, rounds.begin_save(crashing, epoch), 0, memoryview(b"half"))
    crashing.close()

    await store.open()
    assert await store.snapshot() == Snapshot(1, b"whole")
    await store.save_snapshot(epoch, Snapshot(1, b"next"))
    assert await store.snapshot() == Snapshot(1, b"next")
    await store.close()
    after = connect(path)
    assert after.execute("SELECT body FROM snapshot_parts").fetchall() == [(b"next",)]
    after.close()
