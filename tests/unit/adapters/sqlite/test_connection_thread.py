"""The two threads: work is done in order and completely, and reads do not wait for writes."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from shunter.adapters.sqlite.connection_thread import ConnectionThread
from shunter.adapters.sqlite.store import SqliteStore
from shunter.model.errors import StoreFailed
from shunter.ports.store import Commit, Snapshot


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "store.db")
    await store.open()
    yield store
    await store.close()


async def test_a_query_is_answered_while_a_commit_waits(store: SqliteStore, tmp_path: Path) -> None:
    epoch = await store.begin_epoch()
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    commit = asyncio.create_task(store.commit(Commit(epoch, 1, 0.0, b"")))
    assert await store.last_version() == 0
    assert not commit.done()
    other.execute("ROLLBACK")
    other.close()
    await commit
    assert await store.last_version() == 1


async def test_commits_handed_over_together_are_done_in_order(store: SqliteStore) -> None:
    epoch = await store.begin_epoch()
    await asyncio.gather(*(store.commit(Commit(epoch, version, 0.0, b"")) for version in range(1, 21)))
    assert await store.last_version() == 20


async def test_a_commit_whose_caller_is_cancelled_is_still_whole(store: SqliteStore) -> None:
    epoch = await store.begin_epoch()
    commit = asyncio.create_task(store.commit(Commit(epoch, 1, 0.0, b"")))
    await asyncio.sleep(0)  # it is handed over
    commit.cancel()
    with pytest.raises(asyncio.CancelledError):
        await commit
    await store.commit(Commit(epoch, 2, 0.0, b""))
    assert await store.last_version() == 2


async def test_a_commit_slips_in_between_the_parts_of_a_snapshot(store: SqliteStore) -> None:
    epoch = await store.begin_epoch()
    await store.commit(Commit(epoch, 1, 0.0, b""))
    save = asyncio.create_task(store.save_snapshot(epoch, Snapshot(1, bytes(8 * 2**20))))
    await asyncio.sleep(0)  # its first part is handed over
    await store.commit(Commit(epoch, 2, 0.0, b""))
    assert not save.done()
    await save


async def test_an_error_of_sqlite_is_translated_and_the_thread_goes_on(tmp_path: Path) -> None:
    thread = ConnectionThread("test", tmp_path / "x.db")
    await thread.open(lambda: sqlite3.connect(":memory:", check_same_thread=False))
    with pytest.raises(StoreFailed, match="no such table") as caught:
        await thread.run(lambda connection: connection.execute("SELECT * FROM nowhere"))
    assert isinstance(caught.value.__cause__, sqlite3.Error)
    with pytest.raises(ZeroDivisionError):
        await thread.run(lambda _: 1 // 0)
    assert await thread.run(lambda connection: connection.execute("SELECT 7").fetchone()) == (7,)
    await thread.close()


async def test_maintenance_that_fails_does_not_end_the_thread(tmp_path: Path) -> None:
    def fail(_: sqlite3.Connection) -> None:
        raise OSError("no")

    thread = ConnectionThread("test", tmp_path / "x.db", after_each=fail)
    await thread.open(lambda: sqlite3.connect(":memory:", check_same_thread=False))
    thread.post(fail)
    assert await thread.run(lambda connection: connection.execute("SELECT 7").fetchone()) == (7,)
    await thread.close()


async def test_a_thread_that_cannot_connect_ends(tmp_path: Path) -> None:
    before = threading.active_count()
    with pytest.raises(StoreFailed):
        await ConnectionThread("test", tmp_path).open(lambda: sqlite3.connect(tmp_path / "no" / "folder.db"))
    assert threading.active_count() == before


async def test_a_store_that_is_open_is_not_opened_twice(store: SqliteStore) -> None:
    with pytest.raises(StoreFailed, match="already open"):
        await store.open()
    assert await store.last_version() == 0
