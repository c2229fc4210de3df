"""Reads tasks' output out of log segments, and deletes old segments. The format is that of `keeper.segments`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from shunter.model.protocol.worker_messages import LogData, ReadLog
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
    """Answer a manager that asks for output. Offsets count the output as it was written, what was cut included."""
    stream = ERR if request.stream == "stderr" else OUT
    try:
        return _read(folder, request, stream)
    except (FileNotFoundError, EOFError):
        return LogData(request.request, b"", True, error="the log is no longer kept")
    except OSError as error:
        return LogData(request.request, b"", True, error=f"the log could not be read: {error.strerror}")


def _read(folder: Path, request: ReadLog, stream: int) -> LogData:
    path = folder / f"{request.segment}.{SUFFIXES[stream]}"
    size = path.stat().st_size  # before the record: what comes later may be the next task's
    piece = find_slice(folder, request.segment, request.record, stream)
    ended = piece.end is not None
    end = size if piece.end is None else piece.end
    place = piece.start + request.offset
    room = min(request.size_max, READ_MAX_BYTES)
    data = b""
    with path.open("rb") as file:
        if piece.cut_to and place < piece.cut_from:
            data = os.pread(file.fileno(), min(room, piece.cut_from - place), place)
            place += len(data)
        if piece.cut_to and piece.cut_from <= place < piece.cut_to and len(data) < room:
            data += b"\n[shunter: %d bytes cut here]\n" % (piece.cut_to - piece.cut_from)
            place = piece.cut_to
        if place < end and len(data) < room and not (piece.cut_to and place < piece.cut_from):
            more = os.pread(file.fileno(), min(room - len(data), end - place), place)
            data += more
            place += len(more)
    return LogData(request.request, data, ended and place >= end, bool(piece.cut_to), next=place - piece.start)


def find_slice(folder: Path, segment: int, record: int, stream: int) -> Slice:
    """Raises FileNotFoundError or EOFError where the segment or the record is not there."""
    with (folder / f"{segment}.idx").open("rb") as file:
        body = os.pread(file.fileno(), RECORD.size, record * RECORD.size)
    if len(body) < RECORD.size:
        raise EOFError
    _, _, _, _, flags, *places = RECORD.unpack(body)
    start, end = places[stream * 2 : stream * 2 + 2]
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
    """Delete segments that are too old, and the oldest ones while all together are too large. Returns their numbers."""
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
