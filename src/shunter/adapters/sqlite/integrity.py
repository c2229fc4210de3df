"""Checks that the database is intact, and where it ends. Called before a store opens, and by `shunter store verify`.
Changes no file."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from shunter.adapters.sqlite.connection import is_log_left, read_only
from shunter.adapters.sqlite.errors import RESTORE_HINT
from shunter.adapters.sqlite.rounds import read_last_version, read_leading_epoch
from shunter.adapters.sqlite.watermark import Mark
from shunter.log import Log
from shunter.model.errors import StoreFailed

CHECKED_MAX_BYTES = 256 * 2**20  # of a larger file the check would hold up the start for seconds
CLOSED_CHECKED_MAX_BYTES = 32 * 2**20  # if it was closed properly

MARK_RECORDED = 1  # as user_version of the database: from then on there is a mark next to it

log = Log(__name__)


@dataclass(frozen=True, slots=True)
class FoundStore:
    """Where a store ends, and whether a mark must be next to it."""

    end: Mark
    is_mark_recorded: bool


def check_files(path: Path) -> FoundStore:
    """The newest epoch and version that can be read. Raises StoreFailed if the database is damaged. A large
    store is assumed intact, and a store of medium size if it was closed properly."""
    size_bytes = path.stat().st_size
    if not size_bytes:
        return FoundStore(Mark(0, 0), is_mark_recorded=False)
    with read_only(path) as connection:
        if not _has_schema(connection):
            return FoundStore(Mark(0, 0), is_mark_recorded(connection))
        if size_bytes <= (CHECKED_MAX_BYTES if is_log_left(path) else CLOSED_CHECKED_MAX_BYTES):
            problems = integrity_problems(connection, "quick_check")
            if problems:
                raise StoreFailed(f"it is damaged ({problems[0]}); {RESTORE_HINT}", path)
        end = Mark(read_leading_epoch(connection), read_last_version(connection))
        return FoundStore(end, is_mark_recorded(connection))


def is_mark_recorded(connection: sqlite3.Connection) -> bool:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return bool(version >= MARK_RECORDED)


def record_mark(connection: sqlite3.Connection, *, exists: bool = True) -> None:
    """Into the database file itself, because the write-ahead log may be what gets lost."""
    connection.execute(f"PRAGMA user_version = {MARK_RECORDED if exists else 0}")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


def integrity_problems(connection: sqlite3.Connection, check: str = "integrity_check") -> list[str]:
    """In SQLite's words; empty if there are none."""
    found = [line for (text,) in connection.execute(f"PRAGMA {check}(20)") for line in str(text).splitlines()]
    return [] if found == ["ok"] else [line for line in found if not line.startswith("***")]  # a heading


def _has_schema(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'leadership'").fetchone() is not None
