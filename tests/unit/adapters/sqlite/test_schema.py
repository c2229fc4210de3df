"""Migrations: from every earlier schema to the present one, whole or not at all."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from shunter.adapters.sqlite.connection import connect
from shunter.adapters.sqlite.schema import Migration, known_migrations, migrate
from shunter.adapters.sqlite.store import SqliteStore
from shunter.model.errors import StoreFailed
from shunter.ports.store import Commit, FinishedJob, FinishedQuery, LoggedRound

KNOWN = known_migrations()


def test_migrations_are_numbered_from_one_without_gaps() -> None:
    assert [migration.version for migration in KNOWN] == list(range(1, len(KNOWN) + 1))


@pytest.mark.parametrize("schema", [migration.version for migration in KNOWN])
async def test_a_store_of_an_earlier_schema_is_upgraded_and_keeps_its_data(schema: int, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    old = connect(path)
    migrate(old, KNOWN[:schema])
    old.execute("UPDATE leadership SET epoch = 4")
    old.execute("INSERT INTO rounds (version, epoch, at, body) VALUES (1, 4, 10.0, x'00')")
    old.close()

    store = SqliteStore(path)
    await store.open()
    assert await store.rounds_after(0, 10) == [LoggedRound(1, 10.0, b"\0")]
    epoch = await store.begin_epoch()
    assert epoch == 5
    job = FinishedJob(1, "default", "a", 1, "failed", 1.0, 2.0, {}, b"", [])
    await store.commit(Commit(epoch, 2, 11.0, b"", [job]))
    assert await store.finished_jobs(FinishedQuery()) == [job]
    await store.close()
    assert _schema(path) == _schema_of_a_new_store(tmp_path / "new.db")


def test_migrating_twice_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    connection = connect(path)
    migrate(connection, KNOWN)
    applied = connection.execute("SELECT * FROM schema_migrations").fetchall()
    migrate(connection, KNOWN)
    assert connection.execute("SELECT * FROM schema_migrations").fetchall() == applied
    connection.close()


def test_a_migration_that_fails_leaves_the_old_schema(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    connection = connect(path)
    migrate(connection, KNOWN)
    before = _schema(path)
    good = Migration(len(KNOWN) + 1, "good", "CREATE TABLE extra (a);")
    bad = Migration(len(KNOWN) + 2, "bad", "CREATE TABLE more (a);\nINSERT INTO nowhere VALUES (1);")
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, [*KNOWN, good, bad])
    assert _schema(path) == before
    connection.close()


async def test_a_newer_schema_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    connection = connect(path)
    migrate(connection, [*KNOWN, Migration(len(KNOWN) + 1, "future", "CREATE TABLE future (a);")])
    connection.close()
    with pytest.raises(StoreFailed, match=rf"newer Shunter.*{len(KNOWN) + 1}.*upgrade Shunter"):
        await SqliteStore(path).open()


def _schema(path: Path) -> list[tuple[str, str]]:
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
    connection.close()
    return rows


def _schema_of_a_new_store(path: Path) -> list[tuple[str, str]]:
    connection = connect(path)
    migrate(connection, KNOWN)
    connection.close()
    return _schema(path)
