"""The flight recorder's files: bounded, readable after a kill, and harmless when the disk fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.adapters.files.flight_files import MAGIC, FlightFiles, read_frames, write_frames
from shunter.model.errors import Invalid
from shunter.model.protocol.flight_records import Began, encode_record


def began(number: int) -> bytes:
    return encode_record(Began("rounds", f"policy-{number}", 1_700_000_000.0 + number, ("tasks",)))


def test_what_is_appended_is_read_in_order(tmp_path: Path) -> None:
    files = FlightFiles(tmp_path / "flight")
    files.append(b"before the first segment there is nowhere to put it")
    for number in range(4):
        if number in (0, 2):
            files.begin_segment()
        files.append(began(number))
    first, second = files.segments()
    assert [list(read_frames(path)) for path in (first, second)] == [[began(0), began(1)], [began(2), began(3)]]
    assert files.segment_bytes == second.stat().st_size
    assert [each.started_at[:19] for each in files.list_segments()] == ["2023-11-14T22:13:20", "2023-11-14T22:13:22"]
    whole = tmp_path / "whole"
    whole.write_bytes(b"".join(files.export()))
    assert list(read_frames(whole)) == [began(number) for number in range(4)]


def test_a_torn_or_damaged_end_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "torn"
    content = b"".join(write_frames(iter([began(0), began(1)])))
    for cut in (1, 5, len(began(1)) + 3):
        path.write_bytes(content[:-cut])
        assert list(read_frames(path)) == [began(0)]
    path.write_bytes(content[:-1] + b"?")
    assert list(read_frames(path)) == [began(0)]
    path.write_bytes(MAGIC)
    assert list(read_frames(path)) == []
    path.write_bytes(b"something else")
    with pytest.raises(Invalid, match="is not a flight recording"):
        list(read_frames(path))


def test_the_oldest_segments_go_when_there_are_too_many_bytes(tmp_path: Path) -> None:
    files = FlightFiles(tmp_path, total_bytes_max=5_000)
    for number in range(10):
        files.begin_segment()
        files.append(b"x" * 1_000)
        files.append(began(number))
    assert 4 <= len(files.segments()) <= 6
    assert sum(path.stat().st_size for path in files.segments()) < 7_000
    assert files.segments()[-1].stem == "00000010"


def test_a_new_life_goes_on_behind_the_old_segments(tmp_path: Path) -> None:
    for number in range(2):
        files = FlightFiles(tmp_path)
        files.begin_segment()
        files.append(began(number))
        files.close()
    assert [path.stem for path in files.segments()] == ["00000001", "00000002"]


def test_a_disk_that_fails_ends_the_recording_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "flight").write_text("a file where the folder should be")
    files = FlightFiles(tmp_path / "flight")
    files.begin_segment()
    files.append(began(0))
    files.begin_segment()
    assert files.segment_bytes == 0
