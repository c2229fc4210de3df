"""Lost commits are noticed: a store that lacks them does not open."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from shunter.adapters.sqlite import rounds
from shunter.adapters.sqlite.connection import read_only
from shunter.adapters.sqlite.integrity import record_mark
from shunter.adapters.sqlite.store import SqliteStore
from shunter.adapters.sqlite.watermark import Mark, Watermark, watermark_path
from shunter.model.errors import StoreFailed
from shunter.ports.store import EPOCHS_PER_SECOND, Commit


def commit(epoch: int, version: int) -> Commit:
    return Commit(epoch, version, float(version), b"round %d" % version)


async def crashed_store(tmp_path: Path, commits: int = 20) -> Path:
    """The files of a store whose process was killed after some commits."""
    live = tmp_path / "live"
    store = SqliteStore(live / "store.db")
    await store.open()
    epoch = await store.begin_epoch()
    for version in range(1, commits + 1):
        await store.commit(commit(epoch, version))
    shutil.copytree(live, tmp_path / "crashed")
    await store.close()
    return tmp_path / "crashed" / "store.db"


async def test_a_store_that_was_killed_opens_with_everything(tmp_path: Path) -> None:
    store = SqliteStore(await crashed_store(tmp_path))
    await store.open()
    assert await store.last_version() == 20
    await store.close()


@pytest.mark.parametrize("damage", ["flip", "truncate", "remove"])
async def test_a_damaged_log_is_refused(tmp_path: Path, damage: str) -> None:
    path = await crashed_store(tmp_path)
    wal = Path(f"{path}-wal")
    data = bytearray(wal.read_bytes())
    if damage == "flip":
        middle = len(data) // 2
        data[middle : middle + 40] = bytes(byte ^ 0xFF for byte in data[middle : middle + 40])
        wal.write_bytes(data)
    elif damage == "truncate":
        wal.write_bytes(data[: len(data) // 2])
    else:
        wal.unlink()
    before = wal.read_bytes() if wal.exists() else b""
    store = SqliteStore(path)
    with pytest.raises(StoreFailed, match=r"version 20 of epoch 1 was committed.*--accept-loss"):
        await store.open()
    assert (wal.read_bytes() if wal.exists() else b"") == before, "the evidence is left as it is"
    with pytest.raises(StoreFailed, match="version 20"):
        await store.open()


async def test_an_accepted_loss_leads_under_an_epoch_that_nobody_has_seen(tmp_path: Path) -> None:
    path = await crashed_store(tmp_path)
    Path(f"{path}-wal").unlink()
    store = SqliteStore(path, accepts_loss=True)
    await store.open()
    assert await store.begin_epoch() == 2
    assert await store.last_version() == 0
    await store.commit(commit(2, 1))
    await store.close()
    again = SqliteStore(path)
    await again.open()
    assert await again.last_version() == 1
    await again.close()


async def test_a_damaged_database_is_refused(tmp_path: Path) -> None:
    path = await crashed_store(tmp_path, commits=200)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    data = bytearray(path.read_bytes())
    for page in range(4096, len(data), 8192):
        data[page : page + 200] = b"\x55" * 200
    path.write_bytes(data)
    Path(f"{path}-wal").write_bytes(b"x")
    store = SqliteStore(path)
    with pytest.raises(StoreFailed, match=r"damaged|corrupt"):
        await store.open()


async def test_a_home_of_an_older_version_has_no_mark_and_opens(tmp_path: Path) -> None:
    path = await crashed_store(tmp_path)
    watermark_path(path).unlink()
    with closing(sqlite3.connect(path)) as connection:
        record_mark(connection, exists=False)
    store = SqliteStore(path)
    await store.open()
    assert await store.last_version() == 20
    await store.begin_epoch()
    await store.close()
    mark = Watermark(watermark_path(path))
    assert mark.open() == Mark(2, 20)
    mark.close()


def test_a_mark_survives_a_write_that_was_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "mark"
    mark = Watermark(path)
    assert mark.open() is None
    for version in (1, 2, 3):
        mark.write(Mark(1, version))
    mark.close()
    data = bytearray(path.read_bytes())
    data[4] ^= 0xFF  # version 3 is in the first slot
    path.write_bytes(data)
    damaged = Watermark(path)
    assert damaged.open() == Mark(1, 2)
    damaged.write(Mark(1, 4))
    damaged.close()
    again = Watermark(path)
    assert again.open() == Mark(1, 4)
    again.close()


def test_a_mark_that_cannot_be_read_is_no_licence_to_start(tmp_path: Path) -> None:
    path = tmp_path / "mark"
    path.write_bytes(b"x" * 64)
    mark = Watermark(path)
    with pytest.raises(StoreFailed, match="damaged"):
        mark.open()
    mark.close()


async def test_after_a_failed_sync_the_log_is_secured_before_the_next_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(tmp_path / "store.db")
    await store.open()
    epoch = await store.begin_epoch()
    await store.commit(commit(epoch, 1))

    def failing(_connection: sqlite3.Connection, _commit: Commit) -> None:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(rounds, "write_commit", failing)
        with pytest.raises(StoreFailed, match="the disk failed"):
            await store.commit(commit(epoch, 2))
    assert Path(f"{tmp_path}/store.db-wal").stat().st_size > 0
    assert await store.begin_epoch() == epoch + 1
    reader = sqlite3.connect(f"file:{tmp_path}/store.db?mode=ro&immutable=1", uri=True)  # the database alone
    assert reader.execute("SELECT max(version) FROM rounds").fetchone() == (1,)
    reader.close()
    await store.close()


async def test_a_mark_that_cannot_be_written_fails_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The work is committed by then, so its caller must not hear of a failure."""
    store = SqliteStore(tmp_path / "store.db")
    await store.open()
    epoch = await store.begin_epoch()

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        await store.commit(commit(epoch, 1))
    await store.commit(commit(epoch, 2))
    await store.close()
    again = SqliteStore(tmp_path / "store.db")
    await again.open()
    assert await again.last_version() == 2
    await again.close()


@pytest.mark.parametrize("is_missing", [False, True])
async def test_a_log_without_its_database_is_left_as_it_is(tmp_path: Path, is_missing: bool) -> None:
    """SQLite removes the log of an empty database, and with it all that was committed."""
    path = await crashed_store(tmp_path)
    wal = Path(f"{path}-wal")
    before = wal.read_bytes()
    path.unlink() if is_missing else path.write_bytes(b"")
    for _ in range(2):
        with pytest.raises(StoreFailed, match=r"only its write-ahead log is left.*--accept-loss"):
            await SqliteStore(path).open()
        with pytest.raises(StoreFailed, match="only its write-ahead log is left"), read_only(path):
            pass
        assert wal.read_bytes() == before
    store = SqliteStore(path, accepts_loss=True)
    await store.open()
    assert await store.begin_epoch() == 2
    await store.close()


@pytest.mark.parametrize("body", [b"x" * 56, b"shunter1"])
async def test_a_damaged_mark_is_refused_unless_the_loss_is_accepted(tmp_path: Path, body: bytes) -> None:
    path = await crashed_store(tmp_path)
    watermark_path(path).write_bytes(body)
    with pytest.raises(StoreFailed, match=r"store.db-mark next to it is damaged.*--accept-loss"):
        await SqliteStore(path).open()
    store = SqliteStore(path, accepts_loss=True)
    await store.open()
    epoch = await store.begin_epoch()
    await store.commit(commit(epoch, 21))
    await store.close()
    again = SqliteStore(path)
    await again.open()
    assert await again.last_version() == 21
    await again.close()


async def test_without_a_mark_an_accepted_loss_leads_above_all_epochs_of_the_past(tmp_path: Path) -> None:
    """The store may have lost epochs that workers know: they would ignore the cluster for good."""
    path = await crashed_store(tmp_path)
    watermark_path(path).unlink()
    store = SqliteStore(path, accepts_loss=True)
    await store.open()
    assert await store.begin_epoch() > int(time.time() - 3600) * EPOCHS_PER_SECOND
    await store.close()


def cut_head(data: bytes) -> bytes:
    return b"\x55" * 40 + data[40:]


def cut_pages(data: bytes) -> bytes:
    return data[:4096].ljust(len(data), b"\x55")


def rename_table(data: bytes) -> bytes:
    """SQLite's error quotes the name, and Python cannot decode it."""
    return data.replace(b"CREATE TABLE leadership", b"CREATE TABL\xff leadership")


@pytest.mark.parametrize("damage", [cut_head, cut_pages, rename_table])
async def test_the_refusal_of_a_damaged_database_names_the_ways_out(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    path = await crashed_store(tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(StoreFailed, match=r"shunter restore FILE"):
        await SqliteStore(path, accepts_loss=True).open()


async def test_a_small_database_is_checked_though_it_was_closed_properly(tmp_path: Path) -> None:
    path = await crashed_store(tmp_path, commits=200)
    with closing(sqlite3.connect(path)) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'rounds'").fetchone()
    data = bytearray(path.read_bytes())
    start = (page - 1) * 4096
    data[start + 12 : start + 40] = b"\x0f" * 28  # where its cells are
    path.write_bytes(data)
    assert not Path(f"{path}-wal").exists()
    with pytest.raises(StoreFailed, match=r"it is damaged .*shunter restore FILE"):
        await SqliteStore(path).open()
