"""Decides when the write-ahead log is copied into the database. The writer's thread calls `after_write` after each
commit.

A checkpoint inside a commit would slow that commit down, so the reader's thread copies while commits continue. Then the
writer's thread copies the few pages committed meanwhile between two commits, and the log starts anew. A log within its
limit is left alone; closing the store empties it."""

from __future__ import annotations

import sqlite3
from enum import Enum
from pathlib import Path

from shunter.adapters.sqlite.connection import WAL_SIZE_MAX_BYTES
from shunter.adapters.sqlite.connection_thread import ConnectionThread
from shunter.model.errors import StoreFailed


class _Phase(Enum):
    IDLE = 0
    COPYING = 1
    COPIED = 2


class Checkpoints:
    def __init__(self, path: Path, reader: ConnectionThread) -> None:
        self._wal = Path(f"{path}-wal")
        self._reader = reader
        self._due_bytes = WAL_SIZE_MAX_BYTES
        self._phase = _Phase.IDLE

    def after_write(self, connection: sqlite3.Connection) -> None:
        """The file is truncated to its limit whenever the log restarts, so its size tells how much is in use."""
        if self._phase is _Phase.COPIED:
            self._finish(connection)
        elif self._phase is _Phase.IDLE and self._size_bytes() > self._due_bytes:
            self._phase = _Phase.COPYING
            self._reader.post(self._copy)

    def _copy(self, connection: sqlite3.Connection) -> None:
        """On the reader's thread."""
        try:
            _checkpoint(connection)
        finally:
            self._phase = _Phase.COPIED

    def _finish(self, connection: sqlite3.Connection) -> None:
        # Where it fails, or a reader in another process holds on to old pages, try again after as much has come again.
        self._due_bytes = self._size_bytes() + WAL_SIZE_MAX_BYTES
        self._phase = _Phase.IDLE
        if _checkpoint(connection):
            self._due_bytes = WAL_SIZE_MAX_BYTES

    def _size_bytes(self) -> int:
        try:
            return self._wal.stat().st_size
        except FileNotFoundError:
            return 0


def secure_log(connection: sqlite3.Connection) -> None:
    """After a failed sync it is unknown what part of the log is on the disk: copy all of it into the database, synced,
    and start a new log. Raises StoreFailed if that fails too."""
    is_busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if is_busy:
        raise StoreFailed("a sync failed, and the log cannot be secured while it is read; try again")


def _checkpoint(connection: sqlite3.Connection) -> bool:
    """Copy what can be copied without waiting; returns whether that was all."""
    is_busy, logged, copied = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return not is_busy and bool(logged == copied)
