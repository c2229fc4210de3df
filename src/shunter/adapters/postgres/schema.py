"""Applies the schema: migrations in numbered files, in order. Called when a PostgresStore opens.

Managers of two versions share a store during a rolling upgrade, so a migration that only adds what older versions do
not look at is an *addition*: its file is `NNNN_name.addition.sql`. Additions are listed in a table of their own, and do
not keep older versions out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from shunter.adapters.postgres.connection import Connection
from shunter.adapters.postgres.url import StoreUrl
from shunter.log import Log
from shunter.model.errors import NotFound, StoreFailed

_FOLDER = Path(__file__).parent / "migrations"
_MIGRATIONS, _ADDITIONS = "schema_migrations", "schema_additions"
_LOCK = 1397247567  # of those who migrate; its second half is the schema

log = Log(__name__)


@dataclass(frozen=True, slots=True)
class Migration:
    version: int
    name: str
    sql: str
    is_addition: bool = False

    @property
    def table(self) -> str:
        """Where it is listed once it is applied."""
        return _ADDITIONS if self.is_addition else _MIGRATIONS


def known_migrations() -> list[Migration]:
    """Read from the files `NNNN_name.sql`. A file that was ever released is never edited: add the next one."""
    files = sorted(_FOLDER.glob("[0-9]*.sql"))
    return [
        Migration(int(file.stem[:4]), file.stem, file.read_text("utf-8"), file.stem.endswith(".addition"))
        for file in files
    ]


async def migrate(connection: Connection, schema: str, migrations: Sequence[Migration]) -> None:
    """Bring the schema up to the last of `migrations`: all that are missing, or none. Several managers may open the
    store at once: the lock lets one of them migrate, and the others find it done."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1, hashtext($2))", _LOCK, schema)
        # IF NOT EXISTS alone would ask for the right to create a schema even where it exists.
        if await connection.fetchval("SELECT to_regnamespace($1)", f'"{schema}"') is None:
            await connection.execute(f'CREATE SCHEMA "{schema}"')
        for table in (_MIGRATIONS, _ADDITIONS):
            if await connection.fetchval("SELECT to_regclass($1)", table) is None:
                await connection.execute(
                    f"CREATE TABLE {table}"
                    " (version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())"
                )
        applied = await _applied(connection, migrations)
        for migration in migrations:
            if migration.version in applied:
                continue
            await connection.execute(migration.sql)
            await connection.execute(
                f"INSERT INTO {migration.table} (version, name) VALUES ($1, $2)", migration.version, migration.name
            )
            log.info("store.migrated", to=migration.name)


async def check(connection: Connection, url: StoreUrl, migrations: Sequence[Migration]) -> None:
    """Raises NotFound if there is no store, StoreFailed if its schema is not the newest that is known."""
    if await connection.fetchval("SELECT to_regclass('schema_migrations')") is None:
        raise NotFound(f"{url.public_url} has no store; check the database, and the schema ({url.schema})")
    applied = await _applied(connection, migrations)
    if not applied.issuperset(migration.version for migration in migrations):
        raise StoreFailed(
            "it was written by an older Shunter; start and stop a manager of this version once", url.public_url
        )


async def _applied(connection: Connection, migrations: Sequence[Migration]) -> set[int]:
    """The versions of all that is applied. Raises StoreFailed for migrations that this version does not know."""
    applied = {row["version"] for row in await connection.fetch(f"SELECT version FROM {_MIGRATIONS}")}
    _refuse_newer(applied, migrations)
    if await connection.fetchval("SELECT to_regclass($1)", _ADDITIONS) is not None:
        applied |= {row["version"] for row in await connection.fetch(f"SELECT version FROM {_ADDITIONS}")}
    return applied


def _refuse_newer(applied: set[int], migrations: Sequence[Migration]) -> None:
    found, known = max(applied, default=0), migrations[-1].version
    if found > known:
        raise StoreFailed(
            f"the store was written by a newer Shunter (its schema is {found}, this one supports up to {known}):"
            " upgrade Shunter, or start with another store"
        )
