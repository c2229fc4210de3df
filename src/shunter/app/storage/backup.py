"""Copies the store of a cluster into one file while the cluster runs, and restores a cluster from such a file. Called
by `shunter backup` and `shunter restore`.

The file is an SQLite database, whichever store it was made of: the store, plus a table with the tokens and the
configuration, so that clients and workers can connect to the restored cluster. Protect it like the home itself."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import msgspec

from shunter.adapters.postgres.url import StoreUrl
from shunter.adapters.sqlite import rounds, schema
from shunter.adapters.sqlite.connection import read_only, transaction
from shunter.adapters.sqlite.contents import SqliteContents
from shunter.adapters.sqlite.errors import SQLITE_ERRORS, is_disk_full, translate
from shunter.adapters.sqlite.integrity import integrity_problems, record_mark
from shunter.app.home import Home
from shunter.app.storage.stores import SQLITE, postgres_url
from shunter.model.errors import Conflict, NotFound, Rejected, StoreFailed
from shunter.ports.store import unseen_epoch

FILES = ("token", "worker-token", "config.toml")


class BackupSummary(msgspec.Struct):
    path: str
    size_bytes: int
    version: int


def back_up(home: Home, target: Path, store: str = SQLITE) -> BackupSummary:
    """Copy the store as of one moment. Raises Conflict if the file exists, and NotFound if there is no store."""
    url = postgres_url(store)
    if url is None and not home.store.exists():
        raise NotFound(f"store {home.store} does not exist; check SHUNTER_HOME, or name the store with --store")
    if not target.name:  # like "." and "/"
        raise Rejected(f"{target} is a directory; name a file")
    draft = target.with_name(f".{target.name}.draft")
    try:
        _create(target, "choose another name, or remove it")
        try:
            _create(draft, "remove it: an earlier backup did not finish")
            if url is None:
                _copy_store(home, draft)
            else:
                asyncio.run(_copy_postgres(url, draft))
            with closing(_open(draft)) as copy:
                _add_files(copy, home)
                _add_checksum(copy)
                version = rounds.read_last_version(copy)
            draft.replace(target)
        except BaseException:
            draft.unlink(missing_ok=True)
            target.unlink(missing_ok=True)
            raise
    except SQLITE_ERRORS as error:
        if is_disk_full(error):  # the store is only read
            raise _unwritable(target, "the disk is full") from error
        raise translate(error, str(home.store)) from error
    return BackupSummary(str(target), target.stat().st_size, version)


def restore(home: Home, source: Path, store: str = SQLITE) -> BackupSummary:
    """Create a cluster from a backup. Raises Conflict if it has a store, Rejected if the file is not a backup.

    The restored cluster uses epochs above all that workers may have seen of the original one: they follow it, report
    what they run, and stop what it does not know."""
    url = postgres_url(store)
    if url is None:
        _check_has_no_store(home)
    if not source.is_file():
        if source.exists():
            raise Rejected(f"{source} is not a file; name a file that `shunter backup` wrote")
        raise NotFound(f"file {source} does not exist")
    draft = home.folder / "restore.draft"
    draft.unlink(missing_ok=True)
    try:
        _create(draft, "")
        with read_only(source) as backup, closing(_open(draft)) as copy:
            backup.backup(copy)
            files = _turn_into_store(copy, source)
            version = rounds.read_last_version(copy)
            if url is not None:
                asyncio.run(_restore_to_postgres(copy, url))
        for name, body in files.items():
            if url is not None and name == home.config.name and home.config.exists():
                continue  # it may be what names the store
            _write_private(home.folder / name, body)
        if url is None:
            draft.replace(home.store)
        else:
            draft.unlink()
    except SQLITE_ERRORS as error:
        draft.unlink(missing_ok=True)
        if is_disk_full(error):
            raise _unwritable(home.folder, "the disk is full") from error
        raise Rejected(f"{source} is not a backup of a store ({error})") from error
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise _unwritable(home.folder, error.strerror) from error
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return BackupSummary(str(source), source.stat().st_size, version)


def _check_has_no_store(home: Home) -> None:
    for path in (home.store, *(Path(f"{home.store}{end}") for end in ("-wal", "-shm", "-mark"))):
        if os.path.lexists(path):
            raise Conflict(f"{home.folder} already has a store ({path.name}); restore into an empty SHUNTER_HOME")


def _turn_into_store(copy: sqlite3.Connection, source: Path) -> dict[str, bytes]:
    """Check a copy of a backup, and make it the store of another cluster. Returns the files that were in it."""
    problems = integrity_problems(copy)
    if problems:
        raise StoreFailed(f"{source} is damaged: {problems[0]}")
    _check_checksum(copy, source)
    files = _take_files(copy)
    with transaction(copy):
        epoch = unseen_epoch(rounds.read_leading_epoch(copy), time.time())
        copy.execute("DELETE FROM leadership")  # with its term: the elections of the original do not count here
        copy.execute("INSERT INTO leadership (one, epoch) VALUES (1, ?)", (epoch,))
    record_mark(copy, exists=False)  # the new home has none before its first start
    return files


def _copy_store(home: Home, draft: Path) -> None:
    with read_only(home.store) as store, closing(_open(draft)) as copy:
        store.backup(copy)
        problems = integrity_problems(copy)
        if problems:
            raise StoreFailed(f"it is damaged ({problems[0]}); see `shunter store verify`", home.store)


async def _copy_postgres(url: StoreUrl, draft: Path) -> None:
    from shunter.adapters.postgres.contents import contents_of
    from shunter.app.storage.store_copy import fill_file

    async with contents_of(url) as contents:
        await fill_file(contents, draft, await contents.leading_epoch())


async def _restore_to_postgres(copy: sqlite3.Connection, url: StoreUrl) -> None:
    from shunter.app.storage.store_copy import copy_to_postgres

    schema.migrate(copy, schema.known_migrations())  # it may be of an older version
    await copy_to_postgres(SqliteContents(copy), url)


def _add_files(copy: sqlite3.Connection, home: Home) -> None:
    found = [(name, path.read_bytes()) for name in FILES if (path := home.folder / name).is_file()]
    with transaction(copy):
        copy.execute("CREATE TABLE backup_files (name TEXT PRIMARY KEY, body BLOB NOT NULL)")
        copy.executemany("INSERT INTO backup_files (name, body) VALUES (?, ?)", found)


def _add_checksum(copy: sqlite3.Connection) -> None:
    with transaction(copy):
        copy.execute("CREATE TABLE backup_checksum (sha256 BLOB NOT NULL)")
        copy.execute("INSERT INTO backup_checksum (sha256) VALUES (?)", (_checksum(copy),))


def _check_checksum(copy: sqlite3.Connection, source: Path) -> None:
    """Raises StoreFailed if any row differs from what was backed up. Older backups have none."""
    if copy.execute("SELECT 1 FROM sqlite_master WHERE name = 'backup_checksum'").fetchone() is None:
        return
    expected = copy.execute("SELECT sha256 FROM backup_checksum").fetchall()
    if expected != [(_checksum(copy),)]:
        raise StoreFailed(f"{source} is damaged: its content does not match its checksum; use another backup")
    copy.execute("DROP TABLE backup_checksum")


def _checksum(copy: sqlite3.Connection) -> bytes:
    """A checksum of the schema and all rows. SQLite's own check looks at the structure, not at what the rows say."""
    tables = copy.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
    digest = hashlib.sha256()
    encode = msgspec.msgpack.Encoder().encode
    for name, sql in tables:
        digest.update(encode((name, sql)))
        if name != "backup_checksum":
            for row in copy.execute(f'SELECT * FROM "{name}" NOT INDEXED'):
                digest.update(encode(row))
    return digest.digest()


def _take_files(copy: sqlite3.Connection) -> dict[str, bytes]:
    with transaction(copy):
        found = dict(copy.execute("SELECT name, body FROM backup_files"))
        copy.execute("DROP TABLE backup_files")
    return {name: found[name] for name in FILES if name in found}


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


def _create(path: Path, fix: str) -> None:
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        raise Conflict(f"{path} already exists; {fix}") from None
    except FileNotFoundError as error:
        raise _unwritable(path, f"the directory {path.parent} does not exist") from error
    except OSError as error:
        raise _unwritable(path, error.strerror) from error


def _unwritable(path: Path, reason: str | None) -> Rejected:
    return Rejected(f"{path} cannot be written: {reason}")


def _write_private(path: Path, body: bytes) -> None:
    """Replaces what has this name. If that is a link, its target stays as it is."""
    draft = path.with_name(f"{path.name}.draft")
    draft.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(draft, flags, 0o600), "wb") as file:
        file.write(body)
    draft.replace(path)
