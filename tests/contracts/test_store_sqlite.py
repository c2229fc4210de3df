"""The SQLite store passes the contract of every store, plus tests that only a file needs."""

from __future__ import annotations

import asyncio
import resource
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import uvloop

from shunter.adapters.sqlite.store import SqliteStore
from shunter.model.errors import StoreFailed
from shunter.ports.store import Commit, FinishedQuery, Snapshot
from tests.contracts.store_samples import Claim, finished_job, write

from .store import CONTRACT, check


@pytest.mark.parametrize("claim", CONTRACT)
async def test_sqlite_store(claim: Claim, tmp_path: Path) -> None:
    await check(claim, lambda: SqliteStore(tmp_path / "store.db"))


@pytest.mark.parametrize("claim", CONTRACT[:3])
def test_sqlite_store_works_on_uvloop(claim: Claim, tmp_path: Path) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(check(claim, lambda: SqliteStore(tmp_path / "store.db")))


@pytest.mark.parametrize("lives", [(1,), (30, 95, 260)])
async def test_every_acknowledged_commit_survives_kill_9(lives: tuple[int, ...], tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    for commits in lives:
        acknowledged = _commit_and_kill(path, commits)
        store = SqliteStore(path)
        await store.open()
        last = await store.last_version()
        assert last in (acknowledged, acknowledged + 1)
        assert await store.count_finished(FinishedQuery()) == last
        assert [job.id for job in await store.finished_jobs(FinishedQuery(limit=last + 1))] == [*range(last, 0, -1)]
        for id in (1, last):
            assert [chunk.body for chunk in await store.finished_tasks(id, 0, 0, 0)] == [b"tasks %d" % id]
        snapshot = await store.snapshot() or Snapshot(0, b"snapshot 0")
        assert snapshot.body == b"snapshot %d" % snapshot.version
        rounds = await store.rounds_after(snapshot.version, last)
        assert [round.body for round in rounds] == [b"round %d" % v for v in range(snapshot.version + 1, last + 1)]
        await store.close()


def _commit_and_kill(path: Path, commits: int) -> int:
    """The last version that the process was told was committed."""
    script = Path(__file__).with_name("commit_until_killed.py")
    with subprocess.Popen([sys.executable, str(script), str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(commits)]
        process.kill()
        lines += process.stdout.readlines()
    return max(int(line) for line in lines if line.endswith(b"\n"))


async def test_a_full_disk_fails_the_commit_and_a_later_one_works(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db", size_max_bytes=512 * 1024)
    await store.open()
    epoch = await store.begin_epoch()
    await write(store, epoch, 1)
    with pytest.raises(StoreFailed, match="disk is full"):
        await store.commit(Commit(epoch, 2, 0.0, bytes(2**20), [finished_job(1)]))
    assert await store.last_version() == 1
    assert await store.finished_job(1) is None
    await write(store, epoch, 2, [finished_job(1)])
    assert await store.last_version() == 2
    await store.close()


async def test_a_disk_that_fails_to_write_fails_the_commit_and_a_later_one_works(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    await store.open()
    epoch = await store.begin_epoch()
    await write(store, epoch, 1)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, hard))
    try:
        with pytest.raises(StoreFailed, match="failed to read or write"):
            await store.commit(Commit(epoch, 2, 0.0, bytes(2**22)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert await store.last_version() == 1
    await store.commit(Commit(epoch, 2, 0.0, bytes(2**22)))
    await store.close()


async def test_a_store_that_another_process_locks_fails_after_a_while(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db", lock_timeout_s=0.01)
    await store.open()
    epoch = await store.begin_epoch()
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreFailed, match="locked"):
        await write(store, epoch, 1)
    other.execute("ROLLBACK")
    await write(store, epoch, 1)
    other.close()
    await store.close()


async def test_a_file_that_is_no_database_is_refused_with_its_path(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"this is not a database" * 1000)
    with pytest.raises(StoreFailed, match=rf"{path}.*corrupt"):
        await SqliteStore(path).open()
    assert path.read_bytes().startswith(b"this is not")


async def test_a_path_that_is_a_folder_is_refused_and_left_alone(tmp_path: Path) -> None:
    mode = tmp_path.stat().st_mode
    with pytest.raises(StoreFailed, match="cannot be opened"):
        await SqliteStore(tmp_path).open()
    assert tmp_path.stat().st_mode == mode


async def test_a_folder_that_cannot_be_made_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreFailed, match="cannot be created"):
        await SqliteStore(tmp_path / "file" / "store.db").open()


async def test_the_files_are_for_their_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    store = SqliteStore(folder / "store.db")
    await store.open()
    await write(store, await store.begin_epoch(), 1)
    assert folder.stat().st_mode & 0o777 == 0o700
    modes = {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()}
    assert modes == {"store.db": 0o600, "store.db-wal": 0o600, "store.db-shm": 0o600, "store.db-mark": 0o600}
    await store.close()


async def test_a_second_store_in_this_process_leaves_the_locks_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    first, second = SqliteStore(path), SqliteStore(path)
    await first.open()
    epoch = await first.begin_epoch()
    await second.open()
    # Another process that believes itself alone with the file would remove the log that the first still writes to.
    visit = (
        f"import sqlite3; c = sqlite3.connect({str(path)!r}); c.execute('SELECT * FROM rounds').fetchall(); c.close()"
    )
    subprocess.run([sys.executable, "-c", visit], check=True)
    await write(first, epoch, 1)
    assert (tmp_path / "store.db-wal").exists()
    await first.close()
    await second.close()


async def test_closing_leaves_no_log_and_opening_again_works(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    await store.open()
    epoch = await store.begin_epoch()
    await write(store, epoch, 1)
    await store.close()
    await store.close()
    assert {file.name for file in tmp_path.iterdir()} == {"store.db", "store.db-mark"}
    with pytest.raises(StoreFailed, match="not open"):
        await write(store, epoch, 2)
    await store.open()
    await write(store, epoch, 2)
    await store.close()


async def test_a_store_whose_mark_is_gone_does_not_start_silently(tmp_path: Path) -> None:
    """Without the mark, nobody would notice that the log was cut too."""
    path, copy = tmp_path / "store.db", tmp_path / "copy" / "store.db"
    store = SqliteStore(path)
    await store.open()
    await write(store, await store.begin_epoch(), 1)
    copy.parent.mkdir()
    shutil.copyfile(path, copy)  # without its log and its mark, as of now
    await store.close()
    with pytest.raises(StoreFailed, match=r"the file store\.db-mark next to it is missing"):
        await SqliteStore(copy).open()
    with pytest.raises(StoreFailed, match=r"the file store\.db-mark next to it is missing"):
        await SqliteStore(copy).open()  # the first try must not leave an empty mark that counts
    accepting = SqliteStore(copy, accepts_loss=True)
    await accepting.open()
    await accepting.begin_epoch()
    await accepting.close()
    again = SqliteStore(copy)
    await again.open()
    await again.close()


async def test_a_store_from_before_marks_were_recorded_starts_without_one(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = SqliteStore(path)
    await store.open()
    await store.begin_epoch()
    await store.close()
    (tmp_path / "store.db-mark").unlink()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 0")
    connection.close()
    await store.open()
    await store.begin_epoch()
    await store.close()
    (tmp_path / "store.db-mark").unlink()
    with pytest.raises(StoreFailed, match="is missing"):
        await store.open()
