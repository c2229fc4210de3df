"""Log segments as the keeper writes them and the worker reads them."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from shunter.model.protocol.worker_messages import ReadLog
from shunter.worker.keeper import segments as format
from shunter.worker.keeper.segments import ERR, OUT, Segments
from shunter.worker.logs import read_log, sweep_logs

LIMIT = 100_000
UNCUT_MAX = LIMIT + format.CUT_MIN_BYTES


def read(
    folder: Path, segment: int, record: int, stream: str = "stdout", offset: int = 0, size_max: int = 2**22
) -> bytes:
    return read_log(folder, ReadLog(1, segment, record, stream, offset, size_max)).data


def test_records_tell_slices_of_both_streams_apart(tmp_path: Path) -> None:
    segments = Segments(str(tmp_path))
    for index in range(20):
        segments.begin(LIMIT)
        segments.write(OUT, b"o" * index)
        segments.write(ERR, b"e" * (20 - index))
        assert segments.end(1, 0, index, 1) == index
    segments.flush()
    for index in range(20):
        assert read(tmp_path, segments.number, index) == b"o" * index
        assert read(tmp_path, segments.number, index, "stderr") == b"e" * (20 - index)


def test_the_last_lines_are_those_of_the_present_task(tmp_path: Path) -> None:
    segments = Segments(str(tmp_path))
    segments.begin(LIMIT)
    segments.write(ERR, b"of the task before\n")
    segments.end(1, 0, 0, 1)
    segments.begin(LIMIT)
    assert segments.last_lines(ERR, 3) == []
    segments.write(ERR, b"one\n\ntwo\nthree\n" + "vier \u00fc".encode())
    assert segments.last_lines(ERR, 3) == ["two", "three", "vier \u00fc"]
    assert segments.last_lines(OUT, 3) == []
    segments.write(OUT, b"x" * 10_000 + b"\nlast\n")
    assert segments.last_lines(OUT, 1) == ["last"]


def test_a_running_task_s_slice_grows_and_ends_where_the_task_ended(tmp_path: Path) -> None:
    segments = Segments(str(tmp_path))
    segments.begin(LIMIT)
    segments.end(1, 0, 0, 1)
    segments.begin(LIMIT)
    segments.record_running(1, 0, 1, 1)
    segments.write(OUT, b"one")
    log = read_log(tmp_path, ReadLog(1, segments.number, 1, "stdout", 0, 100))
    assert (log.data, log.eof, log.next) == (b"one", False, 3)
    segments.end(1, 0, 1, 1)
    segments.begin(LIMIT)
    segments.write(OUT, b"of the next task")
    log = read_log(tmp_path, ReadLog(1, segments.number, 1, "stdout", 3, 100))
    assert (log.data, log.eof) == (b"", True)


@pytest.mark.parametrize("total", [LIMIT, UNCUT_MAX, UNCUT_MAX + 1, LIMIT + format.CUT_SLACK_BYTES + 1, 3_000_000])
def test_a_slice_beyond_its_limit_keeps_both_ends(tmp_path: Path, total: int) -> None:
    seed = 5
    chance = random.Random(seed)
    data = chance.randbytes(total)
    segments = Segments(str(tmp_path))
    segments.begin(LIMIT)
    segments.write(OUT, b"before")
    segments.end(1, 0, 0, 1)
    segments.begin(LIMIT)
    place = 0
    while place < total:
        size = chance.randint(1, 50_000)
        segments.write(OUT, data[place : place + size])
        place += size
    record = segments.end(1, 0, 1, 1)
    segments.flush()
    found = b""
    offset = 0
    while not (log := read_log(tmp_path, ReadLog(1, segments.number, record, "stdout", offset, 30_000))).eof:
        found += log.data
        offset = log.next
    found += log.data
    half = LIMIT // 2
    cut = b"\n[shunter: %d bytes cut here]\n" % (total - LIMIT)
    assert found == (data if total <= UNCUT_MAX else data[:half] + cut + data[-half:]), f"seed {seed}"
    assert log.truncated == (total > UNCUT_MAX)
    assert read(tmp_path, segments.number, 0) == b"before"


def test_numbers_of_segments_are_never_given_again(tmp_path: Path) -> None:
    first = Segments(str(tmp_path)).number
    for path in tmp_path.glob(f"{first}.*"):
        path.unlink()
    assert Segments(str(tmp_path)).number > first


def test_a_segment_with_many_records_is_followed_by_a_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(format, "SEGMENT_RECORDS_MAX", 3)
    segments = Segments(str(tmp_path))
    numbers = []
    for index in range(7):
        segments.begin(LIMIT)
        segments.write(OUT, b"%d" % index)
        numbers.append((segments.number, segments.end(1, 0, index, 1)))
        if segments.is_large:
            segments.rotate()
    segments.flush()
    first = numbers[0][0]
    assert numbers == [(first + index // 3, index % 3) for index in range(7)]
    assert [read(tmp_path, *place) for place in numbers] == [b"%d" % index for index in range(7)]


@pytest.mark.parametrize(("segment", "record"), [(99, 0), (1, 5)])
def test_a_log_that_is_not_there_is_told_as_such(tmp_path: Path, segment: int, record: int) -> None:
    Segments(str(tmp_path))
    log = read_log(tmp_path, ReadLog(3, segment, record, "stdout", 0, 10))
    assert (log.request, log.eof, log.error) == (3, True, "the log is no longer available")


def test_old_segments_go_first_and_those_in_use_never(tmp_path: Path) -> None:
    numbers = []
    for age in range(5):
        segments = Segments(str(tmp_path))
        segments.begin(0)
        segments.write(OUT, b"x" * 10_000)
        for path in tmp_path.glob(f"{segments.number}.*"):
            os.utime(path, (1000.0 - age * 100, 1000.0 - age * 100))
        numbers.append(segments.number)  # newest first
    assert sweep_logs(tmp_path, set(), 1000.0, age_max_s=350.0, total_max_bytes=2**40) == [numbers[4]]
    kept_bytes = 2 * 12_288  # blocks of two segments
    assert sweep_logs(tmp_path, {numbers[3]}, 1000.0, age_max_s=1e9, total_max_bytes=kept_bytes) == [
        numbers[2], numbers[1],
    ]  # fmt: skip
    assert {int(path.stem) for path in tmp_path.glob("*.idx")} == {numbers[0], numbers[3]}
