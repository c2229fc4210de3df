"""Translates SQLite's errors to those of `model.errors`. The adapter's threads call it, so that no other code sees
sqlite3's errors."""

from __future__ import annotations

import sqlite3

from shunter.model.errors import StoreFailed

RESTORE_HINT = "put all its files back as they were, or restore a backup into an empty home (`shunter restore FILE`)"

# Where SQLite's text quotes a damaged schema, Python fails to decode the text.
SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)

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
    sqlite3.SQLITE_IOERR_SHMSIZE: "the disk is full",  # the index of the log found no room
}
_HINTS = dict.fromkeys((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB), f"; {RESTORE_HINT}")


def is_disk_failure(error: Exception) -> bool:
    """Whether the disk failed to read, write or sync."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & _PRIMARY_CODE == sqlite3.SQLITE_IOERR


def is_disk_full(error: Exception) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    return code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)


def translate(error: Exception, path: str) -> StoreFailed:
    """The StoreFailed to raise `from error`; its text has the reason, the file and what SQLite said."""
    return StoreFailed(f"{explain(error)}", path)


def explain(error: Exception) -> str:
    """The reason, what SQLite said, and what to do."""
    if isinstance(error, UnicodeDecodeError):
        return f"it is corrupt ({error}); {RESTORE_HINT}"
    code = getattr(error, "sqlite_errorcode", None)  # absent where the module itself complains
    if code is None:
        return f"SQLite failed ({error})"
    primary = code & _PRIMARY_CODE
    reason = _REASONS.get(code) or _REASONS.get(primary, "SQLite failed")
    return f"{reason} ({error}){_HINTS.get(primary, '')}"
