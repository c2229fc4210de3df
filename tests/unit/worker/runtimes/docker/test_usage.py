"""The usage of a container, from the daemon's answer."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.worker.runtimes.docker.container import disk_bytes


@pytest.mark.parametrize(("read", "write"), [("read", "write"), ("Read", "Write")], ids=["cgroup-v2", "cgroup-v1"])
def test_bytes_of_all_disks_are_added_up(read: str, write: str) -> None:
    entries = [(read, 100), (write, 7), ("Sync", 99), (read, 11)]
    found = disk_bytes({"io_service_bytes_recursive": [{"op": op, "value": value} for op, value in entries]})
    assert found == {"read": 111, "write": 7}


@pytest.mark.parametrize("told", [{}, {"io_service_bytes_recursive": None}])
def test_where_the_daemon_tells_nothing_nothing_was_used(told: dict[str, Any]) -> None:
    assert disk_bytes(told) == {"read": 0, "write": 0}
