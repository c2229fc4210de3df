"""The output of one attempt that no keeper runs: its own log segment in the format of `keeper.segments`, so that it is
read and deleted like any other. Created by `worker.runtimes.attempt_runner`, written by runtimes."""

from __future__ import annotations

import os
from pathlib import Path

from shunter.worker.keeper.segments import ERR, OUT, Segments

__all__ = ["ERR", "OUT", "TaskLog"]

Name = tuple[int, int, int, int]  # job, group, index, attempt
Paths = tuple[str | None, str | None]
RECORD = 0  # the only one of its segment


class TaskLog:
    """Open from the start of an attempt to its end, and opened again by the next life of the worker.

    `paths` are the files that a task's streams go to instead; the captured log is then empty.
    """

    def __init__(self, segments: Segments, name: Name, paths: Paths) -> None:
        self._segments = segments
        self._name = name
        self._paths = paths
        self._files: dict[int, int] = {}

    @classmethod
    def create(cls, folder: Path, name: Name, max_bytes: int, paths: Paths = (None, None)) -> TaskLog:
        """Raises OSError."""
        segments = Segments(str(folder))
        segments.begin(max_bytes)
        made = cls(segments, name, paths)
        made._open_files(os.O_TRUNC)
        segments.record_running(*name)
        return made

    @classmethod
    def reopen(cls, folder: Path, segment: int, name: Name, max_bytes: int, paths: Paths = (None, None)) -> TaskLog:
        """Continue where an earlier worker process stopped. Raises OSError."""
        made = cls(Segments.resume(str(folder), segment, max_bytes), name, paths)
        made._open_files(os.O_APPEND)
        return made

    @property
    def segment(self) -> int:
        return self._segments.number

    @property
    def trouble(self) -> str:
        """Why some output was lost, if any."""
        return self._segments.write_error

    def write(self, stream: int, data: bytes) -> None:
        """Take output of the task: `stream` is OUT or ERR. Never raises."""
        file = self._files.get(stream)
        if file is None:
            self._segments.write(stream, data)
            return
        try:
            written = 0
            while written < len(data):
                written += os.write(file, data[written:])
        except OSError as error:
            self._segments.write_error = f"{self._paths[stream]}: {os.strerror(error.errno or 0)}"

    def written(self, stream: int) -> int:
        """Bytes of the stream written so far, by this worker process and earlier ones: a runtime that reads a task's
        output from its beginning must skip them."""
        file = self._files.get(stream)
        return self._segments.streams[stream].size if file is None else os.fstat(file).st_size

    def end(self) -> None:
        """The task has ended: nothing more is written."""
        self._segments.end(*self._name)
        self._segments.flush()
        self.close()

    def close(self) -> None:
        """Leave it as it is, for the next worker process."""
        self._segments.close()
        for file in self._files.values():
            os.close(file)
        self._files.clear()

    def _open_files(self, how: int) -> None:
        # The worker must not wait for the reader of a named pipe.
        flags = os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | how
        for stream, path in enumerate(self._paths):
            if path is not None:
                self._files[stream] = _open_for_all_to_read(path, flags)


def _open_for_all_to_read(path: str, flags: int) -> int:
    """Open a file, and make it and missing folders readable for all if they are new, whatever the worker's umask is."""
    missing = [folder for folder in Path(path).parents if not folder.is_dir()]
    for folder in reversed(missing):
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
    try:
        fd = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return os.open(path, flags | os.O_CREAT, 0o644)
    os.fchmod(fd, 0o644)
    return fd
