"""Reads tasks' output from log segments, and deletes old segments. `keeper.segments` defines the format."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from shunter.model.protocol.worker_messages import LOG_GONE, LogData, ReadLog
from shunter.worker.keeper.segments import CUT, CUT_ERR, CUT_OUT, ERR, OUT, RECORD, RUNNING_END

READ_MAX_BYTES = 4 * 2**20
SUFFIXES = ("out", "err")


@dataclass(frozen=True, slots=True)
class Slice:
    """Where a task's output lies in the stream's file. `end` is None while it runs; the cut part is left out."""

    start: int
    end: int | None
    cut_from: int = 0
    cut_to: int = 0


def read_log(folder: Path, request: ReadLog) -> LogData:
    """Answer a manager's request for output. Offsets count the output as written, including what was cut."""
    stream = ERR if request.stream == "stderr" else OUT
    try:
        return _read(folder, request, stream)
    except (FileNotFoundError, EOFError):
        return LogData(request.request, b"", True, error=LOG_GONE)
    except OSError as error:
        return LogData(request.request, b"", True, error=f"the log could not be read: {error.strerror}")


def _read(folder: Path, request: ReadLog, stream: int) -> LogData:
    path = folder / f"{request.segment}.{SUFFIXES[stream]}"
    size = path.lstat().st_size  # before the record: what comes later may be the next task's
    log_slice = find_slice(folder, request.segment, request.record, stream)
    ended = log_slice.end is not None
    end = size if log_slice.end is None else log_slice.end
    position = log_slice.start + request.offset
    size_max = min(request.size_max, READ_MAX_BYTES)
    data = b""
    with _open(path) as file:
        if log_slice.cut_to and position < log_slice.cut_from:
            data = os.pread(file.fileno(), min(size_max, log_slice.cut_from - position), position)
            position += len(data)
        if log_slice.cut_to and log_slice.cut_from <= position < log_slice.cut_to and len(data) < size_max:
            data += b"\n[shunter: %d bytes cut here]\n" % (log_slice.cut_to - log_slice.cut_from)
            position = log_slice.cut_to
        if position < end and len(data) < size_max and not (log_slice.cut_to and position < log_slice.cut_from):
            more = os.pread(file.fileno(), min(size_max - len(data), end - position), position)
            data += more
            position += len(more)
    return LogData(
        request.request, data, ended and position >= end, bool(log_slice.cut_to), next=position - log_slice.start
    )


def _open(path: Path) -> BinaryIO:
    """Without following links: tasks of the worker's user can write to its folder."""
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb")


def find_slice(folder: Path, segment: int, record: int, stream: int) -> Slice:
    """Raises FileNotFoundError or EOFError where the segment or the record is not there."""
    with _open(folder / f"{segment}.idx") as file:
        body = os.pread(file.fileno(), RECORD.size, record * RECORD.size)
    if len(body) < RECORD.size:
        raise EOFError
    _, _, _, _, flags, *offsets = RECORD.unpack(body)
    start, end = offsets[stream * 2 : stream * 2 + 2]
    running = end == RUNNING_END
    cut = (0, 0)
    if running or flags & (CUT_OUT, CUT_ERR)[stream]:
        cut = _find_cut(folder / f"{segment}.cut", record * 2 + stream)
    return Slice(start, None if running else end, *cut)


def _find_cut(path: Path, key: int) -> tuple[int, int]:
    try:
        body = path.read_bytes()
    except FileNotFoundError:
        return 0, 0
    for found, start, end in CUT.iter_unpack(body[: len(body) // CUT.size * CUT.size]):
        if found == key:
            return start, end
    return 0, 0


def sweep_logs(folder: Path, in_use: set[int], now: float, age_max_s: float, total_max_bytes: int) -> list[int]:
    """Delete segments that are too old, and the oldest ones while the total is too large. Returns their numbers."""
    found = []
    for index in folder.glob("*.idx"):
        number = int(index.stem)
        files = [index.with_suffix(suffix) for suffix in (".idx", ".out", ".err", ".cut")]
        statuses = [file.stat() for file in files if file.exists()]
        changed_at = max(status.st_mtime for status in statuses)
        found.append((changed_at, number, sum(status.st_blocks for status in statuses) * 512, files))
    total_bytes = sum(size for _, _, size, _ in found)
    deleted = []
    for changed_at, number, size, files in sorted(found):
        if number in in_use or (now - changed_at <= age_max_s and total_bytes <= total_max_bytes):
            continue
        for file in files:
            file.unlink(missing_ok=True)
        total_bytes -= size
        deleted.append(number)
    return deleted
