"""Copies what a container writes into the task's log, once and whole. Used by `docker.running`.

There are two sources. The stream of a container that this life of the worker started gives every byte as it is written,
and makes a container wait that writes faster than we read. What is written while nobody is attached is in the log that
the daemon keeps, entry by entry with a time; but that log is limited, and old entries go.

Going over from the stream to the log, we pass over as many bytes as the task's log has already: exact, as long as the
daemon's log still begins at the beginning. Where it does not, we start at the time that was last noted. Within the log
we remember of each stream the newest time and how many entries bore it, and read again from a little before.
"""

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
NOTE_EVERY_S = 5.0
OVERLAP_NS = 1_000_000_000  # the two streams' entries may be out of order by much less
NS_PER_S = 1_000_000_000


class Place(msgspec.Struct):
    """How far one stream was taken: the newest entry's time, how many entries bore it, the size of the task's log."""

    at_ns: int = 0
    entries: int = 0
    log_bytes: int = 0


class Note(msgspec.Struct):
    """What is remembered over the end of this process."""

    places: tuple[Place, Place]
    is_live: bool = False  # taken from the stream: times are only about
    first_ns: int = 0  # when the stream gave the first byte
    own_bytes: int = 0  # of our own lines, before the task's errors


class Copy:
    """`file` is where the position is remembered."""

    def __init__(self, task_log: TaskLog, file: Path) -> None:
        self._log = task_log
        self._file = file
        self._noted_at = 0.0
        self._note = _read(file)
        self._surplus = self._find_surplus()
        self._clock = Clock()
        self.begin()

    @property
    def is_live(self) -> bool:
        """Whether what was taken last came from the stream: then `go_over` comes before the log can be read."""
        return self._note.is_live

    def say(self, text: str) -> None:
        """A line of ours among the task's errors, before the task runs."""
        self._log.write(ERR, f"[shunter: {text}]\n".encode())
        self._note.own_bytes = self._note.places[ERR].log_bytes = self._log.written(ERR)
        self.note()

    # ---- from the stream ----

    def take_live(self, piece: bytes) -> None:
        """A piece of the stream, cut anywhere."""
        self._buffer += piece
        self._write((stream, data) for stream, data in self._frames())
        self._note.is_live = True
        if not self._note.first_ns:
            self._note.first_ns = time.time_ns()
            self._noted_at = 0.0
        self._note_now_and_then()

    def go_over(self, oldest_ns: int) -> None:
        """From now on the daemon's log is read, whose oldest entry has this time; 0 means that it has none."""
        is_new = not self._note.first_ns  # the stream gave nothing: all that the log has is news
        if is_new or oldest_ns <= self._note.first_ns + OVERLAP_NS:  # it is whole: pass over all that we have
            self._note.places = Place(), Place(log_bytes=self._note.own_bytes)
        self._note.is_live = False
        self._surplus = self._find_surplus()
        self.begin()

    # ---- from the daemon's log ----

    def begin(self) -> None:
        """The daemon is asked from `since` on: what was taken already comes again."""
        self._buffer = b""
        self._caught_up = [False, False]
        self._passed = [0, 0]  # entries of the newest time that came again

    @property
    def since(self) -> str:
        """The time to read from, as the daemon wants it."""
        newest = max(place.at_ns for place in self._note.places)
        since_ns = max(0, newest - OVERLAP_NS)
        return f"{since_ns // NS_PER_S}.{since_ns % NS_PER_S:09d}"

    def take(self, piece: bytes) -> None:
        """A piece of the daemon's log, cut anywhere."""
        self._buffer += piece
        self._write(self._new_entries())
        self._note_now_and_then()

    def oldest_ns(self, piece: bytes) -> int:
        """The time of the first entry in the beginning of a daemon's log; 0 where there is none."""
        return self._clock.read(piece[HEADER.size :].partition(b" ")[0])

    # ---- over the end of this process ----

    def note(self) -> None:
        """Remember the position. Losing it costs time, not output, as long as the daemon's log is whole."""
        self._noted_at = time.monotonic()
        for stream, place in enumerate(self._note.places):
            place.log_bytes = self._log.written(stream) - self._surplus[stream]
            if self._note.is_live:
                place.at_ns, place.entries = time.time_ns(), 0
        fresh = self._file.with_suffix(".new")
        try:
            fresh.write_bytes(msgspec.json.encode(self._note))
            fresh.replace(self._file)
        except OSError as error:
            log.warning("output.unnoted", file=self._file, error=error)

    def forget(self) -> None:
        self._file.unlink(missing_ok=True)

    # ---- inside ----

    def _find_surplus(self) -> list[int]:
        """What the task's log has beyond the position: it was written after the position was noted."""
        return [self._log.written(stream) - place.log_bytes for stream, place in enumerate(self._note.places)]

    def _write(self, entries: Iterator[tuple[int, bytes]]) -> None:
        pieces: tuple[list[bytes], list[bytes]] = ([], [])
        for stream, data in entries:
            pieces[stream].append(data)
        for stream in (OUT, ERR):
            if pieces[stream]:
                self._log.write(stream, b"".join(pieces[stream]))

    def _note_now_and_then(self) -> None:
        if time.monotonic() - self._noted_at >= NOTE_EVERY_S:
            self.note()

    def _frames(self) -> Iterator[tuple[int, bytes]]:
        buffer, place = self._buffer, 0
        while len(buffer) - place >= HEADER.size:
            number, size = HEADER.unpack_from(buffer, place)
            end = place + HEADER.size + size
            if end > len(buffer):
                break
            if number in STREAMS:
                yield STREAMS[number], buffer[place + HEADER.size : end]
            place = end
        self._buffer = buffer[place:]

    def _new_entries(self) -> Iterator[tuple[int, bytes]]:
        for stream, entry in self._frames():
            stamp, _, data = entry.partition(b" ")
            if self._is_new(stream, self._clock.read(stamp)):
                if self._surplus[stream] > 0:
                    passed = min(len(data), self._surplus[stream])
                    self._surplus[stream] -= passed
                    data = data[passed:]
                yield stream, data

    def _is_new(self, stream: int, at_ns: int) -> bool:
        """Only until the first new one: the clock that stamps them may be set back."""
        place = self._note.places[stream]
        if not self._caught_up[stream]:
            if at_ns < place.at_ns:
                return False
            if at_ns == place.at_ns and self._passed[stream] < place.entries:
                self._passed[stream] += 1
                return False
            self._caught_up[stream] = True
        place.entries = place.entries + 1 if at_ns == place.at_ns else 1
        place.at_ns = at_ns
        return True


class Clock:
    """Reads times like 2026-11-15T14:14:18.019219868Z; whole seconds are remembered, because they come in crowds."""

    def __init__(self) -> None:
        self._second = (b"", b"")
        self._second_ns = 0

    def read(self, text: bytes) -> int:
        """Nanoseconds since 1970; 0 for what is no time."""
        found = TIME.fullmatch(text)
        if found is None:
            return 0
        second, fraction, zone = found.groups()
        if (second, zone) != self._second:
            offset = "+00:00" if zone == b"Z" else zone.decode()
            self._second_ns = int(datetime.fromisoformat(second.decode() + offset).timestamp()) * NS_PER_S
            self._second = second, zone
        return self._second_ns + int((fraction or b"").ljust(9, b"0"))


def _read(file: Path) -> Note:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Note)
    except (OSError, msgspec.MsgspecError):
        # Nothing was noted, so nothing was taken from the log: whatever the task's log has came from the stream.
        return Note((Place(), Place()), is_live=True)
