"""`shunter store verify` on files; tests/e2e has the command."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from shunter.adapters.sqlite.store import SqliteStore
from shunter.app.home import Home
from shunter.app.storage.backup import back_up
from shunter.app.storage.verify import verify_store

NOBODY = 65534


@contextmanager
def no_write_access(folder: Path) -> Iterator[None]:
    """Root may write everywhere, so it becomes somebody else for a moment."""
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
        folder.chmod(0o755)


async def make_home(folder: Path, *, is_log_left: bool) -> Home:
    """A home as a cluster leaves it, or as kill -9 does."""
    home, original = Home(folder / "home"), folder / "original"
    home.folder.mkdir()
    store = SqliteStore(original / "store.db")
    await store.open()
    await store.begin_epoch()
    if not is_log_left:
        await store.close()
    for file in original.iterdir():
        if not file.name.endswith("-shm"):
            shutil.copyfile(file, home.folder / file.name)
    await store.close()
    return home


@pytest.mark.parametrize("is_log_left", [False, True])
def test_an_intact_store_is_intact_on_a_read_only_home(is_log_left: bool) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        home = asyncio.run(make_home(folder, is_log_left=is_log_left))
        before = sorted(file.name for file in home.folder.iterdir())
        target = folder / "out" / "backup.db"
        target.parent.mkdir()
        target.parent.chmod(0o777)
        with no_write_access(home.folder):
            found = verify_store(home)
            back_up(home, target)
        assert (found.epoch, found.committed_epoch, found.problems) == (1, 1, [])
        assert target.exists()
        assert sorted(file.name for file in home.folder.iterdir()) == before


def test_a_missing_mark_is_a_problem(tmp_path: Path) -> None:
    home = asyncio.run(make_home(tmp_path, is_log_left=False))
    (home.folder / "store.db-mark").unlink()
    [problem] = verify_store(home).problems
    assert problem.startswith("the file store.db-mark next to it is missing")
