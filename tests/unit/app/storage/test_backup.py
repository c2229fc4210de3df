"""Backup and restore of a store's files; tests/e2e/test_backup.py has the clusters."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from shunter.adapters.sqlite import rounds
from shunter.adapters.sqlite.store import SqliteStore
from shunter.app.home import Home
from shunter.app.storage.backup import back_up, restore
from shunter.cli.main import run_command
from shunter.model.errors import Conflict, Rejected, StoreFailed
from shunter.ports.store import Commit


@pytest.fixture
async def backup(tmp_path: Path) -> Path:
    """A backup of a home with a token and a few commits."""
    home = await make_home(tmp_path / "home")
    back_up(home, tmp_path / "backup.db")
    return tmp_path / "backup.db"


async def make_home(folder: Path) -> Home:
    folder.mkdir()
    home = Home(folder)
    home.token.write_text("secret")
    store = SqliteStore(home.store)
    await store.open()
    epoch = await store.begin_epoch()
    for version in range(1, 4):
        await store.commit(Commit(epoch, version, float(version), b"the body of round %d" % version))
    await store.close()
    return home


def new_home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "restored")
    home.folder.mkdir()
    return home


def test_restore_writes_through_no_link(backup: Path, tmp_path: Path) -> None:
    home, outside = new_home(tmp_path), tmp_path / "outside"
    outside.write_text("mine")
    home.token.symlink_to(outside)
    restore(home, backup)
    assert outside.read_text() == "mine"
    assert not home.token.is_symlink()
    assert (home.token.read_text(), home.token.stat().st_mode & 0o777) == ("secret", 0o600)
    assert {file.name for file in home.folder.iterdir()} == {"store.db", "token"}


@pytest.mark.parametrize("name", ["store.db", "store.db-wal", "store.db-mark"])
def test_a_link_or_a_part_of_a_store_is_a_store(backup: Path, tmp_path: Path, name: str) -> None:
    """An old log next to the restored database would be read as a part of it."""
    home = new_home(tmp_path)
    (home.folder / name).symlink_to(tmp_path / "nowhere")
    with pytest.raises(Conflict, match=f"already has a store .*{name}"):
        restore(home, backup)
    assert not (tmp_path / "nowhere").exists()


async def test_a_restored_store_opens_without_a_mark(backup: Path, tmp_path: Path) -> None:
    home = new_home(tmp_path)
    restore(home, backup)
    store = SqliteStore(home.store)
    await store.open()
    assert await store.last_version() == 3
    await store.close()


@pytest.mark.parametrize("text", [b"the body of round 2", b"secret"])
def test_altered_bytes_of_a_backup_are_noticed(backup: Path, tmp_path: Path, text: bytes) -> None:
    """The structure of the database is intact, and only what it says is not."""
    data = backup.read_bytes()
    assert text in data
    backup.write_bytes(data.replace(text, text[:-1] + b"?"))
    home = new_home(tmp_path)
    with pytest.raises(StoreFailed, match="does not match its checksum"):
        restore(home, backup)
    assert list(home.folder.iterdir()) == []


def test_a_backup_with_a_damaged_schema_is_refused(backup: Path, tmp_path: Path) -> None:
    """SQLite's error quotes what Python cannot decode."""
    backup.write_bytes(backup.read_bytes().replace(b"CREATE TABLE leadership", b"CREATE TABL\xff leadership"))
    home = new_home(tmp_path)
    with pytest.raises(Rejected, match="not a backup of a store"):
        restore(home, backup)
    assert list(home.folder.iterdir()) == []


def test_a_backup_from_before_checksums_is_restored(backup: Path, tmp_path: Path) -> None:
    connection = sqlite3.connect(backup)
    connection.execute("DROP TABLE backup_checksum")
    connection.close()
    home = new_home(tmp_path)
    assert restore(home, backup).version == 3
    tables = sqlite3.connect(home.store).execute("SELECT name FROM sqlite_master").fetchall()
    assert not [name for (name,) in tables if "backup" in name]


def full_disk(*_: object) -> None:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    raise error


async def test_a_backup_to_a_full_disk_blames_the_file_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = await make_home(tmp_path / "home")
    monkeypatch.setattr("shunter.app.storage.backup._add_files", full_disk)
    with pytest.raises(Rejected, match=r"backup\.db cannot be written: the disk is full"):
        back_up(home, tmp_path / "backup.db")
    assert [file.name for file in tmp_path.iterdir()] == ["home"]


def test_a_restore_to_a_full_disk_does_not_blame_the_backup(
    backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = new_home(tmp_path)
    with monkeypatch.context() as patch, pytest.raises(Rejected, match="restored cannot be written: the disk is full"):
        patch.setattr("shunter.app.storage.backup._take_files", full_disk)
        restore(home, backup)
    assert list(home.folder.iterdir()) == []

    def full_write(path: Path, _body: bytes) -> None:
        path.write_bytes(b"")
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(Rejected, match="restored cannot be written: No space left"):
        patch.setattr("shunter.app.storage.backup._write_private", full_write)
        restore(home, backup)
    assert [file.name for file in home.folder.iterdir()] == ["token"]
    assert restore(home, backup).version == 3
    assert home.token.read_text() == "secret"


def test_a_restore_leads_above_the_original_though_the_clock_is_wrong(
    backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The original goes on after the backup: workers know epochs above the one in the backup."""
    monkeypatch.setattr(time, "time", lambda: 0.0)
    home = new_home(tmp_path)
    restore(home, backup)
    with closing(sqlite3.connect(home.store)) as connection:
        assert rounds.read_leading_epoch(connection) > 1000


def test_a_home_in_use_is_not_restored(
    backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A cluster with --store memory has no store.db, but the tokens of its clients."""
    home = new_home(tmp_path)
    monkeypatch.setenv("SHUNTER_HOME", str(home.folder))
    lock = home.lock()
    assert lock is not None
    assert run_command(["restore", str(backup)]) == 2
    assert "is in use by a running cluster or worker" in capsys.readouterr().err
    os.close(lock)
    assert not home.token.exists()
    assert run_command(["restore", str(backup)]) == 0
    assert home.token.read_text() == "secret"


@pytest.mark.parametrize("name", ["", ".", "/"])
async def test_a_backup_needs_the_name_of_a_file(tmp_path: Path, name: str) -> None:
    home = await make_home(tmp_path / "home")
    with pytest.raises(Rejected, match=r"is a directory; name a file"):
        back_up(home, Path(name))


def test_a_directory_is_no_backup(tmp_path: Path) -> None:
    with pytest.raises(Rejected, match="is not a file"):
        restore(new_home(tmp_path), tmp_path)
