"""Applies the schema: migrations in numbered files, in order. Called when a PostgresStore opens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from shunter.adapters.postgres.connection import Connection
from shunter.adapters.postgres.url import StoreUrl
from shunter.log import Log
from shunter.model.errors import NotFound, StoreFailed

_FOLDER = Path(__file__).parent / "migrations"
_LOCK = 1397247567  # of those who migrate; its second half is the schema

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


async def migrate(connection: Connection, schema: str, migrations: Sequence[Migration]) -> None:
    """Bring the schema up to the last of `migrations`: all that are missing, or none. Several managers may open the
    store at once: the lock lets one of them migrate, and the others find it done."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1, hashtext($2))", _LOCK, schema)
        # IF NOT EXISTS alone would ask for the right to create a schema even where it exists.
        if await connection.fetchval("SELECT to_regnamespace($1)", f'"{schema}"') is None:
            await connection.execute(f'CREATE SCHEMA "{schema}"')
        if await connection.fetchval("SELECT to_regclass('schema_migrations')") is None:
            await connection.execute(
                "CREATE TABLE schema_migrations"
                " (version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())"
            )
        rows = await connection.fetch("SELECT version FROM schema_migrations")
        applied = {row["version"] for row in rows}
        _refuse_newer(applied, migrations)
        for migration in migrations:
            if migration.version in applied:
                continue
            await connection.execute(migration.sql)
            await connection.execute(
                "INSERT INTO schema_migrations (version, name) VALUES ($1, $2)", migration.version, migration.name
            )
            log.info("store.migrated", to=migration.name)


async def check(connection: Connection, url: StoreUrl, migrations: Sequence[Migration]) -> None:
    """Raises NotFound if there is no store, StoreFailed if its schema is not the newest that is known."""
    if await connection.fetchval("SELECT to_regclass('schema_migrations')") is None:
        raise NotFound(f"{url.public_url} has no store; check the database, and the schema ({url.schema})")
    rows = await connection.fetch("SELECT version FROM schema_migrations")
    applied = {row["version"] for row in rows}
    _refuse_newer(applied, migrations)
    if max(applied, default=0) < migrations[-1].version:
        raise StoreFailed(
            "it was written by an older Shunter; start and stop a manager of this version once", url.public_url
        )


def _refuse_newer(applied: set[int], migrations: Sequence[Migration]) -> None:
    found, known = max(applied, default=0), migrations[-1].version
    if found > known:
        raise StoreFailed(
            f"the store was written by a newer Shunter (its schema is {found}, this one supports up to {known}):"
            " upgrade Shunter, or start with another store"
        )
