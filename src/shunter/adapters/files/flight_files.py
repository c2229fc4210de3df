"""The flight recorder's files: segments in one folder, with a total size limit. The engine's recorder appends to them,
the gateway lists and exports them, and `shunter replay` reads them.

A file is a magic number followed by frames: length, checksum, record. Each frame is written at once, so a kill leaves
at most one torn frame at the end, which readers skip."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO
from zlib import crc32

from shunter.log import Log
from shunter.model.errors import Invalid, Problem
from shunter.model.protocol.flight_records import Began, Decided, FlightSegment, SituationRecord, Step, decode_record
from shunter.model.timestamps import iso

MAGIC = b"shunter-flight-1\n"
SUFFIX = ".flight"
TOTAL_BYTES_MAX = 64 * 2**20  # of all segments; the oldest go first
FRAME_BYTES_MAX = 256 * 2**20
_FRAME = struct.Struct("<II")
log = Log(__name__)


class FlightFiles:
    """The `FlightLog`. When the disk fails, it stops and logs it once."""

    def __init__(self, folder: Path, total_bytes_max: int = TOTAL_BYTES_MAX) -> None:
        self.folder, self._total_bytes_max = folder, total_bytes_max
        self._file: int | None = None
        self._size = 0
        self._has_failed = False

    @property
    def segment_bytes(self) -> int:
        return self._size

    def begin_segment(self) -> None:
        self.close()
        if self._has_failed:
            return
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            segments = self.segments()
            number = int(segments[-1].stem) + 1 if segments else 1
            self._file = os.open(self.folder / f"{number:08}{SUFFIX}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            os.write(self._file, MAGIC)
            self._size = len(MAGIC)
            self._delete_old_segments(segments)
        except OSError as error:
            self._fail(error)

    def append(self, record: bytes) -> None:
        if self._file is None:
            return
        frame = _FRAME.pack(len(record), crc32(record)) + record
        try:
            os.write(self._file, frame)
        except OSError as error:
            self._fail(error)
        self._size += len(frame)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def segments(self) -> list[Path]:
        """Oldest first."""
        return sorted(self.folder.glob(f"*{SUFFIX}"))

    def list_segments(self) -> list[FlightSegment]:
        return [found for path in self.segments() if (found := _describe(path)) is not None]

    def segment_names(self) -> list[str]:
        return [path.stem for path in self.segments()]

    def read_segment(self, name: str) -> Iterator[bytes]:
        path = next((path for path in self.segments() if path.stem == name), None)
        if path is not None:
            try:
                yield from read_frames(path)
            except (FileNotFoundError, Invalid):  # it was deleted meanwhile, or is empty yet
                return

    def export(self) -> Iterator[bytes]:
        yield from write_frames(frame for path in self.segments() for frame in read_frames(path))

    def _delete_old_segments(self, segments: list[Path]) -> None:
        total = sum(path.stat().st_size for path in segments)
        for path in segments:
            if total <= self._total_bytes_max:
                return
            total -= path.stat().st_size
            path.unlink()

    def _fail(self, error: OSError) -> None:
        self._has_failed = True
        self.close()
        log.error("flight.failed", folder=str(self.folder), error=error)


def read_frames(path: Path) -> Iterator[bytes]:
    """The records of a segment, or of an export. Raises Invalid if it is not a recording; torn frames are skipped."""
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise Invalid(
                [Problem("FILE", "is not a flight recording", str(path), "create one: shunter flight export")]
            )
        while (frame := _next_frame(file)) is not None:
            yield frame


def unread_bytes(path: Path) -> int:
    """How much of a recording is left out at its end, because it is torn or damaged there."""
    with path.open("rb") as file:
        end = len(file.read(len(MAGIC)))
        while _next_frame(file) is not None:
            end = file.tell()
    return path.stat().st_size - end


def write_frames(frames: Iterator[bytes]) -> Iterator[bytes]:
    """An export: pieces of one file with all these records."""
    yield MAGIC
    for frame in frames:
        yield _FRAME.pack(len(frame), crc32(frame)) + frame


def _describe(path: Path) -> FlightSegment | None:
    """None for a segment that is empty, or gone meanwhile."""
    first = last = 0.0
    decisions = 0
    try:
        for frame in read_frames(path):
            record = decode_record(frame)
            decisions += isinstance(record, Step | Decided)
            at = record.at if isinstance(record, Began) else None
            at = record.situation.now if isinstance(record, Step | SituationRecord) else at
            if at is not None:
                first, last = first or at, at
        size = path.stat().st_size
    except (FileNotFoundError, Invalid):
        return None
    return FlightSegment(path.stem, iso(first) or "", iso(last) or "", decisions, size) if first else None


def _next_frame(file: BinaryIO) -> bytes | None:
    head = file.read(_FRAME.size)
    if len(head) < _FRAME.size:
        return None
    size, checksum = _FRAME.unpack(head)
    body = file.read(size) if size <= FRAME_BYTES_MAX else b""
    return body if len(body) == size and crc32(body) == checksum else None
