"""Log segments: the files that hold the output of a lane's tasks. Written here, read by `worker.logs`.

`logs/N.out` and `logs/N.err` hold the output of many tasks in a row; `logs/N.idx` holds one fixed record per task, with
the position of its slice. The lane reads pipes and appends their data instead of passing the files to the tasks: a task
that reopens /dev/stdout would truncate the file, and with it the output of every task before it.

A slice that exceeds its limit keeps its first half and its newest half. The part in between is punched out of the file,
so that offsets stay valid, and noted in `logs/N.cut` (record * 2 + stream, from, to)."""

from __future__ import annotations

import os
import struct

from .syscalls import punch_hole

RECORD = struct.Struct("<qiiiIqqqq")  # job, group, index, attempt, flags, out start, out end, err start, err end
CUT = struct.Struct("<qqq")  # record * 2 + stream, from, to: places in the stream's file
RUNNING_END = -1
CUT_OUT, CUT_ERR, INCOMPLETE = 1, 2, 4  # flags; incomplete: some output could not be written
OUT, ERR = 0, 1
SUFFIXES = (".out", ".err")  # of the files of both streams
LAST_LINES_BYTES = 4096

SEGMENT_MAX_BYTES = 64 * 2**20  # of a stream; a new segment begins after the task that passed it
SEGMENT_RECORDS_MAX = 500_000
CUT_SLACK_BYTES = 256 * 2**10  # a slice may pass its limit by this much before it is cut again
CUT_MIN_BYTES = 256  # a cut must be longer than the text that marks it
BLOCK_BYTES = 4096
NEVER = 2**63


class Stream:
    """One stream's file, and the slice of the current task."""

    __slots__ = ("cut_at", "cut_position", "cut_to", "dropped_bytes", "fd", "half_bytes", "max_bytes", "size", "start")

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.size = 0
        self.begin(0)

    def begin(self, max_bytes: int) -> None:
        self.start = self.size
        self.max_bytes = max_bytes
        self.half_bytes = max_bytes // 2
        self.cut_at = self.start + max_bytes + CUT_SLACK_BYTES if max_bytes else NEVER
        self.cut_to = 0
        self.cut_position = -1
        self.dropped_bytes = 0


class Segments:
    """The segment that a lane writes now."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.write_error = ""  # why something could not be written, for the next result's detail
        self.streams: tuple[Stream, Stream]
        self._index: int  # a file descriptor, as is _cuts
        self.records: int  # ended tasks in this segment
        self._buffer: bytearray  # their records, as far as they are not written yet
        self._flushed: int  # how many are
        self._is_dirty: bool  # by the present task: it wrote something, or its record was noted
        self._max_bytes: int  # of the present task
        self._open()

    @classmethod
    def resume(cls, folder: str, number: int, max_bytes: int) -> Segments:
        """Go on with a segment whose only task runs on. Raises OSError where it is no longer there."""
        segments = cls.__new__(cls)
        segments._folder = folder
        segments.write_error = ""
        segments._open_files(number, 0)
        segments._has_running_record = segments._is_dirty = True
        segments._max_bytes = max_bytes
        for target in segments.streams:
            target.begin(max_bytes)
            target.size = os.lseek(target.fd, 0, os.SEEK_END)
        segments._find_cuts()
        return segments

    def close(self) -> None:
        """Let go of the files."""
        for fd in (self._index, self._cuts, *(target.fd for target in self.streams)):
            if fd >= 0:
                os.close(fd)

    def begin(self, max_bytes: int) -> None:
        """A task starts: its slices begin here."""
        if self._is_dirty or max_bytes != self._max_bytes:
            self._is_dirty = False
            self._max_bytes = max_bytes
            self.streams[OUT].begin(max_bytes)
            self.streams[ERR].begin(max_bytes)

    def write(self, stream: int, data: bytes) -> None:
        """Append output. A full disk costs the output, never the task."""
        self._is_dirty = True
        target = self.streams[stream]
        try:
            written = os.write(target.fd, data)
            while written < len(data):
                written += os.write(target.fd, data[written:])
            target.size += written
        except OSError as error:
            target.size = os.fstat(target.fd).st_size
            target.dropped_bytes += len(data)
            self.write_error = f"some output was not stored: {os.strerror(error.errno or 0)}"
        if target.size > target.cut_at:
            self._cut(target, stream, target.size - target.half_bytes)

    def record_running(self, job: int, group: int, index: int, attempt: int) -> None:
        """Write the record of a task that runs on, so that its output can be followed."""
        self.flush()
        self._buffer += self._record(job, group, index, attempt, running=True)
        self.flush()
        self._has_running_record = self._is_dirty = True

    def end(self, job: int, group: int, index: int, attempt: int) -> int:
        """Close the task's slices; returns its record. An earlier record of it is completed at once, so that readers do
        not take the next task's output for this one's."""
        number = self.records
        if self._is_dirty:
            self._end_dirty(job, group, index, attempt)
        else:  # a short task without output
            out, err = self.streams
            self._buffer += RECORD.pack(job, group, index, attempt, 0, out.size, out.size, err.size, err.size)
        self.records = number + 1
        return number

    def last_lines(self, stream: int, lines_max: int) -> list[str]:
        """The last lines that the present task wrote to the stream. Called before `end`."""
        target = self.streams[stream]
        size = min(target.size - target.start, LAST_LINES_BYTES)
        try:
            with open(f"{self._folder}/{self.number}{SUFFIXES[stream]}", "rb") as file:
                data = os.pread(file.fileno(), size, target.size - size)
        except OSError:
            return []
        return [line for line in data.decode(errors="replace").splitlines() if line.strip()][-lines_max:]

    def flush(self) -> None:
        """Write the records of ended tasks; before the report that names them."""
        if self._buffer:
            self._write_at(self._index, bytes(self._buffer), self._flushed * RECORD.size)
            self._flushed = self.records
            self._buffer.clear()

    @property
    def is_large(self) -> bool:
        """Time to begin a new segment, between tasks."""
        if self.records >= SEGMENT_RECORDS_MAX:
            return True
        return self._is_dirty and max(target.size for target in self.streams) >= SEGMENT_MAX_BYTES

    def rotate(self) -> None:
        """Start a new segment; if that fails, continue the old one."""
        self.flush()
        old = (self._index, self._cuts, *(target.fd for target in self.streams))
        try:
            self._open()
        except OSError as error:
            self.write_error = f"cannot create a log segment: {os.strerror(error.errno or 0)}"
            return
        for fd in old:
            if fd >= 0:
                os.close(fd)

    def _open(self) -> None:
        self._open_files(_next_number(self._folder), os.O_CREAT | os.O_EXCL)

    def _open_files(self, number: int, flags: int) -> None:
        base = f"{self._folder}/{number}"
        fds = [os.open(base + suffix, os.O_WRONLY | flags, 0o600) for suffix in (*SUFFIXES, ".idx")]
        self.number = number
        self.streams = (Stream(fds[OUT]), Stream(fds[ERR]))
        self._index = fds[2]
        self._cuts = -1
        self._cut_count = 0
        self.records = 0
        self._flushed = 0
        self._buffer = bytearray()
        self._has_running_record = False
        self._is_dirty = False
        self._max_bytes = 0

    def _find_cuts(self) -> None:
        """Cuts of the current task, made by an earlier process."""
        try:
            self._cuts = os.open(f"{self._folder}/{self.number}.cut", os.O_RDWR)
        except FileNotFoundError:
            return
        body = os.pread(self._cuts, CUT.size * 2, 0)
        self._cut_count = len(body) // CUT.size
        for position in range(self._cut_count):
            stream, _, to = CUT.unpack_from(body, position * CUT.size)
            target = self.streams[stream]
            target.cut_position, target.cut_to = position, to
            target.cut_at = target.size + CUT_SLACK_BYTES

    def _end_dirty(self, job: int, group: int, index: int, attempt: int) -> None:
        for stream, target in enumerate(self.streams):
            if target.max_bytes and target.size - target.start > target.max_bytes + CUT_MIN_BYTES:
                self._cut(target, stream, target.size - target.half_bytes)
        body = self._record(job, group, index, attempt, running=False)
        if self._has_running_record:
            self._has_running_record = False
            self._write_at(self._index, body, self.records * RECORD.size)
            self._flushed = self.records + 1
        else:
            self._buffer += body

    def _record(self, job: int, group: int, index: int, attempt: int, running: bool) -> bytes:
        out, err = self.streams
        flags = CUT_OUT * (out.cut_position >= 0) | CUT_ERR * (err.cut_position >= 0)
        if out.dropped_bytes or err.dropped_bytes:
            flags |= INCOMPLETE
        out_end, err_end = (RUNNING_END, RUNNING_END) if running else (out.size, err.size)
        return RECORD.pack(job, group, index, attempt, flags, out.start, out_end, err.start, err_end)

    def _cut(self, target: Stream, stream: int, to: int) -> None:
        """Note the cut, then punch: a reader that sees the hole must find the note."""
        start = target.start + target.half_bytes
        if self._cuts < 0:
            self._cuts = os.open(f"{self._folder}/{self.number}.cut", os.O_WRONLY | os.O_CREAT, 0o600)
        if target.cut_position < 0:
            target.cut_position = self._cut_count
            self._cut_count += 1
        self._write_at(self._cuts, CUT.pack(self.records * 2 + stream, start, to), target.cut_position * CUT.size)
        # A hole gives back whole blocks only, so it must reach back into the block where the last one ended.
        punch_from = max(start, target.cut_to - target.cut_to % BLOCK_BYTES)
        target.cut_to = to
        target.cut_at = target.size + CUT_SLACK_BYTES
        punch_hole(target.fd, punch_from, to - punch_from)

    def _write_at(self, fd: int, data: bytes, position: int) -> None:
        try:
            os.pwrite(fd, data, position)
        except OSError as error:
            self.write_error = f"cannot write the log index: {os.strerror(error.errno or 0)}"


def _next_number(folder: str) -> int:
    """A number that no segment of this home has had: old results name segments that are long deleted."""
    fd = os.open(f"{folder}/next", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.lockf(fd, os.F_LOCK, 0)
        number = int(os.read(fd, 20) or b"1")
        os.pwrite(fd, b"%d" % (number + 1), 0)
    finally:
        os.close(fd)
    return number
