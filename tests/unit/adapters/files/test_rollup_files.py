"""Rollups in files are bounded, outlive the process, and survive a kill in the middle of a line."""

from __future__ import annotations

from pathlib import Path

from shunter.adapters.files.rollup_files import RollupFiles
from shunter.ports.metrics import HOUR_S, MINUTE_S


def test_rows_come_back_in_their_order_by_tier(tmp_path: Path) -> None:
    files = RollupFiles(tmp_path / "rollups")
    assert files.read(MINUTE_S) == []
    for row in (b"one", b"two"):
        files.append(MINUTE_S, row)
    files.append(HOUR_S, b"hour")
    again = RollupFiles(tmp_path / "rollups")
    assert (again.read(MINUTE_S), again.read(HOUR_S)) == ([b"one", b"two"], [b"hour"])


def test_a_full_file_becomes_the_old_one(tmp_path: Path) -> None:
    files = RollupFiles(tmp_path, file_bytes_max=30)
    for number in range(20):
        files.append(MINUTE_S, b"row %07d" % number)
    rows = files.read(MINUTE_S)
    assert rows == [b"row %07d" % number for number in range(20 - len(rows), 20)]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 2 * 42


def test_a_line_that_was_cut_off_does_not_spoil_the_next_one(tmp_path: Path) -> None:
    files = RollupFiles(tmp_path)
    files.append(MINUTE_S, b"one")
    [path] = tmp_path.iterdir()
    path.write_bytes(path.read_bytes() + b"tor")
    files.append(MINUTE_S, b"two")
    assert files.read(MINUTE_S) == [b"one", b"tor", b"two"]


def test_a_disk_that_fails_stops_the_rollups_and_nothing_else(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    files = RollupFiles(blocked)
    files.append(MINUTE_S, b"one")
    assert files.read(MINUTE_S) == []
