"""The lane's standard streams, which every task inherits: no input, and two pipes that the keeper reads. Used by
`keeper.lane`."""

from __future__ import annotations

import os
import select

from .segments import ERR, OUT, Segments

PIPE_BYTES = 65536  # what a pipe holds: one read empties it


class Output:
    """Reads what tasks write. `fds` are the ends that the poll watches."""

    def __init__(self, poll: select.poll, segments: Segments) -> None:
        self._segments = segments
        self.fds: dict[int, int] = {}
        null_fd = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null_fd, 0)
        os.close(null_fd)
        for stream, fd in ((OUT, 1), (ERR, 2)):
            read_fd, write_fd = os.pipe()
            os.set_blocking(read_fd, False)
            os.dup2(write_fd, fd)
            os.close(write_fd)
            poll.register(read_fd, select.POLLIN)
            self.fds[read_fd] = stream

    def drain(self, fd: int) -> None:
        self._segments.write(self.fds[fd], os.read(fd, PIPE_BYTES))
