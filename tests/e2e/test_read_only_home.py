"""A home on a disk that is mounted read-only, as when one looks at what is left of a machine: its store can be verified
and backed up, and nothing is written."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster
from tests.machine_limits import NO_ROOT

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason=f"{NO_ROOT}: read-only mounts")


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    subprocess.run(["mount", "--bind", str(folder), str(folder)], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], check=True)
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("is_closed", [True, False], ids=["closed", "killed"])
def test_a_store_on_a_read_only_disk_is_verified_and_backed_up_without_writing(
    home: Cluster, tmp_path: Path, is_closed: bool
) -> None:
    home.up("--cpu", "1")
    home.shunter("run", "--", "/bin/true")
    if is_closed:
        home.down()
        (home.home / "lock").unlink()  # a copy of a home may lack it
    else:
        home.kill_manager()
    assert (home.home / "store.db-wal").exists() != is_closed
    before = files(home.home)
    with read_only(home.home):
        verified = home.shunter("store", "verify").out
        assert "1 finished" in verified
        assert "the store is intact" in verified
        assert "backed up" in home.shunter("backup", str(tmp_path / "backup.db")).out
    assert files(home.home) == before


def test_a_running_cluster_is_still_noticed_in_a_read_only_home(home: Cluster) -> None:
    """`store verify` asks who holds the home, because the running cluster may use another store than config.toml."""
    home.up("--cpu", "1")
    (home.home / "config.toml").write_text('[cluster]\nstore = "postgresql://shunter@db.example/shunter"\n')
    with read_only(home.home):
        assert "runs with sqlite" in home.shunter("store", "verify", code=2).err
    (home.home / "config.toml").unlink()
