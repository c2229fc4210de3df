"""Applies the schema: migrations in numbered files, in order. Called when a SqliteStore opens."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from shunter.adapters.sqlite.connection import transaction
from shunter.log import Log
from shunter.model.errors import StoreFailed

_FOLDER = Path(__file__).parent / "migrations"

log = Log(__name__)


@dataclass(frozen=True, slots=True)
class Migration:
    version: int
    name: str
    sql: str


def known_migrations() -> list[Migration]:
    """Read from the files `NNNN_name.sql`. A file that was ever released is never edited: add the next one."""
    files = sorted(_FOLDER.glob("[0-9]*.sql"))
    return [Migration(int(file.stem[:4]), file.stem, file.read_text("utf-8")) for file in files]


def migrate(connection: sqlite3.Connection, migrations: Sequence[Migration]) -> None:
    """Bring the schema up to the last of `migrations`: all that are missing, or none."""
    with transaction(connection):
        connection.execute(
            "CREATE TABLE IF NOT EXISTS schema_migrations"
            " (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP)"
        )
        applied = {version for (version,) in connection.execute("SELECT version FROM schema_migrations")}
        _refuse_newer(applied, migrations)
        for migration in migrations:
            if migration.version in applied:
                continue
            for statement in _statements(migration.sql):
                connection.execute(statement)
            connection.execute(
                "INSERT INTO schema_migrations (version, name) VALUES (?, ?)", (migration.version, migration.name)
            )
            log.info("store.migrated", to=migration.name)


def _refuse_newer(applied: set[int], migrations: Sequence[Migration]) -> None:
    found, known = max(applied, default=0), migrations[-1].version
    if found > known:
        raise StoreFailed(
            f"the store was written by a newer Shunter (its schema is {found}, this one supports up to {known}):"
            " upgrade Shunter, or start with another SHUNTER_HOME"
        )


def _statements(script: str) -> Iterator[str]:
    """One by one, because `executescript` would end the transaction that holds them together. Each ends its line."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement
