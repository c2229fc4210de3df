"""A cluster whose store lost committed work reports it instead of starting empty."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.e2e.cluster import Cluster, eventually, is_alive


def test_a_damaged_log_starts_no_empty_cluster(home: Cluster) -> None:
    home.up("--cpu", "2")
    home.shunter("run", "--", "/bin/true")
    pid = int(home.description["pid"])
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not is_alive(pid) or None, "the manager is gone")
    log = Path(home.home / "store.db-wal")
    data = bytearray(log.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 40] = bytes(byte ^ 0xFF for byte in data[middle : middle + 40])
    log.write_bytes(data)
    refused = home.shunter("up", "--detach", code=1)
    assert "committed work is missing" in refused.err
    assert "shunter up --accept-loss" in refused.err
    verified = home.shunter("store", "verify", code=1)
    assert "the store is damaged" in verified.out
    assert "is ready at" in home.up("--cpu", "2", "--accept-loss").out
    assert "the store is intact" in home.shunter("store", "verify").out
    home.shunter("run", "--", "/bin/true")
