"""Copies a container's output into the task's log, completely and without repetition. Used by
`runtimes.docker.container`.

There are two sources. The stream of a container that this worker process started gives every byte as it is written, and
blocks a container that writes faster than we read. Output written while nobody is attached is in the daemon's log, as
entries with a time; but that log is limited, and old entries are dropped.

When we change from the stream to the log, we skip as many bytes as the task's log already has. This is exact while the
daemon's log is complete. Where it is not, we start at the last noted time. Within the log we remember for each stream
the newest time and how many entries had it, and read again from shortly before."""

from __future__ import annotations

import re
import struct
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from shunter.log import Log
from shunter.worker.runtimes.task_log import ERR, OUT, TaskLog

log = Log(__name__)

HEADER = struct.Struct(">BxxxI")  # which stream, how many bytes
STREAMS = {1: OUT, 2: ERR}
TIME = re.compile(rb"([-\d]{10}T[:\d]{8})(?:\.(\d{1,9}))?(Z|[-+]\d\d:\d\d)")
SAVE_EVERY_S = 5.0
OVERLAP_NS = 1_000_000_000  # the two streams' entries may be out of order by much less
NS_PER_S = 1_000_000_000


class StreamPosition(msgspec.Struct):
    """How far one stream was read: the newest entry's time, how many entries had it, and the size of the task's log."""

    at_ns: int = 0
    entries: int = 0
    log_bytes: int = 0


class CopyPosition(msgspec.Struct):
    """What survives the end of this process."""

    places: tuple[StreamPosition, StreamPosition]
    is_live: bool = False  # taken from the stream: times are only about
    first_ns: int = 0  # when the stream gave the first byte
    own_bytes: int = 0  # of our own lines, before the task's errors


class OutputCopier:
    """`file` is where the position is remembered."""

    def __init__(self, task_log: TaskLog, file: Path) -> None:
        self._log = task_log
        self._file = file
        self._saved_at = 0.0
        self._position = _read(file)
        self._surplus = self._find_surplus()
        self._timestamps = TimestampParser()
        self.begin()

    @property
    def is_live(self) -> bool:
        """Whether the last data came from the stream: then call `switch_to_log` before reading the log."""
        return self._position.is_live

    def write_notice(self, text: str) -> None:
        """A line of ours among the task's errors, before the task runs."""
        self._log.write(ERR, f"[shunter: {text}]\n".encode())
        self._position.own_bytes = self._position.places[ERR].log_bytes = self._log.written(ERR)
        self.save_position()

    # ---- from the stream ----

    def write_stream_chunk(self, chunk: bytes) -> None:
        """A piece of the stream, cut anywhere."""
        self._buffer += chunk
        self._write((stream, data) for stream, data in self._frames())
        self._position.is_live = True
        if not self._position.first_ns:
            self._position.first_ns = time.time_ns()
            self._saved_at = 0.0
        self._save_periodically()

    def switch_to_log(self, oldest_ns: int) -> None:
        """From now on the daemon's log is read, whose oldest entry has this time; 0 means that it has none."""
        is_new = not self._position.first_ns  # the stream gave nothing: all of the log is new
        if is_new or oldest_ns <= self._position.first_ns + OVERLAP_NS:  # it is whole: pass over all that we have
            self._position.places = StreamPosition(), StreamPosition(log_bytes=self._position.own_bytes)
        self._position.is_live = False
        self._surplus = self._find_surplus()
        self.begin()

    # ---- from the daemon's log ----

    def begin(self) -> None:
        """The daemon is asked for entries from `since` on, so some entries come again."""
        self._buffer = b""
        self._caught_up = [False, False]
        self._skipped = [0, 0]  # entries of the newest time that came again

    @property
    def since(self) -> str:
        """The time to read from, as the daemon wants it."""
        newest = max(position.at_ns for position in self._position.places)
        since_ns = max(0, newest - OVERLAP_NS)
        return f"{since_ns // NS_PER_S}.{since_ns % NS_PER_S:09d}"

    def write_log_chunk(self, chunk: bytes) -> None:
        """A piece of the daemon's log, cut anywhere."""
        self._buffer += chunk
        self._write(self._new_entries())
        self._save_periodically()

    def oldest_ns(self, chunk: bytes) -> int:
        """The time of the first entry at the start of a daemon's log; 0 if there is none."""
        return self._timestamps.read(chunk[HEADER.size :].partition(b" ")[0])

    # ---- over the end of this process ----

    def save_position(self) -> None:
        """Remember the position. Losing it costs time, not output, as long as the daemon's log is whole."""
        self._saved_at = time.monotonic()
        for stream, position in enumerate(self._position.places):
            position.log_bytes = self._log.written(stream) - self._surplus[stream]
            if self._position.is_live:
                position.at_ns, position.entries = time.time_ns(), 0
        temporary = self._file.with_suffix(".new")
        try:
            temporary.write_bytes(msgspec.json.encode(self._position))
            temporary.replace(self._file)
        except OSError as error:
            log.warning("output.position_not_saved", file=self._file, error=error)

    def forget(self) -> None:
        self._file.unlink(missing_ok=True)

    # ---- inside ----

    def _find_surplus(self) -> list[int]:
        """What the task's log has beyond the position: it was written after the position was saved."""
        return [self._log.written(stream) - position.log_bytes for stream, position in enumerate(self._position.places)]

    def _write(self, entries: Iterator[tuple[int, bytes]]) -> None:
        chunks: tuple[list[bytes], list[bytes]] = ([], [])
        for stream, data in entries:
            chunks[stream].append(data)
        for stream in (OUT, ERR):
            if chunks[stream]:
                self._log.write(stream, b"".join(chunks[stream]))

    def _save_periodically(self) -> None:
        if time.monotonic() - self._saved_at >= SAVE_EVERY_S:
            self.save_position()

    def _frames(self) -> Iterator[tuple[int, bytes]]:
        buffer, position = self._buffer, 0
        while len(buffer) - position >= HEADER.size:
            number, size = HEADER.unpack_from(buffer, position)
            end = position + HEADER.size + size
            if end > len(buffer):
                break
            if number in STREAMS:
                yield STREAMS[number], buffer[position + HEADER.size : end]
            position = end
        self._buffer = buffer[position:]

    def _new_entries(self) -> Iterator[tuple[int, bytes]]:
        for stream, entry in self._frames():
            stamp, _, data = entry.partition(b" ")
            if self._is_new(stream, self._timestamps.read(stamp)):
                if self._surplus[stream] > 0:
                    skipped = min(len(data), self._surplus[stream])
                    self._surplus[stream] -= skipped
                    data = data[skipped:]
                yield stream, data

    def _is_new(self, stream: int, at_ns: int) -> bool:
        """Only until the first new one: the clock of the entries may be set back."""
        position = self._position.places[stream]
        if not self._caught_up[stream]:
            if at_ns < position.at_ns:
                return False
            if at_ns == position.at_ns and self._skipped[stream] < position.entries:
                self._skipped[stream] += 1
                return False
            self._caught_up[stream] = True
        position.entries = position.entries + 1 if at_ns == position.at_ns else 1
        position.at_ns = at_ns
        return True


class TimestampParser:
    """Reads times like 2026-11-15T14:14:18.019219868Z; whole seconds are remembered, because they come in crowds."""

    def __init__(self) -> None:
        self._second = (b"", b"")
        self._second_ns = 0

    def read(self, text: bytes) -> int:
        """Nanoseconds since 1970; 0 for an invalid time."""
        found = TIME.fullmatch(text)
        if found is None:
            return 0
        second, fraction, zone = found.groups()
        if (second, zone) != self._second:
            offset = "+00:00" if zone == b"Z" else zone.decode()
            self._second_ns = int(datetime.fromisoformat(second.decode() + offset).timestamp()) * NS_PER_S
            self._second = second, zone
        return self._second_ns + int((fraction or b"").ljust(9, b"0"))


def _read(file: Path) -> CopyPosition:
    try:
        return msgspec.json.decode(file.read_bytes(), type=CopyPosition)
    except (OSError, msgspec.MsgspecError):
        # No position was saved, so nothing came from the daemon's log: all of the task's log came from the stream.
        return CopyPosition((StreamPosition(), StreamPosition()), is_live=True)
