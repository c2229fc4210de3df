"""Translates SQLite's errors to those of `model.errors`. The adapter's threads call it, so that no other code sees
sqlite3's errors."""

from __future__ import annotations

import sqlite3

from shunter.model.errors import StoreFailed

_PRIMARY_CODE = 0xFF  # the low byte of an extended result code

_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_BUSY: "it is locked by another process",
    sqlite3.SQLITE_LOCKED: "it is locked by another connection",
    sqlite3.SQLITE_CORRUPT: "it is corrupt",
    sqlite3.SQLITE_NOTADB: "it is corrupt, or not a database",
    sqlite3.SQLITE_READONLY: "it is read-only",
    sqlite3.SQLITE_PERM: "permission denied",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_IOERR: "the disk failed to read or write",
    sqlite3.SQLITE_CONSTRAINT: "a constraint was violated",
}


def is_disk_failure(error: sqlite3.Error) -> bool:
    """Whether the disk failed to read, write or sync."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & _PRIMARY_CODE == sqlite3.SQLITE_IOERR


def translate(error: sqlite3.Error, path: str) -> StoreFailed:
    """The StoreFailed to raise `from error`; its text has the reason, the file and what SQLite said."""
    code = getattr(error, "sqlite_errorcode", None)  # absent where the module itself complains
    reason = _REASONS.get(code & _PRIMARY_CODE, "SQLite failed") if code is not None else "SQLite failed"
    return StoreFailed(f"store {path}: {reason} ({error})")
