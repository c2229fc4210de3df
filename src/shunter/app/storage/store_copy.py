"""Copies a cluster's store: between SQLite and PostgreSQL, and between PostgreSQL and a backup file. Called by `shunter
store copy`, `shunter backup` and `shunter restore`.

The copy is read again before it counts, and compared with the source by number and checksum. Its epochs go on above all
that workers may have seen; the terms of elections begin anew."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from shunter.adapters.postgres.contents import contents_of, filled_store
from shunter.adapters.postgres.url import StoreUrl
from shunter.adapters.sqlite import schema
from shunter.adapters.sqlite.connection import read_only
from shunter.adapters.sqlite.contents import SqliteContents, fill
from shunter.adapters.sqlite.errors import translate
from shunter.app.home import Home
from shunter.app.storage.stores import MEMORY, check_store, postgres_url
from shunter.model.errors import Conflict, Invalid, NotFound, Problem, StoreFailed
from shunter.ports.store import unseen_epoch
from shunter.ports.store_contents import StoreContents, TalliedContents, Tally


def copy_store(source: str, target: str, home: Home) -> Tally:
    """`sqlite` means the store in SHUNTER_HOME. Raises Conflict if the target is not empty, or if a cluster runs in
    this home."""
    for name, text in (("FROM", source), ("TO", target)):
        check_store(text, name)
        if text == MEMORY:
            raise Invalid([Problem(name, "cannot be memory", None, "name sqlite or postgresql://USER@HOST/DATABASE")])
    source_url, target_url = postgres_url(source), postgres_url(target)
    if source_url is None and target_url is None:
        fix = "one of them must be postgresql://...; to copy a file, use `shunter backup`"
        raise Invalid([Problem("TO", "is the same store as FROM", target, fix)])
    lock = home.lock()
    if lock is None:
        raise Conflict(f"a cluster runs in {home.folder}; stop it with `shunter down`, then copy its store")
    try:
        return asyncio.run(_copy(source_url, target_url, home.store))
    finally:
        os.close(lock)


async def _copy(source: StoreUrl | None, target: StoreUrl | None, path: Path) -> Tally:
    if source is None:
        assert target is not None
        if not path.exists():
            raise NotFound(f"store {path} does not exist; check SHUNTER_HOME")
        with read_only(path) as connection:
            return await copy_to_postgres(SqliteContents(connection), target)
    async with contents_of(source) as contents:
        if target is None:
            if os.path.lexists(path):
                raise Conflict(f"store {path} already exists; copy into an empty SHUNTER_HOME")
            return await copy_to_file(contents, path)
        return await copy_to_postgres(contents, target)


async def copy_to_postgres(contents: StoreContents, target: StoreUrl) -> Tally:
    tallied = TalliedContents(contents)
    epoch = unseen_epoch(await contents.leading_epoch(), time.time())
    async with filled_store(target, tallied, epoch) as written:
        _compare(tallied.tally, await TalliedContents(written).read_all())
    return tallied.tally


async def copy_to_file(contents: StoreContents, path: Path) -> Tally:
    """A new file, complete or not there at all."""
    draft = path.with_name(f".{path.name}.draft")
    draft.unlink(missing_ok=True)
    try:
        os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        tally = await fill_file(contents, draft, unseen_epoch(await contents.leading_epoch(), time.time()))
        draft.replace(path)
    except sqlite3.Error as error:
        raise translate(error, str(path)) from error
    finally:
        draft.unlink(missing_ok=True)
    return tally


async def fill_file(contents: StoreContents, path: Path, epoch: int) -> Tally:
    """Into an empty file, which is a store afterwards. Raises sqlite3's errors."""
    tallied = TalliedContents(contents)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # counts only for a new file
        schema.migrate(connection, schema.known_migrations())
        await fill(connection, tallied, epoch)
        _compare(tallied.tally, await TalliedContents(SqliteContents(connection)).read_all())
    return tallied.tally


def _compare(read: Tally, written: Tally) -> None:
    if read.checksum != written.checksum:
        raise StoreFailed(
            f"the copy differs from the source: {written} was written, {read} was read; nothing was changed"
        )
