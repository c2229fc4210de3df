"""Rollups that earlier versions wrote to files are read in their order, and removed."""

from __future__ import annotations

from pathlib import Path

from shunter.adapters.files.rollup_files import RollupFiles
from shunter.ports.metrics import HOUR_S, MINUTE_S


def test_rows_of_both_files_of_a_tier_come_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "60s.old").write_bytes(b"one\ntwo\n")
    (tmp_path / "60s.rows").write_bytes(b"three\n{cut off")
    (tmp_path / "3600s.rows").write_bytes(b"hour\n")
    files = RollupFiles(tmp_path)
    assert files.read(MINUTE_S) == [b"one", b"two", b"three", b"{cut off"]
    assert files.read(HOUR_S) == [b"hour"]


def test_files_are_removed_once(tmp_path: Path) -> None:
    folder = tmp_path / "rollups"
    folder.mkdir()
    (folder / "60s.rows").write_bytes(b"one\n")
    files = RollupFiles(folder)
    files.remove()
    assert not folder.exists()
    files.remove()
    assert files.read(MINUTE_S) == []
