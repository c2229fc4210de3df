"""Copies what a container writes from the daemon's log into the task's, once and whole: also where following was cut
short, where the worker restarted, and where it was killed between a write and the note of it. Used by `docker.running`.

The daemon gives a time with every entry. Of each stream we remember the newest time and how many entries bore it, and
read again from a little before; what was taken already is passed over. That position is written down now and then,
with the size of the task's log at that moment: what the log has beyond it was taken after the position was noted.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from time import monotonic

import msgspec

from shunter.log import Log
from shunter.worker.task_log import ERR, OUT, TaskLog

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


class Copy:
    """`note` is the file that remembers the position."""

    def __init__(self, task_log: TaskLog, note: Path) -> None:
        self._log = task_log
        self._note = note
        self._noted_at = 0.0
        self._places = _read(note)
        # What an earlier life wrote after it had last noted its position.
        self._surplus = [task_log.written(stream) - self._places[stream].log_bytes for stream in (OUT, ERR)]
        self._clock = Clock()
        self.begin()

    def begin(self) -> None:
        """The daemon is asked from `since` on: what was taken already comes again."""
        self._buffer = b""
        self._caught_up = [False, False]
        self._passed = [0, 0]  # entries of the newest time that came again

    @property
    def since(self) -> str:
        """The time to read from, as the daemon wants it."""
        newest = max(place.at_ns for place in self._places)
        since_ns = max(0, newest - OVERLAP_NS)
        return f"{since_ns // NS_PER_S}.{since_ns % NS_PER_S:09d}"

    def take(self, piece: bytes) -> None:
        """Raw output of the daemon, cut anywhere."""
        self._buffer += piece
        pieces: tuple[list[bytes], list[bytes]] = ([], [])
        for stream, entry in self._entries():
            time, _, data = entry.partition(b" ")
            at_ns = self._clock.read(time)
            if self._is_new(stream, at_ns) and (data := self._without_surplus(stream, data)):
                pieces[stream].append(data)
        for stream in (OUT, ERR):
            if pieces[stream]:
                self._log.write(stream, b"".join(pieces[stream]))
        if monotonic() - self._noted_at >= NOTE_EVERY_S:
            self.note()

    def say(self, text: str) -> None:
        """A line of ours among the task's errors, before the task runs."""
        self._log.write(ERR, f"[shunter: {text}]\n".encode())
        self._places[ERR].log_bytes = self._log.written(ERR)
        self.note()

    def note(self) -> None:
        """Remember the position over the end of this process. Losing it costs time, not output."""
        self._noted_at = monotonic()
        for stream in (OUT, ERR):
            self._places[stream].log_bytes = self._log.written(stream) - self._surplus[stream]
        fresh = self._note.with_suffix(".new")
        try:
            fresh.write_bytes(msgspec.json.encode(self._places))
            fresh.replace(self._note)
        except OSError as error:
            log.warning("output.unnoted", file=self._note, error=error)

    def forget(self) -> None:
        self._note.unlink(missing_ok=True)

    def _entries(self) -> Iterator[tuple[int, bytes]]:
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

    def _is_new(self, stream: int, at_ns: int) -> bool:
        """Only until the first new one: the clock that stamps them may be set back."""
        place = self._places[stream]
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

    def _without_surplus(self, stream: int, data: bytes) -> bytes:
        surplus = self._surplus[stream]
        if surplus <= 0:
            return data
        self._surplus[stream] = max(0, surplus - len(data))
        return data[surplus:]


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


def _read(note: Path) -> list[Place]:
    try:
        places = msgspec.json.decode(note.read_bytes(), type=list[Place])
        return places if len(places) == 2 else [Place(), Place()]
    except (OSError, msgspec.MsgspecError):
        return [Place(), Place()]
