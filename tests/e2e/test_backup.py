"""Backup and restore: a copy of a running cluster becomes a separate cluster, and workers follow it."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster, eventually, is_alive
from tests.e2e.remote import RemoteCluster


@pytest.fixture
def remote(make_home: Callable[[], Cluster]) -> Iterator[RemoteCluster]:
    cluster = RemoteCluster(make_home, timeout="2s")
    cluster.start_manager()
    yield cluster
    cluster.close()


def test_a_restored_cluster_goes_on_and_its_workers_end_what_it_does_not_know(
    remote: RemoteCluster, tmp_path: Path
) -> None:
    manager = remote.manager
    remote.add_worker("w1", "--cpu", "3")
    for name in ("known", "later"):
        script = f"echo $$ > {tmp_path}/{name}; exec sleep 600"
        manager.shunter("run", "--detach", "--name", name, "--", "/bin/sh", "-c", script)
        eventually((tmp_path / name).exists, f"{name} runs")
        if name == "known":
            manager.shunter("backup", str(tmp_path / "copy.db"))
    pids = {name: int((tmp_path / name).read_text()) for name in ("known", "later")}
    pid = int(manager.description["pid"])
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not is_alive(pid) or None, "the manager is gone")
    address = (manager.home / "workers-address").read_text()
    shutil.rmtree(manager.home)
    manager.home.mkdir()
    (manager.home / "workers-address").write_text(address)
    assert "restored" in manager.shunter("restore", str(tmp_path / "copy.db")).out
    assert "already has a store" in manager.shunter("restore", str(tmp_path / "copy.db"), code=None).err
    remote.start_manager()
    remote.until("w1", "ready")
    eventually(lambda: not is_alive(pids["later"]) or None, "what came after the backup is ended")
    assert is_alive(pids["known"])
    assert [(job["name"], job["state"]) for job in manager.items("jobs")] == [("known", "running")]
    manager.shunter("run", "--", "/bin/true")
    manager.shunter("stop", "known")
    eventually(lambda: not is_alive(pids["known"]) or None, "the worker follows the restored cluster")


def test_a_backup_is_private_and_never_overwrites(home: Cluster, tmp_path: Path) -> None:
    home.up("--cpu", "1")
    home.shunter("run", "--", "/bin/true")
    target = tmp_path / "copy.db"
    assert "backed up" in home.shunter("backup", str(target)).out
    assert target.stat().st_mode & 0o777 == 0o600
    assert "already exists" in home.shunter("backup", str(target), code=None).err
    assert "cannot be written" in home.shunter("backup", str(tmp_path / "no" / "folder"), code=None).err
    assert {file.name for file in tmp_path.iterdir() if "draft" in file.name} == set()


def test_what_is_no_backup_is_refused_and_leaves_an_empty_home(home: Cluster, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("this is not a database, however long it may be " * 50)
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE t (x)").connection.close()
    for name in ("text", "other.db", "missing"):
        refused = home.shunter("restore", str(tmp_path / name), code=None)
        assert refused.code == 2, refused
        assert not (home.home / "store.db").exists()


def test_backups_are_made_on_schedule_and_the_oldest_are_removed(home: Cluster, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    (home.home / "config.toml").write_text(f'[backup]\nevery = "1s"\nkeep = 2\nfolder = "{folder}"\n')
    home.up("--cpu", "1")
    home.shunter("run", "--name", "known", "--", "/bin/true")

    def names() -> set[str]:
        return {path.name for path in folder.glob("shunter-*.db")}

    first = eventually(names, "there is a backup")
    eventually(lambda: not first & names() or None, "it was removed again")
    eventually(lambda: len(names()) == 2 or None, "two are kept")
    home.down()
    newest = folder / max(names())
    shutil.copyfile(newest, tmp_path / "copy.db")
    for path in home.home.glob("store.db*"):
        path.unlink()
    home.shunter("restore", str(tmp_path / "copy.db"))
    (home.home / "config.toml").unlink()
    home.up("--cpu", "1")
    assert home.json("job", "known")["state"] == "succeeded"
