"""The write-ahead log stays within its limit however much is committed, and returns to it after a long reader."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from shunter.adapters.sqlite.connection import WAL_SIZE_MAX_BYTES
from shunter.adapters.sqlite.store import SqliteStore
from shunter.ports.store import Commit

BODY_BYTES = WAL_SIZE_MAX_BYTES // 8


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "store.db")
    await store.open()
    yield store
    await store.close()


async def test_the_log_does_not_grow_with_what_is_committed(store: SqliteStore, tmp_path: Path) -> None:
    await _commit(store, 80)
    assert _log_bytes(tmp_path) < 2.5 * WAL_SIZE_MAX_BYTES  # ten times as much went through it


async def test_the_log_shrinks_again_after_a_reader_of_another_process_let_go(
    store: SqliteStore, tmp_path: Path
) -> None:
    await _commit(store, 1)
    reader = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM rounds").fetchone()
    await _commit(store, 40)
    assert _log_bytes(tmp_path) > 4 * WAL_SIZE_MAX_BYTES
    reader.execute("COMMIT")
    reader.close()
    await _commit(store, 40)
    assert _log_bytes(tmp_path) <= 2.5 * WAL_SIZE_MAX_BYTES


async def _commit(store: SqliteStore, rounds: int) -> None:
    """Each is followed by a read, which is answered after the copying that the reader's thread was asked for."""
    epoch = await store.begin_epoch()
    for _ in range(rounds):
        version = await store.last_version() + 1
        await store.commit(Commit(epoch, version, 0.0, bytes(BODY_BYTES)))


def _log_bytes(folder: Path) -> int:
    return (folder / "store.db-wal").stat().st_size
